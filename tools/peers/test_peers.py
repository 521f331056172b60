"""The parts of the tool that decide, and that a run leaves nothing behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from . import bandwidth, compare, outcomes, places, programs, report
from .known import Known
from .suites import Run

JUNIT = """<testsuites><testsuite>
  <testcase name="a.Clock.ticks" status="run" time="0.1"/>
  <testcase name="a.Clock.is_set" status="run"><skipped>EPERM</skipped></testcase>
  <testcase name="a.Clock.strikes" status="run"><failure message="early"/></testcase>
  <testcase name="a.Clock.strikes" status="run"/>
</testsuite></testsuites>"""

GO = """=== RUN   TestSleep
--- PASS: TestSleep (0.10s)
=== RUN   TestTimer
=== RUN   TestTimer/short
    sleep_test.go:9: early
no line end--- FAIL: TestTimer (0.00s)
    --- SKIP: TestTimer/short (0.00s)
=== RUN   TestHang
panic: test timed out
"""


class Outcomes(unittest.TestCase):
    def test_cpython(self) -> None:
        expected = {"a.Clock.ticks": "passed", "a.Clock.is_set": "skipped"}
        expected["a.Clock.strikes"] = "failed"
        self.assertEqual(outcomes.of_junit(JUNIT), expected)

    def test_go(self) -> None:
        expected = {"TestSleep": "passed", "TestTimer": "failed", "TestTimer/short": "skipped"}
        expected["TestHang"] = "unfinished"
        self.assertEqual(outcomes.of_go(GO), expected)


    def test_programs(self) -> None:
        text = "noise\nfact a key: is gone: yes\nfact 20 pages: no\nno fact: yes\n"
        self.assertEqual(programs.facts(text), {"a key: is gone": "passed", "20 pages": "failed"})

    def test_iperf(self) -> None:
        self.assertEqual(bandwidth.of_iperf('{"error": "no route"}'), {})
        sums = '"sum_sent": {"bytes": 9, "retransmits": 2}, "sum_received": {"bits_per_second": 7}'
        told = bandwidth.of_iperf('x\n{"end": {%s}}' % sums)
        self.assertEqual(told, {"bits_per_s": "7", "octets": "9", "sent_again": "2"})

    def test_bandwidth_beyond_bounds_is_told(self) -> None:
        plain = bandwidth.Figures(20e6, 1_000_000, 0, 0, 0)
        held = bandwidth.Figures(19.5e6, 1_000_000, 5, 5, 30)
        named = {bandwidth.NOT_HELD: [plain], bandwidth.HELD_NAME: [held]}
        self.assertEqual(bandwidth.problems(named), [])
        slow = bandwidth.Figures(19e6, 1_000_000, 50, 50, 30)
        named[bandwidth.HELD_NAME] = [slow]
        self.assertEqual(len(bandwidth.problems(named)), 2)


class Comparing(unittest.TestCase):
    def compared(self, native: str, here: str, known: list[Known] | None = None):
        """Each letter is what test `t` did in one run."""
        words = {"p": "passed", "f": "failed", "s": "skipped"}
        seen: list[compare.Seen] = [{}, {}]
        for place, letters in zip(seen, (native, here)):
            for letter in letters:
                compare.add(place, {"t": words[letter]})
        return compare.compare("suite", *seen, known or [])

    def test_what_fails_only_in_virtual_time_differs(self) -> None:
        self.assertEqual(len(self.compared("pp", "ff").unknown), 1)

    def test_what_fails_in_both_is_the_same(self) -> None:
        self.assertEqual(self.compared("f", "f").same, 1)

    def test_what_fails_now_and_then_is_unsteady(self) -> None:
        for native, here in [("pf", "f"), ("p", "fp")]:
            comparison = self.compared(native, here)
            self.assertEqual((len(comparison.unsteady), len(comparison.unknown)), (1, 0))

    def test_a_test_that_is_not_run_at_all_differs(self) -> None:
        self.assertEqual(self.compared("p", "").unknown[0].here, ["absent"])

    def test_an_entry_excuses_its_own_outcome_only(self) -> None:
        known = [Known("suite", "t", "skipped", "EPERM")]
        self.assertEqual(self.compared("p", "s", known).known[0].reason, "EPERM")
        self.assertEqual(len(self.compared("p", "f", known).unknown), 1)
        elsewhere = [Known("other", "t", "skipped", "EPERM")]
        self.assertEqual(len(self.compared("p", "s", elsewhere).unknown), 1)

    def test_the_page_names_each_difference(self) -> None:
        results = {"suite": {"virtual": self.compared("p", "f")}}
        self.assertEqual(report.count_unknown(results), 1)
        page = report.as_page(results, {"Go": "1.26"}, {}, {"*VSOCK*": "hangs"}, 4, [])
        self.assertIn("`t`: passed natively, failed in `virtual`", page)
        self.assertIn("| `suite` | `virtual` | 1 | 0 | 0 | 0 | 0 | 1 | 0 |", page)


class Places(unittest.TestCase):
    def setUp(self) -> None:
        if subprocess.run(["unshare", *places.isolation(), "true"], capture_output=True).returncode:
            self.skipTest("not run: no namespaces may be made here")
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_a_suite_that_says_nothing_is_unfinished(self) -> None:
        run = Run(["false"], self.folder, {}, outcomes.of_go)
        seen, holds = places.run_in(places.NATIVE, run, "qcycle", self.folder / "output")
        self.assertEqual((list(seen.values()), holds), (["unfinished"], 0))

    def test_it_has_a_network_and_process_numbers_of_its_own(self) -> None:
        script = 'echo "--- PASS: $(cat /sys/class/net/lo/operstate)$$ (0.00s)"'
        run = Run(["sh", "-c", script], self.folder, {}, outcomes.of_go)
        seen, _ = places.run_in(places.NATIVE, run, "qcycle", self.folder / "output")
        name = next(iter(seen))
        self.assertLess(int("".join(filter(str.isdigit, name))), 20, name)

    def test_an_interrupt_leaves_nothing_behind(self) -> None:
        # A suite that leaves its session and does not mind being asked to end.
        mark = f"{3600 + os.getpid() / 1e7:.7f}"
        script = f"""
from pathlib import Path
from peers import outcomes, places
from peers.suites import Run
run = Run(["setsid", "sh", "-c", "trap '' INT TERM; sleep {mark}"], Path("."), {{}}, outcomes.of_go)
places.run_in(places.NATIVE, run, "qcycle", Path({str(self.folder / "output")!r}))
"""
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        tool = subprocess.Popen(
            [sys.executable, "-c", script],
            env=environment,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self.await_that(lambda: len(sleeping(mark)) == 1)
        os.killpg(tool.pid, signal.SIGINT)
        tool.wait()
        self.await_that(lambda: not sleeping(mark))

    def await_that(self, holds) -> None:
        until = time.monotonic() + 30
        while not holds():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)


def sleeping(mark: str) -> list[str]:
    """Processes `sleep` with the argument `mark`."""
    wanted = b"sleep\0" + mark.encode() + b"\0"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            # Arguments are in the memory of a process, and one that keeps that back makes whoever
            # reads it wait; names are not.
            is_named = (process / "comm").read_bytes() == b"sleep\n"
            if is_named and (process / "cmdline").read_bytes() == wanted:
                found.append(process.name)
        except OSError:
            pass
    return found
