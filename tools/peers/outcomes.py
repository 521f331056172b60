"""What a test suite says of each of its tests, from the files and output of its own runner.

An outcome is one word: passed, failed, skipped, broken (it could not make what it needs for its
question), unsupported (its question is none here) or unfinished (begun, and no end was seen: it, or
its suite, crashed or was stopped). Details such as durations are left out, because they differ
between any two runs.
"""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

PASSED, FAILED, SKIPPED, UNFINISHED = "passed", "failed", "skipped", "unfinished"
BROKEN, UNSUPPORTED = "broken", "unsupported"
# A test that one run knows and the other one does not.
ABSENT = "absent"

GO_BEGUN = re.compile(r"^=== RUN +(?P<test>\S+)$")
# Not only at the beginning of a line: what a test prints without a line end comes before it.
GO_ENDED = re.compile(r"--- (?P<how>PASS|FAIL|SKIP): (?P<test>\S+) \([0-9.]+s\)$")
GO_WORDS = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}

# What `each.sh` says around each test.
BEGUN = re.compile(r"^begun (?P<test>\S+)$")
ENDED = re.compile(r"^ended (?P<test>\S+): (?P<how>\d+)$")
# Exit codes of `timeout`, and of a shell that finds no such program or may not start it.
TIMED_OUT, NOT_THERE = 124, (126, 127)
# What a shell adds to the number of the signal that ended a program, and the last signal.
SIGNALLED, LAST_SIGNAL = 128, 64
# LTP's codes are bits; what is graver comes first. A warning is of what surrounds the question.
LTP_BITS = [(1, FAILED), (2, BROKEN), (4, BROKEN), (32, UNSUPPORTED)]
# Open POSIX's codes: PASS, FAIL, UNRESOLVED, UNSUPPORTED, UNTESTED.
POSIX_CODES = {0: PASSED, 1: FAILED, 2: BROKEN, 4: UNSUPPORTED, 5: UNSUPPORTED}


def of_junit(text: str) -> dict[str, str]:
    """Outcomes from the JUnit file of CPython's `python -m test --junit-xml`."""
    outcomes: dict[str, str] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        kinds = {part.tag for part in case}
        if kinds & {"failure", "error"}:
            outcome = FAILED
        elif "skipped" in kinds:
            outcome = SKIPPED
        else:
            outcome = PASSED
        # Several cases of one name are parts of one test: the worst of them counts.
        name = case.get("name", "")
        if outcomes.get(name) != FAILED:
            outcomes[name] = outcome
    return outcomes


def of_go(text: str) -> dict[str, str]:
    """Outcomes from the output of a Go test binary with `-test.v`."""
    return of_lines(text, GO_BEGUN, GO_ENDED, lambda word: GO_WORDS[word])


def of_exit_codes(text: str, meaning: Callable[[int], str]) -> dict[str, str]:
    """Outcomes from the output of `each.sh`, by what an exit code means in a suite."""
    return of_lines(text, BEGUN, ENDED, lambda code: meaning(int(code)))


def of_lines(
    text: str, begun: re.Pattern[str], ended: re.Pattern[str], meaning: Callable[[str], str]
) -> dict[str, str]:
    """Outcomes from lines that say which test has begun, and which has ended how."""
    outcomes: dict[str, str] = {}
    for line in text.splitlines():
        if found := begun.search(line):
            outcomes.setdefault(found["test"], UNFINISHED)
        elif found := ended.search(line):
            outcomes[found["test"]] = meaning(found["how"])
    return outcomes


def of_ltp_code(code: int) -> str:
    """What an exit code of LTP's means."""
    if without := of_no_end(code):
        return without
    found = [word for bit, word in LTP_BITS if code & bit]
    return next(iter(found), PASSED if code == 0 else FAILED)


def of_posix_code(code: int) -> str:
    """What an exit code of Open POSIX's means; some of its tests fail with one of their own."""
    return of_no_end(code) or POSIX_CODES.get(code, FAILED)


def of_no_end(code: int) -> str:
    """The outcome of a test that has not ended by itself, or not begun; empty for all others."""
    if code in NOT_THERE:
        return UNSUPPORTED
    if code == TIMED_OUT or SIGNALLED < code <= SIGNALLED + LAST_SIGNAL:
        return UNFINISHED
    return ""
