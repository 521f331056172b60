"""A part of a cell: so many actions that are run at once. What is done of it stays when the
evaluation is interrupted, and then only the part that was under way is run again.
"""

import contextlib
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cell as cells
import figures
import ran
import records

ACTIONS, DONE = "actions.csv.gz", "done.json"
# Programs end by themselves; after so much more they are ended, and then they may take so long.
PATIENCE_S, END_S = 120, 30
TELL_EVERY_S = 30
# What begin and end of a part take beside its own time.
AROUND_S = 3
# In host time programs may begin so much later, and run for so much longer.
LONGER_S = 3
# Has what follows killed when the program that starts it ends.
WITH_PARENT = "setpriv --pdeathsig KILL"
PR_SET_PDEATHSIG = 1


class OtherSettingsError(Exception):
    """A cell was begun in another way, and what is done of it would be lost."""


class FailedError(Exception):
    """A part did not run as it should, so it tells nothing of its condition."""


class Tools(NamedTuple):
    """What runs a part: the folder of the programs, and qcycle."""

    programs: Path
    qcycle: Path


class Part(NamedTuple):
    """Which cell, how many actions of it, chance, and where."""

    cell: cells.Cell
    pace: cells.Pace
    seed: int
    folder: Path

    @property
    def is_done(self) -> bool:
        """Whether it need not be run: so many actions, or more, were run before."""
        told = self.folder / DONE
        done = json.loads(told.read_text(encoding="utf-8"))["actions"] if told.exists() else 0
        return bool(done >= self.pace.actions)

    @property
    def wall_s(self) -> float:
        """How long it takes on the host, about."""
        return self.pace.wall_s(self.cell.mode) + AROUND_S


def planned(cell: Any, pace: Any, size: int, seed: int, folder: Path) -> list[Part]:
    """The parts of a cell. One that was begun may have more parts than before, but not others:
    what took hours is not thrown away for that. Keys that a kill has left there are removed."""
    forget(folder)
    settings = pace._asdict() | {"part": size, "seed": seed, "format": figures.FORMAT}
    # How many there are in all changes nothing in any of them.
    del settings["actions"]
    kept = folder / "settings.json"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        keep(kept, settings)
    before = json.loads(kept.read_text(encoding="utf-8"))
    others = [f"{key} {before.get(key)}" for key in settings if before.get(key) != settings[key]]
    if others:
        raise OtherSettingsError(
            f"{folder} was begun with {', '.join(others)}: go on with that, name another --output, "
            "or remove it"
        )
    begins = range(0, pace.actions, size)
    return [
        Part(
            cell,
            pace._replace(actions=min(size, pace.actions - begin)),
            seed + number,
            folder / f"part-{number + 1:03}",
        )
        for number, begin in enumerate(begins)
    ]


def run(part: Part, tools: Tools, tell: Callable[[float], None]) -> None:
    """Runs a part; it is done if it ran as it should."""
    folder = part.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    begun = time.monotonic()
    is_real = part.cell.is_real
    try:
        keys(tools, folder)
        cells.write(part.cell, part.pace, tools.programs, folder, part.seed)
        with meter(part, tools) if is_real else contextlib.nullcontext():
            code = attend(part, command(part, tools), tell)
    finally:
        forget(folder)
    actions, extra = records.read(folder, cells.parties(part.cell) if is_real else None)
    kept_out = [stalls(path) for path in folder.glob(ran.RUN)]
    refused = wrong_tags(folder)
    failures = [f"qcycle ended with {code}"] if code else []
    failures += ran.failures(part.cell, part.pace, folder, actions, refused)
    if failures:
        raise FailedError("; ".join(failures))
    figures.write(folder / ACTIONS, actions)
    told = {"not_asked_for": extra, "wall_s": time.monotonic() - begun, "kept_out": kept_out}
    told |= {"wrong_tags": refused, "actions": part.pace.actions}
    told |= {"doubts": records.doubts(folder) if is_real else []}
    if not extra and not any(action.cause for action in actions):
        leave_only(folder, ACTIONS)
    keep(folder / DONE, told)


def forget(folder: Path) -> None:
    """Removes all keys in a folder."""
    for secret in folder.rglob("*.secret"):
        secret.unlink()


def keep(path: Path, told: Any) -> None:
    """Writes an object that is read on resuming."""
    keep_text(path, json.dumps(told) + "\n")


