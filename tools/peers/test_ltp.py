"""LTP's and Open POSIX's tests: found, run, read and compared, with small suites in their place."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

from . import __main__ as tool
from . import compare, ltp, outcomes, places, report
from .known import KNOWN, Known

# Name -> what a test of LTP's does here; each ends as its name says.
TESTS = {
    "clock_passes01": "exit 0",
    "clock_fails01": "exit 1",
    "clock_breaks01": "exit 2",
    "clock_warns01": "exit 4",
    "clock_is_none_here01": "exit 32",
    "clock_fails_and_is_none_here01": "exit 33",
    "clock_crashes01": "kill -SEGV $$",
    "clock_signals_its_group01": "trap '' TERM; kill 0; exit 0",
    "clock_differs01": 'exit "${FAKE_DOMAIN:-0}"',
    # CAP_SYS_TIME is bit 25.
    "clock_may_be_set01": "set -- $(grep CapEff /proc/self/status); exit $((0x$2 >> 25 & 1))",
    "sighold02": 'exit "${FAKE_DOMAIN:-0}"',
}
RUNTEST = """#DESCRIPTION:Kernel system calls
# a remark
#clock_is_a_remark01 clock_passes01

clock_pipes01 echo two words | grep -q 'two words'
clock_is_not_built01 clock_is_not_built01 -x
clock_has_no_command01
fork13 fork13 -i 1000000
mount01 mount01
"""
POSIX = {
    "timer_create_1-1": "exit 0",
    "timer_create_2-1": "exit 1",
    "timer_create_3-1": "exit 2",
    "timer_create_4-1": "exit 4",
    "timer_create_5-1": "exit 5",
    "timer_create_6-1": "exit 255",
    "timer_create_7-1": "kill -ABRT $$",
    "timer_create_8-1": 'exit "${FAKE_DOMAIN:-0}"',
    "sigaction_8-22": '[ -z "$FAKE_DOMAIN" ] || exit 255',
}
# All in it see that they are in a domain. There is nothing to hold.
QCYCLE = """#!/bin/sh
[ "$1" = exec ] || exit 1
while [ "$1" != -- ]; do shift; done
shift
FAKE_DOMAIN=1 exec "$@"
"""


def script(path: Path, text: str) -> None:
    """Writes a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


