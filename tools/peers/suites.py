"""The suites: which there are, how each is built, run and read.

CPython's tests come with Debian's `libpython3.11-testsuite` and belong to Debian's interpreter.
Go's are the tests of the standard library, compiled from the sources that come with the toolchain.
All run without a network but for the loopback interface of their own, so that they do not depend
on the machine's.
"""

import os
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import outcomes

CPYTHON = "/usr/bin/python3.11"
CPYTHON_MODULES = """
    test_time test_select test_selectors test_poll test_epoll test_queue test_threading test_signal
    test_asyncio test_socket test_subprocess
""".split()
# Debian's, of which the page tells the versions.
PACKAGES = ["libpython3.11-testsuite", "redis-server", "nginx-light", "curl", "iputils-ping", "iperf3"]
GO_PACKAGES = ["time", "context", "net", "sync", "os/exec", "os/signal"]

# Tests that are not run, and why.
LEFT_OUT = {
    "*VSOCK*": "waits for ever, natively too, where the host is a virtual machine without a peer",
}


@dataclass(frozen=True)
class Run:
    """One run of a suite: what to start and where its outcomes will be."""

    command: list[str]
    folder: Path
    environment: dict[str, str]
    # Answers the outcomes from the output of the command.
    read: Callable[[str], dict[str, str]]
    # Called as `server` and as `client ADDRESS`, for nodes.
    pair: list[str] = field(default_factory=list)
    # When it is taken to hang. CPython's longest module takes three minutes on a small machine.
    longest_s: int = 900


@dataclass(frozen=True)
class Suite:
    """One module of CPython's tests, one package of Go's, one group of others'."""

    name: str
    # Answers how to run some of its tests (all if none are named), with files below a folder.
    run: Callable[[list[str], Path], Run] = field(compare=False)
    # Makes what it needs below a folder, once.
    build: Callable[[Path], None] = field(compare=False, default=lambda folder: None)
    # Names of the places to run it in, besides natively.
    places: tuple[str, ...] = ("virtual", "held", "skip", "events")
    # Why it cannot be run here, and what would help; empty if it can.
    missing: str = ""


def all_suites() -> list[Suite]:
    """All suites, in the order in which they run."""
    return [cpython(module) for module in CPYTHON_MODULES] + [go(name) for name in GO_PACKAGES]


def versions() -> dict[str, str]:
    """What was tested."""
    return {
        "CPython": first_line([CPYTHON, "--version"]).removeprefix("Python "),
        "Go": first_line(["go", "version"]).split()[2].removeprefix("go"),
        **{package: debian_version(package) for package in PACKAGES},
        "Linux": os.uname().release,
        "machine": os.uname().machine,
    }


def cpython(module: str) -> Suite:

    def run(tests: list[str], scratch: Path) -> Run:
        results = scratch / "results.xml"
        results.unlink(missing_ok=True)
        command = [CPYTHON, "-m", "test", "-v", module, "--junit-xml", str(results)]
        for pattern in LEFT_OUT:
            command += ["--ignore", pattern]
        for test in tests:
            command += ["--match", test]

        def read(_output: str) -> dict[str, str]:
            return outcomes.of_junit(results.read_text()) if results.exists() else {}

        return Run(command, scratch, {}, read)

    return Suite(f"cpython/{module}", run)


def go(package: str) -> Suite:
    binary = package.replace("/", "_") + ".test"

    def build(scratch: Path) -> None:
        environment = {**os.environ, "GOFLAGS": "", "GOCACHE": str(scratch / "cache")}
        make_goroot(scratch / "goroot")
        command = ["go", "test", "-c", "-o", str(scratch / binary), package]
        subprocess.run(command, env=environment, cwd=scratch, check=True)

    def run(tests: list[str], scratch: Path) -> Run:
        command = [str(scratch / binary), "-test.v", "-test.short"]
        if tests:
            roots = sorted({test.split("/")[0] for test in tests})
            command += ["-test.run", f"^({'|'.join(roots)})$"]
        goroot = scratch / "goroot"
        environment = {"GOROOT": str(goroot), "GOCACHE": str(scratch / "cache")}
        # Tests read files beside their sources.
        return Run(command, goroot / "src" / package, environment, outcomes.of_go)

    return Suite(f"go/{package}", run, build)


def make_goroot(goroot: Path) -> None:
    """A root folder of Go with the zone information that Debian's lacks and tests of time need."""
    if goroot.exists():
        return
    real = Path(first_line(["go", "env", "GOROOT"]))
    goroot.mkdir()
    for entry in real.iterdir():
        if entry.name != "lib":
            (goroot / entry.name).symlink_to(entry)
    (goroot / "lib/time").mkdir(parents=True)
    ours, there = goroot / "lib/time/zoneinfo.zip", real / "lib/time/zoneinfo.zip"
    if there.exists():
        ours.symlink_to(there)
        return
    zones = Path("/usr/share/zoneinfo")
    # Stored, because Go reads no compressed zones.
    with zipfile.ZipFile(ours, "w", zipfile.ZIP_STORED) as archive:
        for zone in sorted(zones.rglob("*")):
            if zone.is_file() and zone.read_bytes()[:4] == b"TZif":
                archive.write(zone, zone.relative_to(zones))


def debian_version(package: str) -> str:
    """The version of an installed Debian package."""
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    return subprocess.run(query, capture_output=True, text=True).stdout or "not of Debian"


def first_line(command: list[str]) -> str:
    """The first line that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]
