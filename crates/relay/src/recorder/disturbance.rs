//! From when to when is recorded: from some time before the first trigger until some time after the
//! last has dropped, and no longer than a record may be. Starts and operations of elements are triggers
//! while they last; a trip is one when it begins, because it may stay for good. A trigger that still
//! lasts at the end of the longest record begins no other.

use std::time::Duration;

use realtime::time;
use substation::settings::{Recorder, SignalKind};

/// A record: times since 1970, in ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) begin_ns: u64,
    pub(super) trigger_ns: u64,
    pub(super) end_ns: u64,
}

/// Decides what is recorded.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    before: Duration,
    after: Duration,
    length_max: Duration,
    /// Triggers that last: elements that have started or operated.
    lasting: u32,
    /// First trigger, and the last change of one.
    running: Option<(u64, u64)>,
}

impl Disturbance {
    pub(super) const fn new(settings: &Recorder) -> Self {
        Self {
            before: settings.before,
            after: settings.after,
            length_max: settings.length_max,
            lasting: 0,
            running: None,
        }
    }

    /// A trigger has come or has dropped.
    pub(super) fn change(&mut self, at_ns: u64, kind: SignalKind, on: bool) {
        let is_trip = kind == SignalKind::Trip;
        if !is_trip {
            self.lasting = if on { self.lasting + 1 } else { self.lasting.saturating_sub(1) };
        }
        match &mut self.running {
            Some((_, last_ns)) if on || !is_trip => *last_ns = at_ns.max(*last_ns),
            None if on => self.running = Some((at_ns, at_ns)),
            _ => {}
        }
    }

    /// What is recorded now, as far as is known.
    pub(super) fn span(&self) -> Option<Span> {
        let (trigger_ns, last_ns) = self.running?;
        let begin_ns = trigger_ns.saturating_sub(time::ns(self.before));
        let longest_ns = begin_ns + time::ns(self.length_max);
        let quiet_ns = last_ns + time::ns(self.after);
        let end_ns = if self.lasting > 0 { longest_ns } else { quiet_ns.min(longest_ns) };
        Some(Span { begin_ns, trigger_ns, end_ns })
    }

    /// What was recorded is done with.
    pub(super) fn finish(&mut self) {
        self.running = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use substation::settings;

    const MS: u64 = 1_000_000;

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
        disturbance.change(1000 * MS, SignalKind::Start, true);
        disturbance.change(1020 * MS, SignalKind::Operate, true);
        disturbance.change(1020 * MS, SignalKind::Trip, true);
        let span = disturbance.span().expect("it records");
        assert_eq!((span.begin_ns, span.trigger_ns), (900 * MS, 1000 * MS));
        assert_eq!(end_ms(&disturbance), Some(1900), "no end is in sight");
        disturbance.change(1070 * MS, SignalKind::Start, false);
        disturbance.change(1080 * MS, SignalKind::Operate, false);
        assert_eq!(end_ms(&disturbance), Some(1280));
        // The end of a trip is no news; another start is.
        disturbance.change(1120 * MS, SignalKind::Trip, false);
        assert_eq!(end_ms(&disturbance), Some(1280));
        disturbance.change(1270 * MS, SignalKind::Start, true);
        disturbance.change(1780 * MS, SignalKind::Start, false);
        assert_eq!(end_ms(&disturbance), Some(1900), "no record is longer");
    }

    #[test]
    fn what_still_lasts_after_the_longest_record_begins_no_other() {
        let mut disturbance = disturbance();
        disturbance.change(1000 * MS, SignalKind::Start, true);
        disturbance.finish();
        assert_eq!(disturbance.span(), None);
        disturbance.change(3000 * MS, SignalKind::Start, false);
        assert_eq!(disturbance.span(), None);
        disturbance.change(3001 * MS, SignalKind::Trip, true);
        assert_eq!(end_ms(&disturbance), Some(3201));
    }
}
