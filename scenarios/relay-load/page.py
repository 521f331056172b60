"""The page of a run: a table of all cases, and the distributions of each native case and its
container side by side.

Drawn from results.json alone, as one file without anything fetched. A distribution is shown as the
share of measurements that took longer than a time, both axes logarithmic: the rare long ones, which
decide whether a relay acts in time, take as much room as the common ones.
"""

import html
import math
from typing import Any

COLOURS = {"native": "#2563eb", "container": "#d97706"}
KINDS = {
    "receive": "receive latency",
    "age": "age of a sample at the task",
    "task": "duration of a cycle of the task",
}
# Of a chart, in px.
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 340, 220, 52, 36, 10, 24
STYLE = """
:root { color-scheme: light dark; font: 15px/1.45 system-ui, sans-serif; }
body { max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; white-space: nowrap; }
.scroll { overflow-x: auto; }
.missed { color: #dc2626; font-weight: 600; }
.charts { display: flex; flex-wrap: wrap; gap: 0.5rem 1.2rem; }
figure { margin: 0; } figcaption { font-size: 0.9rem; text-align: center; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
.native { color: #2563eb; } .container { color: #d97706; }
"""


def page(whole: Any) -> str:
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Relay load</title><style>{STYLE}</style>",
        "<h1>Many streams at one relay</h1>",
        f"<p>{html.escape(whole['host'])}. Times in µs. Receive: from the kernel's stamp of a ",
        "frame to the receiving thread. Canary: how late a thread of higher priority wakes up, ",
        "which is what the host takes away. Never sent: frames that the merging unit itself was too ",
        "late for. Overruns: cycles of the task beyond 1 ms, by who is ",
        "to blame.</p>",
        table(whole["cases"]),
        unmeasured(whole["not_measured"]),
        "<h2>Natively and in a container</h2>",
        "<p>Share of measurements that took longer than a time: ",
        "<b class=native>native</b>, <b class=container>container</b>.</p>",
    ]
    for title, pair in pairs(whole["cases"]):
        parts.append(f"<h3>{html.escape(title)}</h3><div class=charts>")
        parts += [chart(kind, name, pair) for kind, name in KINDS.items()]
        parts.append("</div>")
    return "".join(parts) + "\n"


def table(cases: list[Any]) -> str:
    """A row for each case."""
    head = [
        *("case", "s", "lost", "of", "never sent", "receive mean", "p50", "p99", "p99.9", "max"),
        *("task p99", "p99.9", "max", "canary max", "overruns own", "host", "verdict"),
    ]
    rows = ["".join(f"<th>{name}" for name in head)]
    for case in cases:
        receive, task = case["times"]["receive"], case["times"]["task"]
        keys = ("mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "max_ns")
        times = [receive[key] for key in keys] + [task[key] for key in keys[2:]]
        times.append(case["times"]["canary"]["max_ns"])
        word = "met" if case["met"] else "missed"
        cells = [
            *(html.escape(case["case"]), case["duration_s"], case["lost"], case["published"]),
            case["never_sent"],
            *(f"{ns / 1000:.0f}" for ns in times),
            *(case["overruns_own"], case["overruns_host"], f"<span class={word}>{word}</span>"),
        ]
        rows.append("".join(f"<td>{cell}" for cell in cells))
    return f"<div class=scroll><table>{''.join(f'<tr>{row}' for row in rows)}</table></div>"


def unmeasured(cases: list[Any]) -> str:
    """What is not in the table, and why."""
    items = (f"<li>{html.escape(one['case'])}: {html.escape(one['why'])}" for one in cases)
    return f"<h2>Not measured</h2><ul>{''.join(items)}</ul>" if cases else ""


def pairs(cases: list[Any]) -> list[tuple[str, dict[str, Any]]]:
    """Cases that differ in their place only, by title."""
    found: dict[str, dict[str, Any]] = {}
    for case in cases:
        title = f"{case['streams']} streams, {case['wiring']}, {case['beside']}"
        found.setdefault(title, {})[case["place"]] = case
    return list(found.items())


def exceeded(histogram: list[list[int]]) -> list[tuple[int, float]]:
    """Times in ns and the share of measurements that took longer; the longest is left out."""
    total = left = sum(count for _, count in histogram)
    points = []
    for bound_ns, count in histogram:
        left -= count
        if left > 0:
            points.append((bound_ns, left / total))
    return points


def chart(kind: str, name: str, pair: dict[str, Any]) -> str:
    """One kind of time, all places over each other."""
    curves = {place: exceeded(case["times"][kind]["histogram"]) for place, case in pair.items()}
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return f"<figure><figcaption>{name}: no measurements</figcaption></figure>"
    low = math.floor(math.log10(min(ns for ns, _ in points)))
    high = max(low + 1, math.ceil(math.log10(max(ns for ns, _ in points))))
    deep = min(-1, math.floor(math.log10(min(share for _, share in points))))

    def x(ns: float) -> float:
        return LEFT + (math.log10(ns) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(share: float) -> float:
        return TOP + math.log10(share) / deep * (HEIGHT - TOP - BOTTOM)

    drawn = [f"<svg width={WIDTH} height={HEIGHT} role=img aria-label='{name}'>"]
    for power in range(low, high + 1):
        at = x(10**power)
        drawn.append(line(at, TOP, at, HEIGHT - BOTTOM))
        drawn.append(f"<text x={at:.1f} y={HEIGHT - BOTTOM + 15} text-anchor=middle>")
        drawn.append(f"{10 ** (power - 3):g}</text>")
    for power in range(0, deep - 1, -1):
        at = y(10**power)
        drawn.append(line(LEFT, at, WIDTH - RIGHT, at))
        label = "1" if power == 0 else f"10<tspan dy=-4 font-size=8>{power}</tspan>"
        drawn.append(f"<text x={LEFT - 6} y={at + 4:.1f} text-anchor=end>{label}</text>")
    drawn.append(f"<text x={(LEFT + WIDTH) / 2} y={HEIGHT - 4} text-anchor=middle>time, µs</text>")
    for place, curve in curves.items():
        path = " ".join(f"{x(ns):.1f},{y(share):.1f}" for ns, share in curve)
        stroke = f"stroke={COLOURS[place]} stroke-width=1.8"
        drawn.append(f"<polyline points='{path}' fill=none {stroke} />")
    drawn.append("</svg>")
    return f"<figure>{''.join(drawn)}<figcaption>{name}</figcaption></figure>"


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f"x1={x1:.1f} y1={y1:.1f} x2={x2:.1f} y2={y2:.1f}"
    return f"<line {ends} stroke=currentColor stroke-opacity=0.15 />"
