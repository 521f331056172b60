"""Tests of verdict.py."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from verdict import DISTURBED, MET, MISSED, NOT_MEASURED, verdict

PROGRAM = Path(__file__).resolve().parent / "verdict.py"


def merge(*trips_ns: int | None, late_ms: float = 0, dropped: int = 0) -> Any:
    """What a merging unit says of faults with these trips: of 1000 frames, one each millisecond."""
    faults = [
        {"number": number, "trip_after_ns": trip_ns, "interrupted_after_ns": None}
        for number, trip_ns in enumerate(trips_ns, 1)
    ]
    frames = {"published": 1000 - dropped, "late": 7 if late_ms else 0, "dropped": dropped}
    lateness_ns = {"max": late_ms * 1e6}
    return {"faults": faults, "frames": frames, "lateness_ns": lateness_ns, "duration_s": 1.0}


class Verdicts(unittest.TestCase):
    def test_only_what_software_adds_is_judged(self) -> None:
        code, lines = verdict(merge(11_000_000, 13_500_000), 10.0, 4.0)
        self.assertEqual(code, MET)
        self.assertIn("filter 10.000 ms, software and network 3.500 ms", lines[1])
        code, lines = verdict(merge(11_000_000, 14_500_000), 10.0, 4.0)
        self.assertEqual((code, lines[-1][:6]), (MISSED, "missed"))

    def test_a_fault_without_a_trip_is_missed_and_none_at_all_is_not_measured(self) -> None:
        self.assertEqual(verdict(merge(11_000_000, None), 10.0, 4.0)[0], MISSED)
        self.assertEqual(verdict(merge(), 10.0, 4.0)[0], NOT_MEASURED)

    def test_what_the_merging_unit_took_is_not_missed_by_the_relay(self) -> None:
        for late_ms, dropped, expected in (
            (0, 0, MISSED),
            (39.8, 0, MISSED),
            (39.9, 0, DISTURBED),
            (0, 39, MISSED),
            (1, 39, DISTURBED),
        ):
            told = merge(11_000_000, 53_881_000, late_ms=late_ms, dropped=dropped)
            self.assertEqual(verdict(told, 10.0, 4.0)[0], expected, (late_ms, dropped))
        code, lines = verdict(merge(11_000_000, late_ms=102), 10.0, 4.0)
        self.assertEqual(code, MET)
        self.assertIn("sent 7 frames late and dropped 0: up to 102.000 ms", lines[1])
        self.assertEqual(verdict(merge(None, late_ms=102), 10.0, 4.0)[0], MISSED)


class CommandLine(unittest.TestCase):
    """What is wrong ends in one line that says what corrects it."""

    def run_on(self, text: str, *words: str) -> tuple[int, str]:
        """Exit code and last line of the program on a file with this text."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            command = [sys.executable, PROGRAM, file.name, *words]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
        return ended.returncode, (ended.stderr or ended.stdout).splitlines()[-1]

    def test_a_file_that_is_no_summary_is_refused(self) -> None:
        self.assertEqual(self.run_on(json.dumps(merge(11_000_000)), "10")[0], MET)
        for text in ("relay: feeder", "{}", "[]", '{"faults": [{}]}', '{"faults": [], "frames": 1}'):
            code, line = self.run_on(text, "2")
            self.assertEqual(code, 65, text)
            self.assertIn("not the JSON of a merging unit with its faults; fix: give what", line)

    def test_a_number_out_of_range_is_refused(self) -> None:
        for words in (["-1"], ["nan"], ["inf"], ["x"], ["2", "--software-max", "-1"]):
            code, line = self.run_on("{}", *words)
            self.assertEqual(code, 2, words)
            self.assertIn("is not a number from 0 to 60000", line)
