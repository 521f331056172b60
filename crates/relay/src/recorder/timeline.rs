//! Which number a sample has on the time axis of its rate: samples since 1970.
//!
//! The counter of a stream that follows universal time is 0 at each whole second, so that the number is
//! exact. Other counters are 0 anywhere; where they stand is told by the arrival of the first sample,
//! and streams that follow one local clock share it. Arrivals may jitter by less than [`DRIFT_MAX`].

use std::time::Duration;

use iec61850::wire::Synchronisation;

/// How far numbers may be off arrivals before the counter counts as set anew.
pub(super) const DRIFT_MAX: Duration = Duration::from_millis(100);

/// Where the counters of a local clock stand, as a share of a second.
pub(super) type Local = Option<f64>;

/// The time axis of one stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Timeline {
    rate: u64,
    /// What is added to the counter, in samples.
    offset: Option<u64>,
    /// Whether numbers are those of universal time.
    pub(super) is_exact: bool,
}

impl Timeline {
    pub(super) const fn new(rate: u16) -> Self {
        Self { rate: rate as u64, offset: None, is_exact: false }
    }

    /// The number of a sample with this counter that arrived then.
    pub(super) fn number(
        &mut self,
        arrived_ns: u64,
        smp_cnt: u16,
        synchronisation: Synchronisation,
        local: &mut Local,
    ) -> u64 {
        let is_global = synchronisation == Synchronisation::Global;
        let is_local = synchronisation.is_synchronised() && !is_global;
        let shared = local.filter(|_| is_local).map(|second| self.samples(second));
        let known = if is_global { Some(0) } else { shared };
        for offset in [known, self.offset].into_iter().flatten() {
            if let Some(number) = self.nearest(arrived_ns, smp_cnt, offset) {
                self.is_exact = is_global && offset == 0;
                self.offset = Some(offset);
                return number;
            }
        }
        let number = (u128::from(arrived_ns) * u128::from(self.rate) / 1_000_000_000) as u64;
        let offset = (number % self.rate + self.rate - u64::from(smp_cnt) % self.rate) % self.rate;
        (self.offset, self.is_exact) = (Some(offset), false);
        if is_local {
            *local = Some(offset as f64 / self.rate as f64);
        }
        number
    }

    fn samples(&self, second: f64) -> u64 {
        (second * self.rate as f64).round() as u64 % self.rate
    }

    /// The number with this counter that is next to an arrival, if it is near.
    fn nearest(&self, arrived_ns: u64, smp_cnt: u16, offset: u64) -> Option<u64> {
        let arrived = arrived_ns as f64 / 1e9;
        let within = (u64::from(smp_cnt) + offset) % self.rate;
        let second = (arrived - within as f64 / self.rate as f64).round();
        let number = second as u64 * self.rate + within;
        let apart_s = (number as f64 / self.rate as f64 - arrived).abs();
        (apart_s <= DRIFT_MAX.as_secs_f64()).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn counters_of_universal_time_are_exact_however_arrivals_jitter() {
        let mut timeline = Timeline::new(4800);
        for (late_ns, smp_cnt, number) in
            [(500_000, 0, 4_800_000), (90_000_000, 1, 4_800_001), (1_100_000, 4799, 4_804_799)]
        {
            let due_ns = (number as f64 / 4800.0 * 1e9) as u64;
            let got =
                timeline.number(due_ns + late_ns, smp_cnt, Synchronisation::Global, &mut None);
            assert_eq!((got, timeline.is_exact), (number, true));
        }
    }

    #[test]
    fn a_counter_that_stands_elsewhere_follows_its_first_arrival() {
        let mut timeline = Timeline::new(4000);
        let begin_ns = 1000 * SECOND_NS + SECOND_NS / 2;
        let first = timeline.number(begin_ns, 0, Synchronisation::Global, &mut None);
        assert_eq!((first, timeline.is_exact), (4_002_000, false));
        // Later by a jitter of 5 ms, and across the wrap of the counter.
        let next = timeline.number(begin_ns + 5_000_000, 1, Synchronisation::Global, &mut None);
        assert_eq!(next, first + 1);
        let wrapped = timeline.number(begin_ns + SECOND_NS, 0, Synchronisation::Global, &mut None);
        assert_eq!(wrapped, first + 4000);
    }

    #[test]
    fn streams_of_one_local_clock_stay_together() {
        let (mut one, mut other) = (Timeline::new(4000), Timeline::new(4800));
        let mut local = None;
        let at_ns = 1000 * SECOND_NS + SECOND_NS / 4;
        let first = one.number(at_ns, 400, Synchronisation::Local, &mut local);
        // The same moment, arrived 3 ms later.
        let second = other.number(at_ns + 3_000_000, 480, Synchronisation::Local, &mut local);
        assert_eq!(first as f64 / 4000.0, second as f64 / 4800.0);
        assert_eq!(local, Some(0.15));
    }
}
