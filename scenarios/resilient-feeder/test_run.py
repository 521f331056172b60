"""The whole case, with the programs that were built: a feeder, a fault, and a hostile relay.

It runs in virtual time, where how long the host takes does not matter.
"""

import argparse
import contextlib
import io
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import run

BUILT = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "debug"


class Interrupted(unittest.TestCase):
    """A case that Ctrl-C ends."""

    def test_its_keys_are_removed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "case"

            def called(command: list[Any], **_settings: Any) -> None:
                if "keys" not in command:
                    raise KeyboardInterrupt
                (folder / "node-0.secret").touch()

            asked = argparse.Namespace(programs=BUILT, qcycle=BUILT / "qcycle")
            with mock.patch("subprocess.run", called):
                self.assertRaises(KeyboardInterrupt, run.run, run.CASES[0], asked, folder)
            self.assertTrue((folder / "scenario.yaml").exists())
            self.assertEqual(list(folder.glob("*.secret")), [])


class Worst(unittest.TestCase):
    """The exit code of all cases."""

    def test_a_missed_case_is_worse_than_a_disturbed_one(self) -> None:
        ordered = [0, 11, 13, 10, 12, 65, 69, 130]
        self.assertEqual(sorted(sorted(ordered), key=run.badness), ordered)


class Missing(unittest.TestCase):
    """Programs that are not there, and commands that fail."""

    def test_they_are_named_in_one_line(self) -> None:
        for main, what in (
            (lambda: run.main(["--programs", "nope", "--qcycle", "nope"]), "nope: there is no such"),
            (lambda: subprocess.run(["false"], check=True).returncode, "`false` ended with 1; fix: "),
            (lambda: os.rmdir("/nowhere/at all") or 0, "/nowhere/at all: No such file"),
        ):
            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(SystemExit) as ended:
                run.command_line.ended(main)
            self.assertEqual((ended.exception.code, said.getvalue().count("\n")), (69, 1))
            self.assertIn(what, said.getvalue())


class Whole(unittest.TestCase):
    """All cases, as a user runs them from the root of the project."""

    @unittest.skipUnless(os.geteuid() == 0, "not measured: namespaces need root")
    def test_one_of_four_does_nothing_and_a_single_one_does_what_it_likes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder)
            words = ["--programs", str(BUILT), "--qcycle", str(BUILT / "qcycle")]
            code = run.main([*words, "--output", folder])
            measured = {case.name: self.verdicts(output, case) for case in run.CASES}
            # On a busy machine a verdict is disturbed; what it would be otherwise must hold there too.
            self.assertIn(code, (0, 13), measured)
            for verdict in (one for found in measured.values() for one in found):
                is_met = verdict["outcome"] == "met" or "; would be met" in verdict["reason"]
                self.assertTrue(is_met, verdict)
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
