//! Breaker supervision (SCBR, with the trip circuit of 74TC): what a relay can tell of its breaker
//! from messages. A breaker that does not open is the business of breaker failure; one that opens
//! slowly, whose contacts contradict each other, or whose trip coil is broken will not open the next
//! time, and only an alarm says so in time.
//!
//! | What | Alarm when |
//! |---|---|
//! | opening | a trip has been given for `opening_max`, and the breaker is not told to be open |
//! | closing | a closing order has been given for `closing_max`, and it is not told to be closed |
//! | position | it has been neither open nor closed, or not told, for `unknown_max` |
//! | trip circuit | it is told not to be healthy for `circuit_delay` |
//!
//! A breaker one pole of which is open on purpose is where it should be.
//!
//! A trip breaks off the supervision of closing, and the other way round. Delays without a setting
//! are those of relays on the market: 5 s for a position (MiCOM P54x), 3 s for the trip circuit
//! (TCSSCBR of ABB), during which a trip may bridge what supervises the coil.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::timing::Delay;

/// Times of a supervised breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// From a trip to open contacts.
    pub opening_max: Duration,
    /// From a closing order to closed contacts.
    pub closing_max: Duration,
    /// How long its position may be unknown.
    pub unknown_max: Duration,
    /// How long its trip circuit may be unhealthy.
    pub circuit_delay: Duration,
}

/// What others say of the breaker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// A trip is given.
    pub trip: bool,
    /// A closing order is given.
    pub close: bool,
    /// Whether it is closed, where that is known.
    pub is_closed: Option<bool>,
    /// One pole is open on purpose, and it is told of each where it is.
    pub is_pole_open: bool,
    /// Whether its trip circuit is healthy, where anybody says so.
    pub circuit: Option<bool>,
}

/// A breaker under supervision (SCBR).
#[derive(Clone, PartialEq, Debug)]
pub struct BreakerSupervision {
    settings: Settings,
    /// What it was told to do and has not done: closed or open, and since when.
    order: Option<(bool, SampleTime)>,
    before: Told,
    unknown: Delay,
    circuit: Delay,
}

