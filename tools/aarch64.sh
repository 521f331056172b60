#!/usr/bin/env bash
# Boards with an AArch64 processor, from a machine that has another one.
#
# Usage: tools/aarch64.sh check     compiles everything, with lints, and runs nothing
# Needs rustup for the target's standard library and Debian's cross compiler for linking; without
# them it says so ("not measured") and ends well, as a machine without a network must pass too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly TARGET=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc

main() {
    case ${1:-} in
        check) have_toolchain && check ;;
        *)
            echo "usage: tools/aarch64.sh check" >&2
            exit 64
            ;;
    esac
}

have_toolchain() {
    command -v "$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER" > /dev/null \
        || missing "the package gcc-aarch64-linux-gnu"
    command -v rustup > /dev/null || missing "rustup, which brings the target $TARGET"
    rustup --quiet target add "$TARGET" || missing "the target $TARGET of rustup"
}

missing() {
    echo "aarch64: not measured: $1 is missing"
    exit 0
}

check() {
    cargo clippy --locked --target "$TARGET" --release -p shim -- -D warnings
    cargo clippy --locked --target "$TARGET" -p vtime -p testbed --all-targets -- -D warnings
}

main "$@"
