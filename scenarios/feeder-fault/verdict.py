#!/usr/bin/env python3
"""Says whether a relay tripped a feeder in time, and where the time went.

README.md has the two parts of that time, and what makes a late trip disturbed.

Usage: verdict.py MERGE.json FILTER_MS [--software-max MS]
MERGE.json is what `qcmerge run --json` printed, FILTER_MS what `qcmerge expect` did. Exit codes: 0
met, 10 missed, 11 not measured, 13 disturbed, as those of `qcycle run`; 65 if MERGE.json is no such
file.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

# Of all cases; programs are started by their own paths.
sys.path.append(str(Path(__file__).resolve().parents[1]))
import command_line
from command_line import within

# A cycle of the task, and what IEC 61850-5 gives the message (transfer time class TT6), in ms.
SOFTWARE_MAX_MS = 1.0 + 3.0
MET, MISSED, NOT_MEASURED, DISTURBED = 0, 10, 11, 13


def verdict(merge: Any, filter_ms: float, software_max_ms: float) -> tuple[int, list[str]]:
    """Exit code, and a line for each fault and for the whole."""
    lines, worst_ms, untripped = [], None, 0
    for fault in merge["faults"]:
        if fault["trip_after_ns"] is None:
            untripped += 1
            lines.append(f"fault {fault['number']}: no trip")
            continue
        trip_ms = fault["trip_after_ns"] / 1e6
        software_ms = trip_ms - filter_ms
        worst_ms = software_ms if worst_ms is None else max(worst_ms, software_ms)
        cleared = fault["interrupted_after_ns"]
        end = "not cleared" if cleared is None else f"cleared after {cleared / 1e6:.3f} ms"
        lines.append(
            f"fault {fault['number']}: trip after {trip_ms:.3f} ms: filter {filter_ms:.3f} ms, "
            f"software and network {software_ms:.3f} ms; {end}"
        )
    late, dropped, unit_ms = merge["frames"]["late"], merge["frames"]["dropped"], taken_ms(merge)
    if late or dropped:
        lines.append(
            f"warning: the merging unit itself sent {late} frames late and dropped {dropped}: up to "
            f"{unit_ms:.3f} ms of a trip may be its own"
        )
    if untripped:
        return MISSED, [*lines, f"missed: {untripped} faults without a trip"]
    if worst_ms is None:
        return NOT_MEASURED, [*lines, "not measured: there was no fault"]
    figures = f"at worst {worst_ms:.3f} ms, at most {software_max_ms:.3f} ms are allowed"
    if worst_ms <= software_max_ms:
        return MET, [*lines, f"met: {figures}"]
    if worst_ms - unit_ms > software_max_ms:
        return MISSED, [*lines, f"missed: {figures}"]
    fix = "repeat it on a host with less to do, or with `qcmerge run --priority 60`"
    return DISTURBED, [*lines, f"disturbed: {figures}; the merging unit was late; fix: {fix}"]


def taken_ms(merge: Any) -> float:
    """How much of a trip the merging unit may have taken: its worst lateness, and all frames that it
    dropped, as if they had followed each other. Of single faults its lateness is not known."""
    frames = merge["frames"]
    # Of all streams together, so that the time of one frame of each counts once.
    sent = frames["published"] + frames["dropped"]
    dropped_s = merge["duration_s"] * frames["dropped"] / sent if sent else 0.0
    return float(merge["lateness_ns"]["max"] / 1e6 + dropped_s * 1e3)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("merge", type=argparse.FileType(encoding="utf-8"))
    ms = within(float, 0, 60_000)
    parser.add_argument("filter_ms", type=ms, help="in ms")
    parser.add_argument("--software-max", type=ms, default=SOFTWARE_MAX_MS, help="in ms")
    told = parser.parse_args()
    try:
        with told.merge:
            code, lines = verdict(json.load(told.merge), told.filter_ms, told.software_max)
    except (ValueError, LookupError, TypeError):
        problem = f"{told.merge.name}: not the JSON of a merging unit with its faults"
        command_line.fail(command_line.BAD_INPUT, problem, "give what `qcmerge run --json` printed")
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
