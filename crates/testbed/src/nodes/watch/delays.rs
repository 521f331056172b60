//! How far threads fell behind, from what the kernel counts of them. Pure.
//!
//! The kernel adds a wait for a processor to its count when the wait is over. So a thread that still
//! waits shows nothing, and at its end everything. One that wants to run at the last look and has got
//! nowhere since the look before may have waited since its counts last changed, or may have slept until
//! now: it is worth another look, and if that reports no more it is assumed to have waited since then.

use std::collections::{BTreeMap, VecDeque};

use vtime::late::Late;
use vtime::rate::virtual_ns;
use vtime::{HostTime, VirtualSpan, VirtualTime};

use results::disturbance::Cause;

/// Looks that are remembered, to know what the clock showed when a long wait began.
const LOOKS_MAX: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    pub(super) host: HostTime,
    pub(super) at: VirtualTime,
    pub(super) tdf_millionths: u64,
    /// Virtual time so far in which somebody may have been kept waiting: without the many short times for
    /// which a clock that jumps runs in between.
    pub(super) ran: VirtualSpan,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    pub(super) ran_ns: u64,
    /// Nanoseconds that it was runnable and did not run.
    pub(super) waited_ns: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) thread: i32,
    pub(super) who: String,
    pub(super) counts: Counts,
    /// What it does if it has not run since the look before.
    pub(super) state: State,
    /// Whether it notes its waits itself when they are over.
    pub(super) notes_waits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    /// It sleeps, or nobody has looked.
    #[default]
    Other,
    Runnable,
    /// Nothing can wake it but what it waits for, as a disk.
    Blocked,
    /// Until somebody continues it.
    Stopped,
}

impl State {
    /// Why it did not run, if it is not the program's own affair.
    fn cause(self) -> Option<Cause> {
        match self {
            Self::Blocked => Some(Cause::Blocked),
            Self::Stopped => Some(Cause::Stopped),
            Self::Other | Self::Runnable => None,
        }
    }
}

/// How far somebody fell behind between two looks, in virtual time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Delay {
    pub(super) who: String,
    pub(super) cause: Cause,
    /// When the delays began at the earliest.
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    /// The longest of them, at most.
    pub(super) longest_ns: i64,
    pub(super) lost_ns: i64,
}

impl Delay {
    /// What was late between two moments: not more than has passed.
    pub(super) fn late(before: Moment, now: Moment, late: Late) -> Self {
        let (from_ns, to_ns) = (before.at.as_ns(), now.at.as_ns());
        let longest_ns = late.largest_ns.min(to_ns);
        Self {
            who: String::new(),
            cause: Cause::Late,
            // It may have begun to be late long before.
            from_ns: from_ns.min(to_ns - longest_ns),
            to_ns,
            longest_ns,
            lost_ns: late.sum_ns.clamp(longest_ns, longest_ns.max(to_ns - from_ns)),
        }
    }
}

/// What comes less late than this came as late as sleepers come.
const STANDS_NS: i64 = 1_000_000;

/// How long somebody stood between two moments who slept or computed for the time that is `spent_ns`, and
/// waited for a processor: in virtual time, of which none passes in a hold.
pub(super) fn stood_ns(before: Moment, now: Moment, spent_ns: i64, waited_ns: i64) -> i64 {
    let host_ns = (now.host - before.host).as_ns();
    let stood_ns = host_ns.saturating_sub(spent_ns) - waited_ns;
    let passed_ns = (now.at.as_ns() - before.at.as_ns()).max(0);
    if stood_ns < STANDS_NS {
        return 0;
    }
    let share_ns = (passed_ns as f64 * (stood_ns as f64 / host_ns as f64)) as i64;
    // Nobody stands while the clock jumps.
    share_ns.min((now.ran - before.ran).as_ns())
}

#[derive(Debug, Default)]
pub(super) struct Delays {
    threads: BTreeMap<i32, ThreadRecord>,
    looks: VecDeque<Moment>,
}

#[derive(Debug)]
struct ThreadRecord {
    counts: Counts,
    /// The look at which they were found to have changed.
    changed: Moment,
    /// Since which look it is kept from running, and by what.
    kept: Option<(Cause, Moment)>,
}

