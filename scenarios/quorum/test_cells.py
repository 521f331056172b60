"""Cells as they are run, with programs of a debug build: one in virtual time, and one in host time
that is interrupted and goes on."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
PROGRAMS = TARGET / "debug"
NEEDED = ("qcycle", "qcrelay", "qcmerge", "qchostile")
# Longest that a host with much else to do may take for a part.
PATIENCE_S = 120


@unittest.skipUnless(os.geteuid() == 0, "cells need root, for namespaces and real-time threads")
class Cells(unittest.TestCase):
    """What `run.py` does."""

    def setUp(self) -> None:
        for name in NEEDED:
            there = (PROGRAMS / name).exists()
            self.assertTrue(there, f"{name} is missing: cargo build -p relay -p testbed")
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.output = Path(kept.name)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Begins an evaluation of ten actions."""
        command = [sys.executable, HERE / "run.py", "--programs", PROGRAMS, "--output", self.output]
        command += ["--qcycle", PROGRAMS / "qcycle", "--actions", "10", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def finished(self, evaluation: subprocess.Popen[str]) -> Any:
        """Its one result, of which all is whole."""
        said, _ = evaluation.communicate(timeout=3 * PATIENCE_S)
        # Whether it was in time is up to the host, so met and missed are both right here.
        self.assertIn(evaluation.returncode, (0, 10), said)
        (path,) = self.output.glob("*/result.json")
        found = json.loads(path.read_text(encoding="utf-8"))
        asked = [found[key] for key in ("asked", "never_came", "not_asked_for")]
        self.assertEqual(asked, [10, 0, 0], said)
        self.assertEqual(sum(found["causes"].values()), found["ours"]["over"])
        self.assertAlmostEqual(sum(found["parts"].values()), found["ours"]["mean"], places=1)
        self.assertIn(found["protocol"], (self.output / "report.html").read_text(encoding="utf-8"))
        self.nothing_is_left()
        return found

    def nothing_is_left(self) -> None:
        """No program of a cell, and no key; what was ended may take a moment to be gone."""
        self.assertEqual(list(self.output.rglob("*.secret")), [])
        until = time.monotonic() + PATIENCE_S
        while (left := running_in(self.output)) and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(left, [])

    def test_a_cell_in_virtual_time_with_a_hostile_node_and_one_that_recovers(self) -> None:
        only = ("--mode", "virtual", "--protocol", "peer", "--only", "byzantine and")
        found = self.finished(self.start(*only))
        self.assertEqual(found["ours"]["count"], 10)
        self.assertEqual(sorted(found["kept_out"]), ["count", "longest_ms", "total_s"])

    def test_a_condition_that_is_not_there_is_no_success(self) -> None:
        evaluation = self.start("--only", "flood")
        said, _ = evaluation.communicate(timeout=PATIENCE_S)
        self.assertEqual((evaluation.returncode, said), (2, ""))
        self.assertEqual(list(self.output.iterdir()), [])

    def test_a_cell_that_is_flooded(self) -> None:
        only = ("--mode", "virtual", "--protocol", "arbiter", "--only", "flood", "--beyond")
        self.assertGreater(self.finished(self.start(*only))["wrong_tags"], 1000)

    def test_a_cell_that_is_interrupted_leaves_nothing_and_goes_on_where_it_was(self) -> None:
        only = ("--mode", "real", "--protocol", "arbiter", "--only", "fault-free", "--part", "5")
        evaluation = self.start(*only)
        first, second = (self.output / f"real-arbiter-fault-free/part-00{n}" for n in (1, 2))
        until = time.monotonic() + PATIENCE_S
        while not (second / "breaker.jsonl").exists() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertTrue(running_in(self.output), "the second part runs")
        evaluation.send_signal(signal.SIGINT)
        said, _ = evaluation.communicate(timeout=PATIENCE_S)
        self.assertEqual(evaluation.returncode, 130, said)
        self.nothing_is_left()
        self.assertFalse((second / "done.json").exists())
        done_at_ns = (first / "done.json").stat().st_mtime_ns
        self.finished(self.start(*only))
        self.assertEqual((first / "done.json").stat().st_mtime_ns, done_at_ns)


def running_in(folder: Path) -> list[str]:
    """Programs that run in a folder, or with its files."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            if str(folder) in command or str(folder) in os.readlink(process / "cwd"):
                found.append(command.replace("\0", " "))
        except OSError:
            continue
    return [command for command in found if str(HERE / "run.py") not in command]


if __name__ == "__main__":
    unittest.main()
