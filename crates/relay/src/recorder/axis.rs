//! The time axis of a record, which its samples, its states and its report share, and what it is worth.
//!
//! A stream that follows universal time gives the axis. Events have the time of this host's clock; where
//! that is good to a sample, it is the same axis, and the way of the samples to this host is seen in the
//! record. Where it is not, events are placed by the samples, which then seem to have come at once.
//! Streams that follow nothing known are placed by their arrival. A stream that has sent nothing since the
//! record began says nothing of its axis, and the quality of its time is none of the record's.

use iec61850::comtrade::TimeQuality;
use os::clock::ClockState;
use realtime::time;

use super::timeline::{Follows, JITTER_MAX, Timeline, local_ahead_ns};

/// How far times may be off that are those of arrival: merging unit, network and their jitter.
const ARRIVAL_US_MAX: u64 = 10_000;

/// The axis of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Axis {
    /// How far it is ahead of this host's own clock, in ns.
    ahead_ns: i64,
    /// How far the axis of streams is that share a local clock.
    local_ahead_ns: Option<i64>,
    pub(super) quality: TimeQuality,
}

impl Axis {
    /// That of streams with these axes, for a record that began at an own time, where this host's clock is
    /// in such a state and so far ahead.
    pub(super) fn of<'t>(
        streams: impl Iterator<Item = &'t Timeline> + Clone,
        begin_ns: u64,
        host_ahead_ns: i64,
        clock: &ClockState,
    ) -> Self {
        let sent = streams.filter(|timeline| timeline.ahead_ns_since(begin_ns).is_some());
        let is_exact = |timeline: &Timeline| timeline.follows == Follows::Universal;
        let exact_ns = sent.clone().find(|timeline| is_exact(timeline));
        let exact_ns = exact_ns.and_then(Timeline::ahead_ns);
        // Samples that disagree with the clock by more than both may be off: it was set meanwhile.
        let off_ns_max = clock.error_us_max.saturating_mul(1000).max(time::ns(JITTER_MAX));
        let was_set = exact_ns.is_some_and(|ns| ns.abs_diff(host_ahead_ns) > off_ns_max);
        let is_kept = clock.is_synchronised && !clock.has_failed && !was_set;
        let fits = |timeline: &Timeline| clock.error_us_max <= timeline.sample_us();
        let has_samples = sent.clone().next().is_some();
        let is_within_sample = is_kept && has_samples && sent.clone().all(fits);
        let of_clock = TimeQuality::within_us(clock.error_us_max);
        Self {
            ahead_ns: exact_ns.filter(|_| !is_within_sample).unwrap_or(host_ahead_ns),
            local_ahead_ns: local_ahead_ns(sent.clone(), begin_ns),
            quality: match (is_kept, sent.clone().all(is_exact)) {
                (false, _) => TimeQuality::UNRELIABLE,
                (true, true) if is_within_sample => TimeQuality::LOCKED,
                (true, true) => of_clock,
                (true, false) => TimeQuality::within_us(ARRIVAL_US_MAX).or_worse(of_clock),
            },
        }
    }

    /// The time of the axis at an own time.
    pub(super) const fn time_ns(&self, own_ns: u64) -> u64 {
        own_ns.saturating_add_signed(self.ahead_ns)
    }

    /// By how much the numbers of a stream's samples are ahead of those of the axis.
    pub(super) fn shift(&self, timeline: &Timeline) -> i64 {
        let ahead_ns = match timeline.follows {
            Follows::Universal => None,
            Follows::Local => self.local_ahead_ns,
            Follows::Nothing => timeline.ahead_ns(),
        };
        ahead_ns.map_or(0, |ahead_ns| timeline.count(ahead_ns.saturating_sub(self.ahead_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iec61850::wire::Synchronisation::{Global, Local, None as Unsynchronised};

    const MS: i64 = 1_000_000;
    const HOST_NS: i64 = 1_000_000 * MS;

    fn clock(error_us_max: u64) -> ClockState {
        ClockState { is_synchronised: true, error_us_max, ..ClockState::default() }
    }

    /// A stream whose samples were 2 ms on their way, on a host whose clock is this fast.
    fn timeline(synchronisation: iec61850::wire::Synchronisation, fast_ns: i64) -> Timeline {
        let mut timeline = Timeline::new(4000);
        let arrived = (2 * MS as u64, HOST_NS + fast_ns);
        timeline.number(arrived, 0, synchronisation, &mut None);
        timeline
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_a_sample_is_not_locked_and_places_no_event() {
        let fast = timeline(Global, 30 * MS);
        let axis = |error_us| Axis::of([&fast].into_iter(), 0, HOST_NS + 30 * MS, &clock(error_us));
        assert_eq!(axis(250).quality, TimeQuality::LOCKED);
        assert_eq!(axis(251).quality, TimeQuality::within_us(251));
        // An event together with the sample of a whole second.
        let own_ns = 2 * MS as u64;
        assert_eq!(axis(50_000).time_ns(own_ns), HOST_NS as u64);
        assert_eq!(axis(200).time_ns(own_ns), (HOST_NS + 32 * MS) as u64);
        let lost = ClockState { is_synchronised: false, ..clock(1) };
        let axis = Axis::of([&fast].into_iter(), 0, HOST_NS, &lost);
        assert_eq!(axis.quality, TimeQuality::UNRELIABLE);
    }

    #[test]
    fn a_stream_that_never_sent_costs_no_quality_and_without_any_nothing_is_locked() {
        let (exact, never) = (timeline(Global, 0), Timeline::new(14_400));
        let quality = |streams: &[&Timeline]| {
            Axis::of(streams.iter().copied(), 0, HOST_NS, &clock(100)).quality
        };
        assert_eq!(quality(&[&never, &exact]), TimeQuality::LOCKED);
        assert_eq!(quality(&[&never]), TimeQuality::within_us(100));
    }

    #[test]
    fn streams_that_follow_nothing_stand_where_they_arrived() {
        for synchronisation in [Local, Unsynchronised] {
            let [exact, other] = [timeline(Global, 30 * MS), timeline(synchronisation, 30 * MS)];
            let both = [&exact, &other];
            let axis = Axis::of(both.into_iter(), 0, HOST_NS + 30 * MS, &clock(50_000));
            // Both samples arrived together; one is of 0 ms, the other was given 32 ms.
            assert_eq!([axis.shift(&exact), axis.shift(&other)], [0, 128], "{synchronisation:?}");
            assert_eq!(axis.quality, TimeQuality::within_us(50_000));
        }
    }

    #[test]
    fn a_stream_that_was_silent_decides_no_axis() {
        // It sent before this host's clock was set forward by a second, and has not since.
        let silent = timeline(Global, 0);
        let set_ns = HOST_NS + 1000 * MS;
        let axis = |begin_ns| Axis::of([&silent].into_iter(), begin_ns, set_ns, &clock(1000));
        let own_ns = 2 * MS as u64;
        let of_its_record = axis(own_ns);
        assert_eq!(of_its_record.time_ns(own_ns), HOST_NS as u64);
        assert_eq!(of_its_record.quality, TimeQuality::UNRELIABLE);
        let later = axis(own_ns + 1);
        assert_eq!(later.time_ns(own_ns), (set_ns + 2 * MS) as u64);
        assert_eq!(later.quality, TimeQuality::within_us(1000));
    }
}
