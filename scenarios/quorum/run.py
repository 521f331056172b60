#!/usr/bin/env python3
"""Four relays act as one: how long an action takes, in five conditions and two protocols.

README.md says what is run, what a cell must do to be met, and which parts are run again.

Usage: run.py --programs FOLDER --qcycle FILE [--actions 1000000] [--mode virtual real] ...
FOLDER holds qcrelay, qcmerge and qchostile. Exit codes: 0 met, 2 no such condition or an output of
other settings, 10 missed, 12 a part did not run as it should, 69 a program or a right is missing,
130 interrupted.
The merging unit waits for the breaker before its next step, so an action that never comes ends its
part early.
"""

import argparse
import datetime
import json
import os
import platform
import signal
import sys
from pathlib import Path
from typing import Any

import cell as cells
import figures
import page
import part as parts
import records
import verdict

# Of all cases; programs are started by their own paths.
sys.path.append(str(Path(__file__).resolve().parents[1]))
import command_line
from command_line import within

MET, BAD_USE, MISSED, PART_FAILED, INTERRUPTED = 0, 2, 10, 12, 130
RESULT = "result.json"


def conclude(cell: Any, pace: Any, seed: int, done: list[Any], others: list[Any]) -> Any:
    """The figures of a cell out of those of its parts, judged beside those of others."""
    actions = figures.joined(figures.read(one.folder / parts.ACTIONS) for one in done)
    # Once more: with all parts it is known better how actions are.
    actions = records.explained(actions)
    told = [json.loads((one.folder / parts.DONE).read_text(encoding="utf-8")) for one in done]
    tdf = pace.tdf if cell.mode == cells.VIRTUAL_TIME else 1.0
    found = figures.figures(actions, sum(one["not_asked_for"] for one in told), tdf)
    found |= cell._asdict() | {"pace": pace._asdict(), "seed": seed}
    found["wall_s"] = sum(one["wall_s"] for one in told)
    found["wrong_tags"] = sum(one["wrong_tags"] for one in told)
    kept_out = [stalls for one in told for stalls in one["kept_out"] if stalls]
    found["kept_out"] = {
        "count": sum(one["count"] for one in kept_out),
        "total_s": sum(one["total_ns"] for one in kept_out) / 1e9,
        "longest_ms": max((one["longest_ns"] for one in kept_out), default=0) / 1e6,
    }
    found["doubts"] = sorted({doubt for one in told for doubt in one["doubts"]})
    found["format"] = figures.FORMAT
    found["measured"] = {"host": this_host(), "on": day()}
    found["missed"] = verdict.missed(found, others)
    found["met"] = not found["missed"]
    return found


def this_host() -> str:
    return f"{platform.system()} {platform.release()}, {platform.machine()}, {os.cpu_count()} cores"


def day() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def line(found: Any) -> str:
    ours = found["ours"]
    figure = f"mean {ours['mean']:.0f}, max {ours['max']:.0f} µs" if ours["count"] else "no action"
    whole = f"{found['never_came']} never came, {found['not_asked_for']} not asked for"
    whose = f"{found['not_the_host']} not by the host, {found['unexplained']} unexplained"
    over = f"{ours.get('over', 0)} over a quarter cycle ({whose})"
    known = f", causes are not known ({'; '.join(found['doubts'])})" if found["doubts"] else ""
    word = f"missed: {'; '.join(found['missed'])}" if found["missed"] else "met"
    return f"{figure}, {over}, {whole}{known}: {word}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    count, ms = within(int, 1, 1_000_000_000), within(float, 1, 10_000)
    parser.add_argument("--programs", type=Path, required=True)
    parser.add_argument("--qcycle", type=Path, required=True)
    parser.add_argument("--actions", type=count, default=1_000_000, help="for each cell")
    parser.add_argument("--part", type=count, default=50_000, help="actions that are run at once")
    # The dwell, and room for an action of twice the usual length.
    parser.add_argument("--interval", type=ms, default=4.0, help="between actions, in ms")
    at_most = within(float, 0, 10_000)
    parser.add_argument("--jitter", type=at_most, default=0.5, help="up to so much more, in ms")
    parser.add_argument("--dwell", type=ms, default=3.0, help="of the breaker node, in ms")
    tdf = within(float, 0.01, 1000)
    parser.add_argument("--tdf", type=tdf, default=2.0, help="host seconds per virtual second")
    parser.add_argument("--mode", nargs="+", choices=cells.MODES, default=list(cells.USUAL_MODES))
    parser.add_argument(
        "--protocol", nargs="+", choices=cells.PROTOCOLS, default=list(cells.PROTOCOLS)
    )
    parser.add_argument("--only", default="", help="conditions with this in their name")
    parser.add_argument(
        "--beyond", action="store_true", help="also the condition that was not published: a flood"
    )
    parser.add_argument("--seed", type=within(int, 0, 1_000_000_000), default=1)
    parser.add_argument("--output", type=Path, default=Path("runs/quorum"))
    return parser.parse_args()


