//! A circuit breaker (XCBR) as a relay and a plant see it: it takes its time to open and to
//! close, and may be stuck.

use std::time::Duration;

use iec61850::SampleTime;

/// How long contacts of a breaker move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// From the order to contacts apart and arc out.
    pub opening: Duration,
    /// From the order to contacts made.
    pub closing: Duration,
}

/// Where the contacts are (`Pos` of XCBR, as a double point).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Between the two ends.
    Intermediate,
    /// Contacts are fully apart.
    Open,
    /// Contacts are closed, and current can flow.
    Closed,
}

/// The contacts of a breaker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breaker {
    settings: Settings,
    is_stuck: bool,
    end: Position,
    arrival: Option<SampleTime>,
}

impl Breaker {
    /// A breaker that is closed and does not move.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, is_stuck: false, end: Position::Closed, arrival: None }
    }

    /// Makes it obey no order, or obey again.
    pub fn stick(&mut self, is_stuck: bool) {
        self.is_stuck = is_stuck;
    }

    /// Orders it to open. It does so from wherever it is, even while it closes.
    pub fn trip(&mut self, now: SampleTime) {
        if !self.is_stuck && self.end != Position::Open {
            self.end = Position::Open;
            self.arrival = Some(now.plus(self.settings.opening));
        }
    }

    /// Orders it to close; while it opens it does not listen (no pumping).
    pub fn close(&mut self, now: SampleTime) {
        if !self.is_stuck && self.position(now) == Position::Open {
            self.end = Position::Closed;
            self.arrival = Some(now.plus(self.settings.closing));
        }
    }

    /// Position of the contacts now.
    #[must_use]
    pub fn position(&self, now: SampleTime) -> Position {
        match self.arrival {
            Some(arrival) if now < arrival => Position::Intermediate,
            _ => self.end,
        }
    }

    /// Whether current can flow: until it is open, and not before it is closed.
    #[must_use]
    pub fn conducts(&self, now: SampleTime) -> bool {
        match self.position(now) {
            Position::Closed => true,
            Position::Open => false,
            Position::Intermediate => self.end == Position::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_its_time_and_conducts_until_the_arc_is_out() {
        let [opening, closing] = [40, 60].map(Duration::from_millis);
        let mut breaker = Breaker::new(Settings { opening, closing });
        let at = |ms: u64| SampleTime::from_ns(ms * 1_000_000);
        breaker.trip(at(0));
        breaker.close(at(10));
        breaker.trip(at(20));
        assert_eq!(breaker.position(at(39)), Position::Intermediate);
        assert!(breaker.conducts(at(39)));
        assert_eq!(breaker.position(at(40)), Position::Open);
        assert!(!breaker.conducts(at(40)));
        breaker.close(at(100));
        assert!(!breaker.conducts(at(159)));
        assert_eq!(breaker.position(at(160)), Position::Closed);
        breaker.stick(true);
        breaker.trip(at(200));
        assert_eq!(breaker.position(at(1000)), Position::Closed);
    }
}
