"""What the soak tests share: where the programs are, and how a scenario is run.

The soak tests (`make soak`) take minutes to an hour, and ask what no quick test can: whether
verdicts stand beside hostile programs, load and other users. Each file is one question. What a
machine lacks is a skip that says so, never a pass.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QCYCLE = ROOT / "target/release/qcycle"


@dataclass(frozen=True)
class Ran:
    """One run of a scenario: its exit code, its record (`run.json`) and what it printed."""

    code: int
    record: dict[str, object]
    printed: str


def run(scenario: Path, runs: Path, *options: str) -> Ran:
    """Runs a scenario into a folder of its own below `runs`."""
    runs.mkdir(parents=True, exist_ok=True)
    command = [QCYCLE, "run", scenario, "--json", "--runs", runs, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        record = json.loads(done.stdout)
    except json.JSONDecodeError:
        record = {}
    return Ran(done.returncode, record, done.stdout + done.stderr)
