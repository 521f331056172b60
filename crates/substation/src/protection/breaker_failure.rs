//! Breaker failure (50BF, RBRF): a trip was given, and current still flows. First the breaker is
//! tripped again, then the breakers round it.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::Level;

/// Limit and delays of a breaker failure element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Current above which the breaker is not open, in A.
    pub pick_up_a: f64,
    /// After a trip: tell the breaker again.
    pub retrip_delay: Duration,
    /// After a trip: tell the breakers round it.
    pub backup_delay: Duration,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Orders {
    /// Trip the same breaker again.
    pub retrip: bool,
    /// Trip those round it.
    pub backup: bool,
}

/// A breaker failure element (50BF).
#[derive(Clone, PartialEq, Debug)]
pub struct BreakerFailure {
    settings: Settings,
    level: Level,
    begin: Option<SampleTime>,
}

impl BreakerFailure {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        // Current detectors must drop off fast: no hysteresis to wait for.
        Self { settings, level: Level::new(settings.pick_up_a, 0.98), begin: None }
    }

    /// Looks at whether a trip is given, and the largest current of the phases, in A.
    ///
    /// A trip initiates it and need not last: the element goes on until the current is gone. An
    /// untrusted current ends it, because tripping a busbar on a guess is worse than not.
    pub fn update(&mut self, now: SampleTime, trip: bool, current_a: Option<f64>) -> Orders {
        let flows = match current_a {
            Some(current_a) => self.level.update(current_a),
            None => {
                self.level.reset();
                false
            }
        };
        if !flows {
            self.begin = None;
            return Orders::default();
        }
        if trip {
            self.begin.get_or_insert(now);
        }
        let Some(begin) = self.begin else { return Orders::default() };
        let span = now.since(begin);
        Orders {
            retrip: span >= self.settings.retrip_delay,
            backup: span >= self.settings.backup_delay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element() -> BreakerFailure {
        let [retrip_delay, backup_delay] = [50, 150].map(Duration::from_millis);
        BreakerFailure::new(Settings { pick_up_a: 20.0, retrip_delay, backup_delay })
    }

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_breaker_that_stays_closed_is_told_again_and_then_those_round_it() {
        let mut element = element();
        assert_eq!(element.update(at(0), true, Some(500.0)), Orders::default());
        assert_eq!(element.update(at(49), false, Some(500.0)), Orders::default());
        let orders = element.update(at(50), false, Some(500.0));
        assert_eq!(orders, Orders { retrip: true, backup: false });
        let orders = element.update(at(150), false, Some(500.0));
        assert_eq!(orders, Orders { retrip: true, backup: true });
    }

    #[test]
    fn a_breaker_that_opens_load_and_blocking_give_no_orders() {
        let mut opened = element();
        opened.update(at(0), true, Some(500.0));
        opened.update(at(45), true, Some(3.0));
        assert_eq!(opened.update(at(200), false, Some(500.0)), Orders::default());
        let mut loaded = element();
        for ms in 0..300 {
            assert_eq!(loaded.update(at(ms), false, Some(500.0)), Orders::default());
        }
        let mut blocked = element();
        for ms in 0..300 {
            assert_eq!(blocked.update(at(ms), true, None), Orders::default());
        }
    }
}
