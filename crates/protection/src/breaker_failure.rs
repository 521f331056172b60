//! Breaker failure (50BF, RBRF): a trip was given, and current still flows. First the breaker is
//! tripped again, then the breakers round it.

use std::time::Duration;

use iec61850::SampleTime;

use super::PhaseSet;
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
    poles: [Pole; 3],
}

/// What is known of one pole.
#[derive(Clone, PartialEq, Debug)]
struct Pole {
    level: Level,
    begin: Option<SampleTime>,
}

impl BreakerFailure {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        // Current detectors must drop off fast: no hysteresis to wait for.
        let pole = || Pole { level: Level::new(settings.pick_up_a, 0.98), begin: None };
        Self { settings, poles: std::array::from_fn(|_| pole()) }
    }

    /// Looks at the poles that are tripped, and at the currents of the phases, in A.
    ///
    /// A trip initiates it and need not last: the element goes on until the current is gone. An
    /// untrusted current ends it, because tripping a busbar on a guess is worse than not. Poles that
    /// are not tripped carry load on, and their own time counts from their own trip.
    pub fn update(
        &mut self,
        now: SampleTime,
        tripped: PhaseSet,
        currents_a: Option<[f64; 3]>,
    ) -> Orders {
        let Some(currents_a) = currents_a else {
            *self = Self::new(self.settings);
            return Orders::default();
        };
        let mut orders = Orders::default();
        for (phase, (pole, current_a)) in self.poles.iter_mut().zip(currents_a).enumerate() {
            if !pole.level.update(current_a) {
                pole.begin = None;
                continue;
            }
            if tripped.has(phase) {
                pole.begin.get_or_insert(now);
            }
            let span = pole.begin.map(|begin| now.since(begin));
            orders.retrip |= span.is_some_and(|span| span >= self.settings.retrip_delay);
            orders.backup |= span.is_some_and(|span| span >= self.settings.backup_delay);
        }
        orders
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

    const NONE: PhaseSet = PhaseSet::NONE;
    const ALL: PhaseSet = PhaseSet::ALL;

    #[test]
    fn a_breaker_that_stays_closed_is_told_again_and_then_those_round_it() {
        let mut element = element();
        assert_eq!(element.update(at(0), ALL, Some([500.0; 3])), Orders::default());
        assert_eq!(element.update(at(49), NONE, Some([500.0; 3])), Orders::default());
        let orders = element.update(at(50), NONE, Some([500.0; 3]));
        assert_eq!(orders, Orders { retrip: true, backup: false });
        let orders = element.update(at(150), NONE, Some([3.0, 3.0, 500.0]));
        assert_eq!(orders, Orders { retrip: true, backup: true }, "one pole is enough");
    }

    #[test]
    fn a_breaker_that_opens_load_and_blocking_give_no_orders() {
        let mut opened = element();
        opened.update(at(0), ALL, Some([500.0; 3]));
        opened.update(at(45), ALL, Some([3.0; 3]));
        assert_eq!(opened.update(at(200), NONE, Some([500.0; 3])), Orders::default());
        let mut loaded = element();
        for ms in 0..300 {
            assert_eq!(loaded.update(at(ms), NONE, Some([500.0; 3])), Orders::default());
        }
        let mut blocked = element();
        for ms in 0..300 {
            assert_eq!(blocked.update(at(ms), ALL, None), Orders::default());
        }
    }

    #[test]
    fn poles_that_are_not_tripped_may_carry_load() {
        let a = PhaseSet::phase(0);
        let mut element = element();
        element.update(at(0), a, Some([900.0, 300.0, 300.0]));
        for ms in 40..300 {
            let orders = element.update(at(ms), a, Some([0.0, 300.0, 300.0]));
            assert_eq!(orders, Orders::default(), "{ms}");
        }
        // They are tripped later, and have their own time.
        element.update(at(300), ALL, Some([0.0, 300.0, 300.0]));
        assert!(!element.update(at(449), ALL, Some([0.0, 0.0, 300.0])).backup);
        assert!(element.update(at(450), ALL, Some([0.0, 0.0, 300.0])).backup);
    }
}
