"""Figures of a cell: percentiles, histogram, causes, and where the time went."""

import csv
import gzip
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from causes import STALL, UNEXPLAINED
from records import LIMIT_US, NEVER, PARTS, Action, causes_us, usual

# Of the files of a part: those of another form are not read.
FORMAT = 4
PERCENTILES = (0.5, 0.99, 0.999, 0.9999, 0.99999)
# Stretches of a series that is kept for drawing.
SERIES_MAX = 2000
# Actions over the limit that are told one by one.
OVER_MAX = 200
# Bins of a histogram to a doubling.
BINS = 8
CRYPTOGRAPHY = PARTS.index("cryptography")


def write(path: Path, actions: Iterable[Action]) -> None:
    """Keeps actions, one a line."""
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=3, newline="") as out:
        lines = csv.writer(out)
        for action in actions:
            parts = (f"{us:.3f}" for us in action.parts_us)
            ours, published = f"{action.ours_us:.3f}", f"{action.published_us:.3f}"
            at = f"{action.at_s:.6f}"
            lost = (f"{us:.3f}" for us in action.lost_us)
            lines.writerow([action.number, at, ours, published, action.cause, *lost, *parts])


def read(path: Path) -> list[Action]:
    """What was kept."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        return [kept(*line) for line in csv.reader(lines)]


def kept(number: str, at: str, ours: str, published: str, cause: str, *us: str) -> Action:
    """An action out of its line."""
    host, waiting, besides, *parts = map(float, us)
    times = float(at), float(ours), float(published)
    return Action(int(number), *times, cause, (host, waiting, besides), tuple(parts))


def joined(parts: Iterable[list[Action]]) -> list[Action]:
    """Parts of a cell as one, each after the one before."""
    found: list[Action] = []
    for actions in parts:
        after_s = found[-1].at_s if found else 0.0
        count = len(found)
        found += [
            action._replace(number=action.number + count, at_s=action.at_s + after_s)
            for action in actions
        ]
    return found


def quantile(ordered: list[float], share: float) -> float | None:
    """A percentile by nearest rank; `None` if the samples are too few to enclose it (95 %)."""
    needed = math.ceil(math.log(0.025) / math.log(share))
    if len(ordered) < needed:
        return None
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summary(values: Iterable[float]) -> dict[str, Any]:
    """Figures of one definition, in µs."""
    ordered = sorted(values)
    if not ordered:
        return {"count": 0}
    found: dict[str, Any] = {"count": len(ordered), "min": ordered[0], "max": ordered[-1]}
    found["mean"] = math.fsum(ordered) / len(ordered)
    for share in PERCENTILES:
        found[f"p{share * 100:g}"] = quantile(ordered, share)
    found["over"] = sum(value > LIMIT_US for value in ordered)
    found["histogram"] = histogram(ordered)
    return found


def histogram(ordered: list[float]) -> list[tuple[float, int]]:
    """Upper bound in µs and count of each bin that is not empty."""
    counts = Counter(math.ceil(math.log2(max(value, 1)) * BINS) for value in ordered)
    return [(2 ** (place / BINS), counts[place]) for place in sorted(counts)]


def figures(actions: list[Action], extra: int, tdf: float) -> dict[str, Any]:
    """All that the report shows of a cell, in whose time the host took `tdf` seconds for one."""
    causes = Counter(action.cause for action in actions if action.cause)
    came = [action for action in actions if action.came]
    alone = [action.ours_us for action in came if action.left_alone]
    # Whoever computes alone on a processor is faster in virtual time by this factor: with all
    # cryptography on the way at the speed of this host, an action takes this long at most.
    slower = tdf - 1
    return {
        "ours": summary(a.ours_us for a in came),
        "published": summary(a.published_us for a in came),
        # One stall of the host decides how long the longest of all takes; of these it is no cause.
        "left_alone": {"count": len(alone), "max": max(alone, default=None)},
        "host_speed": summary(a.ours_us + slower * a.parts_us[CRYPTOGRAPHY] for a in came),
        "parts": dict(zip(PARTS, means(came), strict=True)),
        "asked": len(actions),
        "never_came": causes[NEVER],
        "not_asked_for": extra,
        "causes": causes,
        "not_the_host": causes.total() - causes[STALL],
        "unexplained": causes[UNEXPLAINED],
        "over_limit": over(came),
        "series": thinned([(a.at_s, a.ours_us) for a in came]),
    }


def over(came: list[Action]) -> list[dict[str, Any]]:
    """Each action over the limit, with its cause and the µs of each part; the slowest first.
    `rest` is what it took beyond the median and nothing accounts for; what nobody knows is none."""
    slow = sorted((a for a in came if a.ours_us > LIMIT_US), key=lambda a: -a.ours_us)
    if not slow:
        return []
    known, found = usual(came), []
    for one in slow[:OVER_MAX]:
        lost = causes_us(one, known)
        rest = max(0.0, one.ours_us - known.ours_us - sum(lost.values()))
        measured: dict[str, Any] = {"lost": lost, "rest": rest}
        if not one.is_known:
            measured = {"lost": dict.fromkeys(lost), "rest": None}
        told = {"number": one.number, "at_s": one.at_s, "ours": one.ours_us, "cause": one.cause}
        parts = dict(zip(PARTS, one.parts_us, strict=True))
        found.append(told | measured | {"parts": parts})
    return found


def means(came: list[Action]) -> list[float]:
    """Mean of each part, in µs."""
    columns = zip(*(action.parts_us for action in came), strict=True)
    return [math.fsum(column) / len(came) for column in columns] or [0.0] * len(PARTS)


def thinned(series: list[tuple[float, float]]) -> list[tuple[float, float, float]]:
    """When, fastest and slowest action of each of at most so many stretches: every action lies in
    one."""
    stretch = max(1, math.ceil(len(series) / SERIES_MAX))
    parts = [series[at : at + stretch] for at in range(0, len(series), stretch)]
    return [(part[0][0], min(us for _, us in part), max(us for _, us in part)) for part in parts]
