"""Differences between virtual time and native that are meant, each with its reason.

An entry is the exception, not a place to put failures: it names one test (`*` in the name stands
for parts of it), the one outcome that it may have, and the limitation that makes it so.
"""

from typing import NamedTuple

from .outcomes import BROKEN, FAILED, SKIPPED


class Known(NamedTuple):
    suite: str
    test: str
    outcome: str
    reason: str


KNOWN = [
    Known(
        "cpython/test_time",
        "test.test_time.TimeTestCase.test_monotonic_settime",
        SKIPPED,
        "it sets the clock, which is refused with EPERM in virtual time, and skips itself then",
    ),
    Known(
        "ltp/processes",
        "prctl02",
        FAILED,
        "`no_new_privs` is set, so a filter that it expects to be refused is installed",
    ),
    Known(
        "ltp/processes",
        "prctl06",
        BROKEN,
        "`no_new_privs` is set from the beginning, and it asks for a program without",
    ),
]
