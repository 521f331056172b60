"""Where a suite runs: natively, in a time domain, held, at another rate, or as nodes of a scenario.

Each run has a network and process numbers of its own (`unshare`, or those of nodes), natively as
well, so that runs cannot see each other, and all that a suite starts dies with its first process.
Ctrl-C, a timeout and the end of this program therefore leave nothing behind.
"""

import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from . import nodes
from .outcomes import UNFINISHED
from .suites import Run


@dataclass(frozen=True)
class Place:
    """Somewhere to run a suite."""

    name: str
    # What is special about it, for the page.
    meaning: str
    # Host seconds per virtual second; `None` for the host's own time.
    tdf: int | None = 1
    # How its time passes.
    pace: str = "real"
    # How long the domain is held, and how much later it is held again; never if 0.
    hold_s: float = 0
    hold_every_s: float = 0
    # Whether server and client are nodes with a link between them.
    in_nodes: bool = False


HOLD = {"hold_s": 0.020, "hold_every_s": 0.200}
NATIVE = Place("native", "on the host", tdf=None)
VIRTUAL = Place("virtual", "in a time domain at a time dilation factor of 1")
HELD = Place("held", "the same, held 20 ms every 200 ms", **HOLD)
SLOWED = Place("slowed", "in a time domain at a time dilation factor of 2", tdf=2)
SKIPPING = Place("skip", "in a time domain whose clock skips idle time", pace="skip")
EVENTS = Place("events", "in a time domain whose clock moves by jumps alone", pace="events")
NODES = Place("nodes", "server and client in nodes of a scenario", in_nodes=True)
NODES_SLOWED = Place("nodes-slowed", "the same at a factor of 2", tdf=2, in_nodes=True)
NODES_HELD = Place("nodes-held", "the same, held 20 ms every 200 ms", in_nodes=True, **HOLD)
NODES_SKIPPING = Place("nodes-skip", "the same, skipping idle time", pace="skip", in_nodes=True)
NODES_EVENTS = Place("nodes-events", "the same, by jumps alone", pace="events", in_nodes=True)

ALL = [
    VIRTUAL,
    HELD,
    SLOWED,
    SKIPPING,
    EVENTS,
    NODES,
    NODES_SLOWED,
    NODES_HELD,
    NODES_SKIPPING,
    NODES_EVENTS,
]

# Virtual, for nodes; their clients take some seconds.
NODES_LONGEST_S = 120

# The shell stays as the first process: as such a suite would be spared by signals without a
# handler, and be given orphans.
ISOLATE = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
LOOPBACK = ["sh", "-c", 'ip link set lo up; "$@"; exit $?', "sh"]

RUNS = itertools.count(1)

# What a run as such has come to, if it has not ended well: not a test that could be run again.
WHOLE = "(the suite as a whole)"


def run_in(place: Place, run: Run, qcycle: str, output: Path) -> tuple[dict[str, str], int]:
    """Runs a suite in a place; answers its outcomes and how often it was held. `output` gets what
    it prints."""
    name = f"peers-{os.getpid()}-{next(RUNS)}"
    environment = {**run.environment, "TMPDIR": str(output.parent)}
    if place.in_nodes:
        command, domain = in_nodes(place, run, qcycle, name, output.parent, environment)
    else:
        command, domain = on_loopback(place, run, qcycle, name), name
    with open(output, "wb") as file:
        with started(command, run.folder, {**os.environ, **environment}, file) as process:
            with held_again_and_again(place, qcycle, domain) as holds:
                # It has no exit code if it takes too long.
                with suppress(subprocess.TimeoutExpired):
                    process.wait(run.longest_s)
                code = process.returncode
    text = output.read_text(errors="replace")
    if place.in_nodes:
        folder = nodes.run_folder(text, output.parent)
        text = nodes.client_log(folder) if folder else ""
    outcomes = run.read(text)
    if not outcomes or code is None:
        outcomes[WHOLE] = UNFINISHED
    return outcomes, len(holds)


def on_loopback(place: Place, run: Run, qcycle: str, name: str) -> list[str]:
    """The command for one loopback interface."""
    command = ["unshare", *isolation(), *LOOPBACK, *run.command]
    if place.tdf is None:
        return command
    options = ["--name", name, "--tdf", str(place.tdf), "--pace", place.pace]
    return [qcycle, "exec", *options, "--", *command]


def in_nodes(
    place: Place, run: Run, qcycle: str, name: str, scratch: Path, environment: dict[str, str]
) -> tuple[list[str], str]:
    """The command for two nodes, and the name of their domain."""
    scenario = nodes.write_scenario(scratch, name, run.pair, environment, NODES_LONGEST_S)
    options = ["--runs", str(scratch / "runs"), "--tdf", str(place.tdf), "--pace", place.pace]
    # A run is called by its scenario and a number, which is 1 for a new scenario.
    return [qcycle, "run", str(scenario), *options], f"{name}-1"


def isolation() -> list[str]:
    """Options of `unshare`: an ordinary user needs a user namespace as well."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [*user, *ISOLATE]


@contextmanager
def started(
    command: list[str], folder: Path, environment: dict[str, str], output: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, killed with the group at the end."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # Not `process.wait()`: an interrupt in the middle of one leaves its lock taken for ever.
            with suppress(ChildProcessError):
                os.waitpid(process.pid, 0)


@contextmanager
def held_again_and_again(place: Place, qcycle: str, domain: str) -> Iterator[list[float]]:
    """Holds a domain, if the place says so, at a steady pace until the end. Answers when."""
    over = threading.Event()
    holds: list[float] = []

    def hold() -> None:
        while not over.wait(place.hold_every_s - place.hold_s):
            # At the beginning and at the end there is no such domain.
            if subprocess.run([qcycle, "hold", domain], capture_output=True).returncode == 0:
                holds.append(time.monotonic())
                time.sleep(place.hold_s)
                subprocess.run([qcycle, "release", domain], capture_output=True)

    thread = threading.Thread(target=hold)
    if place.hold_s > 0:
        thread.start()
    try:
        yield holds
    finally:
        over.set()
        if place.hold_s > 0:
            thread.join()
