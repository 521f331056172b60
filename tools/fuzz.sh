#!/usr/bin/env bash
# Fuzzes the decoders of frames, captures, datagrams, key files and words of hosts, and the server of MMS, with libFuzzer,
# guided by what code each input reaches, on the stable compiler: the instrumentation passes that
# cargo-fuzz asks a nightly for are ordinary code generation options. Begins with captures, captured
# frames and requests, or kept datagrams; what it finds is kept below target/fuzz, and an input that breaks a
# decoder ends it with an error and a file that does so again.
#
# Usage: tools/fuzz.sh [SECONDS]    for each target, 600 unless told: an hour in all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly SECONDS_EACH=${1:-600}
readonly KEPT=target/fuzz
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags+=" -Ccodegen-units=1 --cfg fuzzing"

# With a target named, build scripts are not instrumented; they would not link.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS=$flags cargo build --locked --release --manifest-path crates/fuzz/Cargo.toml \
    --target "$host" --target-dir "$KEPT/build"
python3 tools/frames.py "$KEPT/seeds" crates/iec61850/tests/data
for target in goose sampled_values quorum mms pcapng hosts; do
    case $target in
        quorum) seeds=crates/fuzz/corpus ;;
        mms) seeds=crates/mms/tests/data ;;
        pcapng) seeds=crates/network/tests/data ;;
        hosts) seeds=crates/hosts/tests/data ;;
        *) seeds=$KEPT/seeds ;;
    esac
    mkdir -p "$KEPT/$target"
    "$KEPT/build/$host/release/$target" "$KEPT/$target" "$seeds" \
        -max_total_time="$SECONDS_EACH" -max_len=2048 -timeout=5 -print_final_stats=1 \
        -artifact_prefix="$KEPT/$target-" 2> >(tail -n 20 >&2)
done
