"""Differences between virtual time and native that are meant, each with its reason.

An entry is the exception, not a place to put failures: it names one test (`*` in the name stands
for parts of it), the one outcome that it may have, and the limitation that makes it so.
"""

from typing import NamedTuple

from .outcomes import BROKEN, FAILED, SKIPPED


class Known(NamedTuple):
    """One difference that is meant."""

    suite: str
    test: str
    outcome: str
    reason: str


SIGSYS_PENDING = "SIGSYS cannot be blocked, so it is handled at once instead of kept pending"
SIGSYS_IN_MASK = "SIGSYS cannot be blocked, so its bit never shows in a mask"

KNOWN = [
    Known(
        "cpython/test_time",
        "test.test_time.TimeTestCase.test_monotonic_settime",
        SKIPPED,
        "it sets the clock, which is refused with EPERM in virtual time, and skips itself then",
    ),
    Known("ltp/signals", "sighold02", FAILED, SIGSYS_PENDING),
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
    Known("open-posix/signals", "sigaction_8-22", FAILED, SIGSYS_PENDING),
    Known("open-posix/signals", "sigaction_23-21", FAILED, SIGSYS_PENDING),
    Known("open-posix/signals", "sigaction_25-21", FAILED, SIGSYS_PENDING),
    Known("open-posix/signals", "sigprocmask_7-1", FAILED, SIGSYS_IN_MASK),
    Known("open-posix/signals", "pthread_sigmask_7-1", FAILED, SIGSYS_IN_MASK),
]
