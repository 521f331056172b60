"""What holds cost a busy TCP connection: iperf3 between two nodes, held and not.

Virtual bandwidth of the held run against the other one, and segments sent again. The kernels count
retransmissions on host time, see the limitations; the network withholds what they repeat for that
reason alone, and tells how many it withheld.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from . import nodes, places
from .suites import Run

PLAIN = places.NODES
HELD = places.Place("", "", hold_s=1.0, hold_every_s=2.0, in_nodes=True)
NOT_HELD, HELD_NAME = "not held", "held 1 s every second"
SEGMENT_OCTETS = 1448
ROUNDS = 3

# What a held run may lose of the bandwidth, and segments it may send again besides.
LESS_MAX = 0.03
MORE_AGAIN_MAX = 0.01


@dataclass(frozen=True)
class Figures:
    """One run of iperf3."""

    bits_per_s: float
    octets: int
    sent_again: int
    withheld: int
    holds: int

    @property
    def share_again(self) -> float:
        """Segments sent again for each segment sent."""
        return self.sent_again * SEGMENT_OCTETS / self.octets


def measure(qcycle: str, scratch: Path, seconds: int) -> dict[str, list[Figures]]:
    """Runs both in turn, so that other work on the machine falls on both alike."""
    figures: dict[str, list[Figures]] = {NOT_HELD: [], HELD_NAME: []}
    for _ in range(ROUNDS):
        figures[NOT_HELD].append(run(PLAIN, qcycle, scratch, seconds))
        figures[HELD_NAME].append(run(HELD, qcycle, scratch, seconds))
    return figures


def run(place: places.Place, qcycle: str, scratch: Path, seconds: int) -> Figures:
    script = str(Path(__file__).parent / "programs/iperf3.sh")
    environment = {"IPERF_SECONDS": str(seconds)}
    iperf = Run([], scratch, environment, of_iperf, ["sh", script])
    output = scratch / "iperf3"
    told, holds = places.run_in(place, iperf, qcycle, output)
    folder = nodes.run_folder(output.read_text(), scratch)
    if folder is None or "octets" not in told:
        raise RuntimeError(f"iperf3 did not end well: {output.read_text()[-2000:]} {told}")
    record = json.loads((folder / "run.json").read_text())
    withheld = sum(node["withheld_repeats"] for node in record["network"]["nodes"].values())
    octets, sent_again = int(told["octets"]), int(told["sent_again"])
    return Figures(float(told["bits_per_s"]), octets, sent_again, withheld, holds)


def of_iperf(text: str) -> dict[str, str]:
    """Figures from the JSON that iperf3 prints."""
    try:
        end = json.loads(text[text.index("{") :])["end"]
    except (ValueError, KeyError):
        return {}
    sent, received = end["sum_sent"], end["sum_received"]
    return {
        "bits_per_s": str(received["bits_per_second"]),
        "octets": str(sent["bytes"]),
        "sent_again": str(sent["retransmits"]),
    }


def problems(figures: dict[str, list[Figures]]) -> list[str]:
    """What is beyond the bounds, by medians."""
    plain, held = figures[NOT_HELD], figures[HELD_NAME]
    found = []
    if any(run.holds == 0 for run in held):
        found.append("a domain was never held")
    ratio = median(run.bits_per_s for run in held) / median(run.bits_per_s for run in plain)
    if ratio < 1 - LESS_MAX:
        found.append(f"held, bandwidth is less by {1 - ratio:.1%}, more than {LESS_MAX:.0%}")
    more = median(run.share_again for run in held) - median(run.share_again for run in plain)
    if more > MORE_AGAIN_MAX:
        found.append(f"held, {more:.1%} more segments are sent again, not {MORE_AGAIN_MAX:.0%}")
    return found


def section(figures: dict[str, list[Figures]], seconds: int) -> list[str]:
    rows = [
        f"| {name} | {run.bits_per_s / 1e6:.3f} | {run.sent_again} | {run.share_again:.3%} "
        f"| {run.withheld} | {run.holds} |"
        for runs in zip(*figures.values())
        for name, run in zip(figures, runs)
    ]
    return [
        "",
        "## Bandwidth",
        "",
        f"iperf3 for {seconds} virtual seconds between two nodes over 20 Mbit/s and 5 ms, in turn.",
        "",
        "| Run | Mbit/s | Segments sent again | of all | withheld by the network | Holds |",
        "|---|---:|---:|---:|---:|---:|",
        *rows,
        "",
        *(f"- Beyond the bounds: {problem}." for problem in problems(figures)),
    ]
