"""The page and the JSON that say how it went. Nothing in them is written by hand."""

from collections.abc import Iterable
from dataclasses import asdict

from .compare import Comparison, Difference
from .places import ALL

# Suite -> place -> how it compares with native.
Results = dict[str, dict[str, Comparison]]

HEAD = """# Peers' test suites in virtual time

Made by `make conformance`; do not edit. CPython's and Go's own tests, those of the Linux Test Project
and of Open POSIX where they are there, and programs that people use over a network, run natively and
elsewhere, and each must end as it does natively. A test whose outcome differs is run up to {tries}
times in each place. It *differs* if no outcome was seen in both, and is *unsteady* if some were and
others not. For a program, each fact that it tells counts as a test.
"""


def as_json(
    results: Results,
    versions: dict[str, str],
    not_run: dict[str, str],
    figures: dict[str, object],
) -> dict[str, object]:
    """Everything, for programs."""
    suites = {
        suite: {place: asdict(comparison) for place, comparison in places.items()}
        for suite, places in results.items()
    }
    told = {"versions": versions, "suites": suites, "not_run": not_run}
    return {**told, "unknown": count_unknown(results), **figures}


def count_unknown(results: Results) -> int:
    """Differences without a reason."""
    return sum(len(c.unknown) for places in results.values() for c in places.values())


def as_page(
    results: Results,
    versions: dict[str, str],
    not_run: dict[str, str],
    left_out: dict[str, str],
    tries: int,
    sections: list[str],
) -> str:
    """The page for `docs/reference`."""
    lines = [HEAD.format(tries=tries)]
    lines += [f"- {what}: {version}" for what, version in versions.items()]
    lines += ["", "| Place | Meaning |", "|---|---|"]
    lines += [f"| `{place.name}` | {place.meaning} |" for place in ALL]
    lines += [
        "",
        "## Tests",
        "",
        "| Suite | Place | Tests | As natively | and passed | Unsteady | Differ, known | Differ, unknown | Holds |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        row(suite, place, comparison)
        for suite, places in results.items()
        for place, comparison in places.items()
    ]
    for title, key in [
        ("Differences without a reason", "unknown"),
        ("Known differences", "known"),
        ("Unsteady tests", "unsteady"),
    ]:
        lines += ["", f"## {title}", "", *differences(results, key)]
    lines += ["", "## Not run", "", *suites_not_run(not_run)]
    lines += ["", "## Left out", ""]
    lines += [f"- `{pattern}`: {reason}." for pattern, reason in left_out.items()]
    return "\n".join([*lines, *sections]) + "\n"


def suites_not_run(not_run: dict[str, str]) -> Iterable[str]:
    """Suites that could not be run, by reason, or the word that there are none."""
    suites: dict[str, list[str]] = {}
    for suite, reason in not_run.items():
        suites.setdefault(reason, []).append(f"`{suite}`")
    return [f"- {', '.join(names)}: {reason}." for reason, names in suites.items()] or ["None."]


def row(suite: str, place: str, comparison: Comparison) -> str:
    lists = [len(getattr(comparison, key)) for key in ("unsteady", "known", "unknown")]
    tests = comparison.same + sum(lists)
    numbers = " | ".join(map(str, [tests, comparison.same, comparison.passed, *lists, comparison.holds]))
    return f"| `{suite}` | `{place}` | {numbers} |"


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
    native, here = (" or ".join(outcomes) for outcomes in (difference.native, difference.here))
    reason = f": {difference.reason}" if difference.reason else ""
    return f"- `{suite}`, `{difference.test}`: {native} natively, {here} in `{place}`{reason}."
