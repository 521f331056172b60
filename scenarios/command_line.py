"""What the programs of the cases have in common: ranges of numbers, and errors in one line.

Exit codes are those of docs/reference/exit-codes.md; `argparse` ends a wrong command line with 2.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

BAD_INPUT, BROKEN_SETUP = 65, 69
BUILD = "cargo build --release -p relay -p testbed"


def within(kind: Callable[[str], Any], least: float, most: float) -> Callable[[str], Any]:
    """Reads a number of an option, which must be in a range; the command line is wrong otherwise."""

    def read(text: str) -> Any:
        try:
            number = kind(text)
        except ValueError:
            number = None
        # Also what is not a number is in no range.
        if number is None or not least <= number <= most:
            what = "a whole number" if kind is int else "a number"
            problem = f"{text!r} is not {what} from {least} to {most}"
            raise argparse.ArgumentTypeError(problem)
        return number

    return read


def fail(code: int, problem: str, fix: str) -> NoReturn:
    """Ends the program with an error in one line."""
    print(f"{Path(sys.argv[0]).name}: {problem}; fix: {fix}", file=sys.stderr)
    raise SystemExit(code)


def need_programs(asked: argparse.Namespace, *names: str) -> None:
    """Ends the program if one that it starts is missing: qcycle, or one of the folder."""
    needed = {"--qcycle": [asked.qcycle], "--programs": [asked.programs / name for name in names]}
    for option, paths in needed.items():
        for path in paths:
            if not (path.is_file() and os.access(path, os.X_OK)):
                fix = f"build it ({BUILD}), or correct {option}"
                fail(BROKEN_SETUP, f"{path}: there is no such program", fix)


def ended(main: Callable[[], int]) -> int:
    """Runs a program; what the host refuses is an error in one line."""
    try:
        return main()
    except subprocess.CalledProcessError as error:
        words = " ".join(map(str, error.cmd))
        fix = "run that command alone, and correct what it reports"
        fail(BROKEN_SETUP, f"`{words}` ended with {error.returncode}", fix)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        fail(BROKEN_SETUP, f"{place}{error.strerror or error}", "correct that, and run this again")
