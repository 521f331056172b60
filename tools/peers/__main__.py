"""Runs the suites and compares. Exit code 1 if something differs and nobody knows why."""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from . import bandwidth, compare, ltp, places, programs, report, suites
from .known import KNOWN

IPERF_SECONDS = 30
PAGE = Path(__file__).resolve().parents[2] / "docs/reference/peers.md"


def main() -> int:
    options = arguments()
    # Being asked to end is an interrupt too, also where a shell has Ctrl-C ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    wanted = options.only or [""]
    everything = suites.all_suites() + ltp.all_suites() + programs.all_programs()
    chosen = [suite for suite in everything if any(word in suite.name for word in wanted)]
    with_bandwidth = any(word in "programs/iperf3" for word in wanted)
    if not chosen and not with_bandwidth:
        print(f"peers: no suite has {' or '.join(options.only)} in its name", file=sys.stderr)
        return 64
    qcycle = str(Path(options.qcycle).resolve())
    if shutil.which(qcycle) is None:
        print(f"peers: {qcycle} is not there: build it, or name another --qcycle", file=sys.stderr)
        return 66
    results: report.Results = {}
    not_run = {suite.name: suite.missing for suite in chosen if suite.missing}
    for name, reason in not_run.items():
        print(f"peers: {name:24} not run: {reason}", file=sys.stderr)
    figures: dict[str, list[bandwidth.Figures]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as scratch:
            # Servers that do without root's rights have their files below it.
            Path(scratch).chmod(0o711)
            for suite in (suite for suite in chosen if not suite.missing):
                results[suite.name] = run_suite(suite, qcycle, Path(scratch))
            if with_bandwidth:
                figures = bandwidth.measure(qcycle, Path(scratch), IPERF_SECONDS)
    except KeyboardInterrupt:
        print("peers: interrupted; nothing was written", file=sys.stderr)
        return 130
    return tell(results, not_run, figures, options)


def run_suite(
    suite: suites.Suite, qcycle: str, scratch: Path
) -> dict[str, compare.Comparison]:
    """Runs a suite in all its places, and what differs again."""
    suite.build(scratch)
    here = [place for place in places.ALL if place.name in suite.places]
    seen: dict[str, compare.Seen] = {place.name: {} for place in [places.NATIVE, *here]}
    holds = dict.fromkeys(seen, 0)

    def run(place: places.Place, tests: list[str]) -> None:
        begun = time.monotonic()
        output = scratch / "output"
        outcomes, held = places.run_in(place, suite.run(tests, scratch), qcycle, output)
        compare.add(seen[place.name], outcomes)
        holds[place.name] += held
        took = time.monotonic() - begun
        what = f"{len(outcomes)} tests" + (" again" if tests else "")
        line = f"peers: {suite.name:24} {place.name:12} {what}, {took:.0f} s"
        print(line, file=sys.stderr, flush=True)

    native = seen[places.NATIVE.name]
    for place in [places.NATIVE, *here]:
        run(place, [])
    for place in here:
        for _ in range(1, compare.TRIES):
            comparison = compare.compare(suite.name, native, seen[place.name], KNOWN)
            unknown = [one.test for one in comparison.unknown if one.test != places.WHOLE]
            if not unknown:
                break
            run(places.NATIVE, unknown)
            run(place, unknown)
    return {
        place.name: compare.compare(suite.name, native, seen[place.name], KNOWN, holds[place.name])
        for place in here
    }


def tell(
    results: report.Results,
    not_run: dict[str, str],
    figures: dict[str, list[bandwidth.Figures]],
    options: argparse.Namespace,
) -> int:
    """Prints and writes the results; answers the exit code."""
    versions = suites.versions() | ltp.version()
    left_out = suites.LEFT_OUT | ltp.LEFT_OUT
    sections = bandwidth.section(figures, IPERF_SECONDS) if figures else []
    page = report.as_page(results, versions, not_run, left_out, compare.TRIES, sections)
    if options.json:
        measured = {name: [vars(run) for run in runs] for name, runs in figures.items()}
        all_told = report.as_json(results, versions, not_run, {"bandwidth": measured})
        print(json.dumps(all_told, indent=2))
    else:
        print(page)
    if options.write_page:
        PAGE.write_text(page)
    is_bad = report.count_unknown(results) > 0 or (figures and bandwidth.problems(figures))
    return 1 if is_bad else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="peers", description=__doc__)
    parser.add_argument("--qcycle", default="target/release/qcycle", help="the binary to test")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="suites with WORD in their name")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--write-page", action="store_true", help="write docs/reference/peers.md")
    options = parser.parse_args()
    if options.write_page and options.only:
        parser.error("the page is of all suites: no --only with it")
    return options


if __name__ == "__main__":
    sys.exit(main())
