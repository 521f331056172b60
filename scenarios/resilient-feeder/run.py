#!/usr/bin/env python3
"""A fault on a feeder, and what a hostile relay can do about it: as one of four, and alone.

Makes a folder for each case, with settings, circuit and fresh keys; nothing of a case is left in the
folder of the scenario. README.md says what is run.

Usage: run.py --programs FOLDER --qcycle FILE [--output runs/resilient-feeder]
FOLDER holds qcrelay, qcmerge and qchostile. Exit codes are those of `qcycle run`, the worst of all
cases: 0 met, 10 missed, 11 not measured, 13 disturbed; 69 also if a program is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

# Of all cases; programs are started by their own paths.
sys.path.append(str(Path(__file__).resolve().parents[1]))
import command_line

HERE = Path(__file__).resolve().parent
CIRCUIT = HERE.parent / "voltage-stability" / "vt13.dss"
COPIED = ("feeder.dss", "merging_unit.yaml", "breaker.yaml")
RUN_FOLDER = "run folder: "
# Exit codes from good to bad, as docs/reference/exit-codes.md orders them; any other is worse.
ORDER = (0, 11, 13, 10, 12)


class Case(NamedTuple):
    """A run: of which scenario and variant, and how a single relay is set by who took it over."""

    name: str
    scenario: str
    variant: str
    pick_up: str = "500 A"


CASES = (
    Case("one-of-four-fault", "resilient.yaml", "fault"),
    Case("one-of-four-no-fault", "resilient.yaml", "no-fault"),
    # Far above the current of any fault here.
    Case("alone-blocks", "alone.yaml", "fault", pick_up="100 kA"),
    # Far below the load.
    Case("alone-trips", "alone.yaml", "no-fault", pick_up="10 A"),
)


def prepare(case: Case, programs: Path, folder: Path) -> None:
    """Writes all that a case needs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(CIRCUIT, folder)
    for name in COPIED:
        shutil.copy(HERE / name, folder)
    common = (HERE / "common.yaml").read_text(encoding="utf-8")
    scenario = (HERE / case.scenario).read_text(encoding="utf-8")
    scenario = scenario.replace("NAME", case.name).replace("COMMON\n", common)
    (folder / "scenario.yaml").write_text(scenario, encoding="utf-8")
    node = (HERE / "node.yaml").read_text(encoding="utf-8")
    for number in range(4):
        text = node.replace("NODE", str(number))
        (folder / f"node-{number}.yaml").write_text(text, encoding="utf-8")
    relay = (HERE / "relay.yaml").read_text(encoding="utf-8")
    relay = relay.replace("PICK_UP", case.pick_up)
    (folder / "relay.yaml").write_text(relay, encoding="utf-8")
    keys = [programs / "qcrelay", "keys", folder, "--station", "7", "--breaker", "1"]
    subprocess.run(keys, check=True, stdout=subprocess.DEVNULL)


def run(case: Case, asked: argparse.Namespace, folder: Path) -> tuple[int, Path | None]:
    """Runs a case; answers its exit code and run folder."""
    programs = asked.programs.resolve()
    command = [asked.qcycle.resolve(), "run", folder, "--variant", case.variant]
    command += ["--runs", folder / "runs"]
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    try:
        prepare(case, programs, folder)
        told = subprocess.run(
            command, check=False, env=environment, stdout=subprocess.PIPE, text=True
        )
    finally:
        for secret in folder.glob("*.secret"):
            secret.unlink()
    print(told.stdout, end="", flush=True)
    lines = told.stdout.splitlines()
    found = [line.removeprefix(RUN_FOLDER) for line in lines if line.startswith(RUN_FOLDER)]
    return told.returncode, Path(found[0]) if found else None


def badness(code: int) -> int:
    """The place of an exit code from good to bad."""
    return ORDER.index(code) if code in ORDER else len(ORDER) + abs(code)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--qcycle", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path("runs/resilient-feeder"))
    asked = parser.parse_args(words)
    command_line.need_programs(asked, "qcrelay", "qcmerge", "qchostile")
    output = asked.output.resolve()
    worst, folders = 0, []
    for case in CASES:
        code, folder = run(case, asked, output / case.name)
        worst = max(worst, code, key=badness)
        if folder:
            folders.append(folder)
    if folders:
        report = output / "report.html"
        command = [asked.qcycle.resolve(), "report", *folders, "--output", report]
        subprocess.run(command, check=True)
    return worst


if __name__ == "__main__":
    sys.exit(command_line.ended(main))
