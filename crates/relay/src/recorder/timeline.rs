//! Which number a sample has on the time axis of its stream (samples since 1970), and how far that axis is
//! ahead of this host's own clock.
//!
//! From sample to sample numbers go on by counter and own clock, so that no clock that is set tears a
//! record apart. Where an axis begins depends on what the stream follows. The counter of one that follows
//! universal time is 0 at each whole second, so that only the second is asked of this host's clock.
//! Other counters are 0 anywhere; their axis is that of this host's clock at arrival, and streams that
//! follow one local clock share it. While nothing is recorded axes follow that clock ([`follow`]), and
//! samples that are kept move with them.
//!
//! An axis is as far ahead as the samples say that are on their way for the shortest time. So an event of
//! this host has its place among samples whatever their clock says. Arrivals may jitter by less than
//! [`JITTER_MAX`].

use std::time::Duration;

use iec61850::wire::Synchronisation;

/// How far a sample may be off its time before the counter counts as set anew.
pub(super) const JITTER_MAX: Duration = Duration::from_millis(100);
/// For how long the shortest way of a sample counts; half of it at least.
const WINDOW_NS: u64 = 2_000_000_000;
/// How far an axis may be off this host's clock before it is brought back.
const FOLLOW_NS: i64 = 1_000_000;
const SECOND_NS: i64 = 1_000_000_000;

/// Where the counters of a local clock stand, in ns behind a whole second.
pub(super) type Local = Option<u64>;

/// What a stream follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Follows {
    /// Universal time: numbers are exact.
    Universal,
    /// A clock that it shares with others.
    Local,
    /// Nothing, or something that is not known.
    Nothing,
}

/// The time axis of one stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Timeline {
    rate: u64,
    /// What is added to the counter, in samples.
    offset: Option<u64>,
    pub(super) follows: Follows,
    ahead: Option<Ahead>,
}

impl Timeline {
    pub(super) const fn new(rate: u16) -> Self {
        Self { rate: rate as u64, offset: None, follows: Follows::Nothing, ahead: None }
    }

    /// How far the axis is ahead of this host's own clock, in ns, as the last samples said, however old
    /// they are; `None` before the first one.
    pub(super) fn ahead_ns(&self) -> Option<i64> {
        self.ahead.map(Ahead::ns)
    }

    /// The same of a stream of which a sample has come since an own time; others have nothing to say.
    pub(super) fn ahead_ns_since(&self, own_ns: u64) -> Option<i64> {
        self.ahead.filter(|ahead| ahead.last_ns >= own_ns).map(Ahead::ns)
    }

    /// The number of a sample with this counter that arrived at an own time, where this host's clock is so
    /// far ahead of its own; and by how much the numbers of samples before change.
    pub(super) fn number(
        &mut self,
        (arrived_ns, host_ahead_ns): (u64, i64),
        smp_cnt: u16,
        synchronisation: Synchronisation,
        local: &mut Local,
    ) -> (u64, i64) {
        let follows = match synchronisation {
            Synchronisation::Global => Follows::Universal,
            other if other.is_synchronised() => Follows::Local,
            _ => Follows::Nothing,
        };
        let known = match follows {
            Follows::Universal => Some(0),
            Follows::Local => local.map(|ns| self.samples(ns)),
            Follows::Nothing => None,
        };
        let at = |ahead_ns| arrived_ns.saturating_add_signed(ahead_ns);
        let next = self.offset.zip(self.ahead_ns());
        let next = next.and_then(|(offset, ahead_ns)| self.nearest(at(ahead_ns), smp_cnt, offset));
        let on_known = known.filter(|offset| self.offset != Some(*offset) || next.is_none());
        let on_known = on_known
            .and_then(|offset| Some((self.nearest(at(host_ahead_ns), smp_cnt, offset)?, offset)));
        let (number, offset) = match (on_known, next.zip(self.offset)) {
            (Some(found), _) | (None, Some(found)) => found,
            (None, None) => {
                let number = self.number_at(at(host_ahead_ns)).round() as u64;
                (number, (number + self.rate - u64::from(smp_cnt) % self.rate) % self.rate)
            }
        };
        let is_first = follows == Follows::Local && local.is_none();
        if is_first {
            *local = Some(offset * SECOND_NS as u64 / self.rate);
        }
        let moved = next.map_or(0, |next| number.wrapping_sub(next) as i64);
        let is_there = is_first || known == Some(offset);
        self.follows = if is_there { follows } else { Follows::Nothing };
        self.offset = Some(offset);
        self.ahead = self.ahead.filter(|_| next.is_some());
        self.shift_ahead(moved);
        let due_ns = (u128::from(number) * SECOND_NS as u128 / u128::from(self.rate)) as u64;
        let ahead_ns = due_ns.wrapping_sub(arrived_ns) as i64;
        match &mut self.ahead {
            Some(ahead) => ahead.take(arrived_ns, ahead_ns),
            ahead @ None => *ahead = Some(Ahead::new(arrived_ns, ahead_ns)),
        }
        (number, moved)
    }

