"""Ten hostile programs in one node, a measured pair in two others: is the pair's verdict ever wrong?

The pair is that of `scenarios/minimal`, whose verdicts are known. Beside hostile programs each must be
the known one or `disturbed`, never the other one. It depends on the pair alone: that hostile programs
keep each other waiting is their own affair.

Some hostile programs take all that they can get (`hostile.py`), others are aimed at the agent that all
nodes share: they write into the page that they share with it, have it read memory and files that
never answer, take its descriptors and sockets (the guests `hostile` and `timer_storm` of the
quick tests). Each run draws ten of all; the seed is its number. One that writes over what it
needs itself may end early, and harms nobody from then on, so most of them must be there to the end.

QCYCLE_CHAOS_RUNS (default 4) says how often, QCYCLE_CHAOS_SECONDS (default 60) how long,
QCYCLE_CHAOS_KINDS (default ten drawn) who is there, QCYCLE_CHAOS_FIRST (default 1) the first seed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
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
FIRST = int(os.environ.get("QCYCLE_CHAOS_FIRST", "1"))
ASKED = os.environ.get("QCYCLE_CHAOS_KINDS", "").split()
AT_A_TIME = 10
GUESTS = common.ROOT / "crates/testbed/tests/guests"
# Those aimed at the agent, by the guest that does it.
AIMED = {
    "own-page": "hostile page",
    "silent-execs": "hostile execs",
    "hung-files": "hostile hang",
    "silent-pages": "hostile maps",
    "failing-execs": "hostile storm",
    "line-flood": "hostile flood",
    "steal-sockets": "hostile steal poller 1000",
    "fast-timers": "timer_storm fast 1000000",
    "many-timers": "timer_storm many 1000000",
    "silent-timers": "timer_storm silent 1000000",
}
KNOWN = {"fine": "met", "outage": "missed"}


def drawn(seed: int) -> list[str]:
    """Who is there in a run."""
    everybody = [*hostile.KINDS, *AIMED]
    return ASKED or random.Random(seed).sample(everybody, AT_A_TIME)


def command(kind: str, seed: int) -> str:
    """What runs one of them."""
    return f"./{AIMED[kind]}" if kind in AIMED else f"{sys.executable} hostile.py {kind} {seed}"


def scenario(seed: int) -> str:
    """The minimal scenario with a node of hostile programs."""
    programs = "".join(
        f"      - {{name: {kind}, run: {command(kind, seed)}, on_exit: ignore}}\n"
        for kind in drawn(seed)
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
    @unittest.skipUnless(os.geteuid() == 0, "not measured: the hostile ones are to have all rights")
    @unittest.skipUnless(shutil.which("cc"), "not measured: there is no C compiler")
    def test_a_verdict_beside_hostile_programs_is_right_or_disturbed(self) -> None:
        seen: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copytree(common.ROOT / "scenarios/minimal", folder / "case")
            shutil.copy(Path(hostile.__file__), folder / "case")
            for guest in ("hostile", "timer_storm"):
                build = ["cc", "-O2", "-pthread", "-o", folder / "case" / guest]
                subprocess.run([*build, GUESTS / f"{guest}.c"], check=True)
            for seed in range(FIRST, FIRST + RUNS):
                variant = list(KNOWN)[seed % len(KNOWN)]
                (folder / "case/scenario.yaml").write_text(scenario(seed), encoding="utf-8")
                ran = common.run(folder / "case", folder / "runs", "--variant", variant)
                self.assertIn(ran.code, (0, 10, 13), ran.printed)
                verdicts: Any = ran.record["verdicts"]
                outcome = str(verdicts[0]["outcome"])
                seen[f"{variant}: {outcome}"] += 1
                said = f"seed {seed}: {variant} {outcome} beside {' '.join(drawn(seed))}"
                gone = self.gone(ran)
                print(f"{said}; ended early: {gone or 'none'}", file=sys.stderr, flush=True)
                self.assertIn(outcome, (KNOWN[variant], "disturbed"), ran.printed)
                self.assertLess(2 * len(gone), len(drawn(seed)), f"too few were hostile: {gone}")
                shutil.rmtree(folder / "runs")
        print(f"chaos, {RUNS} runs of {SECONDS} s: {dict(seen)}", file=sys.stderr)

    def gone(self, ran: common.Ran) -> dict[str, object]:
        """Hostile programs that were not there until the end, with how they ended."""
        programs: Any = ran.record["programs"]
        hostile_ones = [one for one in programs if one["node"] == "hostile"]
        return {one["name"]: one["end"] for one in hostile_ones if one["end"]["how"] != "stopped"}
