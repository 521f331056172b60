"""What the programs of a cell have taken down: which step led to which action of the breaker, and
where the time between went.

An action begins just before the sample that crosses the threshold is sent and ends when the order
to the breaker has left. The published definition begins after that sample was sent and ends before
the acknowledgement. No action is left out: one that never came is counted, and so is one that
nobody asked for.
"""

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from causes import (
    BEHIND,
    CRYPTOGRAPHY,
    STALL,
    UNEXPLAINED,
    WAITING,
    Evidence,
    Segment,
    Spans,
    merged,
    why,
)

# A quarter of a cycle at 60 Hz.
LIMIT_US = 1e6 / 60 / 4
TICK_NS = 1_000_000
# Where the time of an action may go.
PARTS = ("network", "relay", "another relay", "tick", "cryptography", "breaker")
NEVER = "never came"
METER = "meter.jsonl"
# What it says in the end, and what its warnings begin with that are of its own threads.
METER_SAID, METER_REFUSED = "meter.json", "meter: "
# Of an action of which nobody knows what it lost.
UNKNOWN = (math.nan, math.nan, math.nan)
# For so long no thread of this testbed keeps the one before all others from a core, and soft interrupts
# with its frames only under a flood. Who does is the kernel of the host, with work of its own.
KERNEL_STALL_MIN_NS = 1_000_000
# So many actions that the host left alone show how long parties wait for each other.
LEFT_ALONE_MIN = 1000


class Action(NamedTuple):
    """One that was asked for; times in µs, which are none if it never came."""

    number: int
    at_s: float
    ours_us: float
    published_us: float
    cause: str
    # Taken by the host, and waited for a processor, of the time that `parts_us` tells apart; and what
    # the host took besides.
    lost_us: tuple[float, float, float]
    parts_us: tuple[float, ...]

    @property
    def came(self) -> bool:
        """Whether the breaker did it."""
        return self.cause != NEVER

    @property
    def is_known(self) -> bool:
        """Whether somebody has measured what was taken from it."""
        return not math.isnan(self.lost_us[0])

    @property
    def left_alone(self) -> bool:
        """Whether the host took nothing of it, and nothing of the cores just before."""
        host_us, _, besides_us = self.lost_us
        return host_us + besides_us == 0


class Usual(NamedTuple):
    """How actions are, in µs: their median, that of their cryptography, and the longest wait for a
    processor of those that the host left alone; no limit if these are too few."""

    ours_us: float
    cryptography_us: float
    waiting_us: float


class Spoken(NamedTuple):
    """What a relay node did towards one gen; ns since 1970, but cryptography."""

    sample_ns: int
    spoke_ns: int
    cryptography_ns: int
    share_ns: int = 0
    certified_ns: int = 0
    certifying_ns: int = 0
    share_from: int | None = None


def records(path: Path) -> Iterator[Any]:
    """The objects of a file of records and, before them, of those that were put aside, which have a
    number more the older they are; a line that was cut off by a kill is left out."""
    numbered = (one for one in path.parent.glob(f"{path.name}.*") if one.suffix[1:].isdigit())
    aside = sorted(numbered, key=lambda one: int(one.suffix[1:]), reverse=True)
    for file in [*aside, *([path] if path.exists() else [])]:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:
                    continue


def read(folder: Path, cores: Mapping[str, int] | None = None) -> tuple[list[Action], int]:
    """The actions of a part, and how many the breaker did that nobody asked for; `cores` says on
    which core which party was, with a meter on each."""
    spoken: dict[tuple[int, int], Spoken] = {}
    parties = {path.stem: list(records(path)) for path in sorted(folder.glob("node-*.jsonl"))}
    for party, events in parties.items():
        spoken |= spoken_of(int(party[-1]), events)
    parties["breaker"] = list(records(folder / "breaker.jsonl"))
    acted = [event for event in parties["breaker"] if event["event"] == "acted"]
    is_known = cores is None or not doubts(folder)
    meter = list(records(folder / METER))
    evidence = evidence_of(parties, meter, cores) if is_known else None
    return match(list(records(folder / "steps.jsonl")), acted, spoken, evidence)


def doubts(folder: Path) -> list[str]:
    """Why the meter of a part does not know what the host took: then all that is late looks as if
    it were the host's, or nothing does."""
    path = folder / METER_SAID
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    told = [json.loads(line) for line in lines if line.startswith("{")]
    if not told:
        return ["the meter did not run to its end"]
    found = [warning for warning in told[0]["warnings"] if warning.startswith(METER_REFUSED)]
    if any(core["waited_ns"] is None for core in told[0]["cores"]):
        found.append("the kernel does not count run delays (schedstat)")
    if any(core["events_lost"] for core in told[0]["cores"]):
        found.append("records of the meter were lost")
    return found


def evidence_of(
    parties: Mapping[str, list[Any]], meter: list[Any], cores: Mapping[str, int] | None
) -> Evidence:
    """What the records tell of time that was lost."""
    taken: dict[int, Spans] = {}
    others: dict[int, Spans] = {}
    waited: dict[str, Spans] = {}
    for event in meter:
        # First the interrupt comes late, because the host has the core; then the thread is ready.
        end, begin = event["realtime_ns"], event["realtime_ns"] - event["late_ns"]
        taken.setdefault(event["core"], []).append((begin, begin + event["taken_ns"]))
        is_stall = event["waited_ns"] >= KERNEL_STALL_MIN_NS
        waits = taken if is_stall else others
        waits.setdefault(event["core"], []).append((end - event["waited_ns"], end))
    for party, events in parties.items():
        for event in events:
            end = event["realtime_ns"]
            if event["event"] == "waited":
                waited.setdefault(party, []).append((end - event["waited_ns"], end))
            elif event["event"] == "stall" and cores is None:
                # Without a meter: whoever stands still, the host has stopped them all.
                taken.setdefault(0, []).append((end - event["late_ns"], end))

    def whole(spans: Mapping[Any, Spans]) -> dict[Any, Spans]:
        return {key: merged(each) for key, each in spans.items()}

    return Evidence(whole(taken), whole(others), whole(waited), cores or {})


