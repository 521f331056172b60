"""What a test suite says of each of its tests, from the files and output of its own runner.

An outcome is one word: passed, failed, skipped or unfinished (begun, and no end was seen: the
suite crashed or was stopped). Details such as durations are left out, because they differ between
any two runs.
"""

import re
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED, UNFINISHED = "passed", "failed", "skipped", "unfinished"
# A test that one run knows and the other one does not.
ABSENT = "absent"

GO_BEGUN = re.compile(r"^=== RUN +(\S+)$")
# Not only at the beginning of a line: what a test prints without a line end comes before it.
GO_ENDED = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)$")
GO_WORDS = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}


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
    outcomes: dict[str, str] = {}
    for line in text.splitlines():
        if begun := GO_BEGUN.match(line):
            outcomes.setdefault(begun[1], UNFINISHED)
        elif ended := GO_ENDED.search(line):
            outcomes[ended[2]] = GO_WORDS[ended[1]]
    return outcomes