impl BreakerSupervision {
    /// A breaker of which nothing is known yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            order: None,
            before: Told::default(),
            unknown: Delay::new(settings.unknown_max),
            circuit: Delay::new(settings.circuit_delay),
        }
    }

    /// Looks at what is told: a start is something that may yet become right, operation an alarm.
    /// `None` while it is blocked.
    pub fn update(&mut self, now: SampleTime, told: Option<Told>) -> Decision {
        let Some(told) = told else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let before = std::mem::replace(&mut self.before, told);
        if told.close && !before.close {
            self.order = Some((true, now));
        }
        if told.trip && !before.trip {
            self.order = Some((false, now));
        }
        self.order = self.order.filter(|(wanted, _)| told.is_closed != Some(*wanted));
        let moving = self.order.map_or(Decision::NONE, |(closes, since)| {
            let settings = &self.settings;
            let longest = if closes { settings.closing_max } else { settings.opening_max };
            Decision::new(true, now.since(since) >= longest)
        });
        let others = [
            self.unknown.update(now, told.is_closed.is_none() && !told.is_pole_open),
            self.circuit.update(now, told.circuit == Some(false)),
        ];
        others.into_iter().fold(moving, |all, each| {
            Decision::new(all.start || each.start, all.operate || each.operate)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: Told = Told {
        trip: false,
        close: false,
        is_closed: Some(true),
        is_pole_open: false,
        circuit: Some(true),
    };
    const OPEN: Told = Told { is_closed: Some(false), ..CLOSED };

    fn breaker() -> BreakerSupervision {
        let [opening_max, closing_max, unknown_max, circuit_delay] =
            [60, 150, 5000, 3000].map(Duration::from_millis);
        let settings = Settings { opening_max, closing_max, unknown_max, circuit_delay };
        BreakerSupervision::new(settings)
    }

    /// Milliseconds of the first and the last alarm within 10 s.
    fn alarms(told: impl Fn(u64) -> Told) -> Option<(u64, u64)> {
        let mut breaker = breaker();
        let alarm =
            |ms: &u64| breaker.update(SampleTime::from_ns(ms * 1_000_000), Some(told(*ms))).operate;
        let all: Vec<u64> = (0..10_000).filter(alarm).collect();
        Some((*all.first()?, *all.last()?))
    }

    /// A trip of 100 ms at 1000, after which the breaker opens so much later.
    fn tripped(ms: u64, opens_after: u64) -> Told {
        let trip = (1000..1100).contains(&ms);
        Told { trip, ..if ms < 1000 + opens_after { CLOSED } else { OPEN } }
    }

    #[test]
    fn a_breaker_that_opens_and_closes_in_its_time_is_healthy() {
        assert_eq!(alarms(|ms| tripped(ms, 60)), None);
        let closed = |ms| Told {
            close: (2000..2200).contains(&ms),
            ..if ms < 2150 { OPEN } else { CLOSED }
        };
        assert_eq!(alarms(closed), None);
        assert_eq!(alarms(|_| CLOSED), None);
    }

    #[test]
    fn a_slow_one_is_alarmed_until_it_has_moved_and_one_that_sticks_for_good() {
        assert_eq!(alarms(|ms| tripped(ms, 75)), Some((1060, 1074)));
        assert_eq!(alarms(|ms| tripped(ms, 100_000)), Some((1060, 9999)));
        let never = |ms| Told { close: (2000..2200).contains(&ms), ..OPEN };
        assert_eq!(alarms(never), Some((2150, 9999)));
        // It disappears on its way: that is no open breaker.
        let lost = |ms| Told { trip: ms == 1000, is_closed: (ms < 1020).then_some(true), ..CLOSED };
        assert_eq!(alarms(lost), Some((1060, 9999)));
    }

    #[test]
    fn a_trip_ends_the_wait_for_a_closing_order() {
        let onto_fault = |ms| Told { close: ms == 2000, trip: (2050..2150).contains(&ms), ..OPEN };
        assert_eq!(alarms(onto_fault), None);
    }

    #[test]
    fn a_position_may_be_unknown_on_the_way_and_no_longer() {
        let unknown = |end| {
            move |ms| Told { is_closed: (!(100..end).contains(&ms)).then_some(true), ..CLOSED }
        };
        assert_eq!(alarms(unknown(5100)), None);
        assert_eq!(alarms(unknown(5200)), Some((5100, 5199)));
        assert_eq!(alarms(|_| Told::default()), Some((5000, 9999)), "nobody tells it");
        let pole_open = |_| Told { is_closed: None, is_pole_open: true, ..CLOSED };
        assert_eq!(alarms(pole_open), None);
    }

    #[test]
    fn a_trip_circuit_that_is_told_to_be_broken_is_alarmed_after_its_delay() {
        let broken = |end| move |ms| Told { circuit: Some(!(100..end).contains(&ms)), ..CLOSED };
        assert_eq!(alarms(broken(3100)), None, "a trip may bridge it");
        assert_eq!(alarms(broken(9000)), Some((3100, 8999)));
        assert_eq!(alarms(|_| Told { circuit: None, ..CLOSED }), None, "nobody supervises it");
    }

    #[test]
    fn one_that_is_blocked_forgets() {
        let mut breaker = breaker();
        let stuck = Told { trip: true, ..CLOSED };
        for ms in 0..100 {
            breaker.update(SampleTime::from_ns(ms * 1_000_000), Some(stuck));
        }
        assert_eq!(breaker.update(SampleTime::from_ns(100_000_000), None), Decision::NONE);
        let after = breaker.update(SampleTime::from_ns(101_000_000), Some(CLOSED));
        assert_eq!(after, Decision::NONE);
    }
}
