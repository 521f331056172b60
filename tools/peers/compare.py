"""Whether tests end in virtual time as they do natively.

Tests of timing fail now and then on any machine. So what a test does in a place is the set of
outcomes seen there in up to `TRIES` runs, and only a test whose sets have nothing in common
differs. One whose sets overlap and are not equal is unsteady: it is listed, and decides nothing.
"""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from .known import Known
from .outcomes import ABSENT, PASSED

# How often a test whose outcomes differ is run in each place.
TRIES = 4

Seen = dict[str, set[str]]


@dataclass(frozen=True)
class Difference:
    """A test that ends otherwise in a place than it does natively."""

    test: str
    native: list[str]
    here: list[str]
    # Why that is right, from the list of known differences; empty if nobody knows.
    reason: str = ""


@dataclass
class Comparison:
    """One suite in one place, against the same suite natively."""

    same: int = 0
    # Of these, how many were never seen to end in another way than to pass.
    passed: int = 0
    # How often the domain was held in all runs together.
    holds: int = 0
    unsteady: list[Difference] = field(default_factory=list)
    known: list[Difference] = field(default_factory=list)
    unknown: list[Difference] = field(default_factory=list)


def add(seen: Seen, outcomes: dict[str, str]) -> None:
    """Adds the outcomes of one run."""
    for test, outcome in outcomes.items():
        seen.setdefault(test, set()).add(outcome)


def compare(
    suite: str, native: Seen, here: Seen, known: list[Known], holds: int = 0
) -> Comparison:
    """Sorts all tests of a suite."""
    comparison = Comparison(holds=holds)
    for test in sorted(native.keys() | here.keys()):
        there, seen = native.get(test, {ABSENT}), here.get(test, {ABSENT})
        both = sorted(there), sorted(seen)
        if there == seen:
            comparison.same += 1
            comparison.passed += seen == {PASSED}
        elif there & seen:
            comparison.unsteady.append(Difference(test, *both))
        elif reason := reason_of(suite, test, seen, known):
            comparison.known.append(Difference(test, *both, reason))
        else:
            comparison.unknown.append(Difference(test, *both))
    return comparison


def reason_of(suite: str, test: str, here: set[str], known: list[Known]) -> str:
    """Why a test may end as it does; empty if no entry is about it."""
    about = (one for one in known if one.suite == suite and fnmatchcase(test, one.test))
    return next((one.reason for one in about if here == {one.outcome}), "")
