//! When a relay that takes no time would trip: what the filter and the element need by themselves,
//! apart from what software and network add.
//!
//! The relay's own engine is given the merging unit's own frames, each at the moment at which it
//! is due, and is asked after each. No clock is read and nothing is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::SampleTime;
use iec61850::wire::{MacAddress, SampledValues};
use substation::engine::{Arrival, Change, Engine};
use substation::protection::PhaseSet;
use substation::settings::Relay;
use substation::settings::merging_unit::MergingUnit;

use super::disturbance::Fate;
use super::frame;
use super::generator::Generator;
use super::schedule::Schedule;

/// Until when is looked: one fault must be within.
const END: SampleTime = SampleTime::from_ns(60_000_000_000);

/// From the first inception to the first trip of any breaker after it; nothing when there is no
/// fault, or none that trips within a minute.
pub(crate) fn trip_after(
    unit: &MergingUnit,
    relay: &Relay,
    mut generators: BTreeMap<(String, u16), Generator>,
) -> Option<Duration> {
    let streams: Vec<_> = unit.streams.values().collect();
    let mut schedule = Schedule::new(streams.iter().map(|stream| frame::pace(stream)));
    let mut engine = Engine::new(&relay.protection);
    let (mut due, mut octets, mut inception) = (Vec::new(), Vec::new(), None);
    while let Some(now) = schedule.next_due().filter(|now| *now < END) {
        schedule.take_due(now, &mut due);
        for (stream, number) in &due {
            let stream = streams[*stream];
            let generator = generators.get_mut(&(stream.source.clone(), stream.rate))?;
            let sample = |number| generator.samples(number, PhaseSet::NONE);
            frame::write(
                stream,
                MacAddress::default(),
                *number,
                Fate::default(),
                sample,
                &mut octets,
            );
            inception = inception.or(generator.fault_begun(stream.rate).map(|(_, begin)| begin));
            let decoded = SampledValues::decode(&octets).expect("it was encoded");
            for asdu in decoded.asdus() {
                let mut known = relay.protection.streams.values();
                if let Some(place) = known.position(|s| s.key.matches(&decoded.header, &asdu)) {
                    engine.sample(&Arrival::new(place as u16, now, decoded.header, &asdu));
                }
            }
        }
        let is_trip = |change: &Change| matches!(change, Change::Trip(_, true));
        if engine.step(now).iter().any(is_trip)
            && let Some(inception) = inception
        {
            return Some(now.since(inception));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use substation::settings::{self, merging_unit};

    use super::*;
    use crate::merging::files::generators;

    const MS: Duration = Duration::from_millis(1);
    const UNIT: &str = include_str!("../../../../scenarios/feeder-fault/merging_unit.yaml");
    const RELAY: &str = include_str!("../../../../scenarios/feeder-fault/relay.yaml");

    fn expected(unit: &str, relay: &str) -> Option<Duration> {
        let unit = merging_unit::read("unit.yaml", unit).expect("the settings are good");
        let relay = settings::read("relay.yaml", relay).expect("the settings are good");
        let generators = generators(&unit, Path::new("")).expect("there are no files");
        trip_after(&unit, &relay, generators)
    }

    #[test]
    fn an_element_needs_a_part_of_a_period_and_its_delay() {
        let at_once = expected(UNIT, RELAY).expect("it trips");
        assert!((MS..20 * MS).contains(&at_once), "{at_once:?}");
        let delayed = expected(UNIT, &RELAY.replace("delay: 0 ms", "delay: 100 ms"));
        let added = delayed.expect("it trips") - at_once;
        assert!(added.abs_diff(100 * MS) < MS, "{added:?}");
        // A fault that is hardly above the setting takes longer.
        let small = expected(&UNIT.replace("current: 8 kA", "current: 2.2 kA"), RELAY);
        assert!(small.expect("it trips") > at_once);
    }

    #[test]
    fn no_trip_is_told() {
        assert_eq!(expected(UNIT, &RELAY.replace("2 kA", "90 kA")), None);
    }
}
