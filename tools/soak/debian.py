"""Whole systems of another release of Debian, and how a command is run in one.

A system is made once, by debootstrap(8) and by apt in it, and kept below `target/debian`. A command in
it has the system as its root, by pivot_root(2): in a mere chroot(2) the kernel makes no user namespaces,
which sandboxes need. It has mounts and a network of its own, with nothing but loopback.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import common

SYSTEMS = common.ROOT / "target/debian"
TOOLS = ("debootstrap", "unshare", "pivot_root", "setpriv", "ip")

# No service is started while packages are installed. Mounts are gone with their namespace.
MAKE = """
set -e
debootstrap --variant=minbase "$1" "$2"
mount -t proc proc "$2/proc"
mount --rbind /dev "$2/dev"
printf '#!/bin/sh\\nexit 101\\n' > "$2/usr/sbin/policy-rc.d"
chmod 755 "$2/usr/sbin/policy-rc.d"
system=$2
shift 2
export DEBIAN_FRONTEND=noninteractive
chroot "$system" apt-get install --yes --no-install-recommends "$@"
chroot "$system" apt-get clean
"""

ENTER = """
set -e
system=$1 programs=$2
shift 2
ip link set lo up
mount --bind "$system" "$system"
mount -t proc proc "$system/proc"
mount --rbind /dev "$system/dev"
mount --rbind /sys "$system/sys"
mount -t tmpfs -o mode=1777 none "$system/tmp"
mount -t tmpfs -o mode=755 none "$system/run"
mount --bind "$programs" "$system/opt"
cd "$system"
pivot_root . mnt
cd /
umount -l mnt
exec "$@"
"""


def missing() -> str:
    """Why no system can be made or entered here; empty if one can."""
    if os.geteuid() != 0:
        return "only root may make a system and enter it"
    absent = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"there is no {', '.join(absent)} in PATH" if absent else ""


def make(release: str, packages: list[str]) -> Path:
    """The system of a release with these packages, made if it is not there."""
    system = SYSTEMS / release
    if not system.exists():
        part = SYSTEMS / f"{release}.part"
        # What a killed call has left.
        if part.exists():
            shutil.rmtree(part)
        SYSTEMS.mkdir(parents=True, exist_ok=True)
        command = ["sh", "-c", MAKE, "make", release, part, *packages]
        with (SYSTEMS / f"{release}.log").open("w") as log:
            subprocess.run(apart(command), stdout=log, stderr=log, check=True)
        part.rename(system)
    return system


def apart(command: list[str | Path], *also: str) -> list[str | Path]:
    """A command with mounts of its own."""
    return ["unshare", "--mount", "--propagation", "private", *also, "--", *command]


def run(system: Path, command: list[str], seconds: int) -> subprocess.CompletedProcess[str]:
    """Runs a command in a system, where the folder of `qcycle` is /opt."""
    enter = ["sh", "-c", ENTER, "enter", system, common.QCYCLE.parent, *command]
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    # With the first of its processes, which has a namespace of processes to itself, all of it ends.
    limit = ["timeout", "--signal=KILL", str(seconds)]
    isolated = apart(enter, "--net", "--pid", "--fork", "--kill-child")
    return subprocess.run(
        [*limit, *isolated],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