    /// How many samples a span has.
    pub(super) fn count(&self, ns: i64) -> i64 {
        (ns as f64 / SECOND_NS as f64 * self.rate as f64).round() as i64
    }

    /// From sample to sample, in us.
    pub(super) const fn sample_us(&self) -> u64 {
        1_000_000 / self.rate
    }

    /// Moves the axis by so many samples; one of universal time by whole seconds alone.
    fn shift(&mut self, samples: i64) {
        let shifted = |offset: u64| (offset as i64 + samples).rem_euclid(self.rate as i64) as u64;
        self.offset = self.offset.map(shifted);
        self.shift_ahead(samples);
    }

    fn shift_ahead(&mut self, samples: i64) {
        let ns = i128::from(samples) * i128::from(SECOND_NS) / i128::from(self.rate);
        if let Some(ahead) = &mut self.ahead {
            ahead.shift(ns as i64);
        }
    }

    fn samples(&self, ns: u64) -> u64 {
        (ns * self.rate + SECOND_NS as u64 / 2) / SECOND_NS as u64 % self.rate
    }

    fn number_at(&self, ns: u64) -> f64 {
        ns as f64 / SECOND_NS as f64 * self.rate as f64
    }

    /// The number with this counter that is next to a time, if it is near.
    fn nearest(&self, at_ns: u64, smp_cnt: u16, offset: u64) -> Option<u64> {
        let (at, rate) = (self.number_at(at_ns), self.rate as f64);
        let within = (u64::from(smp_cnt) + offset) % self.rate;
        let number = ((at - within as f64) / rate).round() as u64 * self.rate + within;
        ((number as f64 - at).abs() <= JITTER_MAX.as_secs_f64() * rate).then_some(number)
    }
}

/// How far an axis is ahead, by the samples of the last seconds that were on their way for the
/// shortest time: those of this window, and of the one before.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Ahead {
    begin_ns: u64,
    now_ns: i64,
    before_ns: i64,
    /// When the last sample arrived.
    last_ns: u64,
}

impl Ahead {
    const fn new(begin_ns: u64, ahead_ns: i64) -> Self {
        Self { begin_ns, now_ns: ahead_ns, before_ns: ahead_ns, last_ns: begin_ns }
    }

    fn take(&mut self, arrived_ns: u64, ahead_ns: i64) {
        if arrived_ns.saturating_sub(self.last_ns) > WINDOW_NS {
            *self = Self::new(arrived_ns, ahead_ns);
        } else if arrived_ns.saturating_sub(self.begin_ns) > WINDOW_NS / 2 {
            let before_ns = self.now_ns;
            *self = Self { before_ns, ..Self::new(arrived_ns, ahead_ns) };
        }
        self.now_ns = self.now_ns.max(ahead_ns);
        self.last_ns = arrived_ns;
    }

    const fn shift(&mut self, ns: i64) {
        self.now_ns = self.now_ns.saturating_add(ns);
        self.before_ns = self.before_ns.saturating_add(ns);
    }

    fn ns(self) -> i64 {
        self.now_ns.max(self.before_ns)
    }
}

/// How far ahead the streams are that share a local clock, by those of which a sample has come since.
pub(super) fn local_ahead_ns<'t>(
    all: impl IntoIterator<Item = &'t Timeline>,
    since_ns: u64,
) -> Option<i64> {
    let local = all.into_iter().filter(|timeline| timeline.follows == Follows::Local);
    local.filter_map(|timeline| timeline.ahead_ns_since(since_ns)).max()
}