class Fakes(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.root = self.folder / "an ltp"
        for name, text in TESTS.items():
            script(self.root / "testcases/bin" / name, text)
        (self.root / "runtest").mkdir()
        listed = RUNTEST + "".join(f"{name}\t{name}\n" for name in TESTS)
        (self.root / "runtest/syscalls").write_text(listed)
        (self.root / "runtest/timers").write_text("clock_passes01 false\ntimer_more01 true\n")
        (self.root / "Version").write_text("20260130\n")
        for name, text in POSIX.items():
            inside = f"conformance/interfaces/{name.rpartition('_')[0]}/{name}.run-test"
            script(self.root / "testcases/open_posix_testsuite" / inside, text)
        self.qcycle = self.folder / "qcycle"
        script(self.qcycle, QCYCLE)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        self.environment = {"LTPROOT": str(self.root)}

    def suite(self, name: str) -> ltp.Suite:
        return next(s for s in ltp.all_suites(self.environment) if s.name == name)


class Found(Fakes):
    def test_which_tests_there_are_is_read_from_the_folders(self) -> None:
        found = ltp.ltp_commands(self.root)
        self.assertEqual(found["clock_pipes01"], "echo two words | grep -q 'two words'")
        self.assertEqual((found["clock_passes01"], found["timer_more01"]), ("clock_passes01", "true"))
        for left_out in ("clock_is_a_remark01", "clock_has_no_command01", "fork13"):
            self.assertNotIn(left_out, " ".join(found))
        posix = ltp.posix_folder(None, self.root)
        self.assertEqual(set(ltp.posix_commands(posix)), set(POSIX))

    def test_open_posix_may_lie_elsewhere(self) -> None:
        (self.root / "testcases/open_posix_testsuite").rename(self.folder / "elsewhere")
        self.assertIn("--with-open-posix-testsuite", self.suite("open-posix/timing").missing)
        self.environment["OPEN_POSIX_TESTSUITE"] = str(self.folder / "elsewhere")
        self.assertEqual(self.suite("open-posix/timing").missing, "")

    def test_what_has_no_tests_or_is_not_built_is_not_run(self) -> None:
        self.assertEqual(self.suite("ltp/timing").missing, "")
        self.assertIn("no such tests", self.suite("ltp/sockets").missing)
        self.assertIn("no such tests", self.suite("open-posix/memory").missing)
        (self.root / "testcases/bin").rename(self.root / "testcases/sources")
        self.assertIn("no `testcases/bin`", self.suite("ltp/timing").missing)

    def test_each_test_is_in_one_group(self) -> None:
        for groups, wanted, tests in [
            (ltp.LTP, "timing", "timer_settime02 leapsec01 rt_sigtimedwait01 futex_wait01 epoll_wait01"),
            (ltp.LTP, "signals", "rt_sigaction01"),
            (ltp.LTP, "processes", "seccomp01"),
            (ltp.LTP, "queues", "futex_wake01"),
            (ltp.LTP, "descriptors", "inotify09 epoll_ctl01 sendfile02"),
            (ltp.LTP, None, "mount01 reboot01"),
            (ltp.OPEN_POSIX, "timing", "timer_create_8-1"),
            (ltp.OPEN_POSIX, "signals", "pthread_sigmask_7-1"),
            (ltp.OPEN_POSIX, "others", "aio_read_1-1"),
        ]:
            for test in tests.split():
                self.assertEqual(ltp.group_of(test, groups), wanted, test)

    def test_what_is_known_is_in_a_group_that_is_run(self) -> None:
        kinds = {"ltp": ltp.LTP, "open-posix": ltp.OPEN_POSIX}
        for entry in KNOWN:
            kind, _, name = entry.suite.partition("/")
            if kind in kinds:
                self.assertEqual(ltp.group_of(entry.test, kinds[kind]), name, entry)

    def test_the_version_is_told_if_there_is_one(self) -> None:
        self.assertEqual(ltp.version(self.environment), {"LTP": "20260130"})
        self.assertEqual(ltp.version({"LTPROOT": str(self.folder / "none")}), {})


class Codes(unittest.TestCase):
    def test_a_test_without_an_end_is_unfinished(self) -> None:
        text = "begun a\nnoise\nended a: 0\n\nbegun b\n"
        seen = outcomes.of_exit_codes(text, outcomes.of_ltp_code)
        self.assertEqual(seen, {"a": "passed", "b": "unfinished"})

    def test_what_ends_it_from_outside_is_no_outcome_of_its_own(self) -> None:
        for meaning in (outcomes.of_ltp_code, outcomes.of_posix_code):
            for code in (124, 137, 139):
                self.assertEqual(meaning(code), "unfinished", code)
            self.assertEqual(meaning(127), "unsupported")

    def test_unknown_codes_do_not_pass(self) -> None:
        self.assertEqual(outcomes.of_ltp_code(64), "failed")
        self.assertEqual(outcomes.of_posix_code(3), "failed")


class Compared(Fakes):
    def setUp(self) -> None:
        super().setUp()
        apart = ["unshare", *places.isolation(), *ltp.APART, *ltp.NO_CLOCK, "true"]
        if subprocess.run(apart, capture_output=True).returncode:
            self.skipTest("not run: no namespaces may be made here")

    def compared(
        self, name: str, known: list[Known], where: tuple[str, ...] = ("virtual", "held")
    ) -> dict[str, compare.Comparison]:
        suite = replace(self.suite(name), places=where)
        with (
            mock.patch.object(tool, "KNOWN", known),
            mock.patch.object(compare, "TRIES", 2),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            return tool.run_suite(suite, str(self.qcycle), self.scratch)

    def natively(self, name: str) -> dict[str, str]:
        run = self.suite(name).run([], self.scratch)
        return places.run_in(places.NATIVE, run, "qcycle", self.scratch / "output")[0]

    def test_exit_codes_of_ltp(self) -> None:
        wanted = dict.fromkeys(["clock_passes01", "clock_pipes01", "timer_more01"], "passed")
        wanted |= dict.fromkeys(["clock_fails01", "clock_fails_and_is_none_here01"], "failed")
        wanted |= dict.fromkeys(["clock_breaks01", "clock_warns01"], "broken")
        wanted |= dict.fromkeys(["clock_is_none_here01", "clock_is_not_built01"], "unsupported")
        # The second takes `timeout` along, and nobody else.
        killed = ["clock_crashes01", "clock_signals_its_group01"]
        wanted |= dict.fromkeys(killed, "unfinished")
        wanted |= dict.fromkeys(["clock_may_be_set01", "clock_differs01"], "passed")
        self.assertEqual(self.natively("ltp/timing"), wanted)

    def test_a_test_that_hangs_is_unfinished_and_the_next_one_begins(self) -> None:
        script(self.root / "testcases/bin/clock_passes01", "exec sleep 600")
        with mock.patch.object(ltp, "TEST_LONGEST_S", 1):
            seen = self.natively("ltp/timing")
        self.assertEqual(seen["clock_passes01"], "unfinished")
        self.assertEqual(list(seen)[-1], "timer_more01")

    def test_exit_codes_of_open_posix(self) -> None:
        self.assertEqual(
            list(self.natively("open-posix/timing").values()),
            "passed failed broken unsupported unsupported failed unfinished passed".split(),
        )

    def test_what_differs_in_a_domain_is_found(self) -> None:
        found = self.compared("ltp/timing", KNOWN)
        self.assertEqual(list(found), ["virtual", "held"])
        for comparison in found.values():
            apart = [(d.test, d.native, d.here) for d in comparison.unknown]
            self.assertEqual(apart, [("clock_differs01", ["passed"], ["failed"])])
            self.assertEqual((comparison.known, comparison.unsteady), ([], []))
            self.assertEqual((comparison.same, comparison.passed), (12, 4))

    def test_what_differs_with_a_reason_is_known(self) -> None:
        reason = "it is meant"
        for name, test in [("ltp/signals", "sighold02"), ("open-posix/signals", "sigaction_8-22")]:
            meant = [Known(name, test, outcomes.FAILED, reason)]
            known = self.compared(name, meant)["virtual"]
            self.assertEqual([d.test for d in known.known], [test])
            self.assertEqual(known.known[0].reason, reason)
            unknown = self.compared(name, [])["virtual"]
            self.assertEqual([d.test for d in unknown.unknown], [test])

    def test_a_suite_that_hangs_in_a_domain_is_not_taken_for_one_that_hangs_natively(self) -> None:
        # All tests end, and the domain does not.
        script(self.qcycle, QCYCLE.replace("FAKE_DOMAIN=1 exec", "") + "sleep 600\n")
        with mock.patch.object(ltp, "SUITE_LONGEST_S", 4):
            virtual = self.compared("ltp/signals", [], ("virtual",))["virtual"]
        apart = [(d.test, d.native, d.here) for d in virtual.unknown]
        self.assertIn((places.WHOLE, ["absent"], ["unfinished"]), apart)


class Skipped(unittest.TestCase):
    def test_where_they_are_absent_they_are_not_run_and_it_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            qcycle = Path(folder) / "qcycle"
            script(qcycle, "exit 1")
            absent = {"LTPROOT": f"{folder}/none", "OPEN_POSIX_TESTSUITE": f"{folder}/none"}
            command = ["peers", "--json", "--qcycle", str(qcycle), "--only", "ltp/", "open-posix/"]
            said, told = io.StringIO(), io.StringIO()
            with (
                mock.patch.dict("os.environ", absent),
                mock.patch.object(sys, "argv", command),
                mock.patch.object(tool.suites, "versions", dict),
                mock.patch.object(tool.signal, "signal"),
                contextlib.redirect_stderr(said),
                contextlib.redirect_stdout(told),
            ):
                self.assertEqual(tool.main(), 0)
        answer = json.loads(told.getvalue())
        self.assertEqual(answer["suites"], {})
        names = [f"ltp/{name}" for name in ltp.LTP]
        names += [f"open-posix/{name}" for name in ltp.OPEN_POSIX]
        self.assertEqual(list(answer["not_run"]), names)
        for name, reason in answer["not_run"].items():
            self.assertIn(name, said.getvalue())
            self.assertIn("LTPROOT" if name.startswith("ltp/") else "OPEN_POSIX_TESTSUITE", reason)

    def test_the_page_tells_a_reason_once(self) -> None:
        page = report.as_page({}, {}, {"a": "it is absent", "b": "it is absent"}, {}, 4, [])
        self.assertIn("## Not run\n\n- `a`, `b`: it is absent.\n", page)
        self.assertIn("## Not run\n\nNone.\n", report.as_page({}, {}, {}, {}, 4, []))

    def test_the_page_in_the_documents_names_each_suite(self) -> None:
        page = tool.PAGE.read_text()
        everything = tool.suites.all_suites() + ltp.all_suites() + tool.programs.all_programs()
        for suite in everything:
            self.assertIn(f"`{suite.name}`", page)