impl Delays {
    /// Takes in what a look has found. Returns who fell behind since the one before: each with the
    /// thread of his that fell behind furthest.
    pub(super) fn look(
        &mut self,
        now: Moment,
        readings: Vec<Reading>,
        is_last: bool,
    ) -> Vec<Delay> {
        let before = self.looks.back().copied();
        let mut furthest: BTreeMap<String, Delay> = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for reading in readings {
            let known = self.threads.remove(&reading.thread);
            // Fewer than before: another thread with the number of one that is gone.
            let known = known.filter(|known| !goes_back(known.counts, reading.counts));
            if let Some(delay) = self.delay(&reading, known.as_ref(), (before, now), is_last)
                && furthest.get(&delay.who).is_none_or(|other| delay.lost_ns > other.lost_ns)
            {
                furthest.insert(delay.who.clone(), delay);
            }
            let known = known.filter(|known| known.counts == reading.counts);
            let kept = reading.state.cause().map(|cause| {
                let since = known.as_ref().and_then(|known| known.kept);
                since.filter(|since| since.0 == cause).unwrap_or((cause, now))
            });
            let changed = known.map_or(now, |known| known.changed);
            seen.insert(reading.thread, ThreadRecord { counts: reading.counts, changed, kept });
        }
        self.threads = seen;
        self.looks.push_back(now);
        if self.looks.len() > LOOKS_MAX {
            self.looks.pop_front();
        }
        furthest.into_values().collect()
    }

    /// Whether another look soon would report more: how long those have waited that still do.
    pub(super) fn are_undecided(&self, readings: &[Reading]) -> bool {
        let stands = |reading: &Reading| {
            let known = self.threads.get(&reading.thread);
            known.is_some_and(|known| known.counts == reading.counts)
        };
        readings.iter().any(|reading| reading.state == State::Runnable && stands(reading))
    }

    fn delay(
        &self,
        reading: &Reading,
        known: Option<&ThreadRecord>,
        (before, now): (Option<Moment>, Moment),
        is_last: bool,
    ) -> Option<Delay> {
        // What ran already when the watch began says nothing of the time before.
        let before = before?;
        if let Some(delay) = known.and_then(|known| kept(reading, known, before, now)) {
            return Some(delay);
        }
        let counted = known.map_or(Counts::default(), |known| known.counts);
        let mut waited_ns = difference(counted.waited_ns, reading.counts.waited_ns);
        let mut ran_ns = difference(counted.ran_ns, reading.counts.ran_ns);
        // A thread that is new did not wait before the last look.
        let mut began = known.map_or(before.host, |_| back(before.host, waited_ns));
        if let Some(known) = known
            && is_last
            && reading.state == State::Runnable
            && waited_ns == 0
            && ran_ns == 0
        {
            began = known.changed.host;
            waited_ns = (now.host - began).as_ns();
        } else if reading.notes_waits {
            (waited_ns, ran_ns) = (0, 0);
        }
        let from_ns = self.shown_at(began, before).min(now.at.as_ns());
        let passed_ns = now.at.as_ns() - from_ns;
        let run_ns = (now.ran - self.ran_before(began, before)).as_ns();
        let waited_ns = virtual_ns(waited_ns, now.tdf_millionths).min(run_ns);
        // Natively it would have computed for as long as it has on the host.
        let computed_ns = (virtual_ns(ran_ns, now.tdf_millionths) - ran_ns).max(0);
        let lost_ns = waited_ns.saturating_add(computed_ns).min(passed_ns);
        (lost_ns > 0).then(|| Delay {
            who: reading.who.clone(),
            cause: if waited_ns >= computed_ns { Cause::Waited } else { Cause::Computed },
            from_ns,
            to_ns: now.at.as_ns(),
            longest_ns: lost_ns,
            lost_ns,
        })
    }

    /// How long the clock had run at the last look before a host time, or at the first of all.
    fn ran_before(&self, host: HostTime, before: Moment) -> VirtualSpan {
        let after = self.looks.partition_point(|look| look.host <= host);
        self.looks.get(after.saturating_sub(1)).map_or(before.ran, |look| look.ran)
    }

