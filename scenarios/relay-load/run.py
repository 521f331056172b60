#!/usr/bin/env python3
"""How a relay takes many streams on this host: wirings and kinds of load side by side.

README.md says what is run, and when a case is met. Needs root. Writes results.json after each case,
so that an interrupted run keeps what it has, and report.html.

Usage: run.py --programs FOLDER --qcycle FILE [--streams 20 30] [--duration 60] [--only alone]
FOLDER holds qcmerge and qcrelay, both static. Exit codes: 0 met, 10 missed, 11 a case
could not be measured, 12 a case did not run, 69 a program or a right is missing.
"""

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import page

# Of all cases; programs are started by their own paths.
sys.path.append(str(Path(__file__).resolve().parents[1]))
import command_line
from command_line import within

RATE = 4800
# A relay is there before the first frame and after the last one, in s.
MARGIN_S = 3
MET, MISSED, NOT_MEASURED, PART_FAILED = 0, 10, 11, 12
# From the kernel's stamp to the receiving thread, to the task, of a cycle, and what the host takes.
TIMES = ("receive", "age", "task", "canary")
CONTAINER = Path(__file__).resolve().parents[2] / "tools/container.py"


class Case(NamedTuple):
    streams: int
    wiring: str
    relays: int
    load: str
    place: str

    @property
    def beside(self) -> str:
        """What else is on the host."""
        return "second relay" if self.relays > 1 else {"none": "alone"}.get(self.load, self.load)

    def __str__(self) -> str:
        return f"{self.streams} streams, {self.wiring}, {self.beside}, {self.place}"


def cases(streams: list[int]) -> list[Case]:
    """All cases, the two places of each side by side in time; a cable has no second relay."""
    return [
        Case(count, wiring, relays, load, place)
        for count in streams
        for wiring in ("veth", "bridge", "macvlan")
        for relays, load in ((1, "none"), (1, "hackbench"), (2, "none"))
        if relays == 1 or wiring != "veth"
        for place in ("native", "container")
    ]


def missing(case: Case) -> str | None:
    """What a case needs and this host lacks."""
    if case.load == "hackbench" and shutil.which("hackbench") is None:
        return "hackbench is not installed (package rt-tests)"
    if case.place == "container" and shutil.which("runc") is None:
        return "runc is not installed (package runc)"
    return None


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
        | {"histogram": added(relay["times"][what]["histogram"] for relay in relays)}
        for what in TIMES
    }
    never_sent = merge["frames"]["dropped"]
    figures = {"published": published, "never_sent": never_sent, "lost": lost}
    figures |= {"overruns_own": own, "overruns_host": host}
    return lost == 0 and own == 0, figures | {"times": times, "sent_late_ns": merge["lateness_ns"]}


def added(histograms: Iterable[list[list[int]]]) -> list[list[int]]:
    """Upper bounds in ns and counts of several histograms together."""
    counts: Counter[int] = Counter()
    for histogram in histograms:
        counts.update(dict(histogram))
    return [[bound_ns, counts[bound_ns]] for bound_ns in sorted(counts)]


