"""The page of an evaluation, drawn from the results of its cells: a table beside the published
figures, every action over time, and histograms.

One file, nothing fetched.
"""

import csv
import html
import math
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import cell as cells
from records import LIMIT_US, PARTS
from verdict import LATER, LATER_MAX_US, PERCENTILES, later_us, too_late, without_flood

TIMES = {
    cells.EVENTS: "virtual time that moves by jumps",
    cells.VIRTUAL_TIME: "virtual time",
    cells.REAL_TIME: "host time",
}
COLOURS = {"arbiter": "#2563eb", "peer": "#d97706"}
# Of the figures of one definition.
extremes = itemgetter("min", "mean", "max")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 200, 58, 16, 10, 34
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 92rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 0.82rem; }
td { font-variant-numeric: tabular-nums; }
th, td { padding: 0.15rem 0.5rem; text-align: right; border-bottom: 1px solid #8884; }
th { vertical-align: bottom; }
.all th:nth-last-child(-n+5) { max-width: 5.5rem; }
th:nth-child(-n+3), td:nth-child(-n+3), .all :is(td, th):nth-child(-n+5) {
  text-align: left; white-space: nowrap; }
tr.published { opacity: 0.7; font-style: italic; }
.scroll { overflow-x: auto; } .missed { color: #dc2626; font-weight: 600; }
.charts { display: flex; flex-wrap: wrap; gap: 0.5rem 1.2rem; }
figure { margin: 0; } svg { max-width: 100%; height: auto; }
figcaption { font-size: 0.9rem; text-align: center; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
.arbiter { color: #2563eb; } .peer { color: #d97706; }
"""


def page(host: str, found: list[Any]) -> str:
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Relays that act as one</title><style>{STYLE}</style>",
        "<h1>Relays that act as one: from the sample to the order to the breaker</h1>",
        f"<p>{html.escape(host)}. Times in µs; the limit is a quarter cycle at 60 Hz, ",
        f"{LIMIT_US:.0f} µs. Ours: from just before the sample that crosses the threshold is ",
        "sent until the order has left. Published definition: from after that sample until ",
        "before the acknowledgement. A percentile that too few actions enclose is left out.</p>",
        "<p>Real: in the time of this host, with its stalls. Virtual: unmodified programs in ",
        "virtual time on an emulated switch of 1 Gbit/s. A virtual second takes as many seconds ",
        "of this host as is written beside it, so that six machines find a processor; who ",
        "computes while others wait then seems faster, at most by this factor. The row ",
        "“slower cryptography” has all cryptography on the way slower by it. Events: the same ",
        "network, but only what programs use of a processor takes time, as if each had one of its ",
        "own: no stall and no neighbour on this host makes an action later.</p>",
        table(found),
        comparison(found),
        flooded(found),
        where(found),
        causes(found),
    ]
    for mode in cells.MODES:
        of_mode = [one for one in found if one["mode"] == mode]
        if of_mode:
            parts.append(f"<h2>In {TIMES[mode]}</h2>")
            parts.append("<p><b class=arbiter>Arbiter</b>, <b class=peer>Peer</b>. ")
            parts.append("Each line spans all actions of its stretch of time.</p>")
            parts.append(kept_out(of_mode) if mode == cells.VIRTUAL_TIME else "")
            parts += [charts(condition, of_mode) for condition in cells.CONDITIONS]
    return "".join(parts) + "\n"


def kept_out(found: list[Any]) -> str:
    """What stalls of the host were no virtual time."""
    told = [one["kept_out"] for one in found]
    count, total_s = sum(one["count"] for one in told), sum(one["total_s"] for one in told)
    longest_ms = max(one["longest_ms"] for one in told)
    return (
        f"<p>Kept out of virtual time: {count} stalls of this host, {total_s:.1f} s in all, "
        f"the longest {longest_ms:.1f} ms.</p>"
    )


def table(found: list[Any]) -> str:
    """Rows of cells, by condition, with the published rows below each."""
    # What no cell has enough actions for is left out.
    shown = [name for name in PERCENTILES if any(one["ours"].get(name) for one in found)]
    head = ["condition", "protocol", "time", "verdict", "definition", "actions", "min", "mean"]
    head += [*shown, "max", "over limit", "not by the host", "unexplained", "never came"]
    head += ["not asked for"]
    rows: list[list[Any]] = []
    for condition in cells.CONDITIONS:
        for one in (one for one in found if one["condition"] == condition):
            rows += [ours(one, shown), other(one, "published", "published", shown)]
            if one["mode"] == cells.VIRTUAL_TIME:
                rows.append(other(one, "host_speed", "ours, slower cryptography", shown))
        rows += [published_row(one, shown) for one in published(condition)]
    drawn = []
    for values in rows:
        kind = "published" if values[2].startswith("Bommareddy") else ""
        drawn.append(row([*values, *[""] * (len(head) - len(values))], kind))
    return scrolled(head, drawn, "all")


def ours(one: Any, shown: list[str]) -> list[Any]:
    """A cell by our definition."""
    why = "".join(f"<br>{html.escape(words)}" for words in one["missed"])
    cell = [one["condition"], one["protocol"], mode(one), f"{verdict(one['met'])}{why}"]
    tail = [one["not_the_host"], one["unexplained"], one["never_came"], one["not_asked_for"]]
    return [*cell, "ours", *times(one["ours"], shown), *tail]


def mode(one: Any) -> str:
    """In whose time a cell ran."""
    name = str(one["mode"])
    return f"{name} ({one['pace']['tdf']:g} : 1)" if name == cells.VIRTUAL_TIME else name


def other(one: Any, key: str, definition: str, shown: list[str]) -> list[Any]:
    """The same cell by another definition."""
    return ["", "", "", "", definition, *times(one[key], shown)]


def times(figures: Any, shown: list[str]) -> list[Any]:
    """Count and times of one definition, and how many are over the limit."""
    values = [figures.get(key) for key in ("min", "mean", *shown, "max")]
    told = ("" if value is None else f"{value:.0f}" for value in values)
    return [figures["count"], *told, figures.get("over", 0)]


class Published(NamedTuple):
    """A row of what was published of a condition; times in µs."""

    protocol: str
    source: str
    least: float
    mean: float
    most: float
    over: int


def published(condition: str) -> list[Published]:
    """What was published of a condition."""
    folder, found = Path(__file__).parent, []
    for year in ("2022", "2023"):
        with open(folder / f"published_{year}.csv", encoding="utf-8") as lines:
            for line in csv.DictReader(lines):
                if line["condition"] == condition:
                    kernel = f", {line['kernel']} kernel" if "kernel" in line else ""
                    source = f"Bommareddy et al. {year}{kernel}"
                    times = (float(line[key]) for key in ("min", "avg", "max"))
                    over = int(line["over_4167us_of_1e6"])
                    found.append(Published(line.get("protocol") or "peer", source, *times, over))
    return found


def published_row(one: Published, shown: list[str]) -> list[Any]:
    figures: dict[str, Any] = {"min": one.least, "mean": one.mean, "max": one.most}
    figures |= {"count": 1_000_000, "over": one.over}
    return ["", one.protocol, one.source, "", "published", *times(figures, shown)]


def verdict(is_met: bool) -> str:
    """A verdict, which stands out if it is bad."""
    word = "met" if is_met else "missed"
    return f"<span class={word}>{word}</span>"


def scrolled(head: Iterable[str], rows: Iterable[str], kind: str = "") -> str:
    """A table that may be wider than the page."""
    names = "".join(f"<th>{name}" for name in head)
    return f"<div class=scroll><table class='{kind}'><tr>{names}{''.join(rows)}</table></div>"


def row(values: Sequence[Any], kind: str = "") -> str:
    """A row of the table; values are text of ours or numbers."""
    return f"<tr class='{kind}'>" + "".join(f"<td>{value}" for value in values)


def comparison(found: list[Any]) -> str:
    """Minimum, mean and maximum of each cell, by the published definition, over the published
    ones."""
    rows: list[tuple[str, str, tuple[float, float, float]]] = []
    for condition in cells.CONDITIONS:
        cell_rows = [
            (f"{one['protocol']}, {mode(one)}", COLOURS[one["protocol"]], extremes(one["published"]))
            for one in found
            if one["condition"] == condition and one["published"]["count"]
        ]
        if cell_rows:
            rows += [(condition, "", (0, 0, 0)), *cell_rows]
            rows += [
                (f"{one.protocol}, {one.source}", "#888", (one.least, one.mean, one.most))
                for one in published(condition)
            ]
    if not rows:
        return ""
    left, line, width = 330, 17, 1000
    height = TOP + line * len(rows) + BOTTOM
    low_us, high_us = decade_ends([us for _, colour, times in rows if colour for us in times])
    x = logarithmic(low_us, high_us, width - left - RIGHT, left)
    drawn = ""
    for value in decades(low_us, high_us):
        at = x(value)
        drawn += grid(at, TOP, at, height - BOTTOM)
        drawn += f"<text x={at:.1f} y={height - BOTTOM + 14} text-anchor=middle>{value:g}</text>"
    middle = (left + width - RIGHT) / 2
    drawn += f"<text x={middle:.1f} y={height - 4} text-anchor=middle>µs</text>"
    limit = x(LIMIT_US)
    drawn += f"<line x1={limit:.1f} y1={TOP} x2={limit:.1f} y2={height - BOTTOM} stroke=#dc2626 />"
    for place, (name, colour, times_us) in enumerate(rows):
        y = TOP + line * (place + 0.5)
        if not colour:
            drawn += f"<text x=4 y={y + 4:.1f} font-weight=600>{html.escape(name)}</text>"
            continue
        least, mean, most = (x(us) for us in times_us)
        drawn += f"<text x={left - 8} y={y + 4:.1f} text-anchor=end>{html.escape(name)}</text>"
        ends = f"x1={least:.1f} y1={y:.1f} x2={most:.1f} y2={y:.1f}"
        drawn += f"<line {ends} stroke={colour} stroke-width=3 stroke-opacity=0.5 />"
        drawn += f"<circle cx={mean:.1f} cy={y:.1f} r=4 fill={colour} />"
    caption = "minimum, mean and maximum by the published definition; grey: published; red: limit"
    return "<h2>Beside the published figures</h2>" + figure(drawn, caption, width, height)


def flooded(found: list[Any]) -> str:
    """How much later actions are under a flood than without it, where both were run, and alike."""
    pairs = [
        (one, later_us(one, without))
        for one in found
        if one["condition"] == cells.FLOOD and (without := without_flood(one, found))
    ]
    if not pairs:
        return ""
    shown = [key for key in LATER if any(key in later for _, later in pairs)]
    head = ["protocol", "time", "verdict", "refused", *shown]
    rows = []
    for one, later in pairs:
        us = (f"{later[key]:+.0f}" if key in later else "" for key in shown)
        word = verdict(not too_late(one, found))
        rows.append(row([one["protocol"], mode(one), word, one["wrong_tags"], *us]))
    told = (
        f"{cells.FLOOD_RATE:,} datagrams a second, right up to their tag, at the breaker node under "
        f"the address of node {cells.FLOODED_AS}. By how many µs actions take longer than in the "
        f"fault-free condition, by our definition; the limit is {LATER_MAX_US:.0f} µs. The longest of "
        "all is not judged: one stall of the host decides it, in one of the two runs. Without an "
        "action that the host left alone, in both, it is missed."
    )
    return f"<h2>Under a flood</h2><p>{told}</p>{scrolled(head, rows)}"


def where(found: list[Any]) -> str:
    """On what the time of an action goes, on average."""
    head = ["condition", "protocol", "time", *PARTS]
    means = (
        [one["condition"], one["protocol"], mode(one), *(f"{one['parts'][p]:.0f}" for p in PARTS)]
        for condition in cells.CONDITIONS
        for one in found
        if one["condition"] == condition and one["ours"]["count"]
    )
    told = (
        "Mean in µs, by our definition, on the way of the vote or certificate that completed the "
        "action. Network: to the relay and to the breaker node. Another relay: whose share was "
        "needed. Tick: until a message was said again. Cryptography: proofs and certificates, "
        "wherever they are made and checked."
    )
    return f"<h2>Where the time goes</h2><p>{told}</p>{scrolled(head, map(row, means))}"


def causes(found: list[Any]) -> str:
    """Why actions were over the limit."""
    items = [
        f"<li>{one['mode']}, {one['protocol']}, {one['condition']}: {html.escape(cause)}: {count}"
        for one in found
        for cause, count in sorted(one["causes"].items())
    ]
    items += [
        f"<li>{one['mode']}, {one['protocol']}, {one['condition']}: nobody knows what the host took "
        f"in some of its parts: {html.escape('; '.join(one['doubts']))}"
        for one in found
        if one["doubts"]
    ]
    told = f"<ul>{''.join(items)}</ul>{each(found)}"
    return f"<h2>Over the limit, or never</h2>{told}" if items else ""


def each(found: list[Any]) -> str:
    """Each action over the limit, and what was lost on its way."""
    slow = [(one, action) for one in found for action in one["over_limit"]]
    if not slow:
        return ""
    head = ["condition", "protocol", "time", "action", "took", "cause", *slow[0][1]["lost"], "rest"]
    head += [f"in: {part}" for part in PARTS]
    rows = [
        row(
            [
                *(one["condition"], one["protocol"], mode(one), action["number"]),
                *(f"{action['ours']:.0f}", html.escape(action["cause"])),
                *("?" if us is None else f"{us:.0f}" for us in action["lost"].values()),
                "?" if action["rest"] is None else f"{action['rest']:.0f}",
                *(f"{us:.0f}" for us in action["parts"].values()),
            ]
        )
        for one, action in slow
    ]
    told = (
        "Host stall: what the host, or for a millisecond and longer its kernel, took of the cores "
        "that the action waited for, in however many slices. Queue behind it: of the wait for a processor what is longer than any wait of an "
        "action that the host left alone, up to what the host took of the cores besides. Waiting "
        "for a processor: another thread of this machine had the core, because there are fewer "
        "cores than parties or the kernel had work of its own. Cryptography: beyond the usual. A "
        "cause covers the excess over the limit, the host being asked first, or is the largest and "
        "covers half of what the action took beyond the median. Rest: what nothing accounts for, "
        "such as ticks that were missed."
    )
    return f"<p>{told}</p>{scrolled(head, rows)}"


def charts(condition: str, found: list[Any]) -> str:
    """Every action over time, and the histogram, of both protocols."""
    here = {one["protocol"]: one for one in found if one["condition"] == condition}
    if not any(one["ours"]["count"] for one in here.values()):
        return ""
    drawn = over_time(here) + distribution(here)
    return f"<h3>{html.escape(condition)}</h3><div class=charts>{drawn}</div>"


def over_time(here: dict[str, Any]) -> str:
    """Latency of the actions of a cell over its time."""
    points = [point for one in here.values() for point in one["series"]]
    long_s = max(at for at, *_ in points) or 1.0
    us = [value for _, low, high in points for value in (low, high)]
    x, (low_us, high_us) = linear(long_s, WIDTH - LEFT - RIGHT, LEFT), decade_ends(us)
    y = logarithmic(low_us, high_us, TOP - HEIGHT + BOTTOM, HEIGHT - BOTTOM)
    drawn = axes(
        [(x(value), f"{value:g}") for value in ticks(long_s)],
        [(y(value), f"{value:g}") for value in decades(low_us, high_us)],
        ("time, s", "µs"),
    )
    at = y(LIMIT_US)
    drawn += f"<line x1={LEFT} y1={at:.1f} x2={WIDTH - RIGHT} y2={at:.1f} stroke=#dc2626 />"
    for protocol, one in here.items():
        lines = "".join(
            f"M{x(at):.1f} {y(low) + 0.7:.1f}V{y(high) - 0.7:.1f}"
            for at, low, high in one["series"]
        )
        drawn += f"<path d='{lines}' stroke={COLOURS[protocol]} stroke-width=1.4 fill=none />"
    return figure(drawn, "each action, with the limit")


def distribution(here: dict[str, Any]) -> str:
    """Histograms, on logarithmic axes."""
    bins = {protocol: one["ours"].get("histogram", []) for protocol, one in here.items()}
    every = [bin_ for of_one in bins.values() for bin_ in of_one]
    low_us, high_us = decade_ends([us for us, _ in every])
    most = 2.0 * max(count for _, count in every)
    x = logarithmic(low_us, high_us, WIDTH - LEFT - RIGHT, LEFT)
    y = logarithmic(0.8, most, TOP - HEIGHT + BOTTOM, HEIGHT - BOTTOM)
    drawn = axes(
        [(x(value), f"{value:g}") for value in decades(low_us, high_us)],
        [(y(10**place), f"{10**place:g}") for place in range(math.ceil(math.log10(most)))],
        ("µs", "actions"),
    )
    at = x(LIMIT_US)
    drawn += f"<line x1={at:.1f} y1={TOP} x2={at:.1f} y2={HEIGHT - BOTTOM} stroke=#dc2626 />"
    for beside, (protocol, of_one) in zip((-2, 2), bins.items(), strict=False):
        bars = "".join(
            f"M{x(us) + beside:.1f} {HEIGHT - BOTTOM}V{y(count):.1f}" for us, count in of_one
        )
        drawn += f"<path d='{bars}' stroke={COLOURS[protocol]} stroke-width=3.4 fill=none />"
    return figure(drawn, "actions in each eighth of an octave, and the limit")


def linear(high: float, length: float, begin: float) -> Callable[[float], float]:
    """A scale from left to right."""
    return lambda value: begin + value / high * length


def logarithmic(low: float, high: float, length: float, begin: float) -> Callable[[float], float]:
    """A scale of equal ratios; what is below its low end stands there."""
    span = math.log(high / low)
    return lambda value: begin + math.log(max(value, low) / low) / span * length


def decade_ends(us: list[float]) -> tuple[float, float]:
    """Ends of an axis on which all of these lie, and the limit."""
    return max(10.0, min(us) / 1.2), 1.2 * max(*us, LIMIT_US)


def decades(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten in between."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
    values = [part * 10.0**power for power in powers for part in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def axes(
    below: list[tuple[float, str]], beside: list[tuple[float, str]], units: tuple[str, str]
) -> str:
    """A grid with numbers."""
    drawn = ""
    for x, text in below:
        drawn += grid(x, TOP, x, HEIGHT - BOTTOM)
        drawn += f"<text x={x:.1f} y={HEIGHT - BOTTOM + 14} text-anchor=middle>{text}</text>"
    for y, text in beside:
        drawn += grid(LEFT, y, WIDTH - RIGHT, y)
        drawn += f"<text x={LEFT - 6} y={y + 4:.1f} text-anchor=end>{text}</text>"
    drawn += f"<text x={(LEFT + WIDTH) / 2} y={HEIGHT - 4} text-anchor=middle>{units[0]}</text>"
    return drawn + f"<text x=4 y={TOP + 4}>{units[1]}</text>"


def ticks(high: float) -> list[float]:
    """Four to eight round numbers from zero on."""
    step = 10 ** math.floor(math.log10(high))
    for part in (1.0, 0.5, 0.2):
        if high / (step * part) >= 4:
            step *= part
            break
    else:
        step *= 0.1
    return [number * step for number in range(int(high / step) + 1)]


def grid(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f"x1={x1:.1f} y1={y1:.1f} x2={x2:.1f} y2={y2:.1f}"
    return f"<line {ends} stroke=currentColor stroke-opacity=0.15 />"


def figure(drawn: str, caption: str, width: int = WIDTH, height: int = HEIGHT) -> str:
    """A drawing with what it shows."""
    box = f"viewBox='0 0 {width} {height}' width={width} height={height}"
    svg = f"<svg {box} role=img aria-label='{caption}'>{drawn}</svg>"
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"
