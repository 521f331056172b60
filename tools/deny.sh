#!/usr/bin/env bash
# Whether what the project depends on may be used: licences, sources and bans, and known
# vulnerabilities. The rules are in deny.toml.
#
# Usage: tools/deny.sh
# The database of advisories is a git repository: it is fetched, or taken from the clone that
# QCYCLE_ADVISORIES names. What cannot be had is "not measured", the database or cargo-deny itself,
# and the exit code is 0, as elsewhere; what was found is 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly VERSION=0.20.2
readonly TOOLS=$PWD/target/tools
readonly DATABASE=https://github.com/RustSec/advisory-db
# Seconds; the database has some megabytes.
readonly PATIENCE=120

main() {
    local failed=0 why
    if ! tools/setup.sh deny; then
        echo "deny: not measured: cargo-deny $VERSION is not there (see above)"
        exit 0
    fi
    # The pinned version, which the set-up has found or built.
    PROGRAM=$TOOLS/bin/cargo-deny
    [ -x "$PROGRAM" ] || PROGRAM=$(command -v cargo-deny)
    deny check licenses bans sources || failed=1
    if [ -n "${QCYCLE_ADVISORIES:-}" ]; then
        take_given
    fi
    if why=$(timeout $PATIENCE "$PROGRAM" --locked --config "$config" fetch db 2>&1); then
        deny --offline check advisories || failed=1
    else
        echo "advisories: not measured: the database cannot be fetched ($(grep '[^[:space:]]' <<< "$why" | tail -n 1));" \
            "name a clone of it in QCYCLE_ADVISORIES"
    fi
    exit $failed
}

config=deny.toml

deny() {
    "$PROGRAM" --locked --all-features --config "$config" "$@"
}

# Has git take the database from a clone on this machine, into a folder of its own.
take_given() {
    local folder=target/advisories-given
    rm -rf "$folder"
    mkdir -p "$folder"
    config=$folder/deny.toml
    sed "s|^db-path = .*|db-path = \"$folder\"|" deny.toml > "$config"
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$QCYCLE_ADVISORIES.insteadOf"
    export GIT_CONFIG_VALUE_0=$DATABASE
}

main
