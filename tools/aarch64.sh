#!/usr/bin/env bash
# Boards with an AArch64 processor, from a machine that has another one.
#
# Usage: tools/aarch64.sh check             compiles everything, with lints, and runs nothing
#        tools/aarch64.sh test [names…]     runs tests/exec on an emulated board
# The guest is Debian's kernel and programs for arm64 with the cross-compiled tests, all in memory.
# It counts instructions instead of time (QEMU's icount): a busy machine makes it take longer, but
# cannot make a test fail, and while it sleeps no time passes at all.
# Needs rustup for the standard library, a cross compiler, QEMU and a Debian archive. What is not
# to be had is named ("not measured"), and the exit code is 0, as elsewhere.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly TARGET=aarch64-unknown-linux-gnu CROSS=aarch64-linux-gnu
readonly GUESTS=crates/testbed/tests/guests
readonly WORK=$PWD/target/aarch64
readonly PROGRAMS=(bash coreutils dash findutils grep libpython3-stdlib mount procps python3-minimal sed
    strace util-linux)
# Seconds; the whole takes 4 minutes of processor time.
readonly PATIENCE=3600
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$CROSS-gcc

main() {
    local what=${1:-}
    shift || true
    case $what in
        check)
            need_toolchain
            check
            ;;
        test)
            need_toolchain
            need qemu-system-aarch64 qemu-system-arm
            need cpio cpio
            need apt-get apt
            fetch
            build
            pack
            boot "${@:-exec::}"
            ;;
        *)
            echo "usage: tools/aarch64.sh check|test [names]" >&2
            exit 64
            ;;
    esac
}

need_toolchain() {
    need $CROSS-gcc gcc-aarch64-linux-gnu
    [ -e /usr/$CROSS/include/stdio.h ] || missing "the package libc6-dev-arm64-cross"
    need rustup rustup
    # Without a network rustup tries for long.
    timeout 300 rustup --quiet target add $TARGET || missing "the target $TARGET of rustup"
}

need() {
    command -v "$1" > /dev/null || missing "the package $2"
}

missing() {
    echo "aarch64: not measured: $1 is missing"
    exit 0
}

check() {
    cargo clippy --locked --target $TARGET --release -p shim -- -D warnings
    cargo clippy --locked --target $TARGET -p vtime -p os -p domain -p hosts -p signal-bus -p runtime -p network -p realtime \
        -p relay -p latency -p readiness -p testbed --all-targets -- -D warnings
}

# Fetches packages for arm64 into a folder of their own; the machine's packages are left alone.
fetch() {
    [ ! -e "$WORK/fetched" ] || return 0
    mkdir -p "$WORK"/apt/{state,cache} "$WORK"/packages
    : > "$WORK/apt/status"
    local options=(-q=2 -o "Dir::State=$WORK/apt/state" -o "Dir::State::status=$WORK/apt/status"
        -o "Dir::Cache=$WORK/apt/cache" -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=1)
    # An archive that has nothing for arm64 does no harm.
    apt-get "${options[@]}" update || true
    local kernel
    kernel=$(apt-cache "${options[@]}" depends linux-image-arm64 | sed -n 's/^ *Depends: //p')
    [ -n "$kernel" ] || missing "a Debian archive with packages for arm64"
    (cd "$WORK/packages" && apt-get "${options[@]}" download "$kernel") \
        || missing "the package $kernel for arm64"
    apt-get "${options[@]}" --yes --no-install-recommends --download-only install "${PROGRAMS[@]}" \
        || missing "one of the packages ${PROGRAMS[*]} for arm64"
    mv "$WORK"/apt/cache/archives/*.deb "$WORK/packages"
    touch "$WORK/fetched"
}

build() {
    local guest
    mkdir -p "$WORK/guests"
    for guest in "$GUESTS"/*.c; do
        guest=$(basename "$guest" .c)
        compile_guest "$guest" "$guest-Dynamic"
        compile_guest "$guest" "$guest-Static" -static
    done
    for guest in "$GUESTS"/*.go; do
        ! command -v go > /dev/null \
            || CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS='' GOARCH=arm64 \
                go build -o "$WORK/guests/$(basename "$guest" .go)" "$guest"
    done
    # Quick to compile rather than quick to run: programs under test are others.
    cargo test --no-run --locked --target $TARGET -p testbed --test main \
        --config 'profile.dev.package."*".opt-level=0' --config 'profile.dev.debug=0' \
        --message-format json > "$WORK/built.json"
}

compile_guest() {
    local name=$1 program=$2
    shift 2
    $CROSS-gcc -O2 -Wall -Werror -pthread "$@" -o "$WORK/guests/$program" "$GUESTS/$name.c"
}

# The file that cargo has built for a target of this name.
built() {
    sed -n "s/.*\"name\":\"$1\".*\"executable\":\"\([^\"]*\)\".*/\1/p" "$WORK/built.json" | tail -n 1
}

# Packs the file system of the guest. The tests look for qcycle where cargo has put it.
pack() {
    local root=$WORK/root package qcycle
    rm -rf "$root"
    mkdir -p "$root"
    for package in "$WORK"/packages/*.deb; do
        case $package in
            */linux-image-*) dpkg-deb --fsys-tarfile "$package" | tar -xC "$WORK" ./boot ;;
            # Of no use without its modules, which are large.
            */perl* | */libperl*) ;;
            *) dpkg-deb --fsys-tarfile "$package" | tar -xC "$root" ;;
        esac
    done
    rm -rf "$root"/usr/share/{doc,i18n,info,locale,man} "$root"/usr/bin/perl*
    printf 'root:x:0:0::/root:/bin/bash\nnobody:x:65534:65534::/:/bin/sh\n' > "$root/etc/passwd"
    printf 'root:x:0:\nnogroup:x:65534:\n' > "$root/etc/group"
    cp -r "$WORK/guests" "$root/guests"
    install tools/aarch64-guest.sh "$root/init"
    qcycle=$(built qcycle)
    mkdir -p "$root$(dirname "$qcycle")"
    $CROSS-strip -o "$root$qcycle" "$qcycle"
    $CROSS-strip -o "$root/tests" "$(built main)"
    (cd "$root" && find . | cpio --quiet --create --format newc --owner 0:0) > "$WORK/initrd"
}

boot() {
    local code=0
    timeout --kill-after 5 $PATIENCE qemu-system-aarch64 -M virt -cpu cortex-a72 -m 1024 \
        -icount shift=0,sleep=off -rtc base=2026-01-01T00:00:00,clock=vm \
        -nographic -nodefaults -no-reboot -serial stdio \
        -kernel "$WORK"/boot/vmlinuz-* -initrd "$WORK/initrd" \
        -append "console=ttyAMA0 quiet panic=-1 -- $*" < /dev/null | tee "$WORK/log" || code=$?
    # The serial line ends lines with a carriage return.
    if [ "$code" -ne 0 ] || ! grep -q '^aarch64: the tests end with 0' "$WORK/log"; then
        echo "aarch64: the tests have failed (QEMU ended with $code); all of it: $WORK/log" >&2
        exit 1
    fi
}

main "$@"
