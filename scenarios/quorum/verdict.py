"""What a cell must do to be met, and which of that it missed."""

from collections.abc import Iterable
from typing import Any

import cell as cells

# What actions may take on average in virtual time, by the published definition, in µs: about the
# published 794 to 904 of the Arbiter Protocol, and half of the 1950 to 2328 of the Peer Protocol.
MEAN_MAX_US = {"arbiter": 900.0, "peer": 1100.0}
# What is compared with and without a flood. The longest of all is not judged, because one stall of
# the host decides it, in one of the two runs.
ALONE, LONGEST = "longest that the host left alone", "longest"
PERCENTILES = ("p50", "p99", "p99.9", "p99.99", "p99.999")
LATER = ("mean", *PERCENTILES, ALONE, LONGEST)
# What a flood may cost an action.
LATER_MAX_US = 1000.0


def missed(one: Any, found: Iterable[Any]) -> list[str]:
    """What a cell missed, in words; `found` are all cells."""
    asked, wanted = one["asked"], one["pace"]["actions"]
    slow = one["not_the_host"] - one["never_came"]
    told = [
        (f"{asked} of {wanted} steps were sent", not asked >= wanted > 0),
        ("an action never came", one["never_came"]),
        ("nobody asked for an action", one["not_asked_for"]),
        ("over the limit and not by the host", slow),
    ]
    if one["mode"] != cells.REAL_TIME:
        told.append(("over the limit in virtual time", one["ours"].get("over", 0)))
    if one["mode"] != cells.REAL_TIME and one["condition"] in cells.PUBLISHED:
        most, mean = MEAN_MAX_US[one["protocol"]], one["published"].get("mean", 0)
        words = f"published definition: mean {mean:.0f} µs, over {most:.0f} µs"
        told.append((words, mean > most))
    words_of = [words for words, is_missed in told if is_missed]
    return words_of + (too_late(one, found) if one["condition"] == cells.FLOOD else [])


def too_late(flooded: Any, found: Iterable[Any]) -> list[str]:
    """What a flood costs that it must not, in words."""
    without = without_flood(flooded, found)
    if without is None:
        return [f"no {cells.FAULT_FREE} cell of the same pace to compare with"]
    later = later_us(flooded, without)
    words = [
        f"{name} later by {us:.0f} µs"
        for name, us in later.items()
        if name != LONGEST and us >= LATER_MAX_US
    ]
    return words if ALONE in later else [*words, "the host left no action alone to compare"]


def without_flood(flooded: Any, found: Iterable[Any]) -> Any | None:
    """The same cell without the flood, if it was run."""
    for one in found:
        if one["condition"] == cells.FAULT_FREE and alike(one) == alike(flooded):
            return one if one["ours"]["count"] else None
    return None


def alike(one: Any) -> tuple[Any, ...]:
    """What makes two cells comparable: all but how many actions there were."""
    return one["mode"], one["protocol"], *({**one["pace"], "actions": 0}.items())


def later_us(one: Any, without: Any) -> dict[str, float]:
    """How much longer actions take than without a flood, in µs, by what is compared."""
    ends = {ALONE: "left_alone", LONGEST: "ours"}

    def figures(one: Any) -> Any:
        return one["ours"] | {name: one[which].get("max") for name, which in ends.items()}

    with_it, others = figures(one), figures(without)
    both = (key for key in LATER if with_it.get(key) is not None and others.get(key) is not None)
    return {key: with_it[key] - others[key] for key in both}