def keep_text(path: Path, text: str) -> None:
    """Writes a file that is whole or as it was, whenever this is killed, and whoever else writes
    it: several evaluations may have one report."""
    new = path.with_suffix(f".{os.getpid()}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def stalls(record: Path) -> Any:
    """What stalls of the host a run in virtual time was kept from: count, total_ns, longest_ns."""
    return (json.loads(record.read_text(encoding="utf-8"))["wall"] or {}).get("stalls")


def wrong_tags(folder: Path) -> int:
    """How many datagrams the breaker node refused for their tag, as it says in the end."""
    said = [folder / "breaker.out", *folder.glob("runs/*/programs/breaker.log")]
    text = "".join(path.read_text(encoding="utf-8") for path in said if path.exists())
    return sum(map(int, re.findall(r'"wrong_tag": (\d+)', text)))


def keys(tools: Tools, folder: Path) -> None:
    asked = [tools.programs / "qcrelay", "keys", folder, "--station", "7", "--breaker", "1"]
    subprocess.run([*asked, "--force"], check=True, stdout=subprocess.DEVNULL)


def meter(part: Part, tools: Tools) -> contextlib.AbstractContextManager[Any]:
    """Has what the host takes of each core measured meanwhile."""
    cores = sorted({str(core) for core in cells.parties(part.cell).values()})
    asked = [tools.programs / "qcrelay", "meter", *cores, "--records", part.folder / records.METER]
    return started(asked, part.folder / records.METER_SAID)


@contextlib.contextmanager
def started(asked: Sequence[str | Path], said: Path) -> Iterator[Any]:
    """A program that runs meanwhile; what it says goes into a file."""
    with open(said, "w", encoding="utf-8") as out:
        # A session of its own: Ctrl-C is for this program, which ends the other one in its time.
        program = subprocess.Popen(
            asked, stdout=out, stderr=out, start_new_session=True, preexec_fn=end_with_parent
        )
        try:
            yield program
        finally:
            end(program)


def command(part: Part, tools: Tools) -> list[str]:
    folder = part.folder
    if not part.cell.is_real:
        return [str(tools.qcycle), "run", str(folder / "scenario.yaml"), "--runs", f"{folder}/runs"]
    found = cells.commands(part.cell, part.pace, tools.programs, cells.REAL, part.seed)

    # The merging unit ends by itself if each step is answered, the others a while after it.
    limit = f"timeout --signal INT {part.pace.seconds + LONGER_S:.0f}"

    def inside(name: str) -> str:
        where = f"ip address add {cells.address(cells.numbered(name))}/24 dev {cells.REAL}"
        # Of a shell that is killed the children are not, so each ends with its parent.
        run = f"{WITH_PARENT} {limit} {WITH_PARENT} {found[name]} >{name}.out 2>&1"
        script = folder / f"{name}{ran.SCRIPT}"
        text = f"cd {shlex.quote(str(folder))} && {where} || exit 1\n{run}\n"
        script.write_text(f"{text}echo $? >{name}{ran.ENDED}\n", encoding="utf-8")
        return f"exec sh {shlex.quote(str(script))}"

    told = [str(tools.qcycle), "bus", "--wiring", "bridge", "--publisher", inside("unit")]
    for name in found:
        if name != "unit":
            told += ["--relay", inside(name)]
    return told


def attend(part: Part, asked: list[str], tell: Callable[[float], None]) -> int:
    """Runs a command until it ends, and answers its exit code; what it says goes into the
    folder."""
    until = time.monotonic() + part.wall_s + PATIENCE_S
    with started(asked, part.folder / "said.txt") as program:
        while program.poll() is None and time.monotonic() < until:
            tell(part.wall_s * (1 - progress(part)))
            wait(program, TELL_EVERY_S)
    return int(program.returncode)


def end_with_parent() -> None:
    """Has the calling process interrupted when its parent is killed, also where that ignores
    interrupts, as what a shell has in the background does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def wait(program: Any, seconds: float) -> None:
    """Until it ends, or for so long."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        program.wait(timeout=seconds)


def end(program: Any) -> None:
    """Ends a program, which takes all that it has made along."""
    if program.poll() is None:
        program.send_signal(signal.SIGINT)
        wait(program, END_S)
    if program.poll() is None:
        program.kill()
        program.wait()


def progress(part: Part) -> float:
    """How much of it is done: the number of the last step that was sent."""
    path = part.folder / "steps.jsonl"
    if not path.exists():
        return 0.0
    with path.open("rb") as lines:
        lines.seek(max(0, path.stat().st_size - 1024), os.SEEK_SET)
        last = lines.read().splitlines()[1:-1][-1:]
    return json.loads(last[0])["action_number"] / part.pace.actions if last else 0.0


def leave_only(folder: Path, kept: str) -> None:
    """Removes what was needed to find out what is kept; where something is to be explained, it is
    not called."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != kept:
            path.unlink()
