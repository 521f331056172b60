"""Ten hostile programs in one node, a measured pair in two others: is the pair's verdict ever wrong?

The pair is that of `scenarios/minimal`, whose verdicts are known: a poller that keeps asking every
20 ms meets its deadline of 50 ms, and one whose link is down for half a second misses it. Beside
hostile programs each verdict must be the known one or `disturbed`, never the other one. It depends on the
pair alone: that hostile programs keep each other waiting is their own affair.

QCYCLE_CHAOS_RUNS (default 4) says how often, QCYCLE_CHAOS_SECONDS (default 60) how long,
QCYCLE_CHAOS_KINDS (default all) who is there.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

import common
import hostile

RUNS = int(os.environ.get("QCYCLE_CHAOS_RUNS", "4"))
SECONDS = int(os.environ.get("QCYCLE_CHAOS_SECONDS", "60"))
KINDS = os.environ.get("QCYCLE_CHAOS_KINDS", "").split() or list(hostile.kinds(random.Random()))
KNOWN = {"fine": "met", "outage": "missed"}


def scenario(seed: int) -> str:
    """The minimal scenario with a node of hostile programs."""
    programs = "".join(
        f"      - {{name: {kind}, run: {sys.executable} hostile.py {kind} {seed}, on_exit: ignore}}\n"
        for kind in KINDS
    )
    return f"""scenario: chaos
duration: {SECONDS} s
nodes:
  server:
    address: 10.0.0.1/24
    programs:
      - {{name: server, run: {sys.executable} server.py}}
  poller:
    address: 10.0.0.2/24
    programs:
      - {{name: poller, run: {sys.executable} poller.py 10.0.0.1}}
  hostile:
    programs:
{programs}links:
  - {{from: server, to: poller, delay: 4 ms, rate: 10 Mbit/s}}
requirements:
  - name: the poller keeps asking
    measure: {{longest_gap: {{from: poller, to: server, port: 7007}}}}
    at_most: 50 ms
    depends_on: [server, poller]
variants:
  fine:
  outage:
    events:
      - {{at: {SECONDS / 2} s, link: [server, poller], state: down}}
      - {{at: {SECONDS / 2 + 0.5} s, link: [server, poller], state: up}}
"""


class Chaos(unittest.TestCase):
    """The pair beside hostile programs."""

    @unittest.skipUnless(os.geteuid() == 0, "not measured: the hostile ones are to have all rights")
    def test_a_verdict_beside_hostile_programs_is_right_or_disturbed(self) -> None:
        seen: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copytree(common.ROOT / "scenarios/minimal", folder / "case")
            shutil.copy(Path(hostile.__file__), folder / "case")
            for run in range(RUNS):
                variant = list(KNOWN)[run % len(KNOWN)]
                (folder / "case/scenario.yaml").write_text(scenario(run + 1), encoding="utf-8")
                ran = common.run(folder / "case", folder / "runs", "--variant", variant)
                outcome = self.outcome(ran)
                seen[f"{variant}: {outcome}"] += 1
                print(f"run {run + 1}: {variant} {outcome}", file=sys.stderr, flush=True)
                self.assertIn(outcome, (KNOWN[variant], "disturbed"), ran.printed)
                shutil.rmtree(folder / "runs")
        print(f"chaos, {RUNS} runs of {SECONDS} s: {dict(seen)}", file=sys.stderr)

    def outcome(self, ran: common.Ran) -> str:
        """What became of the one requirement; the run itself must have come to its end."""
        self.assertIn(ran.code, (0, 10, 13), ran.printed)
        verdicts: Any = ran.record["verdicts"]
        return str(verdicts[0]["outcome"])


if __name__ == "__main__":
    unittest.main()
