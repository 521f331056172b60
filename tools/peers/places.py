"""Where a suite runs: natively, in a time domain, or in one that is held again and again.

Each run has a network and process numbers of its own (`unshare`), natively as well, so that runs
cannot see each other, and all that a suite starts dies with its first process. Ctrl-C, a timeout
and the end of this program therefore leave nothing behind.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .outcomes import UNFINISHED
from .suites import Run

NATIVE, VIRTUAL, HELD = "native", "virtual", "held"
PLACES = [NATIVE, VIRTUAL, HELD]

HOLD_S, HOLD_EVERY_S = 0.020, 0.200
# The longest suite takes two minutes on a small machine.
RUN_LONGEST_S = 900

# The shell stays as the first process: as such a suite would be spared by signals without a
# handler, and be given orphans.
ISOLATE = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
LOOPBACK = ["sh", "-c", 'ip link set lo up; "$@"; exit $?', "sh"]


def run_in(place: str, run: Run, qcycle: str, output: Path) -> tuple[dict[str, str], int]:
    """Runs a suite in a place; answers its outcomes and how often it was held. `output` gets what
    it prints."""
    command = ["unshare", *isolation(), *LOOPBACK, *run.command]
    name = f"peers-{os.getpid()}"
    if place != NATIVE:
        command = [qcycle, "exec", "--name", name, "--", *command]
    environment = {**os.environ, **run.environment, "TMPDIR": str(output.parent)}
    with open(output, "wb") as file:
        with started(command, run.folder, environment, file) as process:
            with held_again_and_again(qcycle, name if place == HELD else None) as holds:
                code = wait(process)
    outcomes = run.read(output.read_text(errors="replace"))
    if not outcomes or code is None:
        outcomes["(the suite as a whole)"] = UNFINISHED
    return outcomes, len(holds)


def isolation() -> list[str]:
    """Options of `unshare`: an ordinary user needs a user namespace as well."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [*user, *ISOLATE]


def wait(process: subprocess.Popen[bytes]) -> int | None:
    """Its exit code; `None` if it takes too long."""
    try:
        return process.wait(RUN_LONGEST_S)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def started(
    command: list[str], folder: Path, environment: dict[str, str], output
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
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def held_again_and_again(qcycle: str, name: str | None) -> Iterator[list[float]]:
    """Holds a domain, if any, for a moment, at a steady pace, until the end. Answers when."""
    over = threading.Event()
    holds: list[float] = []

    def hold() -> None:
        assert name is not None
        while not over.wait(HOLD_EVERY_S - HOLD_S):
            # At the beginning and at the end there is no such domain.
            if subprocess.run([qcycle, "hold", name], capture_output=True).returncode == 0:
                holds.append(time.monotonic())
                time.sleep(HOLD_S)
                subprocess.run([qcycle, "release", name], capture_output=True)

    thread = threading.Thread(target=hold)
    if name is not None:
        thread.start()
    try:
        yield holds
    finally:
        over.set()
        if name is not None:
            thread.join()
