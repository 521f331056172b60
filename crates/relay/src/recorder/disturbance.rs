//! From when to when is recorded: from some time before the first trigger until some time after the
//! last has dropped, and no longer than a record may be. Starts and operations of elements are triggers
//! while they last; trips and lockouts when they begin, because they may stay for good. A trigger that
//! still lasts at the end of the longest record begins no other; one that comes behind the end of a
//! record that is not done with is the first of the next. Times are of this host alone, so that a
//! clock that is set keeps no record from its end.

use std::collections::BTreeSet;
use std::time::Duration;

use realtime::time;
use substation::settings::{Recorder, SignalKind};

/// A record: its times, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) begin_ns: u64,
    pub(super) trigger_ns: u64,
    pub(super) end_ns: u64,
}

/// A channel that begins records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trigger {
    pub(super) channel: usize,
    /// Whether it is one while it lasts, or only when it begins.
    pub(super) lasts: bool,
}

impl Trigger {
    pub(super) const fn new(channel: usize, kind: SignalKind) -> Self {
        let lasts = match kind {
            SignalKind::Start | SignalKind::Operate => true,
            SignalKind::Trip
            | SignalKind::TripPole(_)
            | SignalKind::Lockout
            | SignalKind::ElementQuality
            | SignalKind::TripQuality => false,
        };
        Self { channel, lasts }
    }
}

/// A disturbance: its first trigger, and the last change of one.
#[derive(Clone, Copy, Debug)]
struct Running {
    trigger_ns: u64,
    last_ns: u64,
}

/// Decides what is recorded.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    before: Duration,
    after: Duration,
    length_max: Duration,
    /// Channels of triggers that last: a set, so that one whose end was lost lasts until its next end.
    lasting: BTreeSet<usize>,
    running: Option<Running>,
    /// Where the record of `running` ends, and what has begun behind that.
    next: Option<(u64, Running)>,
}

impl Disturbance {
    pub(super) const fn new(settings: &Recorder) -> Self {
        Self {
            before: settings.before,
            after: settings.after,
            length_max: settings.length_max,
            lasting: BTreeSet::new(),
            running: None,
            next: None,
        }
    }

    /// A trigger has come or has dropped.
    pub(super) fn change(&mut self, at_ns: u64, trigger: Trigger, on: bool) {
        let end_ns = self.span().map(|span| span.end_ns);
        let is_end = !on && self.lasting.remove(&trigger.channel);
        if on && trigger.lasts {
            self.lasting.insert(trigger.channel);
        }
        let prolongs = on || is_end;
        let begun = Running { trigger_ns: at_ns, last_ns: at_ns };
        match (&mut self.running, &mut self.next, end_ns) {
            (Some(_), Some((_, running)), _) if prolongs => {
                running.last_ns = at_ns.max(running.last_ns);
            }
            (Some(_), next @ None, Some(end_ns)) if on && at_ns > end_ns => {
                *next = Some((end_ns, begun));
            }
            (Some(running), None, _) if prolongs => running.last_ns = at_ns.max(running.last_ns),
            (running @ None, _, _) if on => *running = Some(begun),
            _ => {}
        }
    }

    /// What is recorded now, as far as is known.
    pub(super) fn span(&self) -> Option<Span> {
        let Running { trigger_ns, last_ns } = self.running?;
        let begin_ns = trigger_ns.saturating_sub(time::ns(self.before));
        let longest_ns = begin_ns.saturating_add(time::ns(self.length_max));
        let quiet_ns = last_ns.saturating_add(time::ns(self.after));
        let end_ns = match self.next {
            Some((end_ns, _)) => end_ns,
            None if self.lasting.is_empty() => quiet_ns.min(longest_ns),
            None => longest_ns,
        };
        Some(Span { begin_ns, trigger_ns, end_ns })
    }

