"""Whether a part ran as its condition says: who is to take part was there from begin to end, and
who is to do harm did some. That each step became an action does not tell: two relays can do it all.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import cell as cells
import records
from records import Action

# Beside the records of a part: scripts of programs in host time and how these ended, and the record
# of a run in virtual time.
SCRIPT, ENDED = ".sh", ".ended"
RUN = "runs/*/run.json"
# What `timeout` says of a program that ran until its time was over; here also of one that a run in
# virtual time has stopped.
STOPPED = 124
# Who may end by itself: after the last action, and just before the run does.
BY_THEMSELVES = ("unit", "breaker")
# Share of the datagrams of a flood that must have come: what queues cannot hold is lost on the way.
FLOOD_SHARE = 0.5


def failures(
    cell: cells.Cell, pace: cells.Pace, folder: Path, actions: list[Action], wrong_tags: int
) -> list[str]:
    """What did not run as it should, in words."""
    found = [*ended_early(folder), *missing_steps(pace, actions)]
    for node in cell.nodes:
        if node != cell.hostile:
            found += silent(node, folder)
    if cell.hostile is not None and not is_blamed(cell.hostile, cell, folder):
        found.append(f"no node has evidence against node-{cell.hostile}, which is to be hostile")
    flooded = cells.FLOOD_RATE * pace.seconds if cell.condition == cells.FLOOD else 0
    if wrong_tags < flooded * FLOOD_SHARE:
        found.append(f"only {wrong_tags} of the {flooded:.0f} datagrams of the flood came")
    return found


def ended_early(folder: Path) -> Iterator[str]:
    """Programs that ended before their time, or did not run at all."""
    for name, code in ends(folder).items():
        if code != STOPPED and not (code == 0 and name in BY_THEMSELVES):
            yield f"{name} did not run" if code is None else f"{name} ended early with {code}"


def ends(folder: Path) -> dict[str, int | str | None]:
    """How each program ended: with which exit code, or how else; none if it did not run."""
    found: dict[str, int | str | None] = {}
    for script in sorted(folder.glob(f"*{SCRIPT}")):
        code = script.with_suffix(ENDED)
        found[script.stem] = int(code.read_text(encoding="utf-8")) if code.exists() else None
    for record in folder.glob(RUN):
        for program in json.loads(record.read_text(encoding="utf-8"))["programs"]:
            end = program["end"]
            is_stopped = end["how"] == "stopped"
            found[program["name"]] = STOPPED if is_stopped else end.get("code", end["how"])
    return found


def missing_steps(pace: cells.Pace, actions: list[Action]) -> Iterator[str]:
    """Steps that were not sent, unless the merging unit waited in vain for the last one to be
    answered: that is a finding, and no part that was cut short."""
    if len(actions) >= pace.actions:
        return
    # Had it come when all of them are over, nobody would have waited for it any more.
    all_s = pace.seconds - cells.SETTLE_S - cells.TAIL_S
    if not actions or actions[-1].came or actions[-1].at_s > all_s:
        yield f"only {len(actions)} of {pace.actions} steps were sent"


def silent(node: int, folder: Path) -> Iterator[str]:
    """What a correct node did not do: be born once, and speak."""
    events = [event["event"] for event in records.records(folder / f"node-{node}.jsonl")]
    if events.count("born") != 1:
        yield f"node-{node} was born {events.count('born')} times"
    if "spoke" not in events:
        yield f"node-{node} never spoke"


def is_blamed(hostile: int, cell: cells.Cell, folder: Path) -> bool:
    """Whether a correct party has evidence against the hostile node."""
    correct = ["breaker", *(f"node-{node}" for node in cell.nodes if node != hostile)]
    return any(
        event["event"] == "blamed" and event["node"] == hostile
        for party in correct
        for event in records.records(folder / f"{party}.jsonl")
    )