    /// What the clock showed at a host time before the last look.
    fn shown_at(&self, host: HostTime, before: Moment) -> i64 {
        let after = self.looks.partition_point(|look| look.host <= host);
        let (one, other) = match (after.checked_sub(1), self.looks.get(after)) {
            (Some(one), Some(other)) => (self.looks[one], *other),
            (Some(one), None) => return self.looks[one].at.as_ns(),
            // Older than all that is remembered: as if the clock had always run.
            (None, first) => {
                let first = first.copied().unwrap_or(before);
                let ago_ns = (first.host - host).as_ns();
                return first.at.as_ns() - virtual_ns(ago_ns, first.tdf_millionths);
            }
        };
        let (part, whole) = ((host - one.host).as_ns(), (other.host - one.host).as_ns().max(1));
        let passed = i128::from((other.at - one.at).as_ns());
        let passed = passed * i128::from(part) / i128::from(whole);
        one.at.as_ns() + i64::try_from(passed).unwrap_or(0)
    }
}

/// What a thread lost since the look before that was kept from running then and still is.
fn kept(reading: &Reading, known: &ThreadRecord, before: Moment, now: Moment) -> Option<Delay> {
    let (cause, since) = known.kept?;
    let is_still = known.counts == reading.counts && reading.state.cause() == Some(cause);
    let (from_ns, to_ns) = (before.at.as_ns(), now.at.as_ns());
    (is_still && to_ns > from_ns).then(|| Delay {
        who: reading.who.clone(),
        cause,
        from_ns: since.at.as_ns(),
        to_ns,
        longest_ns: to_ns - since.at.as_ns(),
        lost_ns: to_ns - from_ns,
    })
}

fn goes_back(before: Counts, now: Counts) -> bool {
    now.ran_ns < before.ran_ns || now.waited_ns < before.waited_ns
}

fn difference(before: u64, now: u64) -> i64 {
    i64::try_from(now.saturating_sub(before)).unwrap_or(i64::MAX)
}

