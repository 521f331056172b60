#!/usr/bin/env python3
"""How a relay takes many streams on this host: wirings and kinds of load side by side.

Each case runs a merging unit and one or two relays on a process bus of its own (`qcycle bus`), in
host time. A case is met when nothing was lost on the way and no cycle of the relay's task was
longer than a millisecond through a fault of the relay's own; what the host did is told, and not
held against the relay. Needs root. Writes results.json and report.md.

Usage: run.py --programs FOLDER --qcycle FILE [--streams 20 30] [--duration 60] [--output FOLDER]
FOLDER holds qcmerge and qcrelay. Exit codes: 0 met, 10 missed, 12 a case did not run.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

RATE = 4800
# A relay is there before the first frame and after the last one, in s.
MARGIN_S = 3
MET, MISSED, PART_FAILED = 0, 10, 12


class Case(NamedTuple):
    """One run."""

    streams: int
    wiring: str
    relays: int
    load: str

    def __str__(self) -> str:
        beside = {(1, "none"): "alone", (1, "hackbench"): "hackbench"}
        what = beside.get((self.relays, self.load), "second relay")
        return f"{self.streams} streams, {self.wiring}, {what}"


def cases(streams: list[int]) -> list[Case]:
    """All cases; a cable has no room for a second relay."""
    found = []
    for count in streams:
        for wiring in ("veth", "bridge", "macvlan"):
            found.append(Case(count, wiring, 1, "none"))
            found.append(Case(count, wiring, 1, "hackbench"))
            if wiring != "veth":
                found.append(Case(count, wiring, 2, "none"))
    return found


def settings(streams: int) -> str:
    """A relay with two elements for each stream."""
    lines = ["relay: load", "frequency: 50 Hz", "streams:"]
    names = [f"MU{number:02}" for number in range(1, streams + 1)]
    for number, name in enumerate(names, 1):
        group = f"01:0c:cd:04:00:{number:02x}"
        key = f"sv_id: {name}, destination: {group}, app_id: 0x4000"
        lines.append(f"  {name}: {{{key}, rate: {RATE} Hz}}")
    lines.append("elements:")
    for name in names:
        instantaneous = f"stream: {name}, pick_up: 2 kA, delay: 0 ms"
        inverse = f"stream: {name}, pick_up: 800 A, curve: iec-very-inverse, k: 0.5"
        lines.append(f"  I>> {name}: {{function: overcurrent, {instantaneous}}}")
        lines.append(f"  I> {name}: {{function: overcurrent, {inverse}}}")
    return "\n".join(lines) + "\n"


def judge(merge: Any, relays: list[Any]) -> tuple[bool, dict[str, Any]]:
    """Whether a case is met, and its figures."""
    published = merge["frames"]["published"]
    lost = sum(max(0, published - relay["frames"]["received"]) for relay in relays)
    own = sum(sum(relay["task"]["overruns"][who] for who in ("receive", "task")) for relay in relays)
    host = sum(relay["task"]["overruns"]["host"] for relay in relays)
    times = {
        what: {
            key: max(relay["times"][what][key] for relay in relays)
            for key in ("mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns")
        }
        for what in ("receive", "age", "task", "canary")
    }
    figures = {"published": published, "lost": lost, "overruns_own": own, "overruns_host": host}
    return lost == 0 and own == 0, figures | {"times": times, "sent_late_ns": merge["lateness_ns"]}


def run(case: Case, programs: Path, qcycle: Path, duration_s: int, folder: Path) -> Any:
    """Runs a case; `None` if it did not run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "relay.yaml").write_text(settings(case.streams), encoding="utf-8")
    stream = f"stream --interface bus0 --streams {case.streams} --rate {RATE}"
    publisher = f"{programs}/qcmerge {stream} --duration {duration_s}s --core 1 --priority 60 --json"
    command = [str(qcycle), "bus", "--wiring", case.wiring]
    command += ["--publisher", f"{publisher} >{folder}/merge.json"]
    for number in range(case.relays):
        relay = f"{programs}/qcrelay run {folder}/relay.yaml --interface bus0 --json"
        relay += f" --duration {duration_s + MARGIN_S}s >{folder}/relay{number}.json"
        command += ["--relay", relay]
    load = None
    if case.load == "hackbench":
        # Far more rounds than it can do in the time.
        load = subprocess.Popen(["hackbench", "-l", "100000000"], stdout=subprocess.DEVNULL)
    try:
        if subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 0:
            return None
    finally:
        if load is not None:
            load.terminate()
            load.wait()
    read = [folder / "merge.json", *(folder / f"relay{n}.json" for n in range(case.relays))]
    merge, *relays = [json.loads(path.read_text(encoding="utf-8")) for path in read]
    is_met, figures = judge(merge, relays)
    return {"case": str(case), "met": is_met} | figures


def report(results: list[Any]) -> str:
    """A table of all cases, times in microseconds."""
    head = ["case", "lost", "receive p50", "p99", "max", "task p99", "max", "overruns own, host", ""]
    rows = [head, ["---"] * len(head)]
    for one in results:
        receive, task = one["times"]["receive"], one["times"]["task"]
        times = [receive["p50_ns"], receive["p99_ns"], receive["max_ns"], task["p99_ns"], task["max_ns"]]
        rows.append(
            [
                one["case"],
                f"{one['lost']} of {one['published']}",
                *(f"{ns / 1000:.0f}" for ns in times),
                f"{one['overruns_own']}, {one['overruns_host']}",
                "met" if one["met"] else "missed",
            ]
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--qcycle", type=Path, required=True)
    parser.add_argument("--streams", type=int, nargs="+", default=[20, 30])
    parser.add_argument("--duration", type=int, default=60)
    parser.add_argument("--output", type=Path, default=Path("runs/relay-load"))
    told = parser.parse_args()
    results, code = [], MET
    for number, case in enumerate(cases(told.streams)):
        if case.load == "hackbench" and shutil.which("hackbench") is None:
            print(f"{case}: not measured: hackbench is not installed (package rt-tests)")
            continue
        folder = told.output.resolve() / f"{number:02}"
        result = run(case, told.programs.resolve(), told.qcycle.resolve(), told.duration, folder)
        if result is None:
            print(f"{case}: did not run; {folder} has what was said")
            code = PART_FAILED
            continue
        results.append(result)
        print(f"{case}: {'met' if result['met'] else 'missed'}, {result['lost']} lost", flush=True)
        if not result["met"] and code == MET:
            code = MISSED
    told.output.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2) + "\n"
    (told.output / "results.json").write_text(text, encoding="utf-8")
    (told.output / "report.md").write_text(report(results), encoding="utf-8")
    print(report(results))
    return code


if __name__ == "__main__":
    sys.exit(main())
