"""Programs that are started here and end with who started them, whatever becomes of that."""

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1

LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    """Between fork and exec: the program does not outlive the thread that starts it."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Starts a program whose output goes to a file. A Ctrl-C is for who started it, which ends it in order."""
    with log.open("wb") as output:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True, preexec_fn=die_with_parent,
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a program, whatever it does."""
    process.kill()
    process.wait()


def wait_for(what: str, holds: Callable[[], bool], seconds: float) -> None:
    """Waits until something holds.

    Raises TimeoutError after that many seconds.
    """
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            raise TimeoutError(what)
        time.sleep(0.01)


def listens(path: Path) -> bool:
    """Whether somebody accepts connections at a socket, which a file of this name does not say yet: proc(5),
    `/proc/net/unix`, __SO_ACCEPTCON.
    """
    sockets = (line.split() for line in Path("/proc/net/unix").read_text().splitlines())
    return any(fields[3] == "00010000" and fields[-1] == str(path) for fields in sockets)
