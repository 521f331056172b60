"""The whole case, with the programs that were built: a feeder, a fault, and a hostile relay.

It runs in virtual time, where how long the host takes does not matter.
"""

import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any

import run

BUILT = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "debug"


class Whole(unittest.TestCase):
    """All cases, as a user runs them from the root of the project."""

    @unittest.skipUnless(os.geteuid() == 0, "not measured: namespaces need root")
    def test_one_of_four_does_nothing_and_a_single_one_does_what_it_likes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder)
            words = ["--programs", str(BUILT), "--qcycle", str(BUILT / "qcycle")]
            code = run.main([*words, "--output", folder])
            measured = {case.name: self.verdicts(output, case) for case in run.CASES}
            self.assertEqual(code, 0, measured)
            self.assertEqual([len(found) for found in measured.values()], [4, 3, 2, 2])
            self.assertEqual(list(output.rglob("*.secret")), [], "keys are removed")
            report = (output / "report.html").read_text(encoding="utf-8")
            for case in run.CASES:
                self.assertIn(f"{case.name}-1", report)
            self.hostile_was_there(output)

    def verdicts(self, output: Path, case: run.Case) -> Any:
        """What a run was judged by."""
        record = output / case.name / "runs" / f"{case.name}-1" / "run.json"
        return json.loads(record.read_text(encoding="utf-8"))["verdicts"]

    def hostile_was_there(self, output: Path) -> None:
        """The breaker node had heard the hostile one, and took down its misdeeds."""
        for name in ("one-of-four-fault", "one-of-four-no-fault"):
            lines = (output / name / "breaker.jsonl").read_text(encoding="utf-8").splitlines()
            blamed = [one for one in map(json.loads, lines) if one["event"] == "blamed"]
            self.assertEqual({one["node"] for one in blamed}, {3}, name)


if __name__ == "__main__":
    unittest.main()
