//! What nearly every element is made of: a comparison that does not chatter, and a delay.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;

/// Whether a quantity is above a threshold (or below it), with hysteresis: it drops off at a
/// fraction of the threshold, so that a quantity at its edge does not start and drop in turn.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    pick_up: f64,
    drop_off: f64,
    is_picked_up: bool,
}

impl Level {
    /// Picks up above `pick_up`, drops off below `pick_up` times `ratio` (under 1); or, with a
    /// `ratio` over 1, picks up below and drops off above.
    #[must_use]
    pub fn new(pick_up: f64, ratio: f64) -> Self {
        Self { pick_up, drop_off: pick_up * ratio, is_picked_up: false }
    }

    /// Looks at a value; says whether it is picked up.
    pub fn update(&mut self, value: f64) -> bool {
        let threshold = if self.is_picked_up { self.drop_off } else { self.pick_up };
        self.is_picked_up =
            if self.drop_off <= self.pick_up { value > threshold } else { value < threshold };
        self.is_picked_up
    }

    /// Drops off, whatever the value is.
    pub fn reset(&mut self) {
        self.is_picked_up = false;
    }
}

/// Operates when a start has lasted.
#[derive(Clone, PartialEq, Debug)]
pub struct Delay {
    span: Duration,
    begin: Option<SampleTime>,
}

impl Delay {
    /// Operates `span` after the start; at once if that is zero.
    #[must_use]
    pub const fn new(span: Duration) -> Self {
        Self { span, begin: None }
    }

    /// Looks at whether there is a start now.
    pub fn update(&mut self, now: SampleTime, start: bool) -> Decision {
        if !start {
            self.reset();
            return Decision::NONE;
        }
        let begin = *self.begin.get_or_insert(now);
        Decision::new(start, now.since(begin) >= self.span)
    }

    /// Forgets a start, as if there had been none.
    pub fn reset(&mut self) {
        self.begin = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_drops_off_lower_than_it_picks_up() {
        let mut over = Level::new(100.0, 0.95);
        let seen: Vec<bool> = [100.0, 100.1, 95.1, 94.9, 99.0].map(|v| over.update(v)).into();
        assert_eq!(seen, [false, true, true, false, false]);
        let mut under = Level::new(80.0, 1.05);
        let seen: Vec<bool> = [80.0, 79.9, 83.9, 84.1, 81.0].map(|v| under.update(v)).into();
        assert_eq!(seen, [false, true, true, false, false]);
    }

    #[test]
    fn a_delay_counts_from_the_last_start() {
        let mut delay = Delay::new(Duration::from_millis(10));
        let mut at = |ms: u64, start| delay.update(SampleTime::from_ns(ms * 1_000_000), start);
        assert_eq!(at(0, true), Decision::new(true, false));
        assert_eq!(at(9, true), Decision::new(true, false));
        assert_eq!(at(9, false), Decision::NONE);
        assert_eq!(at(10, true), Decision::new(true, false));
        assert_eq!(at(20, true), Decision::new(true, true));
    }
}
