#!/usr/bin/env python3
"""Keeps the results of an evaluation in this folder, and writes the table of the README from all that are kept.

So no figure of the README is typed, and cells that were run on different days stand in one table.

Usage: publish.py [OUTPUT]
OUTPUT is that of run.py; its cells that are done take the place of those that are kept. Without it, the table
is written again. Exit code 2: nothing is done there.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import cell as cells
import figures
import page

HERE = Path(__file__).resolve().parent
KEPT, README = HERE / "results", HERE / "README.md"
BEGIN, END = "<!-- publish.py -->\n", "<!-- end -->\n"
HEAD = ("condition", "protocol", "time", "actions", "min", "mean", "p99.9", "max", "published", "over", "verdict")


def kept() -> list[Any]:
    """What is kept, in the order of the published table."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in KEPT.glob("*.json")]
    order = list(cells.CONDITIONS)
    return sorted(found, key=lambda one: (order.index(one["condition"]), one["protocol"], one["mode"]))


def keep(result: Any) -> None:
    """Keeps a cell, without what only the page of the run draws."""
    short = {key: value for key, value in result.items() if key != "series"}
    KEPT.mkdir(exist_ok=True)
    cell = cells.Cell(result["protocol"], result["condition"], result["mode"])
    path = KEPT / f"{cell.folder}.json"
    path.write_text(json.dumps(short, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def published(one: Any) -> str:
    """The means and maxima that were published of such a cell."""
    rows = [row for row in page.published(one["condition"]) if row.protocol == one["protocol"]]
    return "; ".join(f"{row.mean:.0f}, {row.most:.0f}" for row in rows)


def row(one: Any) -> list[str]:
    """A cell by the published definition."""
    times = one["published"]
    us = [times.get(key) for key in ("min", "mean", "p99.9", "max")]
    shown = ["" if value is None else f"{value:.0f}" for value in us]
    word = "met" if one["met"] else f"missed: {'; '.join(one['missed'])}"
    names = [one["condition"], one["protocol"], page.mode(one), f"{times['count']:,}"]
    return [*names, *shown, published(one), f"{times.get('over', 0)}", word]


def table(found: list[Any]) -> str:
    """The table of the README, and what is not in it yet."""
    lines = [" | ".join(HEAD), "|".join("---" for _ in HEAD), *(" | ".join(row(one)) for one in found)]
    drawn = "".join(f"|{line}|\n" for line in lines)
    there = {(one["condition"], one["protocol"]) for one in found}
    every = [(condition, protocol) for condition in cells.PUBLISHED for protocol in cells.PROTOCOLS]
    missing = [f"{condition} ({protocol})" for condition, protocol in every if (condition, protocol) not in there]
    measured = sorted({f"{one['measured']['on']} on {one['measured']['host']}" for one in found})
    told = f"Measured {'; '.join(measured)}.\n" if found else ""
    return drawn + "\n" + told + (f"Not measured yet: {', '.join(missing)}.\n" if missing else "")


def readme(text: str, found: list[Any]) -> str:
    """The README with this table."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table(found) + END + rest.split(END, 1)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("output", type=Path, nargs="?", help="of run.py")
    asked = parser.parse_args()
    if asked.output:
        done = [json.loads(path.read_text(encoding="utf-8")) for path in asked.output.glob("*/result.json")]
        # Of an older run.py, which the present one completes without running anything.
        done = [one for one in done if one.get("format") == figures.FORMAT and "measured" in one]
        if not done:
            print(f"{asked.output}: no cell is done there; run.py --output {asked.output}", file=sys.stderr)
            return 2
        for one in done:
            keep(one)
    found = kept()
    README.write_text(readme(README.read_text(encoding="utf-8"), found), encoding="utf-8")
    print(f"{len(found)} cells: {README}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
