"""Programs that harm whom they can, each in its own way; run in a node beside a measured one.

Usage: hostile.py KIND [SEED]. Each goes on until it is killed, and is bounded in memory, files and
processes, so that what it does to others is by what it does and not by filling the machine.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIBC = ctypes.CDLL(None, use_errno=True)
# The page that a program shares with its agent, on x86-64 and on AArch64.
OWN_PAGES = (0x150000, 0xF015_0000)
PAGE = 4096


def spin() -> None:
    """Computes in several processes and never waits."""
    for _ in range(3):
        if os.fork() == 0:
            break
    while True:
        pass


def fork_storm() -> None:
    """Forks children that fork and end, some at a time."""
    while True:
        children = []
        for _ in range(20):
            child = os.fork()
            if child == 0:
                if os.fork() == 0:
                    time.sleep(0.001)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


def timer_flood() -> None:
    """Makes hundreds of timerfds that expire as often as they can."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    period = (ctypes.c_long * 4)(0, 50_000, 0, 50_000)
    made = []
    for _ in range(300):
        timer = LIBC.timerfd_create(1, os.O_NONBLOCK)
        if timer < 0:
            break
        LIBC.timerfd_settime(timer, 0, period, None)
        made.append(timer)
    while True:
        for timer in made:
            with contextlib.suppress(OSError):
                os.read(timer, 8)


def exec_storm() -> None:
    """Starts programs, one after another."""
    while True:
        subprocess.run(["/bin/true"], check=False)


def scribble() -> None:
    """Writes nonsense into the page that it shares with its agent."""
    with open("/proc/self/maps", encoding="ascii") as maps:
        mapped = {int(line.split("-")[0], 16) for line in maps}
    pages = [page for page in OWN_PAGES if page in mapped]
    while True:
        for page in pages:
            at = random.randrange(0, PAGE, 8)
            ctypes.c_uint64.from_address(page + at).value = random.getrandbits(64)
        time.sleep(0.0005)


def signal_storm() -> None:
    """Two processes that send each other signals without a pause."""
    signal.signal(signal.SIGUSR1, lambda *_: None)
    other = os.getpid()
    child = os.fork()
    if child != 0:
        other = child
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(other, signal.SIGUSR1)


def map_churn() -> None:
    """Maps, touches and unmaps memory, in threads."""

    def churn() -> None:
        while True:
            with mmap.mmap(-1, 4 << 20) as memory:
                for at in range(0, len(memory), PAGE):
                    memory[at] = 1

    for _ in range(3):
        threading.Thread(target=churn, daemon=True).start()
    churn()


def hog_descriptors() -> None:
    """Opens as many files as it may, and closes them."""
    while True:
        opened = []
        with contextlib.suppress(OSError):
            while True:
                opened.append(os.open("/dev/null", os.O_RDONLY))
        for file in opened:
            os.close(file)


def flood_files() -> None:
    """Writes files of 32 MiB and its standard output, over and over."""
    with tempfile.TemporaryFile() as file:
        block = b"x" * (1 << 20)
        while True:
            file.seek(0)
            for _ in range(32):
                file.write(block)
            file.truncate(0)
            print("x" * 200, flush=True)


def change_priorities() -> None:
    """Computes with one priority after another, real-time ones for a moment."""
    while True:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, random.randrange(-20, 20))
        is_urgent = random.random() < 0.1
        with contextlib.suppress(OSError):
            policy = os.SCHED_FIFO if is_urgent else os.SCHED_OTHER
            os.sched_setscheduler(0, policy, os.sched_param(50 if is_urgent else 0))
        until = time.monotonic() + 0.03
        while time.monotonic() < until:
            pass


EACH = [spin, fork_storm, timer_flood, exec_storm, scribble, signal_storm, map_churn]
EACH += [hog_descriptors, flood_files, change_priorities]
KINDS = {kind.__name__.replace("_", "-"): kind for kind in EACH}

if __name__ == "__main__":
    random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    KINDS[sys.argv[1]]()
