//! A source while it is published: its generator, and the breaker between it and the fault.
//!
//! A breaker that is closed by orders is one for all sources, and stays as it is from fault to fault. One
//! that nobody closes does so by itself, for the next fault of each source: as each has faults of its own,
//! each has a breaker of its own.

use iec61850::SampleTime;
use protection::PhaseSet;
use substation::settings::merging_unit::TrippedBreaker;

use super::generator::{Generator, Samples};
use super::plant::PlantFile;
use super::switchgear::{Orders, Switchgear};

/// A generator, the breaker in front of it, and what was reported of its faults.
#[derive(Debug)]
pub(super) struct SourceState {
    pub(super) name: String,
    pub(super) rate: u16,
    pub(super) generator: Generator,
    /// Nothing where the breaker is closed by orders.
    pub(super) own_gear: Option<SelfClosing>,
    /// The fault of this episode, by its place in the list, and when it began on this host.
    pub(super) fault: Option<(u64, usize, SampleTime)>,
    /// Where its phasors are, if it follows a simulated grid.
    pub(super) plant: Option<PlantFile>,
}

/// A breaker that is closed again when the next fault of its source begins.
#[derive(Debug)]
pub(super) struct SelfClosing {
    gear: Switchgear,
    /// The episode in which it was tripped.
    tripped_in: Option<u64>,
}

impl SourceState {
    /// Samples behind the source's own breaker, or else behind that of all.
    pub(super) fn samples(&mut self, number: u64, gear: Option<&Switchgear>) -> Samples {
        let episode = self.generator.episode_at(number);
        let own = self.own_gear.as_ref();
        let gear = own.map_or(gear, |own| (own.tripped_in == Some(episode)).then_some(&own.gear));
        let now = SampleTime::of_sample(number, self.rate.into());
        self.generator.samples(number, gear.map_or(PhaseSet::NONE, |gear| gear.open(now)))
    }

    pub(super) fn follow_plant(&mut self, now: SampleTime) -> anyhow::Result<()> {
        let Some(plant) = &mut self.plant else { return Ok(()) };
        if let Some(phasors) = plant.read_when_due(now)? {
            self.generator.set_phasors(phasors);
        }
        Ok(())
    }

    pub(super) fn obey(&mut self, at: SampleTime, orders: &Orders) {
        let Some(own) = &mut self.own_gear else { return };
        if !orders.trip.is_empty() {
            let number = u128::from(at.ns()) * u128::from(self.rate) / 1_000_000_000;
            let episode = self.generator.episode_at(number as u64);
            if own.tripped_in.replace(episode) != Some(episode) {
                own.gear.close_at_once();
            }
        }
        own.gear.obey(at, orders);
    }
}

impl SelfClosing {
    pub(super) fn new(breaker: &TrippedBreaker) -> Self {
        Self { gear: Switchgear::new(breaker), tripped_in: None }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use substation::settings::merging_unit;

    use super::*;
    use crate::merging::files::generators;

    const UNIT: &str = "
merging_unit: test
frequency: 50 Hz
sources:
  bay:
    kind: waveform
    voltage: 60 kV
    current: 400 A
    fault: {at: 200 ms, every: 1 s, lasts: 500 ms, phases: abc, current: 8 kA, voltage_left: 10 %}
streams:
  MU01: {sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4000 Hz, source: bay}
breaker: {reference: Q0, destination: 01:0c:cd:01:00:01, app_id: 1, opening: 40 ms}
";

    /// The largest current of phase A within a period from here on.
    fn current(source: &mut SourceState, gear: Option<&Switchgear>, from_ms: u64) -> i32 {
        let numbers = from_ms * 4..from_ms * 4 + 80;
        numbers.map(|number| source.samples(number, gear)[0].value.abs()).max().unwrap_or(0)
    }

    fn source() -> (SourceState, TrippedBreaker) {
        let unit = merging_unit::read("unit.yaml", UNIT).unwrap_or_else(|p| panic!("{p}"));
        let mut all = generators(&unit, Path::new("")).expect("there are no files");
        let ((name, rate), generator) = all.pop_first().expect("there is one");
        let breaker = unit.breaker.expect("there is one");
        let own_gear = Some(SelfClosing::new(&breaker));
        (SourceState { name, rate, generator, own_gear, fault: None, plant: None }, breaker)
    }

    const TRIP: Orders = Orders { trip: PhaseSet::ALL, close: false, standing: PhaseSet::ALL };

    #[test]
    fn an_own_breaker_ends_this_fault_and_is_closed_for_the_next() {
        let (mut source, _) = source();
        assert!(current(&mut source, None, 240) > 8_000_000);
        source.obey(SampleTime::from_ns(260_000_000), &TRIP);
        assert!(current(&mut source, None, 270) > 8_000_000, "its contacts are not apart yet");
        assert_eq!(current(&mut source, None, 400), 0);
        assert!(current(&mut source, None, 1240) > 8_000_000, "it has closed");
    }

    #[test]
    fn a_breaker_that_is_closed_by_orders_is_that_of_all_sources_and_stays_open() {
        let (mut source, breaker) = source();
        source.own_gear = None;
        let mut gear = Switchgear::new(&breaker);
        gear.obey(SampleTime::from_ns(260_000_000), &TRIP);
        source.obey(SampleTime::from_ns(260_000_000), &TRIP);
        assert!(current(&mut source, Some(&gear), 240) > 8_000_000);
        assert_eq!(current(&mut source, Some(&gear), 400), 0);
        assert_eq!(current(&mut source, Some(&gear), 1240), 0);
    }
}
