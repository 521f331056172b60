//! Protection elements with their trip matrix; and an automatic reclosure, once, if it is set.

use std::time::Duration;

use iec61850::SampleTime;
use quorum::Action;

use super::{Decision, Voice};
use crate::engine::{Arrival, Engine};

/// How long a reclosure is attempted: longer than any rebirth of a node, shorter than a fault that
/// strikes again is likely to let it.
const RECLOSURE: Duration = Duration::from_secs(2);

/// When a breaker that was tripped is closed again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reclosure {
    Idle,
    /// The elements have dropped off at this time.
    Dead(SampleTime),
    /// It is attempted since.
    Attempted(SampleTime),
}

/// A relay whose elements decide about one breaker.
#[derive(Debug)]
pub struct Elements {
    engine: Engine,
    breaker: usize,
    dead_time: Option<Duration>,
    was_tripped: bool,
    reclosure: Reclosure,
    voice: Voice,
}

impl Elements {
    /// Of this engine, the decision about this breaker, in the order of the names of the trip
    /// matrix; closed again after `dead_time`, if there is one.
    #[must_use]
    pub const fn new(engine: Engine, breaker: usize, dead_time: Option<Duration>) -> Self {
        let (reclosure, voice) = (Reclosure::Idle, Voice { has_decided: false });
        Self { engine, breaker, dead_time, was_tripped: false, reclosure, voice }
    }

    pub(super) fn sample(&mut self, arrival: &Arrival) {
        self.engine.sample(arrival);
    }

    pub(super) fn look(&mut self, now: SampleTime) -> Option<Decision> {
        self.engine.step(now);
        let is_tripped = self.engine.is_tripped(self.breaker);
        self.after(now, is_tripped)
    }

    fn after(&mut self, now: SampleTime, is_tripped: bool) -> Option<Decision> {
        let dropped_off = std::mem::replace(&mut self.was_tripped, is_tripped) && !is_tripped;
        if is_tripped {
            self.reclosure = Reclosure::Idle;
            return self.voice.say(Some(Action::Trip));
        }
        if dropped_off && self.dead_time.is_some() {
            self.reclosure = Reclosure::Dead(now);
        }
        match (self.reclosure, self.dead_time) {
            (Reclosure::Dead(since), Some(dead_time)) if now >= since.plus(dead_time) => {
                // One decision: the breaker that trips again afterwards stays open.
                self.reclosure = Reclosure::Attempted(now);
                self.voice.say(Some(Action::Close))
            }
            (Reclosure::Attempted(since), _) if now < since.plus(RECLOSURE) => None,
            (Reclosure::Attempted(_), _) => {
                self.reclosure = Reclosure::Idle;
                self.voice.say(None)
            }
            _ => self.voice.say(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings;

    const RELAY: &str = "relay: F1\nfrequency: 50 Hz\nstreams:\n  L: {sv_id: L, \
                         destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4000 Hz}\n\
                         elements:\n  I: {function: overcurrent, stream: L, pick_up: 1 kA, \
                         delay: 0 ms}\ntrips: {breakers: {Q0: [I]}}\n";

    fn elements(dead_time: Option<Duration>) -> Elements {
        let relay = settings::read("relay.yaml", RELAY).expect("these are good");
        Elements::new(Engine::new(&relay.protection), 0, dead_time)
    }

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_trip_is_decided_again_and_withdrawn_once() {
        let mut elements = elements(None);
        let trip = Some(Decision::Decided(Action::Trip));
        assert_eq!(elements.after(at(0), false), None);
        assert_eq!([elements.after(at(1), true), elements.after(at(2), true)], [trip; 2]);
        assert_eq!(elements.after(at(3), false), Some(Decision::Withdrawn));
        assert_eq!(elements.after(at(4), false), None);
    }

    #[test]
    fn it_closes_once_after_its_dead_time_and_gives_up() {
        let mut elements = elements(Some(Duration::from_millis(300)));
        elements.after(at(0), true);
        assert_eq!(elements.after(at(1), false), Some(Decision::Withdrawn));
        let said: Vec<_> =
            (2..3000).filter_map(|ms| elements.after(at(ms), false).map(|s| (ms, s))).collect();
        let close = Decision::Decided(Action::Close);
        assert_eq!(said, [(301, close), (2301, Decision::Withdrawn)]);
        // A fault that strikes again ends the attempt.
        elements.after(at(4000), true);
        elements.after(at(4001), false);
        assert_eq!(elements.after(at(4301), false), Some(close));
        assert_eq!(elements.after(at(4302), true), Some(Decision::Decided(Action::Trip)));
        assert_eq!(elements.after(at(4303), false), Some(Decision::Withdrawn));
    }
}
