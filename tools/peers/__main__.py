"""Runs the suites and compares. Exit code 1 if something differs and nobody knows why."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from . import compare, places, report, suites
from .known import KNOWN

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/peers.md"


def main() -> int:
    options = arguments()
    chosen = [s for s in suites.all_suites() if any(word in s.name for word in options.only or [""])]
    if not chosen:
        print(f"peers: no suite has {' or '.join(options.only)} in its name", file=sys.stderr)
        return 64
    qcycle = str(Path(options.qcycle).resolve())
    if shutil.which(qcycle) is None:
        print(f"peers: {qcycle} is not there: build it, or name another --qcycle", file=sys.stderr)
        return 66
    results: report.Results = {}
    try:
        with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as scratch:
            for suite in chosen:
                results[suite.name] = run_suite(suite, options.places, qcycle, Path(scratch))
    except KeyboardInterrupt:
        print("peers: interrupted; nothing was written", file=sys.stderr)
        return 130
    return tell(results, options)


def run_suite(
    suite: suites.Suite, chosen: list[str], qcycle: str, scratch: Path
) -> dict[str, compare.Comparison]:
    """Runs a suite in all places, and what differs again."""
    suite.build(scratch)
    seen: dict[str, compare.Seen] = {place: {} for place in [places.NATIVE, *chosen]}
    holds = dict.fromkeys(seen, 0)

    def run(place: str, tests: list[str]) -> None:
        begun = time.monotonic()
        output = scratch / "output"
        outcomes, held = places.run_in(place, suite.run(tests, scratch), qcycle, output)
        compare.add(seen[place], outcomes)
        holds[place] += held
        took = time.monotonic() - begun
        what = f"{len(outcomes)} tests" + (" again" if tests else "")
        print(f"peers: {suite.name:24} {place:8} {what}, {took:.0f} s", file=sys.stderr, flush=True)

    for place in seen:
        run(place, [])
    for place in chosen:
        for _ in range(1, compare.TRIES):
            apart = compare.differing(seen[places.NATIVE], seen[place])
            unknown = [t for t in apart if not compare.is_known(suite.name, t, seen[place], KNOWN)]
            if not unknown:
                break
            run(places.NATIVE, unknown)
            run(place, unknown)
    native = seen[places.NATIVE]
    comparisons = {}
    for place in chosen:
        comparisons[place] = compare.compare(suite.name, native, seen[place], KNOWN)
        comparisons[place].holds = holds[place]
    return comparisons


def tell(results: report.Results, options: argparse.Namespace) -> int:
    """Prints and writes the results; answers the exit code."""
    versions = suites.versions()
    page = report.as_page(results, versions, suites.LEFT_OUT, compare.TRIES)
    if options.json:
        print(json.dumps(report.as_json(results, versions), indent=2))
    else:
        print(page)
    if options.write_page:
        PAGE.write_text(page)
    return 1 if report.count_unknown(results) else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("--qcycle", default="target/release/qcycle", help="the binary to test")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="suites with WORD in their name")
    parser.add_argument(
        "--places", nargs="+", choices=places.PLACES[1:], default=places.PLACES[1:], metavar="PLACE"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write-page", action="store_true", help="write docs/reference/peers.md")
    options = parser.parse_args()
    if options.write_page and (options.only or options.places != places.PLACES[1:]):
        parser.error("the page is of all suites in all places: no --only or --places with it")
    return options


if __name__ == "__main__":
    sys.exit(main())
