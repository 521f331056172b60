"""Tests of run.py, without running anything."""

import unittest
from typing import Any

import run


def relay(received: int, own: int = 0, host: int = 0) -> Any:
    """What a relay says."""
    times = dict.fromkeys(("mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns"), 1000)
    return {
        "frames": {"received": received},
        "task": {"overruns": {"receive": 0, "task": own, "host": host}},
        "times": dict.fromkeys(("receive", "age", "task", "canary"), times),
    }


MERGE = {"frames": {"published": 100}, "lateness_ns": {}}


class Verdicts(unittest.TestCase):
    """What is said of cases."""

    def test_a_loss_at_any_relay_and_an_overrun_of_its_own_are_missed_and_the_hosts_are_not(self) -> None:
        self.assertTrue(run.judge(MERGE, [relay(100, host=7), relay(100)])[0])
        is_met, figures = run.judge(MERGE, [relay(100), relay(98)])
        self.assertEqual((is_met, figures["lost"]), (False, 2))
        self.assertFalse(run.judge(MERGE, [relay(100, own=1)])[0])

    def test_a_cable_has_one_relay_and_all_streams_have_settings(self) -> None:
        found = run.cases([20, 30])
        self.assertTrue(all(case.relays == 1 for case in found if case.wiring == "veth"))
        self.assertEqual(len({str(case) for case in found}), len(found))
        self.assertEqual(run.settings(30).count("sv_id"), 30)

    def test_the_report_has_a_row_for_each_case(self) -> None:
        _, figures = run.judge(MERGE, [relay(100)])
        text = run.report([{"case": "a", "met": True} | figures])
        self.assertIn("| a | 0 of 100 | 1 | 1 | 1 | 1 | 1 | 0, 0 | met |", text)


if __name__ == "__main__":
    unittest.main()
