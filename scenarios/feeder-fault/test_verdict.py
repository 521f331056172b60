"""Tests of verdict.py."""

import unittest
from typing import Any

from verdict import MET, MISSED, NOT_MEASURED, verdict


def merge(*trips_ns: int | None, late: int = 0) -> Any:
    """What a merging unit says of faults with these trips."""
    faults = [
        {"number": number, "trip_after_ns": trip_ns, "interrupted_after_ns": None}
        for number, trip_ns in enumerate(trips_ns, 1)
    ]
    return {"faults": faults, "frames": {"late": late, "dropped": 0}}


class Verdicts(unittest.TestCase):
    """What is said of trips."""

    def test_only_what_software_adds_is_judged(self) -> None:
        code, lines = verdict(merge(11_000_000, 13_500_000), 10.0, 4.0)
        self.assertEqual(code, MET)
        self.assertIn("filter 10.000 ms, software and network 3.500 ms", lines[1])
        code, lines = verdict(merge(11_000_000, 14_500_000), 10.0, 4.0)
        self.assertEqual((code, lines[-1][:6]), (MISSED, "missed"))

    def test_a_fault_without_a_trip_is_missed_and_none_at_all_is_not_measured(self) -> None:
        self.assertEqual(verdict(merge(11_000_000, None), 10.0, 4.0)[0], MISSED)
        self.assertEqual(verdict(merge(), 10.0, 4.0)[0], NOT_MEASURED)

    def test_a_merging_unit_that_was_late_is_told(self) -> None:
        self.assertIn("itself was late (7)", verdict(merge(11_000_000, late=7), 10.0, 4.0)[1][1])


if __name__ == "__main__":
    unittest.main()
