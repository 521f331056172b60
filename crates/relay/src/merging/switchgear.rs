//! The breaker that a merging unit simulates: three poles, orders to them, and the message that tells
//! where they are.
//!
//! A trip goes before closing, and an order to close that came while a trip stands, or while a pole still
//! opens, is forgotten (no pumping).

use std::time::Duration;

use iec61850::SampleTime;
use iec61850::wire::{MacAddress, UtcTime};
use protection::PhaseSet;
use protection::breaker::{Breaker, Position, Settings};
use substation::settings::merging_unit::TrippedBreaker;

use crate::publish::Outgoing;

/// What a message wants of the breaker that it did not want before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Orders {
    pub(crate) trip: PhaseSet,
    pub(crate) close: bool,
    /// Poles whose trip stands, new or not.
    pub(crate) standing: PhaseSet,
}

/// Three poles, each with a drive of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Switchgear {
    settings: Settings,
    poles: [Breaker; 3],
}

impl Switchgear {
    /// A breaker that is closed.
    pub(crate) fn new(breaker: &TrippedBreaker) -> Self {
        let closing = breaker.closes.map_or(Duration::ZERO, |closes| closes.closing);
        let settings = Settings { opening: breaker.opening, closing };
        Self { settings, poles: std::array::from_fn(|_| Breaker::new(settings)) }
    }

    /// Makes the contacts, as if nobody had ever tripped it.
    pub(crate) fn close_at_once(&mut self) {
        self.poles = std::array::from_fn(|_| Breaker::new(self.settings));
    }

    pub(crate) fn obey(&mut self, at: SampleTime, orders: &Orders) {
        for (phase, pole) in self.poles.iter_mut().enumerate() {
            if orders.trip.has(phase) {
                pole.trip(at);
            } else if orders.close && orders.standing.is_empty() {
                pole.close(at);
            }
        }
    }

    /// Poles through which no current can flow.
    pub(crate) fn open(&self, at: SampleTime) -> PhaseSet {
        PhaseSet::of(self.poles.each_ref().map(|pole| !pole.conducts(at)))
    }

    /// Where all poles are, and each of them, as double points.
    pub(crate) fn positions(&self, at: SampleTime) -> [Position; 4] {
        let [a, b, c] = self.poles.each_ref().map(|pole| pole.position(at));
        [if a == b && b == c { a } else { Position::Intermediate }, a, b, c]
    }
}

/// The message of the breaker.
#[derive(Debug)]
pub(crate) struct PositionMessage(Outgoing);

impl PositionMessage {
    pub(crate) fn new(breaker: &TrippedBreaker, source: MacAddress) -> Option<Self> {
        let control = breaker.tells.as_ref()?;
        let values = [Position::Intermediate; 4].map(encoded);
        Some(Self(Outgoing::new(control, source, values.as_flattened().to_vec())))
    }

    /// The frame to be sent now, if there is one. It is asked for with each batch of samples: it asks
    /// for no memory, and for a stamp, which costs system calls, in a new state alone.
    pub(crate) fn step(
        &mut self,
        now: SampleTime,
        stamp: impl FnOnce() -> UtcTime,
        positions: [Position; 4],
    ) -> Option<&[u8]> {
        let values = positions.map(encoded);
        let values = values.as_flattened();
        let has_changed = self.0.values != values;
        self.0.values.copy_from_slice(values);
        self.0.step(now, stamp, has_changed)
    }
}

/// A double point: two bits (IEC 61850-7-3, Dbpos).
const fn encoded(position: Position) -> [u8; 4] {
    let bits = match position {
        Position::Intermediate => 0x00,
        Position::Open => 0x40,
        Position::Closed => 0x80,
    };
    [0x84, 2, 6, bits]
}

#[cfg(test)]
mod tests {
    use substation::settings::merging_unit::Closes;

    use super::*;

    fn gear() -> Switchgear {
        Switchgear::new(&TrippedBreaker {
            reference: "Q0".into(),
            destination: MacAddress([1, 0x0c, 0xcd, 1, 0, 1]),
            app_id: 1,
            value: 0,
            pole_values: vec![],
            closes: Some(Closes { value: 4, closing: Duration::from_millis(60) }),
            tells: None,
            opening: Duration::from_millis(40),
            position: None,
        })
    }

    #[test]
    fn each_pole_has_its_drive_and_a_trip_goes_before_closing() {
        let at = |ms: u64| SampleTime::from_ns(ms * 1_000_000);
        let (mut gear, a) = (gear(), PhaseSet::phase(0));
        gear.obey(at(0), &Orders { trip: a, standing: a, ..Orders::default() });
        assert_eq!((gear.open(at(39)), gear.open(at(40))), (PhaseSet::NONE, a));
        let [whole, of_a, of_b, _] = gear.positions(at(40));
        assert_eq!([whole, of_a, of_b], [Position::Intermediate, Position::Open, Position::Closed]);
        let close = Orders { close: true, ..Orders::default() };
        gear.obey(at(50), &Orders { standing: a, ..close });
        assert_eq!(gear.open(at(200)), a, "a trip stands");
        gear.obey(at(200), &close);
        assert_eq!((gear.open(at(259)), gear.open(at(260))), (a, PhaseSet::NONE));
        gear.obey(at(300), &Orders { trip: PhaseSet::ALL, standing: PhaseSet::ALL, close: true });
        assert_eq!(gear.positions(at(340)), [Position::Open; 4]);
    }
}
