#!/usr/bin/env python3
"""Builds the kernel module qcbus against the headers of Debian's kernels, which need not run here.

The module comes to `target/module/<release of the kernel>/qcbus.ko`, relative to the project's folder.

Usage: kernel/build.py [--architecture amd64|arm64] [--kernel stock|rt|newest]
Exit code 69 if something that it needs is not on this machine.
"""

import argparse
import shutil
import sys
from pathlib import Path

import packages

PROJECT = Path(__file__).resolve().parent.parent
SOURCES = PROJECT / "kernel/qcbus"
# EX_UNAVAILABLE, as `qcycle` ends when something is missing on the machine.
BROKEN_SETUP = 69


def build(kernel: packages.Kernel) -> Path:
    """Builds the module for a kernel: where it is.

    Raises packages.NotThere if it cannot be built.
    """
    place = PROJECT / "target/module" / kernel.release
    shutil.copytree(SOURCES, place, dirs_exist_ok=True)
    kernel.build(place)
    return place / "qcbus.ko"


def main() -> int:
    """Builds the module and says where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--architecture", choices=packages.ARCH, default=None, help="default: this machine's")
    parser.add_argument(
        "--kernel", choices=packages.KINDS, default="stock",
        help="Debian's ordinary kernel, the one with PREEMPT_RT, or the newest one in the package lists",
    )
    options = parser.parse_args()
    try:
        architecture = options.architecture or packages.machine()
        module = build(packages.guest_kernel(architecture, options.kernel))
    except packages.NotThere as error:
        print(f"build: {error}", file=sys.stderr)
        return BROKEN_SETUP
    print(module.relative_to(PROJECT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
