"""The page and the JSON that say how it went. Nothing in them is written by hand."""

from collections.abc import Iterable

from .compare import Comparison, Difference
from .places import HELD, HOLD_EVERY_S, HOLD_S, VIRTUAL

# Suite -> place -> how it compares with native.
Results = dict[str, dict[str, Comparison]]

HEAD = """# Peers' test suites in virtual time

Made by `make conformance`; do not edit. CPython's and Go's own tests run natively, in a time
domain at a time dilation factor of 1 (`virtual`), and in one that is held {hold_ms:.0f} ms every
{every_ms:.0f} ms (`held`). A test whose outcome differs is run up to {tries} times in each place. It
*differs* if no outcome was seen in both, and is *unsteady* if some were and others not.
"""


def as_json(results: Results, versions: dict[str, str]) -> dict[str, object]:
    """Everything, for programs."""
    suites = {
        suite: {place: vars_of(comparison) for place, comparison in places.items()}
        for suite, places in results.items()
    }
    return {"versions": versions, "suites": suites, "unknown": count_unknown(results)}


def vars_of(comparison: Comparison) -> dict[str, object]:
    """A comparison in words of JSON."""
    lists = {
        key: [vars(difference) for difference in getattr(comparison, key)]
        for key in ("unsteady", "known", "unknown")
    }
    return {"same": comparison.same, "holds": comparison.holds, **lists}


def count_unknown(results: Results) -> int:
    """Differences without a reason."""
    return sum(len(c.unknown) for places in results.values() for c in places.values())


def as_page(results: Results, versions: dict[str, str], left_out: dict[str, str], tries: int) -> str:
    """The page for `docs/reference`."""
    lines = [HEAD.format(hold_ms=HOLD_S * 1000, every_ms=HOLD_EVERY_S * 1000, tries=tries)]
    lines += [f"- {what}: {version}" for what, version in versions.items()]
    lines += [
        "",
        "| Suite | Tests | As natively, virtual | As natively, held | Unsteady | Differ, known "
        "| Differ, unknown | Holds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [row(suite, places) for suite, places in results.items()]
    for title, key in [
        ("Differences without a reason", "unknown"),
        ("Known differences", "known"),
        ("Unsteady tests", "unsteady"),
    ]:
        lines += ["", f"## {title}", "", *differences(results, key)]
    lines += ["", "## Left out", ""]
    lines += [f"- `{pattern}`: {reason}." for pattern, reason in left_out.items()]
    return "\n".join(lines) + "\n"


def row(suite: str, places: dict[str, Comparison]) -> str:
    """One suite in the table."""

    def total(key: str) -> int:
        return sum(len(getattr(comparison, key)) for comparison in places.values())

    tests = max(c.same + len(c.unsteady + c.known + c.unknown) for c in places.values())
    same = [str(places[place].same) if place in places else "" for place in (VIRTUAL, HELD)]
    counts = [str(total(key)) for key in ("unsteady", "known", "unknown")]
    counts.append(str(sum(comparison.holds for comparison in places.values())))
    return f"| {' | '.join([f'`{suite}`', str(tests), *same, *counts])} |"


def differences(results: Results, key: str) -> Iterable[str]:
    """A list of differences of one kind, or the word that there are none."""
    found = [
        line(suite, place, difference)
        for suite, places in results.items()
        for place, comparison in places.items()
        for difference in getattr(comparison, key)
    ]
    return found or ["None."]


def line(suite: str, place: str, difference: Difference) -> str:
    """One difference."""
    native, here = (" or ".join(outcomes) for outcomes in (difference.native, difference.here))
    reason = f": {difference.reason}" if difference.reason else ""
    return f"- `{suite}`, `{difference.test}`: {native} natively, {here} in `{place}`{reason}."