    /// What was recorded is done with; what has begun behind its end is recorded now.
    pub(super) fn finish(&mut self) {
        self.running = self.next.take().map(|(_, running)| running);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use substation::settings;

    const MS: u64 = 1_000_000;
    const START: Trigger = Trigger::new(1, SignalKind::Start);
    const OPERATE: Trigger = Trigger::new(2, SignalKind::Operate);
    const TRIP: Trigger = Trigger::new(3, SignalKind::Trip);

    fn disturbance() -> Disturbance {
        let relay = settings::read(
            "relay.yaml",
            "relay: bay\nfrequency: 50 Hz\nstreams: {s: {sv_id: S, destination: \
             '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}\nrecorder: {before: 100 ms, after: \
             200 ms, length_max: 1 s}\n",
        );
        Disturbance::new(&relay.expect("the settings are good").recorder)
    }

    fn end_ms(disturbance: &Disturbance) -> Option<u64> {
        disturbance.span().map(|span| span.end_ns / MS)
    }

    #[test]
    fn a_record_lasts_from_before_the_first_trigger_until_after_the_last() {
        let mut disturbance = disturbance();
        assert_eq!(disturbance.span(), None);
        disturbance.change(1000 * MS, START, true);
        disturbance.change(1020 * MS, OPERATE, true);
        disturbance.change(1020 * MS, TRIP, true);
        let span = disturbance.span().expect("it records");
        assert_eq!((span.begin_ns, span.trigger_ns), (900 * MS, 1000 * MS));
        assert_eq!(end_ms(&disturbance), Some(1900), "no end is in sight");
        disturbance.change(1070 * MS, START, false);
        disturbance.change(1080 * MS, OPERATE, false);
        assert_eq!(end_ms(&disturbance), Some(1280));
        // The end of a trip is no news; another start is.
        disturbance.change(1120 * MS, TRIP, false);
        assert_eq!(end_ms(&disturbance), Some(1280));
        disturbance.change(1270 * MS, START, true);
        disturbance.change(1780 * MS, START, false);
        assert_eq!(end_ms(&disturbance), Some(1900), "no record is longer");
    }

    #[test]
    fn what_still_lasts_after_the_longest_record_begins_no_other() {
        let mut disturbance = disturbance();
        disturbance.change(1000 * MS, START, true);
        disturbance.finish();
        assert_eq!(disturbance.span(), None);
        disturbance.change(3000 * MS, START, false);
        assert_eq!(disturbance.span(), None);
        disturbance.change(3001 * MS, TRIP, true);
        assert_eq!(end_ms(&disturbance), Some(3201));
    }

    #[test]
    fn a_trip_behind_the_longest_record_begins_the_next() {
        let mut disturbance = disturbance();
        disturbance.change(1000 * MS, START, true);
        // It is over at 1900 ms, and done with when its last samples are there.
        disturbance.change(1950 * MS, TRIP, true);
        assert_eq!(end_ms(&disturbance), Some(1900));
        disturbance.change(2000 * MS, START, false);
        assert_eq!(end_ms(&disturbance), Some(1900), "what is over stays so");
        disturbance.finish();
        let span = disturbance.span().expect("the trip is recorded");
        assert_eq!((span.trigger_ns, span.end_ns), (1950 * MS, 2200 * MS));
        disturbance.finish();
        assert_eq!(disturbance.span(), None);
    }

    #[test]
    fn a_start_behind_the_end_of_a_record_does_not_prolong_it() {
        let mut disturbance = disturbance();
        disturbance.change(1000 * MS, TRIP, true);
        disturbance.change(1250 * MS, START, true);
        assert_eq!(end_ms(&disturbance), Some(1200));
        disturbance.finish();
        assert_eq!(end_ms(&disturbance), Some(2150));
    }

    #[test]
    fn events_that_were_lost_spoil_only_their_own_record() {
        let mut disturbance = disturbance();
        // The begin of one is lost, and then the end.
        disturbance.change(500 * MS, START, false);
        disturbance.change(1000 * MS, START, true);
        disturbance.finish();
        disturbance.change(3000 * MS, START, true);
        disturbance.change(3100 * MS, START, false);
        assert_eq!(end_ms(&disturbance), Some(3300));
    }
}