fn back(from: HostTime, ns: i64) -> HostTime {
    HostTime::from_ns(from.as_ns().saturating_sub(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn moment(host_ms: i64, at_ms: i64) -> Moment {
        let (host, at) = (HostTime::from_ns(host_ms * MS), VirtualTime::from_ns(at_ms * MS));
        Moment { host, at, tdf_millionths: 1_000_000, ran: at - VirtualTime::ZERO }
    }

    fn thread(waited_ms: u64, ran_ms: u64) -> Reading {
        let counts = Counts { ran_ns: ran_ms * 1_000_000, waited_ns: waited_ms * 1_000_000 };
        let who = "poller".into();
        Reading { thread: 7, who, counts, state: State::Other, notes_waits: false }
    }

    #[test]
    fn who_did_not_run_without_wanting_a_processor_stood_still() {
        let nap = 10 * MS;
        let stood = |at_ms, waited_ms: i64| {
            stood_ns(moment(0, 0), moment(410, at_ms), nap, waited_ms * MS) / MS
        };
        assert_eq!(stood(410, 0), 400);
        assert_eq!(stood(410, 390), 10, "others had the processor");
        assert_eq!(stood(410, 500), 0);
        assert_eq!(stood(41, 0), 40, "at a tdf of 10");
        assert_eq!(stood(0, 0), 0, "the clock stood as well");
        let (before, now) = (moment(0, 0), moment(410, 5000));
        let jumped = |ran_ms| Moment { ran: VirtualSpan::from_ms(ran_ms), ..now };
        let stood = [300, 0].map(|ran_ms| stood_ns(before, jumped(ran_ms), nap, 0) / MS);
        assert_eq!(stood, [300, 0], "the rest was jumped over");
        assert_eq!(stood_ns(moment(0, 0), moment(9, 9), nap, 0), 0);
    }

    #[test]
    fn a_wait_lay_between_the_look_before_less_its_length_and_now() {
        let mut delays = Delays::default();
        assert_eq!(delays.look(moment(1000, 0), vec![thread(500, 9)], false), []);
        assert_eq!(delays.look(moment(1050, 50), vec![thread(500, 20)], false), []);
        let found = delays.look(moment(1100, 100), vec![thread(530, 20)], false);
        let (from_ns, to_ns, lost_ns) = (20 * MS, 100 * MS, 30 * MS);
        let (who, cause) = ("poller".into(), Cause::Waited);
        assert_eq!(found, [Delay { who, cause, from_ns, to_ns, longest_ns: lost_ns, lost_ns }]);
    }

    #[test]
    fn a_wait_of_seconds_shows_at_its_end_and_reaches_back_to_its_begin() {
        let mut delays = Delays::default();
        for look in 0..100 {
            assert_eq!(delays.look(moment(look * 50, look * 50), vec![thread(0, 1)], false), []);
        }
        let found = delays.look(moment(5000, 5000), vec![thread(4000, 1)], false);
        assert_eq!((found[0].from_ns, found[0].longest_ns), (950 * MS, 4000 * MS));
    }

    #[test]
    fn a_wait_that_has_not_ended_is_found_by_the_last_look() {
        let mut delays = Delays::default();
        for look in 0..3 {
            delays.look(moment(look * 50, look * 50), vec![thread(0, 1)], false);
        }
        let waits = Reading { state: State::Runnable, ..thread(0, 1) };
        let found = delays.look(moment(150, 150), vec![waits], true);
        assert_eq!((found[0].from_ns, found[0].lost_ns), (0, 150 * MS));
    }

    #[test]
    fn of_who_notes_its_waits_only_those_count_that_are_not_over() {
        let mut delays = Delays::default();
        let server = |waited_ms| Reading { notes_waits: true, ..thread(waited_ms, 1) };
        delays.look(moment(0, 0), vec![server(0)], false);
        assert_eq!(delays.look(moment(50, 50), vec![server(20)], false), []);
        let waits = Reading { state: State::Runnable, ..server(20) };
        assert_eq!(delays.look(moment(100, 100), vec![waits.clone()], false), []);
        assert_eq!(delays.look(moment(150, 150), vec![waits], true)[0].lost_ns, 100 * MS);
        let blocked = Reading { state: State::Blocked, ..server(20) };
        delays.look(moment(200, 200), vec![blocked.clone()], false);
        assert_eq!(delays.look(moment(250, 250), vec![blocked], false)[0].cause, Cause::Blocked);
    }

    #[test]
    fn who_slept_until_the_last_look_did_not_wait() {
        let mut delays = Delays::default();
        for look in 0..100 {
            delays.look(moment(look * 50, look * 50), vec![thread(3, 1)], false);
        }
        let wakes = Reading { state: State::Runnable, ..thread(3, 1) };
        assert!(delays.are_undecided(&[thread(4, 1), wakes.clone()]));
        let runs = Reading { state: State::Runnable, ..thread(5, 1) };
        assert!(!delays.are_undecided(&[runs.clone(), thread(3, 1)]));
        assert!(!delays.are_undecided(&[Reading { thread: 8, ..wakes }]), "it is new");
        let found = delays.look(moment(5003, 5003), vec![runs], true);
        assert_eq!(found[0].lost_ns, 2 * MS);
    }

    #[test]
    fn who_is_blocked_or_stopped_loses_what_passes_from_the_first_look_that_sees_it() {
        for (state, cause) in [(State::Blocked, Cause::Blocked), (State::Stopped, Cause::Stopped)] {
            let mut delays = Delays::default();
            let kept = || Reading { state, ..thread(5, 1) };
            delays.look(moment(0, 0), vec![thread(5, 1)], false);
            assert_eq!(
                delays.look(moment(50, 50), vec![kept()], false),
                [],
                "it may have just begun"
            );
            let found = delays.look(moment(100, 100), vec![kept()], false);
            let expected = (cause, 50 * MS, 50 * MS, 50 * MS);
            let told =
                |delay: &Delay| (delay.cause, delay.from_ns, delay.longest_ns, delay.lost_ns);
            assert_eq!(told(&found[0]), expected);
            let found = delays.look(moment(150, 150), vec![kept()], false);
            assert_eq!(told(&found[0]), (cause, 50 * MS, 100 * MS, 50 * MS));
            assert_eq!(delays.look(moment(200, 150), vec![kept()], false), [], "no time passes");
            let ran = Reading { state, ..thread(5, 2) };
            assert_eq!(delays.look(moment(250, 200), vec![ran], false), [], "it ran in between");
            let again = Reading { state, ..thread(5, 2) };
            assert_eq!(delays.look(moment(300, 250), vec![again], false)[0].from_ns, 200 * MS);
        }
    }

    #[test]
    fn while_the_clock_stands_nothing_is_lost() {
        let mut delays = Delays::default();
        delays.look(moment(0, 0), vec![thread(0, 1)], false);
        delays.look(moment(50, 50), vec![thread(0, 1)], false);
        delays.look(moment(100, 50), vec![thread(0, 1)], false);
        assert_eq!(delays.look(moment(150, 50), vec![thread(50, 1)], false), []);
        let found = delays.look(moment(200, 55), vec![thread(90, 1)], false);
        assert_eq!(found[0].lost_ns, 5 * MS, "no more than has passed");
    }

    #[test]
    fn threads_come_go_and_have_numbers_of_others() {
        let mut delays = Delays::default();
        delays.look(moment(0, 0), vec![], false);
        let found = delays.look(moment(50, 50), vec![thread(20, 1)], false);
        assert_eq!((found[0].from_ns, found[0].lost_ns), (0, 20 * MS), "it is new");
        let found = delays.look(moment(100, 100), vec![thread(10, 1)], false);
        assert_eq!((found[0].from_ns, found[0].lost_ns), (50 * MS, 10 * MS), "it is another one");
        assert_eq!(delays.look(moment(150, 150), vec![], false), []);
    }

    #[test]
    fn computing_takes_longer_below_a_factor_of_one_only() {
        let look = |tdf_millionths| {
            let mut delays = Delays::default();
            let (before, now) = (moment(0, 0), moment(50, 500));
            delays.look(Moment { tdf_millionths, ..before }, vec![thread(0, 0)], false);
            delays.look(Moment { tdf_millionths, ..now }, vec![thread(1, 10)], false)
        };
        let found = look(100_000);
        assert_eq!((found[0].cause, found[0].lost_ns), (Cause::Computed, (90 + 10) * MS));
        assert_eq!(look(1_000_000)[0].lost_ns, MS);
        assert_eq!(look(10_000_000)[0].lost_ns, MS / 10);
    }

    #[test]
    fn a_late_wait_is_no_longer_than_the_run_and_all_no_longer_than_has_passed() {
        let late = Late { largest_ns: i64::MAX, sum_ns: i64::MAX };
        let delay = Delay::late(moment(0, 40), moment(50, 90), late);
        assert_eq!((delay.from_ns, delay.longest_ns, delay.lost_ns), (0, 90 * MS, 90 * MS));
        let late = Late { largest_ns: 2 * MS, sum_ns: 900 * MS };
        let delay = Delay::late(moment(0, 40), moment(50, 90), late);
        assert_eq!((delay.from_ns, delay.longest_ns, delay.lost_ns), (40 * MS, 2 * MS, 50 * MS));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_that_has_not_passed(
            steps in proptest::collection::vec((1i64..100, 0i64..100, 0u64..100, 0u64..100), 1..40),
            tdf_millionths in 10_000u64..1_000_000_000,
        ) {
            let mut delays = Delays::default();
            let (mut now, mut counts) = (moment(1000, 1000), (0, 0));
            delays.look(now, vec![thread(0, 0)], false);
            for (host, passed, waited, ran) in steps {
                now.host = HostTime::from_ns(now.host.as_ns() + host * MS);
                now.at = VirtualTime::from_ns(now.at.as_ns() + passed * MS);
                now.tdf_millionths = tdf_millionths;
                counts = (counts.0 + waited, counts.1 + ran);
                for delay in delays.look(now, vec![thread(counts.0, counts.1)], false) {
                    prop_assert!(delay.from_ns <= delay.to_ns && delay.to_ns == now.at.as_ns());
                    prop_assert!(delay.lost_ns <= delay.to_ns - delay.from_ns);
                }
            }
        }
    }
}
