"""Why an action was slow: what was taken from those on whom it waited, while it waited on them.

The way of an action is cut into segments, each with the parties whose work it waited for. Within a
segment counts what the host took of their cores (the meter of each core, `qcrelay meter`; in
virtual time the canaries), and for how long their threads were ready and others had the core, which
the host had not taken. Several slices add up; what two cores lost at once counts once.

A cause explains an action over the limit if it covers all of the excess over the limit, or at least
half of what the action took beyond the median of its part: whoever has lost half may have lost a
tick with it. The largest cause is asked first, and if none suffices all together. Otherwise the
action is unexplained, and the rest says by how much.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import NamedTuple

STALL, WAITING, CRYPTOGRAPHY = "host stall", "waiting for a processor", "cryptography"
SEVERAL, UNEXPLAINED = "several causes", "unexplained"

Spans = list[tuple[int, int]]


class Segment(NamedTuple):
    """A stretch of the way of an action: what it is called, from when to when, and which parties it
    waited for."""

    part: str
    begin_ns: int
    end_ns: int
    parties: tuple[str, ...]


class Lost(NamedTuple):
    """What was lost on the way of an action, in ns: to the host, and to others on the same core."""

    host_ns: int
    waiting_ns: int


class Evidence(NamedTuple):
    """What was taken down of a part; spans in ns since 1970, merged."""

    # By core: the host had it, and somebody else of this machine although the meter was to have it.
    taken: Mapping[int, Spans]
    others: Mapping[int, Spans]
    # By party: its thread was ready and did not run.
    waited: Mapping[str, Spans]
    # By party: its core. Who is not in it may be on any.
    cores: Mapping[str, int]

    def lost(self, segments: Iterable[Segment]) -> Lost:
        """What was lost in these segments."""
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
        return Lost(host_ns, waiting_ns)

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
    """Why an action over the limit was slow, by the rule above; causes in µs."""
    excess_us, beyond_us = ours_us - limit_us, ours_us - median_us

    def explains(us: float) -> bool:
        return us > 0 and (us >= excess_us or us >= beyond_us / 2)

    largest = max(causes, key=lambda cause: causes[cause])
    if explains(causes[largest]):
        return largest
    return SEVERAL if explains(sum(causes.values())) else UNEXPLAINED
