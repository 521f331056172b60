"""What the programs of a cell have taken down: which step led to which action of the breaker, and
where the time between went.

An action begins just before the sample that crosses the threshold is sent and ends when the order
to the breaker has left. The published definition begins after that sample was sent and ends before
the acknowledgement. No action is left out: one that never came is counted, and so is one that
nobody asked for.
"""

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

# A quarter of a cycle at 60 Hz.
LIMIT_US = 1e6 / 60 / 4
TICK_NS = 1_000_000
# Where the time of an action may go.
PARTS = ("network", "relay", "another relay", "tick", "cryptography", "breaker")
STALL, NEVER = "host stall", "never came"


class Action(NamedTuple):
    """One that was asked for; times in µs, which are none if it never came."""

    number: int
    at_s: float
    ours_us: float
    published_us: float
    cause: str
    parts_us: tuple[float, ...]

    @property
    def came(self) -> bool:
        """Whether the breaker did it."""
        return self.cause != NEVER


class Spoken(NamedTuple):
    """What a relay node did towards one gen; ns since 1970, but cryptography."""

    sample_ns: int
    spoke_ns: int
    cryptography_ns: int
    share_ns: int = 0
    certified_ns: int = 0
    certifying_ns: int = 0


class Stall(NamedTuple):
    """The canary of a party was late: its processor was gone; ns since 1970."""

    begin_ns: int
    end_ns: int
    party: str


def records(path: Path) -> Iterator[Any]:
    """The objects of a file of records; a line that was cut off by a kill ends it."""
    if not path.exists():
        return
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                return


def read(folder: Path) -> tuple[list[Action], int]:
    """The actions of a part, and how many the breaker did that nobody asked for."""
    stalls: list[Stall] = []
    spoken: dict[tuple[int, int], Spoken] = {}
    acted = []
    for path in sorted(folder.glob("node-*.jsonl")):
        spoken |= spoken_of(path, stalls)
    for event in records(folder / "breaker.jsonl"):
        if event["event"] == "acted":
            acted.append(event)
        elif event["event"] == "stall":
            stalls.append(stall(event, "breaker"))
    return match(list(records(folder / "steps.jsonl")), acted, spoken, sorted(stalls))


def stall(event: Any, party: str) -> Stall:
    """Of a record."""
    return Stall(event["realtime_ns"] - event["late_ns"], event["realtime_ns"], party)


def spoken_of(path: Path, stalls: list[Stall]) -> dict[tuple[int, int], Spoken]:
    """By node and gen, what it said last; its stalls go to the others."""
    node, sample_ns = int(path.stem[-1]), 0
    found: dict[tuple[int, int], Spoken] = {}
    for event in records(path):
        if event["event"] == "decided":
            sample_ns = event["sample_ns"]
        elif event["event"] == "spoke":
            of = (node, event["gen"])
            found[of] = Spoken(sample_ns, event["realtime_ns"], event["cryptography_ns"])
        elif event["event"] == "certified" and (node, event["gen"]) in found:
            spoke = found[node, event["gen"]]
            found[node, event["gen"]] = spoke._replace(
                share_ns=event["received_ns"],
                certified_ns=event["realtime_ns"],
                certifying_ns=event["cryptography_ns"],
            )
        elif event["event"] == "stall":
            stalls.append(stall(event, path.stem))
    return found


def match(
    steps: list[Any],
    acted: list[Any],
    spoken: dict[tuple[int, int], Spoken],
    stalls: list[Stall],
) -> tuple[list[Action], int]:
    """Puts each action of the breaker to the step that asked for it: the last one before it was
    decided. The merging unit may see the order, and step again, before the breaker node has read
    the clock after it."""
    actions, place, extra = [], 0, 0
    begin_ns = steps[0]["before_send_ns"] if steps else 0
    for index, step in enumerate(steps):
        begin = step["before_send_ns"]
        end = steps[index + 1]["before_send_ns"] if index + 1 < len(steps) else math.inf
        while place < len(acted) and acted[place]["decided_ns"] < begin:
            place, extra = place + 1, extra + 1
        number, at_s = step["action_number"], (begin - begin_ns) / 1e9
        here = place < len(acted) and acted[place]["decided_ns"] < end
        if not here or acted[place]["action"] != step["action"]:
            actions.append(Action(number, at_s, math.nan, math.nan, NEVER, ()))
            continue
        done, place = acted[place], place + 1
        ours = (done["operated_ns"] - begin) / 1000
        published = (done["acknowledging_ns"] - step["after_send_ns"]) / 1000
        # What was acted carries the number that the next action will have.
        spent = parts(begin, done, spoken.get((done["from"], done["gen"] - 1)))
        cause = why(begin, done["operated_ns"], spent, stalls) if ours > LIMIT_US else ""
        parts_us = tuple(spent[part] / 1000 for part in PARTS)
        actions.append(Action(number, at_s, ours, published, cause, parts_us))
    return actions, extra + len(acted) - place


def parts(begin_ns: int, done: Any, spoken: Spoken | None) -> dict[str, int]:
    """Where the time went, on the way of the vote or certificate that completed the action."""
    spent, at = dict.fromkeys(PARTS, 0), begin_ns

    def until(part: str, when_ns: int, cryptography_ns: int = 0) -> None:
        nonlocal at
        when_ns = max(when_ns, at)
        within = min(cryptography_ns, when_ns - at)
        spent["cryptography"] += within
        spent[part] += when_ns - at - within
        at = when_ns

    def heard(part: str, when_ns: int) -> None:
        # What is heard in a later tick than it could have been was said again at its begin.
        boundary_ns = when_ns // TICK_NS * TICK_NS
        if boundary_ns > at:
            until("tick", boundary_ns)
        until(part, when_ns)

    received_ns, operated_ns = done["received_ns"], done["operated_ns"]
    if spoken is None:
        # A hostile node, which takes nothing down.
        until("another relay", received_ns)
    else:
        until("network", spoken.sample_ns)
        until("relay", spoken.spoke_ns, spoken.cryptography_ns)
        if spoken.certified_ns:
            heard("another relay", spoken.share_ns)
            until("relay", spoken.certified_ns, spoken.certifying_ns)
        heard("network", received_ns)
    until("breaker", operated_ns, done["cryptography_ns"])
    return spent


def why(begin_ns: int, end_ns: int, spent: dict[str, int], stalls: list[Stall]) -> str:
    """Why an action was slow: the host, if it was away for all that was too much, else what took
    longest."""
    during = [stall for stall in stalls if stall.begin_ns < end_ns and stall.end_ns > begin_ns]
    if away_ns(begin_ns, end_ns, during) >= end_ns - begin_ns - LIMIT_US * 1000:
        longest = max(during, key=lambda stall: stall.end_ns - stall.begin_ns)
        return f"{STALL} at {longest.party}"
    return max(spent, key=lambda part: spent[part])


def away_ns(begin_ns: int, end_ns: int, stalls: Iterable[Stall]) -> int:
    """For how long somebody's processor was gone; what several noticed counts once."""
    total, seen_ns = 0, begin_ns
    for one in sorted(stalls):
        upto_ns = min(one.end_ns, end_ns)
        total += max(0, upto_ns - max(one.begin_ns, seen_ns))
        seen_ns = max(seen_ns, upto_ns)
    return total
