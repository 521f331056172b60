#!/usr/bin/env bash
# Runs the voltage-stability case in both variants and draws one report from the two run folders.
# A missed requirement does not stop it: the report is there to show it. The exit code is that of
# the worse run (see crates/terminal/src/exit.rs).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly QCYCLE=${QCYCLE:-${CARGO_TARGET_DIR:-target}/release/qcycle}
readonly CASE=scenarios/voltage-stability
readonly REPORT=runs/voltage-stability.html
# The case's programs are Python programs: `python3` is the one with their packages.
PATH="$PWD/.venv/bin:$PATH"

# Orders exit codes: met, not measured, disturbed, missed, then all that went wrong by number.
badness() {
    case $1 in
        0) echo 0 ;;
        11) echo 1 ;;
        13) echo 2 ;;
        10) echo 3 ;;
        *) echo "$1" ;;
    esac
}

folders=()
worst=0
for variant in normal denial-of-service; do
    # Time in jumps alone: quick, and nothing that the machine does disturbs it.
    arguments=(run "$CASE" --variant "$variant" --pace events)
    echo "demo: $QCYCLE ${arguments[*]}"
    log=$(mktemp)
    code=0
    "$QCYCLE" "${arguments[@]}" < /dev/null | tee "$log" || code=${PIPESTATUS[0]}
    folder=$(sed -n '$s/^run folder: //p' "$log")
    rm -f "$log"
    if [ -z "$folder" ]; then
        echo "demo: the variant $variant left no run folder (exit code $code)" >&2
        exit $((code > 0 ? code : 70))
    fi
    folders+=("$folder")
    [ "$(badness "$code")" -le "$(badness "$worst")" ] || worst=$code
    [ "$code" -ne 130 ] || exit "$code"
done

code=0
"$QCYCLE" report "${folders[@]}" --output "$REPORT" || code=$?
[ "$code" -eq 0 ] || exit "$code"
echo "demo: report: $REPORT"
exit "$worst"
