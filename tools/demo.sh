#!/usr/bin/env bash
# Runs the voltage-stability case in both variants and draws one report from the two run folders.
# A missed requirement does not stop it: the report is there to show it. The exit code is that of
# the worse run (see crates/testbed/src/exit.rs).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly QCYCLE=${QCYCLE:-target/release/qcycle}
readonly CASE=scenarios/voltage-stability
readonly REPORT=runs/voltage-stability.html
# The case's programs are Python programs: `python3` is the one with their packages.
PATH="$PWD/.venv/bin:$PATH"

folders=()
worst=0
for variant in normal denial-of-service; do
    echo "demo: $QCYCLE run $CASE --variant $variant"
    log=$(mktemp)
    code=0
    "$QCYCLE" run "$CASE" --variant "$variant" < /dev/null | tee "$log" || code=${PIPESTATUS[0]}
    folder=$(sed -n '$s/^run folder: //p' "$log")
    rm -f "$log"
    if [ -z "$folder" ]; then
        echo "demo: the variant $variant left no run folder (exit code $code)" >&2
        exit $((code > 0 ? code : 70))
    fi
    folders+=("$folder")
    # A missed requirement (10) is worse than one that was not measured (11).
    if [ "$worst" -eq 0 ] || { [ "$code" -gt "$worst" ] && [ "$worst:$code" != 10:11 ]; } \
        || [ "$worst:$code" = 11:10 ]; then
        worst=$code
    fi
    [ "$code" -ne 130 ] || exit "$code"
done

code=0
"$QCYCLE" report "${folders[@]}" --output "$REPORT" || code=$?
[ "$code" -eq 0 ] || exit "$code"
echo "demo: report: $REPORT"
exit "$worst"
