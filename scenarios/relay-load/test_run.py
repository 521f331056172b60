"""Tests of run.py and its page, without running anything."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import page
import run


def relay(received: int, own: int = 0, host: int = 0) -> Any:
    """What a relay says."""
    times: dict[str, Any] = dict.fromkeys(("mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns"), 1000)
    times["histogram"] = [[1000, 3], [2000, 1]]
    return {
        "frames": {"received": received},
        "task": {"overruns": {"receive": 0, "task": own, "host": host}},
        "times": dict.fromkeys(run.TIMES, times),
    }


MERGE = {"frames": {"published": 100, "dropped": 4}, "lateness_ns": {}}


def result(place: str, *relays: Any) -> Any:
    """A case that ran."""
    case = run.Case(20, "veth", 1, "none", place)
    is_met, figures = run.judge(MERGE, list(relays))
    told = case._asdict() | {"beside": case.beside, "duration_s": 60}
    return {"case": str(case), "met": is_met} | told | figures


class Verdicts(unittest.TestCase):
    def test_a_loss_at_any_relay_and_an_overrun_of_its_own_are_missed_and_the_hosts_are_not(self) -> None:
        self.assertTrue(run.judge(MERGE, [relay(100, host=7), relay(100)])[0])
        is_met, figures = run.judge(MERGE, [relay(100), relay(98)])
        self.assertEqual((is_met, figures["lost"], figures["never_sent"]), (False, 2, 4))
        self.assertFalse(run.judge(MERGE, [relay(100, own=1)])[0])

    def test_a_cable_has_one_relay_all_cases_have_a_container_and_all_streams_settings(self) -> None:
        found = run.cases([20, 30])
        self.assertTrue(all(case.relays == 1 for case in found if case.wiring == "veth"))
        self.assertEqual(len({str(case) for case in found}), len(found))
        native = {case._replace(place="") for case in found if case.place == "native"}
        self.assertEqual(native, {c._replace(place="") for c in found if c.place == "container"})
        self.assertEqual(run.settings(30).count("sv_id"), 30)

    def test_histograms_of_two_relays_are_one(self) -> None:
        both = run.added([[[1000, 1], [3000, 2]], [[2000, 5], [3000, 1]]])
        self.assertEqual(both, [[1000, 1], [2000, 5], [3000, 3]])


class CommandLine(unittest.TestCase):
    """What is wrong ends in a line that says what corrects it, and nothing is run."""

    def refused(self, *words: str) -> tuple[Any, str]:
        """Exit code, and what was said."""
        said = io.StringIO()
        given = ["--programs", "nope", "--qcycle", "nope", *words]
        with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
            run.main(given)
        return ended.exception.code, said.getvalue()

    def test_numbers_have_a_range_and_a_case_has_a_name(self) -> None:
        for words, range_ in (
            (("--streams", "0"), "from 1 to 255"),
            (("--streams", "20", "256"), "from 1 to 255"),
            (("--duration", "-5"), "from 1 to 86400"),
            (("--duration", "1.5"), "from 1 to 86400"),
            (("--only", "nope"), "no case has 'nope' in its name: 20 streams, veth, alone, native"),
        ):
            code, said = self.refused(*words)
            self.assertEqual(code, 2, words)
            self.assertIn(range_, said)

    def test_programs_that_are_missing_are_named(self) -> None:
        code, said = self.refused()
        self.assertEqual((code, said.count("\n")), (69, 1))
        self.assertIn("nope: there is no such program; fix: build it (cargo build", said)

    def test_what_could_not_be_measured_is_not_met(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for program in ("qcycle", "qcmerge", "qcrelay"):
                (folder / program).touch(mode=0o755)
            words = ["--programs", name, "--qcycle", f"{name}/qcycle", "--output", name]
            with mock.patch("run.missing", lambda _: "no runc"):
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(run.main(words), run.NOT_MEASURED)


class Page(unittest.TestCase):
    def test_a_curve_is_the_share_that_took_longer(self) -> None:
        self.assertEqual(page.exceeded([[1000, 3], [2000, 1]]), [(1000, 0.25)])

    def test_a_native_case_and_its_container_share_their_charts_and_a_loss_is_seen(self) -> None:
        cases = [result("native", relay(100)), result("container", relay(99))]
        whole = {"host": "a <host>", "cases": cases, "not_measured": [{"case": "x", "why": "no runc"}]}
        text = page.page(whole)
        self.assertEqual(text.count("<polyline"), 2 * len(page.KINDS))
        self.assertEqual(text.count("<h3>"), 1)
        self.assertIn("a &lt;host&gt;", text)
        self.assertEqual(text.count("<span class=missed>"), 1)
        self.assertIn("<li>x: no runc", text)
