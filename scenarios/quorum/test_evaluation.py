"""Tests of the evaluation, on records made by hand."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import causes
import cell as cells
import figures
import page
import part
import records
import run
from causes import NOTHING, Evidence, Segment
from records import Spoken

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
    times |= {"decided_ns": end - MS // 10, "operated_ns": end, "acknowledging_ns": end}
    times |= {"cryptography_ns": MS // 20}
    return {"event": "acted", "action": action, "from": 1, "gen": 8} | times


def match(steps: list[Any], done: list[Any], evidence: Evidence = NOTHING) -> Any:
    """Of a cell in which node 1 took nothing down."""
    return records.match(steps, done, {}, evidence)


def slices(count: int, us: int, from_ms: float, every_ms: float) -> Any:
    """So many slices of the same length, in µs."""
    begins = (int((from_ms + number * every_ms) * MS) for number in range(count))
    return [(begin, begin + us * 1000) for begin in begins]


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
            segments, spent = records.way(0, done, said)
            ends = [(segment.begin_ns, segment.end_ns) for segment in segments]
            self.assertEqual([ends[0][0], ends[-1][1]], [0, done["operated_ns"]])
            self.assertTrue(all(one[1] == next_[0] for one, next_ in zip(ends, ends[1:])))
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


class Causes(unittest.TestCase):
    """Why an action was slow. The cell has 100 actions of 1 ms, and one of 6 ms by node 1: an
    excess of 1.83 ms over the limit, and 5 ms beyond the median."""

    cores = {"unit": 0, "node-1": 1, "breaker": 1}

    def cause(self, **evidence: Any) -> str:
        """The cause of the slow one."""
        at = [10.0 * number for number in range(1, 101)]
        steps = [step(1, 0), *(step(number + 2, ms) for number, ms in enumerate(at))]
        done = [acted("trip", 0, 6)]
        done += [acted("close" if n % 2 == 0 else "trip", ms, 1) for n, ms in enumerate(at)]
        told = Evidence({}, {}, {}, self.cores)._replace(**evidence)
        found, extra = match(steps, done, told)
        self.assertEqual(extra, 0)
        self.assertEqual({one.cause for one in found[1:]}, {""}, "those in time need none")
        return str(found[0].cause)

    def test_many_small_slices_explain_what_none_of_them_does(self) -> None:
        self.assertEqual(self.cause(taken={1: slices(1, 250, 1, 1)}), "unexplained")
        self.assertEqual(self.cause(taken={1: slices(8, 250, 0.5, 0.5)}), "host stall")
        of_both = {0: slices(4, 250, 0.5, 1), 1: slices(4, 250, 1, 1)}
        self.assertEqual(self.cause(taken=of_both), "host stall")

    def test_an_action_stays_unexplained_if_too_little_was_taken_or_elsewhere(self) -> None:
        self.assertEqual(self.cause(), "unexplained")
        self.assertEqual(self.cause(taken={1: slices(7, 250, 0.5, 0.5)}), "unexplained")
        at_once = {0: slices(7, 250, 0.5, 0.5), 1: slices(7, 250, 0.5, 0.5)}
        self.assertEqual(self.cause(taken=at_once), "unexplained", "both at once are one loss")
        self.assertEqual(self.cause(taken={1: [(-9 * MS, 0), (6 * MS, 9 * MS)]}), "unexplained")
        self.assertEqual(self.cause(taken={2: [(0, 6 * MS)]}), "unexplained", "nobody was there")
        self.assertEqual(self.cause(waited={"node-2": [(0, 6 * MS)]}), "unexplained", "not awaited")

    def test_a_processor_that_others_have_is_not_the_hosts(self) -> None:
        self.assertEqual(self.cause(waited={"node-1": [(MS, 4 * MS)]}), "waiting for a processor")
        self.assertEqual(self.cause(others={1: [(MS, 4 * MS)]}), "waiting for a processor")
        # Who waits while the host has the core waits for the host.
        both = {"waited": {"node-1": [(MS, 4 * MS)]}, "taken": {1: [(MS, 4 * MS)]}}
        self.assertEqual(self.cause(**both), "host stall")
        each = {"waited": {"node-1": [(MS, 2 * MS)]}, "taken": {1: [(3 * MS, 4 * MS)]}}
        self.assertEqual(self.cause(**each), "several causes", "neither alone")

    def test_half_of_what_is_beyond_the_median_is_enough_and_less_is_not(self) -> None:
        def why(ours: float, host: float) -> str:
            told = dict.fromkeys((causes.BEHIND, causes.WAITING, causes.CRYPTOGRAPHY), 0.0)
            return causes.why(ours, 1000, 4000, told | {causes.STALL: host})

        self.assertEqual([why(9000, 4000), why(9000, 3999)], ["host stall", "unexplained"])
        self.assertEqual([why(4100, 100), why(4100, 99)], ["host stall", "unexplained"])

    def test_a_cause_counts_only_while_it_is_waited_for(self) -> None:
        evidence = Evidence({0: [(0, 5)], 1: [(5, 20)]}, {}, {"a": [(2, 9)]}, {"a": 0, "b": 1})
        segments = [Segment("x", 0, 10, ("a",)), Segment("y", 10, 15, ("b",))]
        self.assertEqual(evidence.lost(segments), (5 + 5, 4, 5), "core 1, while a was waited for")
        everywhere = [Segment("z", 0, 30, ("somebody",))]
        self.assertEqual(evidence.lost(everywhere), (20, 0, 0), "who may be anywhere waits for all")
        before = [Segment("w", causes.BEFORE_NS + 3, causes.BEFORE_NS + 9, ("a", "b"))]
        self.assertEqual(evidence.lost(before), (0, 0, 2 + 15), "what was taken just before")

    def test_without_the_host_it_would_have_been_in_time(self) -> None:
        def why(host: float, behind: float, waiting: float) -> str:
            told = {causes.STALL: host, causes.BEHIND: behind, causes.WAITING: waiting}
            return causes.why(9000, 1000, 4000, told | {causes.CRYPTOGRAPHY: 0.0})

        self.assertEqual(why(5000, 0, 6000), "host stall", "either would do")
        self.assertEqual(why(3000, 2000, 4500), "host stall", "with the queue behind it")
        self.assertEqual(why(4999, 0, 5000), "waiting for a processor")
        self.assertEqual(why(2000, 0, 4500), "waiting for a processor", "more than half")
        self.assertEqual(why(2000, 0, 2500), "several causes")
        self.assertEqual(why(1500, 0, 2400), "unexplained")

    def test_a_longer_wait_than_any_without_the_host_is_the_queue_behind_it(self) -> None:
        def action(number: int, ours: float, *lost: float) -> Any:
            parts = tuple(0.0 for _ in records.PARTS)
            return records.Action(number, 0.0, ours, ours, "", (lost[0], lost[1], lost[2]), parts)

        alone = [action(number, 300, 0, number % 400, 0) for number in range(1000)]

        def told(slow: Any, others: Any) -> tuple[dict[str, float], str]:
            known = records.usual([slow, *others])
            return records.causes_us(slow, known), records.explained([slow, *others])[0].cause

        # 3 ms over the limit: 2 ms at once, and of 4 ms of waiting all but 399 µs.
        slow = action(9, records.LIMIT_US + 3000, 2000, 4000, 9000)
        found, cause = told(slow, alone)
        self.assertEqual(list(found.values()), [2000, 3601, 399, 0])
        self.assertEqual(cause, "host stall")
        # Not more than the host took, and nothing if it took nothing or nobody knows what is usual.
        found, cause = told(slow._replace(lost_us=(2000.0, 4000.0, 500.0)), alone)
        self.assertEqual(list(found.values()), [2000, 500, 3500, 0])
        self.assertEqual(cause, "waiting for a processor")
        for one, others in (
            (slow._replace(lost_us=(2000.0, 4000.0, 0.0)), alone),
            (slow, alone[1:]),
            (slow, [other._replace(lost_us=(0.0, 0.0, 20.0)) for other in alone]),
        ):
            self.assertEqual(told(one, others)[0][causes.BEHIND], 0)

    def test_records_become_evidence(self) -> None:
        beat = {"event": "taken", "core": 1, "realtime_ns": 900, "late_ns": 600}
        meter = [beat | {"taken_ns": 400, "waited_ns": 150}]
        party = [
            {"event": "waited", "realtime_ns": 70, "waited_ns": 30},
            {"event": "stall", "realtime_ns": 50, "late_ns": 20},
        ]
        found = records.evidence_of({"node-1": party}, meter, self.cores)
        waited = {"node-1": [(40, 70)]}
        self.assertEqual(found, ({1: [(300, 700)]}, {1: [(750, 900)]}, waited, self.cores))
        # Nothing but the kernel keeps the meter waiting for a millisecond.
        late = {"event": "taken", "core": 1, "realtime_ns": 5 * MS, "late_ns": MS, "taken_ns": 0}
        found = records.evidence_of({}, [late | {"waited_ns": MS}], self.cores)
        self.assertEqual((found.taken, found.others), ({1: [(4 * MS, 5 * MS)]}, {}))
        found = records.evidence_of({}, [late | {"waited_ns": MS - 1}], self.cores)
        self.assertEqual((found.taken, found.others), ({1: []}, {1: [(4 * MS + 1, 5 * MS)]}))
        # Without a meter, in virtual time, the canaries are what there is.
        self.assertEqual(records.evidence_of({"node-1": party}, [], None).taken, {0: [(30, 50)]})


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

    def test_what_is_done_of_a_cell_stays(self) -> None:
        cell, pace = cells.Cell("peer", "fault-free", "real"), cells.Pace(25, 5, 1, 3, 4)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "cell"

            def done(pace: cells.Pace) -> list[bool]:
                return [one.is_done for one in part.planned(cell, pace, 10, 7, folder)]

            parts = part.planned(cell, pace, 10, 7, folder)
            self.assertEqual([one.pace.actions for one in parts], [10, 10, 5])
            self.assertEqual([one.seed for one in parts], [7, 8, 9])
            for one in parts[1:]:
                one.folder.mkdir()
                told = json.dumps({"actions": one.pace.actions})
                (one.folder / part.DONE).write_text(told, encoding="utf-8")
            self.assertEqual(done(pace), [False, True, True])
            # More, and less: what is whole need not be run again.
            self.assertEqual(done(pace._replace(actions=35)), [False, True, False, False])
            self.assertEqual(done(pace._replace(actions=12)), [False, True])
            for other, told in (
                ((pace._replace(tdf=5), 10, 7), "begun with tdf 4: go on with that, name another"),
                ((pace._replace(dwell_ms=4), 5, 7), "begun with dwell_ms 3, part 10: go on"),
                ((pace, 10, 8), "begun with seed 7: go on"),
            ):
                with self.assertRaisesRegex(part.OtherSettingsError, told):
                    part.planned(cell, *other, folder)
            self.assertEqual(done(pace), [False, True, True], "nothing is thrown away")

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

    def test_a_flood_is_compared_with_the_same_cell_without_it(self) -> None:
        self.assertEqual(len(cells.cells(["real"], ["peer"], "", beyond=False)), 5)
        (flood,) = cells.cells(["real"], ["peer"], cells.FLOOD, beyond=True)
        pace = cells.Pace(2, 5, 1, 3, 4)
        self.assertIn("10.0.0.2:7400 --to 10.0.0.5:7400", cells.scenario(flood, pace, Path("p"), 1))

        def found(condition: str, takes_ms: float) -> Any:
            actions, extra = match([step(1, 0)], [acted("trip", 0, takes_ms)])
            one = figures.figures(actions, extra, 1) | flood._replace(condition=condition)._asdict()
            return one | {"pace": {"actions": 1, "tdf": 4}, "wrong_tags": 77, "met": True}

        without = found(cells.FAULT_FREE, 1)
        for takes_ms, word in ((1.9, "met"), (2.1, "missed")):
            text = page.flooded([without, found(cells.FLOOD, takes_ms)])
            row = f"<span class={word}>{word}</span><td>77<td>+{takes_ms * 1000 - 1000:.0f}"
            self.assertIn(row, text)
        self.assertEqual(page.flooded([without]), "")
        # One stall of the host decides the longest of all; of these it is no cause.
        (late, alone) = (found(cells.FLOOD, 1) for _ in range(2))
        late["ours"]["max"] += 5000
        alone["left_alone"]["max"] += 5000
        self.assertIn("<span class=met>", page.flooded([without, late]))
        self.assertIn("<span class=missed>", page.flooded([without, alone]))
        at_another_pace = without | {"pace": {"actions": 1, "tdf": 2}}
        self.assertEqual(page.flooded([at_another_pace, found(cells.FLOOD, 1)]), "")


if __name__ == "__main__":
    unittest.main()
