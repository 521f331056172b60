#!/usr/bin/env python3
"""Says whether a relay tripped a feeder in time, and where the time went.

The time from the inception of a fault to the trip at the merging unit has two parts. The filter and
the element need the one by themselves, however fast the relay is: `qcmerge expect` computes it by
giving the same samples to the same engine without a clock. Software, scheduling and the network
add the other, and only that one is judged.

Usage: verdict.py MERGE.json FILTER_MS [--software-max MS]
MERGE.json is what `qcmerge run --json` printed, FILTER_MS what `qcmerge expect` did. Exit codes: 0
met, 10 missed, 11 not measured, as those of `qcycle run`.
"""

import argparse
import json
import sys
from typing import Any

# A cycle of the task, and what IEC 61850-5 gives the message (transfer time class TT6), in ms.
SOFTWARE_MAX_MS = 1.0 + 3.0
MET, MISSED, NOT_MEASURED = 0, 10, 11


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
    if merge["frames"]["dropped"] or merge["frames"]["late"]:
        late, dropped = merge["frames"]["late"], merge["frames"]["dropped"]
        lines.append(f"warning: the merging unit itself was late ({late}) or dropped ({dropped})")
    if untripped:
        return MISSED, [*lines, f"missed: {untripped} faults without a trip"]
    if worst_ms is None:
        return NOT_MEASURED, [*lines, "not measured: there was no fault"]
    is_met = worst_ms <= software_max_ms
    word = "met" if is_met else "missed"
    lines.append(f"{word}: at worst {worst_ms:.3f} ms, at most {software_max_ms:.3f} ms are allowed")
    return (MET if is_met else MISSED), lines


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("merge", type=argparse.FileType(encoding="utf-8"))
    parser.add_argument("filter_ms", type=float)
    parser.add_argument("--software-max", type=float, default=SOFTWARE_MAX_MS)
    told = parser.parse_args()
    code, lines = verdict(json.load(told.merge), told.filter_ms, told.software_max)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