/// Brings axes back to this host's clock at an own time, where it is so far ahead; answers by how much
/// the numbers of samples of each change. Who is silent shares no clock any more.
pub(super) fn follow(
    timelines: &mut [&mut Timeline],
    (own_ns, host_ahead_ns): (u64, i64),
    local: &mut Local,
) -> Vec<i64> {
    let off_ns = |ahead_ns: i64| host_ahead_ns.saturating_sub(ahead_ns);
    let since_ns = own_ns.saturating_sub(WINDOW_NS);
    let shares = |timeline: &Timeline| timeline.ahead_ns_since(since_ns).is_some();
    let of_local = timelines.iter_mut().filter(|timeline| timeline.follows == Follows::Local);
    of_local.filter(|timeline| !shares(timeline)).for_each(|t| t.follows = Follows::Nothing);
    let all = timelines.iter().map(|timeline| &**timeline);
    let local_off_ns = local_ahead_ns(all, since_ns).map(off_ns);
    let before = *local;
    // Where nobody shares it, the next stream says anew where the clock stands.
    *local = local.zip(local_off_ns).map(|(local, off_ns)| {
        let moved_ns = if off_ns.abs() < FOLLOW_NS { 0 } else { off_ns % SECOND_NS };
        (local as i64 + moved_ns).rem_euclid(SECOND_NS) as u64
    });
    let move_one = |timeline: &mut &mut Timeline| {
        let rate = timeline.rate as i64;
        let Some(own_off_ns) = timeline.ahead_ns().map(off_ns) else { return 0 };
        let moved = match timeline.follows {
            // Half a second and more: this host's clock was set, or told the wrong second before.
            Follows::Universal => (own_off_ns as f64 / SECOND_NS as f64).round() as i64 * rate,
            Follows::Local if *local == before => 0,
            Follows::Local => {
                // Where all that share the clock have theirs, and next to how far it is off.
                let offset = local.map_or(0, |ns| timeline.samples(ns)) as i64;
                let apart = offset - timeline.offset.unwrap_or(0) as i64;
                let off = timeline.count(local_off_ns.unwrap_or(0));
                let seconds = (off - apart) as f64 / rate as f64;
                apart + seconds.round() as i64 * rate
            }
            Follows::Nothing if own_off_ns.abs() < FOLLOW_NS => 0,
            Follows::Nothing => timeline.count(own_off_ns),
        };
        timeline.shift(moved);
        moved
    };
    timelines.iter_mut().map(move_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Synchronisation::{Global, Local as OfLocal, None as Unsynchronised};

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;
    /// This host's clock is so far ahead of its own.
    const HOST_NS: i64 = 1_000_000_000_000;

    #[test]
    fn counters_of_universal_time_are_exact_however_arrivals_jitter() {
        let mut timeline = Timeline::new(4800);
        for (late_ns, smp_cnt, number) in
            [(500_000, 0, 4_804_800), (90 * MS, 1, 4_804_801), (1_100_000, 4799, 4_809_599)]
        {
            let due_ns = (number as f64 / 4800.0 * 1e9) as u64 - HOST_NS as u64;
            let arrived = (due_ns + late_ns, HOST_NS);
            let got = timeline.number(arrived, smp_cnt, Global, &mut None);
            assert_eq!((got, timeline.follows), ((number, 0), Follows::Universal));
        }
        // The sample that was on its way for half a millisecond.
        assert_eq!(timeline.ahead_ns(), Some(HOST_NS - 500_000));
    }

    #[test]
    fn a_counter_that_stands_elsewhere_follows_its_first_arrival() {
        let mut timeline = Timeline::new(4000);
        let begin_ns = SECOND / 2;
        let first = timeline.number((begin_ns, HOST_NS), 0, Global, &mut None).0;
        assert_eq!((first, timeline.follows), (4_002_000, Follows::Nothing));
        // Later by a jitter of 5 ms, and across the wrap of the counter.
        let next = timeline.number((begin_ns + 5 * MS, HOST_NS), 1, Global, &mut None);
        assert_eq!(next, (first + 1, 0));
        let wrapped = timeline.number((begin_ns + SECOND, HOST_NS), 0, Global, &mut None);
        assert_eq!(wrapped, (first + 4000, 0));
    }

    #[test]
    fn a_clock_that_is_set_changes_no_numbers_until_axes_follow() {
        let set_ns = HOST_NS - 3600 * SECOND as i64 + 40 * MS as i64;
        let host_ns = 5000 * SECOND as i64;
        for synchronisation in [Global, OfLocal, Unsynchronised] {
            let (mut timeline, mut local) = (Timeline::new(4000), None);
            let first = timeline.number((0, host_ns), 0, synchronisation, &mut local).0;
            let set_ns = set_ns + host_ns - HOST_NS;
            let next = timeline.number((250_000, set_ns), 1, synchronisation, &mut local);
            assert_eq!(next, (first + 1, 0), "{synchronisation:?}");
            let moved = follow(&mut [&mut timeline], (250_000, set_ns), &mut local)[0];
            let expected = -4000 * 3600 + if synchronisation == Global { 0 } else { 160 };
            assert_eq!(moved, expected, "{synchronisation:?}");
            let next = timeline.number((500_000, set_ns), 2, synchronisation, &mut local);
            assert_eq!(next, ((first + 2).strict_add_signed(moved), 0), "{synchronisation:?}");
        }
    }

    #[test]
    fn axes_that_drift_are_brought_back_without_a_gap() {
        let (mut timeline, mut local) = (Timeline::new(4000), None);
        let (mut number, mut worst_ns) = (None, 0);
        // A crystal that is 200 ppm slow, for 100 s.
        for sample in 0_u64..400_000 {
            let arrived = (sample * 250_050, HOST_NS);
            let smp_cnt = (sample % 4000) as u16;
            let (got, moved) = timeline.number(arrived, smp_cnt, Unsynchronised, &mut local);
            assert_eq!((got, moved), (number.unwrap_or(got), 0));
            let moved = follow(&mut [&mut timeline], arrived, &mut local)[0];
            number = Some((got + 1).strict_add_signed(moved));
            let off_ns = HOST_NS - timeline.ahead_ns().expect("a sample has come");
            worst_ns = off_ns.abs().max(worst_ns);
        }
        assert!(worst_ns <= FOLLOW_NS, "{worst_ns}");
    }

    #[test]
    fn streams_of_one_local_clock_stay_together() {
        let (mut one, mut other) = (Timeline::new(4000), Timeline::new(4800));
        let mut local = None;
        let at_ns = SECOND / 4;
        let first = one.number((at_ns, HOST_NS), 400, OfLocal, &mut local).0;
        // The same moment, arrived 3 ms later.
        let second = other.number((at_ns + 3 * MS, HOST_NS), 480, OfLocal, &mut local).0;
        assert_eq!(first as f64 / 4000.0, second as f64 / 4800.0);
        assert_eq!(local, Some(150 * MS));
        // The clock drifts by 20 ms against that of this host.
        let host_ns = HOST_NS + 20 * MS as i64;
        assert_eq!(follow(&mut [&mut one, &mut other], (at_ns, host_ns), &mut local), [80, 96]);
        assert_eq!(local, Some(170 * MS));
        let at_ns = at_ns + SECOND;
        let third = one.number((at_ns, host_ns), 400, OfLocal, &mut local);
        let fourth = other.number((at_ns + 3 * MS, host_ns), 480, OfLocal, &mut local);
        assert_eq!([third, fourth], [(first + 4080, 0), (second + 4896, 0)]);
    }

    #[test]
    fn a_local_clock_that_begins_anew_is_shared_again() {
        let (mut one, mut other) = (Timeline::new(4000), Timeline::new(4000));
        let mut local = None;
        let mut both = |at_ns: u64, smp_cnt| {
            one.number((at_ns, HOST_NS), smp_cnt, OfLocal, &mut local);
            other.number((at_ns + 3 * MS, HOST_NS), smp_cnt, OfLocal, &mut local);
            let shared = [one, other].map(|timeline| (timeline.follows, timeline.offset));
            follow(&mut [&mut one, &mut other], (at_ns + 3 * MS, HOST_NS), &mut local);
            (shared, local)
        };
        let at = |samples| [(Follows::Local, Some(samples)); 2];
        assert_eq!(both(SECOND / 4, 400), (at(600), Some(150 * MS)));
        // The clock has restarted half a second off: nobody is where it was, and then both share it.
        let (lost, nobody) = both(SECOND / 4 + 250_000, 2400);
        assert_eq!((lost.map(|each| each.0), nobody), ([Follows::Nothing; 2], None));
        assert_eq!(both(SECOND / 4 + 500_000, 2401), (at(2601), Some(650_250_000)));
    }

    #[test]
    fn a_silent_stream_says_nothing_of_a_local_clock() {
        let (mut silent, mut other) = (Timeline::new(4000), Timeline::new(4000));
        let mut local = None;
        // Its clock is 20 ms ahead of where the other one is seen, which came late at first.
        silent.number((0, HOST_NS), 0, OfLocal, &mut local);
        other.number((20 * MS, HOST_NS), 0, OfLocal, &mut local);
        for sample in 1..=16_000_u64 {
            let at_ns = 20 * MS + sample * 250_000;
            other.number((at_ns, HOST_NS), (sample % 4000) as u16, OfLocal, &mut local);
        }
        let own_ns = 4 * SECOND + 20 * MS;
        let all = [&silent, &other].into_iter();
        assert_eq!(local_ahead_ns(all, own_ns - WINDOW_NS), Some(HOST_NS - 20 * MS as i64));
        // The axis is brought back by that, and what the silent one kept stays where it is.
        let both = &mut [&mut silent, &mut other];
        assert_eq!(follow(both, (own_ns, HOST_NS), &mut local), [0, 80]);
    }

    #[test]
    fn a_stream_that_comes_again_is_placed_by_its_samples_of_now() {
        let mut timeline = Timeline::new(4000);
        timeline.number((0, HOST_NS), 0, Global, &mut None);
        // An hour later samples are on their way for 5 ms.
        let at_ns = 3600 * SECOND + 5 * MS;
        timeline.number((at_ns, HOST_NS), 0, Global, &mut None);
        assert_eq!(timeline.ahead_ns(), Some(HOST_NS - 5 * MS as i64));
    }
}
