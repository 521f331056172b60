#!/usr/bin/env python3
"""Starts guests of QEMU as boards: own kernels and clocks, joined by a wired-OR GPIO line and an Ethernet.

They are hosts of `qcycle run`, which reaches them by ssh: a test bed without hardware (docs/boards.md). Nothing
needs root, and nothing of them is left when this ends, whatever way it does.

Usage: boards/boards.py [OPTIONS] [-- COMMAND]; --help lists the options.
Exit codes: 0, that of COMMAND, 69 if something is missing on this machine or a board ends by itself, 130 and 143
after Ctrl-C and SIGTERM.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "kernel"))

import contextlib
import os
import signal
import subprocess
import time
from types import FrameType

import packages
import up
from options import Options, parse

BROKEN_SETUP = 69
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop(number: int, _: FrameType | None) -> None:
    """A signal ends all in order, and a second one does not keep it from that."""
    for ignored in SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    raise SystemExit(128 + number)


def run(options: Options, say: up.Say) -> int:
    """Starts the boards and stays until their end; the exit code."""
    with contextlib.ExitStack() as stack:
        boards = up.Boards(options, say, stack)
        if options.command:
            say(f"{' '.join(options.command)}")
            environment = {**os.environ, "PATH": f"{options.programs}:{os.environ['PATH']}"}
            command = subprocess.Popen(options.command, env=environment)
            stack.callback(up.end_in_order, command)
            while command.poll() is None:
                boards.look()
                time.sleep(0.1)
            return command.returncode if command.returncode >= 0 else 128 - command.returncode
        boards.show()
        while True:
            boards.look()
            time.sleep(0.5)


def main() -> int:
    """Reads what is asked for, and does it."""
    options = parse(sys.argv[1:])
    for number in SIGNALS:
        signal.signal(number, stop)
    begun = time.monotonic()

    def say(text: str) -> None:
        print(f"boards: {time.monotonic() - begun:6.1f} s  {text}", file=sys.stderr, flush=True)

    try:
        return run(options, say)
    except (packages.NotThere, up.Ended) as error:
        print(f"boards: {error}", file=sys.stderr)
        return BROKEN_SETUP


if __name__ == "__main__":
    sys.exit(main())
