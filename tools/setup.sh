#!/usr/bin/env bash
# Makes a machine ready for one of the project's commands: Debian packages by name, the pinned
# Python packages in .venv, and a look at the Rust toolchain. It asks no questions. What is there
# already is left alone, so a second call only looks and takes a fraction of a second.
#
# Usage: tools/setup.sh demo|test|bench|conformance|container|aarch64|boards|deny
# Without the right to install Debian packages it names what is missing and why, and stops.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly PYTHON=${PYTHON:-python3}
readonly PYTHON_OLDEST="3.11"
# EX_UNAVAILABLE, as `qcycle` ends when something is missing on the machine.
readonly BROKEN_SETUP=69

main() {
    local purpose=${1:-}
    case $purpose in
        demo | test | bench | conformance | container | aarch64 | boards | deny) ;;
        *) fail 64 "usage: tools/setup.sh demo|test|bench|conformance|container|aarch64|boards|deny" ;;
    esac
    mkdir -p target
    # Two calls at once would build one .venv twice.
    exec 9> target/setup.lock
    flock 9
    install_debian_packages "$purpose"
    check_rust
    case $purpose in test | bench | container) install_static_target ;; esac
    case $purpose in deny) install_cargo_deny ;; *) install_python_packages ;; esac
}

install_debian_packages() {
    local purpose=$1 missing=() line
    while IFS= read -r line; do
        missing+=("$line")
    done < <(missing_packages "$purpose")
    [ ${#missing[@]} -gt 0 ] || return 0

    say "missing Debian packages:"
    printf '  %s\n' "${missing[@]}" >&2
    local names=("${missing[@]%%:*}") as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
        if ! sudo -n true 2> /dev/null; then
            fail $BROKEN_SETUP "only root may install them, and sudo asks for a password; run:" \
                "    sudo apt-get install --no-install-recommends ${names[*]}" \
                "and then the same make command again"
        fi
    fi
    if ! command -v apt-get > /dev/null; then
        fail $BROKEN_SETUP "there is no apt-get here; install what these packages hold" \
            "with the package manager of this system, then call make again"
    fi
    say "installing ${names[*]}"
    # The lists may be absent or outdated: fetch them only when the first attempt fails.
    apt_get install "${names[@]}" \
        || { apt_get update && apt_get install "${names[@]}"; } \
        || fail $BROKEN_SETUP "apt-get failed (see above); without a network, install" \
            "${names[*]} from another source, then call make again"
    local left
    left=$(missing_packages "$purpose")
    [ -z "$left" ] || fail $BROKEN_SETUP "installed, but still not found: $left"
}

apt_get() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet=2 \
        --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" < /dev/null >&2
}

# Prints a line "package: reason" for each package that `purpose` needs and that is not there.
missing_packages() {
    local purpose=$1 purposes package there_if reason
    while read -r purposes package there_if reason; do
        case ",$purposes," in
            *",$purpose,"*) is_there "$there_if" || printf '%s: %s\n' "$package" "$reason" ;;
        esac
    done < <(grep -v '^#' tools/packages.txt)
}

is_there() {
    local kind=${1%%:*} name=${1#*:}
    case $kind in
        command)
            [ "$name" != python3 ] || name=$PYTHON
            command -v "$name" > /dev/null
            ;;
        # A .venv that is ready needs no tool that makes one.
        python) venv_is_ready || "$PYTHON" -c "import $name" 2> /dev/null ;;
        header) [ -e "/usr/include/$name" ] || [ -e "/usr/local/include/$name" ] ;;
        file) [ -e "$name" ] ;;
        *) fail 70 "tools/packages.txt: unknown check '$1'" ;;
    esac
}

check_rust() {
    if ! command -v cargo > /dev/null; then
        fail $BROKEN_SETUP "Rust is missing: there is no cargo in PATH." \
            "Install rustup (a package of recent distributions; else as its own site describes)" \
            "and open a new shell; the toolchain of rust-toolchain.toml then comes by itself."
    fi
    local wanted found
    wanted=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
    # With rustup this also fetches the toolchain of rust-toolchain.toml.
    found=$(cargo --version 9>&-) || fail $BROKEN_SETUP "cargo does not run (see above);" \
        "with rustup, 'rustup toolchain install' in this folder shows why"
    found=$(cut -d ' ' -f 2 <<< "$found")
    is_at_least "$wanted" "${found%%-*}" || fail $BROKEN_SETUP \
        "Rust $found is too old: $wanted or newer is needed ('rustup update', or rustup instead" \
        "of the distribution's cargo)"
}

# The standard library for programs without a loader, which containers, guests and other machines run.
install_static_target() {
    local target
    target=$(uname -m)-unknown-linux-musl
    if ! command -v rustup > /dev/null; then
        say "no rustup: install the standard library of Rust for $target as cargo came"
        return 0
    fi
    rustup target list --installed 9>&- | grep -qx "$target" && return 0
    say "adding the target $target"
    # Without a network rustup tries for long.
    timeout 300 rustup --quiet target add "$target" 9>&- || fail $BROKEN_SETUP \
        "the target $target could not be fetched (see above); 'rustup target add $target' shows why"
}

# The version that tools/deny.sh names, built from its source where it is not there.
install_cargo_deny() {
    local tools=$PWD/target/tools version found
    version=$(sed -n 's/^readonly VERSION=//p' tools/deny.sh)
    for found in "$tools/bin/cargo-deny" cargo-deny; do
        [ "$("$found" --version 2> /dev/null)" != "cargo-deny $version" ] || return 0
    done
    say "building cargo-deny $version, once; that takes some minutes"
    cargo install --quiet --locked --version "$version" --root "$tools" \
        --target-dir "$tools/target" cargo-deny 9>&- \
        || fail $BROKEN_SETUP "cargo-deny could not be built (see above): it needs the network once," \
            "or a cargo-deny $version in PATH"
    rm -rf "$tools/target"
}

install_python_packages() {
    ! venv_is_ready || return 0
    local found
    found=$("$PYTHON" -c 'import platform; print(platform.python_version())')
    is_at_least "$PYTHON_OLDEST" "$found" || fail $BROKEN_SETUP \
        "$PYTHON is Python $found: $PYTHON_OLDEST or newer is needed (PYTHON=python3.12 make ...)"
    say "installing the Python packages of requirements.txt in .venv"
    rm -rf .venv
    "$PYTHON" -m venv .venv
    # Run outside the folder of the project, and only with wheels whose hashes are known.
    .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check \
        --only-binary :all: --require-hashes --requirement requirements.txt < /dev/null >&2 \
        || fail $BROKEN_SETUP "pip failed (see above): it needs the network once, or a folder" \
            "with the wheels (PIP_FIND_LINKS=folder PIP_NO_INDEX=1 make ...)"
    # Written last: an interrupted installation has no stamp and is made anew.
    stamp > .venv/quartercycle.stamp
}

# Whether .venv was made from these lists and its interpreter and packages are really there.
venv_is_ready() {
    [ -f .venv/quartercycle.stamp ] \
        && [ "$(stamp)" = "$(< .venv/quartercycle.stamp)" ] \
        && .venv/bin/python -I -c '
import importlib.util as packages, sys
sys.exit(not all(map(packages.find_spec, ("pymodbus", "dss_python_backend"))))' 2> /dev/null
}

stamp() {
    printf '%s ' "$(uname -m)"
    sha256sum < requirements.txt
}

is_at_least() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

say() {
    printf 'setup: %s\n' "$*" >&2
}

fail() {
    local code=$1 line
    shift
    for line in "$@"; do say "$line"; done
    exit "$code"
}

main "$@"