def spoken_of(node: int, events: Iterable[Any]) -> dict[tuple[int, int], Spoken]:
    """By node and gen, what it said last."""
    sample_ns = 0
    found: dict[tuple[int, int], Spoken] = {}
    for event in events:
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
                share_from=event["from"],
            )
    return found


def match(
    steps: list[Any],
    acted: list[Any],
    spoken: dict[tuple[int, int], Spoken],
    evidence: Evidence | None,
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
            actions.append(Action(number, at_s, math.nan, math.nan, NEVER, (0.0, 0.0, 0.0), ()))
            continue
        done, place = acted[place], place + 1
        ours = (done["operated_ns"] - begin) / 1000
        published = (done["acknowledging_ns"] - step["after_send_ns"]) / 1000
        # What was acted carries the number that the next action will have.
        segments, spent = way(begin, done, spoken.get((done["from"], done["gen"] - 1)))
        parts_us = tuple(spent[part] / 1000 for part in PARTS)
        lost_us = UNKNOWN
        if evidence:
            lost = evidence.lost(segments)
            lost_us = (lost.host_ns / 1000, lost.waiting_ns / 1000, lost.besides_ns / 1000)
        actions.append(Action(number, at_s, ours, published, "", lost_us, parts_us))
    return explained(actions), extra + len(acted) - place


def explained(actions: list[Action]) -> list[Action]:
    """With a cause for each that was over the limit."""
    came = [action for action in actions if action.came]
    if not came:
        return actions
    known = usual(came)

    def cause(action: Action) -> str:
        if not action.came or action.ours_us <= LIMIT_US:
            return action.cause
        if not action.is_known:
            return UNEXPLAINED
        return why(action.ours_us, known.ours_us, LIMIT_US, causes_us(action, known))

    return [action._replace(cause=cause(action)) for action in actions]


def usual(came: list[Action]) -> Usual:
    cryptography = (action.parts_us[PARTS.index(CRYPTOGRAPHY)] for action in came)
    waits = [action.lost_us[1] for action in came if action.left_alone]
    return Usual(
        statistics.median(action.ours_us for action in came),
        statistics.median(cryptography),
        max(waits) if len(waits) >= LEFT_ALONE_MIN else math.inf,
    )


def causes_us(action: Action, known: Usual) -> dict[str, float]:
    """What may have made an action slow, in µs; its cryptography beyond what is usual, as far as
    the host and others have not stretched it."""
    host_us, waiting_us, besides_us = action.lost_us
    stretched_us = action.parts_us[PARTS.index(CRYPTOGRAPHY)] - known.cryptography_us
    cryptography_us = max(0.0, stretched_us - host_us - waiting_us)
    behind_us = min(max(0.0, waiting_us - known.waiting_us), besides_us)
    waiting_us -= behind_us
    return {STALL: host_us, BEHIND: behind_us, WAITING: waiting_us, CRYPTOGRAPHY: cryptography_us}


def way(begin_ns: int, done: Any, spoken: Spoken | None) -> tuple[list[Segment], dict[str, int]]:
    """The way of the vote or certificate that completed an action, and where its time went."""
    spent, at = dict.fromkeys(PARTS, 0), begin_ns
    segments: list[Segment] = []
    sender = f"node-{done['from']}"

    def until(part: str, when_ns: int, *parties: str, cryptography_ns: int = 0) -> None:
        nonlocal at
        when_ns = max(when_ns, at)
        within = min(cryptography_ns, when_ns - at)
        spent["cryptography"] += within
        spent[part] += when_ns - at - within
        segments.append(Segment(part, at, when_ns, parties))
        at = when_ns

    def heard(part: str, when_ns: int, speaker: str, listener: str) -> None:
        # What is heard in a later tick than it could have been was said again at its begin.
        boundary_ns = when_ns // TICK_NS * TICK_NS
        if boundary_ns > at:
            until("tick", boundary_ns, speaker, listener)
        until(part, when_ns, speaker)

    received_ns, operated_ns = done["received_ns"], done["operated_ns"]
    if spoken is None:
        # A hostile node, which takes nothing down; it has waited for the sample as well.
        until("another relay", received_ns, "unit", sender)
    else:
        # It decides on the newest sample, so one that was late is late with a later sample.
        until("network", spoken.sample_ns, "unit", sender)
        until("relay", spoken.spoke_ns, sender, cryptography_ns=spoken.cryptography_ns)
        if spoken.certified_ns:
            other = "another" if spoken.share_from is None else f"node-{spoken.share_from}"
            heard("another relay", spoken.share_ns, other, sender)
            until("relay", spoken.certified_ns, sender, cryptography_ns=spoken.certifying_ns)
        heard("network", received_ns, sender, "breaker")
    until("breaker", operated_ns, "breaker", cryptography_ns=done["cryptography_ns"])
    return segments, spent