def main() -> int:
    """Runs all that is not done; Ctrl-C and SIGTERM end it, and leave nothing running."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return command_line.ended(lambda: evaluate(arguments()))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on from here", flush=True)
        return INTERRUPTED


def evaluate(asked: argparse.Namespace) -> int:
    """Runs all cells that are not done."""
    pace = cells.Pace(asked.actions, asked.interval, asked.jitter, asked.dwell, asked.tdf)
    output = asked.output.resolve()
    tools = parts.Tools(asked.programs.resolve(), asked.qcycle.resolve())
    chosen = cells.cells(asked.mode, asked.protocol, asked.only, asked.beyond)
    if not chosen:
        names = ", ".join(cells.CONDITIONS if asked.beyond else cells.PUBLISHED)
        hint = "" if asked.beyond else f"; --beyond adds {cells.FLOOD}"
        print(f"no condition has {asked.only!r} in its name: {names}{hint}", file=sys.stderr)
        return BAD_USE
    command_line.need_programs(asked, "qcrelay", "qcmerge", "qchostile")
    try:
        todo = {
            cell: parts.planned(cell, pace, asked.part, asked.seed, output / cell.folder)
            for cell in chosen
        }
    except parts.OtherSettingsError as error:
        print(error, file=sys.stderr)
        return BAD_USE
    left_s = sum(one.wall_s for ones in todo.values() for one in ones if not one.is_done)
    code = MET
    for number, (cell, ones) in enumerate(todo.items(), 1):
        print(f"{number} of {len(todo)}: {cell.folder}", flush=True)
        for one in ones:
            if not one.is_done:
                left_s -= one.wall_s
                try:
                    parts.run(one, tools, lambda cell_s, after=left_s: told(cell_s, after))
                except parts.FailedError as failure:
                    print(f"  did not run as it should: {failure} ({one.folder})", flush=True)
                    code = PART_FAILED
        done = [one for one in ones if one.is_done]
        if not done:
            continue
        found = conclude(cell, pace, asked.seed, done, results(output))
        parts.keep(output / cell.folder / RESULT, found)
        print(f"  {line(found)}", flush=True)
        code = code if found["met"] else max(code, MISSED)
        report(output)
    print(f"report: {report(output)}")
    return code


def told(part_s: float, after_s: float) -> None:
    """Tells how long it will take."""
    print(f"  about {words(part_s)} for this part, {words(part_s + after_s)} in all", flush=True)


def words(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 0):.0f} s"


def results(output: Path) -> list[Any]:
    """Those of all cells that are done, also by others; not those of another form."""
    paths = sorted(output.glob(f"*/{RESULT}"))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [one for one in found if one.get("format") == figures.FORMAT]


def report(output: Path) -> Path:
    """Draws the page of all cells that are done."""
    path = output / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    parts.keep_text(path, page.page(this_host(), results(output)))
    return path


if __name__ == "__main__":
    sys.exit(main())
