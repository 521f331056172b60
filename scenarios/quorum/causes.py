"""Why an action was slow: what was taken from those on whom it waited, while it waited on them.

The way of an action is cut into segments, each with the parties whose work it waited for. Within a
segment counts what the host took of their cores (the meter of each core, `qcrelay meter`; in
virtual time the canaries), and for how long their threads were ready and others had the core, which
the host had not taken. The host is also its kernel, where that keeps the meter itself, which comes before
all others, from a core for a millisecond. Several slices add up; what two cores lost at once counts once.

README.md, Causes, has the rules: what counts as the queue behind a host stall (what is taken of a core
delays the work behind it by no more than that), and which cause explains an action (whoever has lost
half of its time may have lost a tick with it).
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

STALL, WAITING, CRYPTOGRAPHY = "host stall", "waiting for a processor", "cryptography"
SEVERAL, UNEXPLAINED = "several causes", "unexplained"
# A part of what the host is the cause of.
BEHIND = "queue behind it"
# For so long before an action the host may have left a queue behind.
BEFORE_NS = 5_000_000

Spans = list[tuple[int, int]]


class Segment(NamedTuple):
    """A stretch of the way of an action: what it is called, from when to when, and which parties it
    waited for."""

    part: str
    begin_ns: int
    end_ns: int
    parties: tuple[str, ...]


class Lost(NamedTuple):
    """What was lost on the way of an action, in ns: to the host, and to others on the same core; and
    what the host took of the parties' cores besides, meanwhile and just before."""

    host_ns: int
    waiting_ns: int
    besides_ns: int


class Evidence(NamedTuple):
    """What was taken down of a part; spans in ns since 1970, merged."""

    # By core: the host had it, and something else had it for a moment, although the meter was to have it.
    taken: Mapping[int, Spans]
    others: Mapping[int, Spans]
    # By party: its thread was ready and did not run.
    waited: Mapping[str, Spans]
    # By party: its core. Who is not in it may be on any.
    cores: Mapping[str, int]

    def lost(self, segments: Sequence[Segment]) -> Lost:
        """What was lost in these segments, the way of an action."""
        host_ns = waiting_ns = 0
        for _, begin, end, parties in segments:
            cores = self.cores_of(parties)
            taken = [self.taken.get(core, []) for core in cores]
            host = [span for spans in taken for span in within(spans, begin, end)]
            waits = [self.waited.get(who, []) for who in parties]
            waits += [self.others.get(core, []) for core in cores]
            waiting = [span for spans in waits for span in within(spans, begin, end)]
            taken_ns = length(merged(host))
            host_ns += taken_ns
            waiting_ns += length(merged(host + waiting)) - taken_ns
        begin, end = segments[0].begin_ns - BEFORE_NS, segments[-1].end_ns
        cores = self.cores_of({who for segment in segments for who in segment.parties})
        all_ns = sum(length(within(self.taken.get(core, []), begin, end)) for core in cores)
        return Lost(host_ns, waiting_ns, all_ns - host_ns)

    def cores_of(self, parties: Iterable[str]) -> list[int]:
        """Where they may run."""
        every = {*self.taken, *self.others}
        known = {self.cores[who] for who in parties if who in self.cores}
        return sorted(known if all(who in self.cores for who in parties) else every)


NOTHING = Evidence({}, {}, {}, {})


def merged(spans: Iterable[tuple[int, int]]) -> Spans:
    """In their order, and none of them meets another one."""
    found: Spans = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > begin:
            found.append((begin, end))
    return found


def within(spans: Spans, begin_ns: int, end_ns: int) -> Spans:
    """What of merged spans lies in a stretch of time."""
    at = max(0, bisect_left(spans, (begin_ns, begin_ns)) - 1)
    found: Spans = []
    while at < len(spans) and spans[at][0] < end_ns:
        begin, end = max(spans[at][0], begin_ns), min(spans[at][1], end_ns)
        if end > begin:
            found.append((begin, end))
        at += 1
    return found


def length(spans: Spans) -> int:
    """Of merged spans."""
    return sum(end - begin for begin, end in spans)


def why(ours_us: float, median_us: float, limit_us: float, causes: Mapping[str, float]) -> str:
    """Why an action over the limit was slow, by the rule above; causes in µs, by name."""
    excess_us, half_us = ours_us - limit_us, (ours_us - median_us) / 2
    shares = {cause: us for cause, us in causes.items() if cause != BEHIND}
    shares[STALL] += causes[BEHIND]
    for cause in (STALL, WAITING, CRYPTOGRAPHY):
        if shares[cause] >= excess_us:
            return cause
    largest = max(shares, key=lambda cause: shares[cause])
    if shares[largest] >= half_us:
        return largest
    return SEVERAL if sum(shares.values()) >= min(excess_us, half_us) else UNEXPLAINED
