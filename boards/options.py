"""What `boards` is asked for: its arguments, read and checked before anything is fetched or started."""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
COUNT_MAX = 32
# adjtimex(2): what a kernel adds to the rate of its clock at the most.
PPM_MAX = 500
# A socket's path is at most 107 octets: unix(7). This much is left for its name.
STATE_MAX = 90


class Options(NamedTuple):
    """What was asked for."""

    count: int
    memory_mb: int
    cores: int
    # By how much the clock of each board is fast, one for each.
    ppm: list[int]
    sync: str
    # Who sees the edges of the wire in the scenarios that are made: `module`, `lines` or `none`.
    bus: str
    # How long nodes have before the scenario's time 0, in the scenarios made for the boards; None: as they say.
    settle: str | None
    accelerator: str
    state: Path
    programs: Path
    scenarios: list[Path]
    # What runs while the boards are up; empty: they are up until a signal comes.
    command: list[str]


def rates(text: str, count: int) -> list[int]:
    """Rates of clocks, one for each board: those named, and 0 for the others.

    Raises ValueError with what is wrong.
    """
    try:
        named = [int(word) for word in text.split(",") if text]
    except ValueError:
        raise ValueError(f"{text!r} is no list of whole numbers, such as 0,50,-50,100") from None
    if len(named) > count:
        raise ValueError(f"{len(named)} rates for {count} boards")
    if any(abs(rate) > PPM_MAX for rate in named):
        raise ValueError(f"a kernel changes the rate of its clock by at most {PPM_MAX} ppm")
    return named + [0] * (count - len(named))


def parse(words: list[str]) -> Options:
    """Reads the arguments; exits with 2 and a word about what is wrong with them."""
    parser = argparse.ArgumentParser(
        prog="boards",
        description="Starts guests of QEMU as boards: joined by a wired-OR GPIO line and an Ethernet, reached by ssh. "
        "They are up until Ctrl-C, or as long as COMMAND runs, and nothing is left of them then.",
    )
    whole = {"type": int, "metavar": "N"}
    parser.add_argument("--count", default=4, help="how many (default: 4)", **whole)
    parser.add_argument("--memory", default=512, help="MiB of each (default: 512)", **whole)
    parser.add_argument("--cores", default=1, help="processors of each (default: 1)", **whole)
    parser.add_argument(
        "--clock-ppm", default="", metavar="LIST",
        help="by how many millionths the clock of each is fast, such as 0,50,-50,100 (default: 0 for all)",
    )
    parser.add_argument(
        "--sync", choices=["granted", "free"], default="granted",
        help="how the scenarios that are made for the boards keep one time (default: granted)",
    )
    parser.add_argument(
        "--settle", metavar="TIME",
        help="such as '40 s': how long programs have before time 0 in these scenarios (default: as they say)",
    )
    parser.add_argument(
        "--bus", choices=["module", "lines", "none"], default="module",
        help="who sees the edges of the GPIO line in these scenarios: the kernel module (default), the agent through the "
        "character device, or nobody",
    )
    parser.add_argument(
        "--accelerator", choices=["auto", "kvm", "tcg"], default="auto",
        help="auto (the default) takes KVM if a guest boots with it, else emulates",
    )
    parser.add_argument(
        "--state", type=Path, default=PROJECT / "target/boards/up", metavar="FOLDER",
        help="where keys, sockets, logs and scenarios of these boards are while they are up (default: "
        "target/boards/up); what an earlier start left there is removed",
    )
    parser.add_argument(
        "--programs", type=Path, default=PROJECT / "target/release", metavar="FOLDER",
        help="where qcycle and qcwire are (default: target/release)",
    )
    parser.add_argument(
        "--scenario", type=Path, action="append", default=[], metavar="FOLDER",
        help="another scenario that the boards get, beside those of the project; may be repeated",
    )
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="after --: runs while the boards are up")
    asked = parser.parse_args(words)
    for name, least, most in (("count", 2, COUNT_MAX), ("memory", 256, 1 << 20), ("cores", 1, 64)):
        if not least <= getattr(asked, name) <= most:
            parser.error(f"--{name}: from {least} to {most}")
    state = asked.state.absolute()
    if len(str(state).encode()) > STATE_MAX:
        parser.error(f"--state: {state} is too long for the path of a socket; name a shorter one")
    try:
        ppm = rates(asked.clock_ppm, asked.count)
    except ValueError as error:
        parser.error(f"--clock-ppm: {error}")
    if asked.settle and not re.fullmatch(r"\d+ ?(ms|s|min)", asked.settle):
        parser.error(f"--settle: {asked.settle!r} is no time such as '40 s'")
    for folder in asked.scenario:
        if not (folder / "scenario.yaml").is_file():
            parser.error(f"--scenario: there is no {folder / 'scenario.yaml'}")
    return Options(
        count=asked.count, memory_mb=asked.memory, cores=asked.cores, ppm=ppm, sync=asked.sync, bus=asked.bus,
        settle=asked.settle, accelerator=asked.accelerator, state=state, programs=asked.programs.absolute(),
        scenarios=[folder.absolute() for folder in asked.scenario], command=asked.command,
    )
