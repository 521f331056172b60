#!/usr/bin/env python3
"""Makes OCI bundles of the programs of the crate `relay`, without a registry.

A bundle is a root file system that holds one static program and nothing else, and a config.json
that gives it what a relay needs and no more: raw sockets, real-time priority, locked memory, the
cores it is told, and the network namespace from which the container is started. CAP_NET_ADMIN is
not among it: receive buffers beyond the host's limit are the host's to allow.

A control group of version 1 with real-time group scheduling has no share of real time for new
groups, and SCHED_FIFO is then refused: such a host is seen, and the share is put into the bundle.

Usage: tools/container.py --binary FILE --bundle FOLDER [--cores 1] [-- arguments of the program]
Run it with: runc run --bundle FOLDER NAME   (with --no-pivot where the root is an initramfs)
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Raw sockets, SCHED_FIFO, mlockall.
CAPABILITIES = ["CAP_NET_RAW", "CAP_SYS_NICE", "CAP_IPC_LOCK"]
# Less than half of what the kernel gives to real time at all, so that two relays fit.
REAL_TIME_PERIOD_US = 1_000_000
REAL_TIME_RUNTIME_US = 400_000
# Of what version 1 of control groups calls the share of real time; absent without group scheduling.
REAL_TIME_FILE = Path("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")
# EX_UNAVAILABLE, EX_DATAERR.
UNAVAILABLE, BAD_DATA = 69, 65


def config(program: str, arguments: Sequence[str], cores: str, real_time_share: bool) -> Any:
    """The configuration of a container (OCI runtime specification 1.0)."""
    cpu: dict[str, Any] = {"cpus": cores}
    if real_time_share:
        cpu |= {"realtimePeriod": REAL_TIME_PERIOD_US, "realtimeRuntime": REAL_TIME_RUNTIME_US}
    return {
        "ociVersion": "1.0.2",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": [f"/{program}", *arguments],
            "env": ["PATH=/"],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {
                name: CAPABILITIES for name in ("bounding", "effective", "permitted")
            },
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid"]},
            # Settings, which the host puts there and the container only reads.
            {
                "destination": "/settings",
                "type": "bind",
                "source": "settings",
                "options": ["rbind", "ro"],
            },
        ],
        "linux": {
            # No network namespace of its own: it takes that of whoever starts it.
            "namespaces": [{"type": name} for name in ("pid", "mount", "ipc", "uts")],
            "resources": {"cpu": cpu},
            "maskedPaths": ["/proc/kcore", "/proc/keys"],
            "readonlyPaths": ["/proc/sys", "/proc/irq", "/proc/bus"],
        },
    }


def make(binary: Path, bundle: Path, cores: str, arguments: Sequence[str]) -> None:
    """Writes a bundle; what was in its root file system is replaced."""
    root = bundle / "rootfs"
    if root.exists():
        shutil.rmtree(root)
    # The places on which the container mounts; its root cannot be written.
    for folder in ("proc", "dev", "settings"):
        (root / folder).mkdir(parents=True)
    (bundle / "settings").mkdir(exist_ok=True)
    shutil.copy(binary, root / binary.name)
    whole = config(binary.name, arguments, cores, REAL_TIME_FILE.exists())
    (bundle / "config.json").write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")


def is_static(binary: Path) -> bool:
    """Whether a program needs no loader: an ELF file without an interpreter."""
    headers = subprocess.run(["readelf", "-l", binary], capture_output=True, text=True, check=False)
    return headers.returncode == 0 and "INTERP" not in headers.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--cores", default=f"{(os.cpu_count() or 1) - 1}")
    parser.add_argument("arguments", nargs="*", default=[])
    told = parser.parse_args()
    if not told.binary.is_file():
        print(f"{told.binary} is not there; build it with `make container`", file=sys.stderr)
        return UNAVAILABLE
    if not is_static(told.binary):
        print(f"{told.binary} needs a loader; build it for a musl target", file=sys.stderr)
        return BAD_DATA
    make(told.binary, told.bundle, told.cores, told.arguments or ["--help"])
    print(f"{told.bundle}: runc run --bundle {told.bundle} NAME")
    return 0


if __name__ == "__main__":
    sys.exit(main())
