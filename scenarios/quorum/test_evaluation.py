"""Tests of the evaluation, on records made by hand."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import cell as cells
import figures
import page
import part
import records
import run
from records import Spoken, Stall

MS = 1_000_000


def step(number: int, at_ms: float) -> Any:
    """A step that was sent, 0.05 ms after its begin."""
    begin = int(at_ms * MS)
    action = "trip" if number % 2 else "close"
    sent = {"before_send_ns": begin, "after_send_ns": begin + MS // 20}
    return {"action_number": number, "action": action} | sent


def acted(action: str, at_ms: float, takes_ms: float) -> Any:
    """An action of the breaker: the first vote comes at half its time."""
    begin, end = int(at_ms * MS), int((at_ms + takes_ms) * MS)
    times = {"first_received_ns": (begin + end) // 2, "received_ns": end - MS // 10}
    times |= {"decided_ns": end - MS // 10, "operated_ns": end, "acknowledging_ns": end, "cryptography_ns": MS // 20}
    return {"event": "acted", "action": action, "from": 1, "gen": 8} | times


def match(steps: list[Any], done: list[Any], stalls: list[Stall] | None = None) -> Any:
    """Of a cell in which node 1 took nothing down."""
    return records.match(steps, done, {}, stalls or [])


class Records(unittest.TestCase):
    """From records to actions."""

    def test_each_step_has_its_action_and_both_definitions(self) -> None:
        steps = [step(1, 0), step(2, 10)]
        actions, extra = match(steps, [acted("trip", 0, 1), acted("close", 10, 2)])
        self.assertEqual([a.ours_us for a in actions], [1000, 2000])
        self.assertEqual([a.published_us for a in actions], [950, 1950])
        self.assertEqual(extra, 0)

    def test_a_step_may_come_before_the_breaker_node_has_read_the_clock(self) -> None:
        steps, slow = [step(1, 0), step(2, 5.95)], acted("trip", 0, 6)
        actions, extra = match(steps, [slow, acted("close", 5.95, 1)])
        self.assertEqual([round(a.ours_us) for a in actions], [6000, 1000])
        self.assertEqual(extra, 0)

    def test_an_action_that_never_came_and_one_that_nobody_asked_for_are_seen(self) -> None:
        steps = [step(1, 0), step(2, 10), step(3, 20)]
        actions, extra = match(steps, [acted("trip", 0, 1), acted("trip", 20, 1)])
        self.assertEqual([a.cause for a in actions], ["", "never came", ""])
        self.assertEqual(extra, 0)
        doubled = [acted("trip", 0, 1), acted("close", 2, 1), acted("close", 10, 1)]
        actions, extra = match(steps[:2], doubled)
        self.assertEqual((len(actions), extra), (2, 1))
        found = figures.figures(actions, extra, 1) | {"pace": {"actions": 2}}
        self.assertFalse(run.judge("real", found))
        good = figures.figures(actions, 0, 1) | {"pace": {"actions": 2}}
        self.assertTrue(run.judge("real", good))
        self.assertFalse(run.judge("real", good | {"pace": {"actions": 3}}))

    def test_a_slow_action_is_the_hosts_only_if_stalls_account_for_the_excess(self) -> None:
        slow = [acted("trip", 0, 6)]

        def cause(*stalls: tuple[float, float]) -> str:
            found = [Stall(int(at * MS), int(to * MS), "node-0") for at, to in stalls]
            return str(match([step(1, 0)], slow, found)[0][0].cause)

        self.assertEqual(cause((1, 4)), "host stall at node-0")
        self.assertEqual(cause((0.5, 1.5), (3, 4)), "host stall at node-0", "two in a row")
        self.assertEqual(cause((0.5, 1.5), (0.6, 1.5)), "another relay", "one that two have seen")
        self.assertEqual(cause((-9, 0), (6, 9)), "another relay", "before and after")

    def test_the_time_of_an_action_is_told_apart_and_none_is_lost(self) -> None:
        us = 1000
        spoken = Spoken(sample_ns=100 * us, spoke_ns=300 * us, cryptography_ns=80 * us)
        done = acted("trip", 0, 2.5)
        cases = {
            # Said once, and heard with the begin of the third millisecond.
            spoken: {
                "network": 500,
                "relay": 120,
                "tick": 1700,
                "cryptography": 130,
                "breaker": 50,
            },
            # A certificate, as soon as the share of another one came.
            spoken._replace(
                share_ns=700 * us, certified_ns=900 * us, certifying_ns=150 * us
            ): {
                "network": 500,
                "relay": 170,
                "another relay": 400,
                "tick": 1100,
                "cryptography": 280,
                "breaker": 50,
            },
            # Nothing was taken down.
            None: {"another relay": 2400, "cryptography": 50, "breaker": 50},
        }
        for said, expected in cases.items():
            spent = records.parts(0, done, said)
            self.assertEqual({part: ns // us for part, ns in spent.items() if ns}, expected)
            self.assertEqual(sum(spent.values()), done["operated_ns"])

    def test_actions_are_kept_as_they_are_and_parts_follow_each_other(self) -> None:
        actions, _ = match([step(1, 0), step(2, 10), step(3, 20)], [acted("trip", 0, 1)])
        with tempfile.TemporaryDirectory() as folder:
            figures.write(Path(folder) / "actions", actions)
            read = figures.read(Path(folder) / "actions")
        self.assertEqual(repr(read), repr(actions), "not a number is not itself")
        both = figures.joined([read, read])
        self.assertEqual([action.number for action in both], [1, 2, 3, 4, 5, 6])
        self.assertEqual([action.at_s for action in both], [0, 0.01, 0.02, 0.02, 0.03, 0.04])

    def test_a_line_that_was_cut_ends_the_records(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "breaker.jsonl"
            path.write_text(json.dumps(acted("trip", 0, 1)) + '\n{"event": "ac', encoding="utf-8")
            self.assertEqual(len(list(records.records(path))), 1)


class Figures(unittest.TestCase):
    """From actions to figures."""

    def test_a_percentile_needs_enough_actions(self) -> None:
        found = figures.summary(float(us) for us in range(1, 1001))
        self.assertEqual((found["p50"], found["p99"], found["p99.9"]), (500, 990, None))
        self.assertEqual((found["over"], found["max"]), (0, 1000))

    def test_a_histogram_loses_nothing_and_a_series_keeps_its_peaks(self) -> None:
        self.assertEqual(sum(n for _, n in figures.histogram([0.5, 3, 900, 901, 5000])), 5)
        series = [(float(at), 2.0) for at in range(20_000)]
        series[777] = (777.0, 9.0)
        kept = figures.thinned(series)
        self.assertLessEqual(len(kept), figures.SERIES_MAX)
        self.assertIn((770.0, 2.0, 9.0), kept)


class Cells(unittest.TestCase):
    """What is run."""

    def test_a_hostile_node_is_one_of_those_that_take_part(self) -> None:
        for nodes, hostile in cells.CONDITIONS.values():
            self.assertTrue(hostile is None or hostile in nodes)
            self.assertGreaterEqual(len(nodes) - (hostile is not None), 2)

    def test_parts_stay_as_long_as_they_are_run_in_the_same_way(self) -> None:
        cell, pace = cells.Cell("peer", "fault-free", "real"), cells.Pace(25, 5, 1, 3, 4)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "cell"
            parts = part.planned(cell, pace, 10, 7, folder)
            self.assertEqual([one.pace.actions for one in parts], [10, 10, 5])
            self.assertEqual([one.seed for one in parts], [7, 8, 9])
            parts[1].folder.mkdir()
            (parts[1].folder / part.DONE).touch()
            again = part.planned(cell, pace, 10, 7, folder)
            self.assertEqual([one.is_done for one in again], [False, True, False])
            for other in ((pace._replace(tdf=5), 10, 7), (pace, 5, 7), (pace, 10, 8)):
                parts[1].folder.mkdir(exist_ok=True)
                (parts[1].folder / part.DONE).touch()
                self.assertFalse(any(one.is_done for one in part.planned(cell, *other, folder)))

    def test_the_page_has_ours_beside_the_published_and_marks_what_was_missed(self) -> None:
        actions, extra = match([step(1, 0)], [acted("trip", 0, 6)])
        found = figures.figures(actions, extra, 1)
        found |= cells.Cell("peer", "fault-free", "virtual")._asdict()
        found["pace"] = {"actions": 1, "tdf": 4}
        found["kept_out"] = {"count": 3, "total_s": 0.06, "longest_ms": 40.5}
        found["met"] = run.judge("virtual", found)
        text = page.page("a host", [found])
        self.assertEqual(text.count("<span class=missed>"), 1)
        self.assertIn("Bommareddy et al. 2023, realtime kernel", text)
        self.assertIn("<td>2048", text)
        self.assertIn("3 stalls of this host, 0.1 s in all, the longest 40.5 ms", text)


if __name__ == "__main__":
    unittest.main()
