"""A part of a cell: so many actions that are run at once. What is done of it stays when the
evaluation is interrupted, and then only the part that was under way is run again.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cell as cells
import figures
import records

ACTIONS, DONE = "actions.csv.gz", "done.json"
# Programs end by themselves; after so much more they are ended, and then they may take so long.
PATIENCE_S, END_S = 120, 30
TELL_EVERY_S = 30
# What begin and end of a part take beside its own time.
AROUND_S = 3
PR_SET_PDEATHSIG = 1


class OtherSettingsError(Exception):
    """A cell was begun in another way, and what is done of it would be lost."""


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
    what took hours is not thrown away for that."""
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
    """Runs a part; it is done unless nothing was measured."""
    folder = part.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    begun = time.monotonic()
    is_real = part.cell.mode == "real"
    try:
        keys(tools, folder)
        cells.write(part.cell, part.pace, tools.programs, folder, part.seed)
        with meter(part, tools) if is_real else contextlib.nullcontext():
            attend(part, command(part, tools), tell)
    finally:
        for secret in folder.glob("*.secret"):
            secret.unlink()
    actions, extra = records.read(folder, cells.parties(part.cell) if is_real else None)
    if not actions:
        return
    kept_out = [stalls(path) for path in folder.glob("runs/*/run.json")]
    refused = wrong_tags(folder)
    figures.write(folder / ACTIONS, actions)
    if not extra and not any(action.cause for action in actions):
        leave_only(folder, ACTIONS)
    told = {"not_asked_for": extra, "wall_s": time.monotonic() - begun, "kept_out": kept_out}
    told |= {"wrong_tags": refused, "actions": part.pace.actions}
    keep(folder / DONE, told)


def keep(path: Path, told: Any) -> None:
    """Writes a file that is whole or not there, whenever this is killed: it is read on resuming."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(told) + "\n", encoding="utf-8")
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
    """Makes the keys of all parties."""
    asked = [tools.programs / "qcrelay", "keys", folder, "--station", "7", "--breaker", "1"]
    subprocess.run([*asked, "--force"], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def meter(part: Part, tools: Tools) -> Iterator[None]:
    """Has what the host takes of each core measured meanwhile."""
    cores = sorted({str(core) for core in cells.parties(part.cell).values()})
    asked = [tools.programs / "qcrelay", "meter", *cores, "--records", part.folder / records.METER]
    with open(part.folder / "meter.json", "w", encoding="utf-8") as said:
        program = subprocess.Popen(
            asked, stdout=said, stderr=said, start_new_session=True, preexec_fn=end_with_parent
        )
        try:
            yield
        finally:
            end(program)


def command(part: Part, tools: Tools) -> list[str]:
    """What runs it."""
    folder = part.folder
    if part.cell.mode == "virtual":
        return [str(tools.qcycle), "run", str(folder / "scenario.yaml"), "--runs", f"{folder}/runs"]
    found = cells.commands(part.cell, part.pace, tools.programs, cells.REAL, part.seed)

    def inside(name: str) -> str:
        where = f"ip address add {cells.address(cells.numbered(name))}/24 dev {cells.REAL}"
        # The merging unit ends by itself, the others a while after it.
        limit = f"timeout --signal INT {part.pace.seconds + 3:.0f} " if name != "unit" else ""
        script = folder / f"{name}.sh"
        text = f"cd {folder} && {where} || exit 1\n{limit}{found[name]} >{name}.out 2>&1\nexit 0\n"
        script.write_text(text, encoding="utf-8")
        return f"sh {script}"

    told = [str(tools.qcycle), "bus", "--wiring", "bridge", "--publisher", inside("unit")]
    for name in found:
        if name != "unit":
            told += ["--relay", inside(name)]
    return told


def attend(part: Part, asked: list[str], tell: Callable[[float], None]) -> None:
    """Runs a command until it ends; what it says goes into the folder."""
    until = time.monotonic() + part.wall_s + PATIENCE_S
    with open(part.folder / "said.txt", "w", encoding="utf-8") as said:
        # A session of its own: Ctrl-C is for this program, which ends the other one in its time.
        program = subprocess.Popen(
            asked, stdout=said, stderr=said, start_new_session=True, preexec_fn=end_with_parent
        )
        try:
            while program.poll() is None and time.monotonic() < until:
                tell(part.wall_s * (1 - progress(part)))
                wait(program, TELL_EVERY_S)
        finally:
            end(program)


def end_with_parent() -> None:
    """Has the calling process interrupted when its parent is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def wait(program: Any, seconds: float) -> None:
    """Until it ends, or for so long."""
    try:
        program.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        pass


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
