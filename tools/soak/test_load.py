"""Verdicts of `scenarios/voltage-stability` beside more work than the machine has processors.

Unloaded, both variants meet all requirements. Beside `stress-ng --cpu 8` and a compiler, each
requirement must be met or `disturbed` with its cause; and where a requirement is made that no run can
meet, beside the same load it must be missed or `disturbed`, never met.

QCYCLE_LOAD_RUNS (default 4) says how often.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common

RUNS = int(os.environ.get("QCYCLE_LOAD_RUNS", "4"))
VARIANTS = ("normal", "denial-of-service")
# The controller polls every 100 ms, so this is missed however idle the host is.
IMPOSSIBLE = """      - name: nobody polls so often
        measure: {longest_gap: {from: controller, to: sensor, port: 5020}, from: 0 s}
        at_most: 60 ms
"""
COMPILES = """
import subprocess, sys
source = "#include <stdio.h>\\n" + "".join(
    f"double f{i}(double x) {{ return x * {i} + f{max(i - 1, 0)}_(x); }}\\n".replace("_(", "(")
    if i else "double f0(double x) { return x; }\\n" for i in range(3000))
while True:
    subprocess.run(["cc", "-O2", "-x", "c", "-c", "-o", "/dev/null", "-"],
                   input=source.encode(), check=False)
"""


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Eight processes that compute and one that compiles, until the block ends."""
    commands = [
        ["stress-ng", "--cpu", "8", "--quiet"],
        [sys.executable, "-c", COMPILES],
    ]
    running = [subprocess.Popen(command, start_new_session=True) for command in commands]
    try:
        yield
    finally:
        for one in running:
            # Each leads a session of its own, with what it has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, 9)
            one.wait()


class Load(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "not measured: namespaces need root")
    @unittest.skipUnless(shutil.which("stress-ng"), "not measured: stress-ng is not installed")
    @unittest.skipUnless(shutil.which("cc"), "not measured: there is no C compiler")
    def test_beside_load_a_requirement_is_met_or_disturbed_with_the_cause(self) -> None:
        seen: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            case = folder / "case"
            shutil.copytree(common.ROOT / "scenarios/voltage-stability", case)
            text = (case / "scenario.yaml").read_text(encoding="utf-8")
            text = text.replace("  denial-of-service:\n", IMPOSSIBLE + "  denial-of-service:\n", 1)
            (case / "scenario.yaml").write_text(text, encoding="utf-8")
            os.environ["PATH"] = f"{common.ROOT / '.venv/bin'}:{os.environ['PATH']}"
            with load():
                for run in range(RUNS):
                    variant = VARIANTS[run % len(VARIANTS)]
                    ran = common.run(case, folder / "runs", "--variant", variant)
                    self.assertIn(ran.code, (0, 10, 13), ran.printed)
                    verdicts: Any = ran.record["verdicts"]
                    for verdict in verdicts:
                        self.judge(verdict)
                        seen[str(verdict["outcome"])] += 1
                    print(
                        f"run {run + 1}: {variant} {[one['outcome'] for one in verdicts]}",
                        file=sys.stderr,
                        flush=True,
                    )
        print(f"load, {RUNS} runs: {dict(seen)}", file=sys.stderr)

    def judge(self, verdict: Any) -> None:
        """A verdict is the known one, or disturbed with a cause."""
        is_impossible = verdict["requirement"]["name"] == "nobody polls so often"
        known = "missed" if is_impossible else "met"
        self.assertIn(verdict["outcome"], (known, "disturbed"), verdict)
        if verdict["outcome"] == "disturbed":
            self.assertRegex(verdict["reason"], r"(waited|woke|computed|late|tdf).*the limit is")