def command_of_relay(case: Case, programs: Path, duration_s: int, number: int, folder: Path) -> str:
    """What starts a relay in its network namespace, natively or in a container of its own."""
    arguments = f"--interface bus0 --json --duration {duration_s + MARGIN_S}s"
    if case.place == "native":
        return f"{programs}/qcrelay run {folder}/relay.yaml {arguments}"
    bundle = folder / f"bundle{number}"
    made = [sys.executable, str(CONTAINER), "--binary", f"{programs}/qcrelay", "--bundle", bundle]
    cores = f"0-{(os.cpu_count() or 1) - 1}"
    inside = ["run", "/settings/relay.yaml", *arguments.split()]
    subprocess.run([*made, "--cores", cores, "--", *inside], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(folder / "relay.yaml", bundle / "settings")
    # Its state lies in the folder of the case: two runs of this program never meet.
    name = f"relay{number}-{os.getpid()}"
    return f"runc --root {folder}/runc run {no_pivot()}--bundle {bundle} {name}"


def no_pivot() -> str:
    """The option that a host needs whose root is the kernel's first file system."""
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        root = [line.split(" - ")[1].split()[0] for line in mounts if line.split()[4] == "/"]
    return "--no-pivot " if "rootfs" in root else ""


def run(case: Case, programs: Path, qcycle: Path, duration_s: int, folder: Path) -> Any:
    """Runs a case; `None` if it did not run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "relay.yaml").write_text(settings(case.streams), encoding="utf-8")
    stream = f"stream --interface bus0 --streams {case.streams} --rate {RATE}"
    publisher = f"{programs}/qcmerge {stream} --duration {duration_s}s --core 1 --priority 60 --json"
    command = [str(qcycle), "bus", "--wiring", case.wiring]
    command += ["--publisher", f"exec {publisher} >{folder}/merge.json"]
    for number in range(case.relays):
        relay = command_of_relay(case, programs, duration_s, number, folder)
        command += ["--relay", f"exec {relay} >{folder}/relay{number}.json"]
    load = None
    if case.load == "hackbench":
        # Far more rounds than it can do in the time.
        load = subprocess.Popen(
            ["hackbench", "-l", "100000000"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        with open(folder / "said.txt", "w", encoding="utf-8") as said:
            if subprocess.run(command, check=False, stderr=said).returncode != 0:
                return None
    finally:
        if load is not None:
            # Its forty groups of senders and receivers with it.
            os.killpg(load.pid, signal.SIGTERM)
            load.wait()
    read = [folder / "merge.json", *(folder / f"relay{n}.json" for n in range(case.relays))]
    merge, *relays = [json.loads(path.read_text(encoding="utf-8")) for path in read]
    is_met, figures = judge(merge, relays)
    told = case._asdict() | {"beside": case.beside, "duration_s": duration_s}
    return {"case": str(case), "met": is_met} | told | figures


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--qcycle", type=Path, required=True)
    parser.add_argument("--streams", type=within(int, 1, 255), nargs="+", default=[20, 30])
    parser.add_argument("--duration", type=within(int, 1, 86_400), default=60, help="in s")
    parser.add_argument("--only", default="", help="cases with this in their name, such as `alone`")
    parser.add_argument("--output", type=Path, default=Path("runs/relay-load"))
    told = parser.parse_args(words)
    results: list[Any] = []
    unmeasured: list[Any] = []
    code = MET
    everything = [case for case in cases(told.streams) if told.only in str(case)]
    if not everything:
        names = "; ".join(map(str, cases(told.streams)))
        parser.error(f"argument --only: no case has {told.only!r} in its name: {names}")
    command_line.need_programs(told, "qcmerge", "qcrelay")
    for number, case in enumerate(everything):
        lacking = missing(case)
        if lacking is not None:
            print(f"{case}: not measured: {lacking}")
            unmeasured.append({"case": str(case), "why": lacking})
            continue
        print(f"{number + 1} of {len(everything)}, {told.duration} s: {case}", flush=True)
        folder = told.output.resolve() / f"{number:02}"
        result = run(case, told.programs.resolve(), told.qcycle.resolve(), told.duration, folder)
        if result is None:
            print(f"{case}: did not run; {folder} has what was said")
            unmeasured.append({"case": str(case), "why": "did not run"})
            code = PART_FAILED
            continue
        results.append(result)
        print(f"{case}: {'met' if result['met'] else 'missed'}, {result['lost']} lost", flush=True)
        if not result["met"] and code == MET:
            code = MISSED
        write(told.output, results, unmeasured)
    write(told.output, results, unmeasured)
    if unmeasured and code == MET:
        code = NOT_MEASURED
    print(f"report: {told.output / 'report.html'}")
    return code


def write(output: Path, results: list[Any], unmeasured: list[Any]) -> None:
    """All that is known, as data and as a page drawn from that data."""
    output.mkdir(parents=True, exist_ok=True)
    host = f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores"
    whole = {"host": host, "cases": results, "not_measured": unmeasured}
    (output / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (output / "report.html").write_text(page.page(whole), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(command_line.ended(main))
