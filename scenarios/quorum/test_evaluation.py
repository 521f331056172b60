"""Tests of the evaluation, on records made by hand."""

import contextlib
import io
import json
import shlex
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import causes
import cell as cells
import figures
import page
import part
import ran
import records
import run
import verdict
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


def cell_of(takes_ms: float, protocol: str, condition: str, mode: str) -> Any:
    """The figures of a cell with one action."""
    actions, extra = match([step(1, 0)], [acted("trip", 0, takes_ms)])
    found = figures.figures(actions, extra, 1) | cells.Cell(protocol, condition, mode)._asdict()
    return found | {"pace": {"actions": 1, "tdf": 4}, "doubts": [], "wrong_tags": 77}


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
        cell = cells.Cell("peer", "fault-free", "real")._asdict() | {"pace": {"actions": 2}}
        found = figures.figures(actions, extra, 1) | cell
        self.assertEqual(verdict.missed(found, []), ["nobody asked for an action"])
        good = figures.figures(actions, 0, 1) | cell
        self.assertEqual(verdict.missed(good, []), [])
        cut_short = good | {"pace": {"actions": 3}}
        self.assertEqual(verdict.missed(cut_short, []), ["2 of 3 steps were sent"])

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

    def test_a_line_that_was_cut_is_left_out(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "breaker.jsonl"
            path.write_text(json.dumps(acted("trip", 0, 1)) + '\n{"event": "ac', encoding="utf-8")
            self.assertEqual(len(list(records.records(path))), 1)

    def test_records_that_were_put_aside_come_first(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "node-1.jsonl"
            for number in range(12):
                aside = path if number == 0 else Path(f"{path}.{number}")
                aside.write_text(json.dumps(number), encoding="utf-8")
            self.assertEqual(list(records.records(path)), list(range(11, -1, -1)))


class Doubts(unittest.TestCase):
    """A meter that cannot tell what the host took."""

    core = {"core": 0, "beats": 9, "waited_ns": 5, "events_lost": 0}
    good = {"measured_ns": 9, "cores": [core], "warnings": ["real-time threads are throttled"]}

    def read(self, *said: str) -> tuple[list[str], Any]:
        """Why it cannot, and the one action of a part of 6 ms in which a core was gone for 5."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            taken = {"event": "taken", "core": 0, "realtime_ns": 5 * MS, "late_ns": 5 * MS}
            taken |= {"taken_ns": 5 * MS, "waited_ns": 0}
            for path, event in (
                ("steps", step(1, 0)),
                ("breaker", acted("trip", 0, 6) | {"realtime_ns": 6 * MS}),
                ("meter", taken),
            ):
                text = json.dumps(event) + "\n"
                (folder / f"{path}.jsonl").write_text(text, encoding="utf-8")
            text = "\n".join(["qcrelay: the meter runs", *said])
            (folder / records.METER_SAID).write_text(text, encoding="utf-8")
            cores = {"unit": 0, "node-1": 0, "breaker": 0}
            # And actions in time, so that it is known what is usual.
            (slow,), _ = records.read(folder, cores)
            alike = slow._replace(ours_us=1000.0, lost_us=(0.0, 0.0, 0.0))
            found = records.explained([slow._replace(cause=""), *[alike] * 9])
            return records.doubts(folder), found

    def test_a_meter_that_measured_is_believed(self) -> None:
        doubts, actions = self.read(json.dumps(self.good))
        self.assertEqual((doubts, actions[0].cause), ([], "host stall"))

    def test_with_another_one_nothing_is_explained_and_it_is_said_why(self) -> None:
        refused = "meter: SCHED_FIFO 99 is refused (EPERM): give CAP_SYS_NICE"
        for said, why in (
            ([self.good | {"warnings": [refused]}], refused),
            ([self.good | {"cores": [self.core | {"waited_ns": None}]}], "schedstat"),
            ([self.good | {"cores": [self.core | {"events_lost": 1}]}], "were lost"),
            ([], "did not run to its end"),
        ):
            doubts, actions = self.read(*map(json.dumps, said))
            self.assertEqual(len(doubts), 1)
            self.assertIn(why, doubts[0])
            self.assertEqual(actions[0].cause, "unexplained", why)
            self.assertFalse(actions[0].left_alone, why)
            (told,) = figures.over(actions)
            self.assertEqual((set(told["lost"].values()), told["rest"]), ({None}, None))


class Ran(unittest.TestCase):
    """Whether a part ran as it should."""

    pace = cells.Pace(2, 4, 0, 3, 2)

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        done = [acted("trip", 0, 1), acted("close", 4, 1)]
        self.actions, _ = match([step(1, 0), step(2, 4)], done)

    def events(self, party: str, *events: Any) -> None:
        """What a party took down."""
        text = "".join(json.dumps(event) + "\n" for event in events)
        (self.folder / f"{party}.jsonl").write_text(text, encoding="utf-8")

    def spoke(self, *nodes: int) -> None:
        """Correct nodes were born once, and spoke."""
        for node in nodes:
            self.events(f"node-{node}", {"event": "born"}, {"event": "spoke"})

    def ended(self, **codes: int) -> None:
        """How programs ended in host time."""
        for name in ("unit", "breaker", "node-0", "node-1", "node-3"):
            (self.folder / f"{name}{ran.SCRIPT}").touch()
            code = codes.get(name.replace("-", "_"), 0 if name == "unit" else ran.STOPPED)
            (self.folder / f"{name}{ran.ENDED}").write_text(f"{code}\n", encoding="utf-8")

    def failures(self, condition: str, wrong_tags: int = 0) -> list[str]:
        """What did not run as it should."""
        cell = cells.Cell("peer", condition, "real")
        return ran.failures(cell, self.pace, self.folder, self.actions, wrong_tags)

    def test_programs_run_until_their_time_is_over(self) -> None:
        self.spoke(0, 1)
        condition = "fail-stop and proactive recovery"
        self.ended()
        self.assertEqual(self.failures(condition), [])
        self.ended(unit=ran.STOPPED, node_1=139, breaker=12)
        told = ["breaker ended early with 12", "node-1 ended early with 139"]
        self.assertEqual(self.failures(condition), told)
        self.ended(node_1=0)
        self.assertEqual(self.failures(condition), ["node-1 ended early with 0"])
        self.ended()
        (self.folder / f"unit{ran.ENDED}").unlink()
        self.assertEqual(self.failures(condition), ["unit did not run"])

    def test_programs_run_until_a_run_in_virtual_time_stops_them(self) -> None:
        self.spoke(0, 1)
        record = self.folder / "runs" / "peer-1" / "run.json"
        record.parent.mkdir(parents=True)

        def failures(**ends: Any) -> list[str]:
            ends = {"node-0": {"how": "stopped"}, "unit": {"how": "exited", "code": 0}} | ends
            programs = [{"name": name, "end": end} for name, end in ends.items()]
            record.write_text(json.dumps({"programs": programs}), encoding="utf-8")
            return self.failures("fail-stop and proactive recovery")

        self.assertEqual(failures(), [])
        for end, told in (({"how": "exited", "code": 12}, "12"), ({"how": "killed"}, "killed")):
            self.assertEqual(failures(breaker=end), [f"breaker ended early with {told}"])

    def test_correct_nodes_are_born_once_and_speak(self) -> None:
        self.spoke(0, 1, 2)
        (self.folder / "node-2.jsonl").unlink()
        told = ["node-2 was born 0 times", "node-2 never spoke"]
        condition = "fail-stop or proactive recovery"
        self.assertEqual(self.failures(condition), told)
        self.events("node-2", {"event": "born"}, {"event": "spoke"}, {"event": "born"})
        self.assertEqual(self.failures(condition), ["node-2 was born 2 times"])

    def test_a_hostile_node_does_harm_that_a_correct_one_sees(self) -> None:
        self.spoke(0, 1)
        condition = "byzantine and proactive recovery"
        told = ["no node has evidence against node-3, which is to be hostile"]
        self.assertEqual(self.failures(condition), told)
        self.events("breaker", {"event": "blamed", "node": 0})
        self.assertEqual(self.failures(condition), told, "another one")
        self.events("breaker", {"event": "blamed", "node": 3})
        self.assertEqual(self.failures(condition), [])

    def test_of_a_flood_at_least_half_must_come(self) -> None:
        self.spoke(0, 1, 2, 3)
        half = round(cells.FLOOD_RATE * self.pace.seconds / 2)
        self.assertEqual(self.failures(cells.FLOOD, half), [])
        (told,) = self.failures(cells.FLOOD, half - 1)
        self.assertEqual(told, f"only {half - 1} of the {2 * half} datagrams of the flood came")

    def test_a_part_that_was_cut_short_did_not_run_but_one_that_waited_in_vain_did(self) -> None:
        self.spoke(0, 1)
        condition = "fail-stop and proactive recovery"
        self.actions = self.actions[:1]
        self.assertEqual(self.failures(condition), ["only 1 of 2 steps were sent"])
        self.actions = []
        self.assertEqual(self.failures(condition), ["only 0 of 2 steps were sent"])
        (unanswered,), _ = match([step(1, 0)], [])
        self.actions = [unanswered]
        self.assertEqual(self.failures(condition), [], "a finding")
        # When it came so late, nobody had waited for it.
        self.actions = [unanswered._replace(at_s=1.0)]
        self.assertEqual(self.failures(condition), ["only 1 of 2 steps were sent"])


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

    def test_keys_that_a_kill_has_left_are_removed(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            secret = Path(name) / "part-003" / "node-1.secret"
            secret.parent.mkdir()
            secret.touch()
            cell, pace = cells.Cell("peer", "fault-free", "real"), cells.Pace(5, 5, 1, 3, 4)
            part.planned(cell, pace, 10, 7, Path(name))
            self.assertFalse(secret.exists())

    def test_a_kill_leaves_files_that_are_whole(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            output = Path(name)
            before = run.report(output).read_text(encoding="utf-8")
            killed = mock.patch.object(Path, "replace", side_effect=KeyboardInterrupt)
            with killed, mock.patch.object(page, "page", return_value="torn"):
                self.assertRaises(KeyboardInterrupt, run.report, output)
            self.assertEqual((output / "report.html").read_text(encoding="utf-8"), before)

    def test_programs_in_host_time_are_told_of_folders_with_spaces_and_of_their_cores(self) -> None:
        pace = cells.Pace(2, 5, 1, 3, 4)
        for mode in cells.MODES:
            cell = cells.Cell("peer", "byzantine", mode)
            found = cells.commands(cell, pace, Path("a folder"), cells.REAL, 1)
            for name, command in found.items():
                core = ["taskset", "--cpu-list", str(cells.core_of(3))]
                core = core if (mode, name) == ("real", "node-3") else []
                words = shlex.split(command)
                self.assertEqual(words[: len(core)], core)
                self.assertTrue(words[len(core)].startswith("a folder/qc"), command)

    def test_in_virtual_time_the_mean_has_a_limit(self) -> None:
        for mode, protocol, mean, is_missed in (
            ("virtual", "arbiter", 900, False),
            ("virtual", "arbiter", 901, True),
            ("virtual", "peer", 1100, False),
            ("virtual", "peer", 1101, True),
            ("events", "peer", 1101, True),
            ("real", "arbiter", 901, False),
        ):
            found = cell_of(1, protocol, "byzantine", mode)
            found["published"] |= {"mean": mean}
            told = verdict.missed(found, [])
            self.assertEqual([f"mean {mean} µs" in words for words in told], [True] * is_missed)

    def test_the_line_of_a_cell_names_what_was_missed(self) -> None:
        found = cell_of(6, "peer", "fault-free", "real") | {"not_the_host": 1}
        found["missed"] = verdict.missed(found, [])
        self.assertTrue(run.line(found).endswith("missed: over the limit and not by the host"))
        self.assertTrue(run.line(found | {"missed": []}).endswith(": met"))
        doubted = run.line(found | {"doubts": ["records were lost"]})
        self.assertIn("causes are not known (records were lost)", doubted)

    def test_the_page_has_ours_beside_the_published_and_marks_what_was_missed(self) -> None:
        found = cell_of(6, "peer", "fault-free", "virtual")
        found["kept_out"] = {"count": 3, "total_s": 0.06, "longest_ms": 40.5}
        found["missed"] = verdict.missed(found, [])
        found["met"] = not found["missed"]
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
            return cell_of(takes_ms, "peer", condition, "real")

        without = found(cells.FAULT_FREE, 1)
        for takes_ms, word in ((1.9, "met"), (2.1, "missed")):
            text = page.flooded([without, found(cells.FLOOD, takes_ms)])
            row = f"<span class={word}>{word}</span><td>77<td>+{takes_ms * 1000 - 1000:.0f}"
            self.assertIn(row, text)
            one = found(cells.FLOOD, takes_ms)
            self.assertEqual(bool(verdict.missed(one, [without, one])), word == "missed")
        self.assertEqual(page.flooded([without]), "")
        # One stall of the host decides the longest of all; of these it is no cause.
        (late, alone) = (found(cells.FLOOD, 1) for _ in range(2))
        late["ours"]["max"] += 5000
        alone["left_alone"]["max"] += 5000
        self.assertIn("<span class=met>", page.flooded([without, late]))
        self.assertIn("<span class=missed>", page.flooded([without, alone]))
        disturbed = found(cells.FLOOD, 1) | {"left_alone": {"count": 0, "max": None}}
        self.assertIn("<span class=missed>", page.flooded([without, disturbed]))
        told = ["the host left no action alone to compare"]
        self.assertEqual(verdict.missed(disturbed, [without]), told)
        at_another_pace = without | {"pace": {"actions": 1, "tdf": 2}}
        self.assertEqual(page.flooded([at_another_pace, found(cells.FLOOD, 1)]), "")
        told = ["no fault-free cell of the same pace to compare with"]
        self.assertEqual(verdict.missed(found(cells.FLOOD, 1), [at_another_pace]), told)


class CommandLine(unittest.TestCase):
    """What is wrong ends in a line that says what corrects it, and nothing is run."""

    def test_numbers_have_a_range_and_programs_are_there(self) -> None:
        for words, code, what in (
            (["--actions", "0"], 2, "--actions: '0' is not a whole number from 1 to 1000000000"),
            (["--actions", "-5"], 2, "from 1 to"),
            (["--part", "0"], 2, "from 1 to"),
            (["--interval", "0"], 2, "from 1 to 10000"),
            (["--jitter", "-1"], 2, "from 0 to 10000"),
            (["--dwell", "nan"], 2, "a number from 1 to 10000"),
            (["--tdf", "0"], 2, "from 0.01 to 1000"),
            (["--seed", "-1"], 2, "from 0 to"),
            ([], 69, "nope: there is no such program; fix: build it (cargo build"),
        ):
            given = ["run.py", "--programs", "nope", "--qcycle", "nope", *words]
            said = io.StringIO()
            with mock.patch("sys.argv", given), contextlib.redirect_stderr(said):
                with self.assertRaises(SystemExit) as ended:
                    run.main()
            self.assertEqual(ended.exception.code, code, words)
            self.assertIn(what, said.getvalue())
