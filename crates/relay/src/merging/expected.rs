//! When a relay that takes no time would trip: what the filter and the element need by themselves,
//! apart from what software and network add.
//!
//! The relay's own engine is given the merging unit's own frames, each at the moment at which it
//! is due, and is asked after each. No clock is read and nothing is sent.

use std::collections::BTreeMap;

use iec61850::SampleTime;
use iec61850::wire::{MacAddress, SampledValues};
use substation::engine::{Arrival, Change, Engine};
use substation::settings::Relay;
use substation::settings::merging_unit::MergingUnit;

use super::disturbance::Fate;
use super::frame;
use super::generator::Generator;
use super::schedule::Schedule;

/// Longest time that is looked at: one fault must be within.
const SPAN_NS: u64 = 60_000_000_000;

/// The first trip of any breaker after the first inception, in ns since that inception; nothing
/// when there is no fault, or none that trips within a minute.
pub(crate) fn trip_after_ns(
    unit: &MergingUnit,
    relay: &Relay,
    mut generators: BTreeMap<(String, u16), Generator>,
) -> Option<i64> {
    let streams: Vec<_> = unit.streams.values().collect();
    let mut schedule = Schedule::new(streams.iter().map(|stream| frame::pace(stream)));
    let mut engine = Engine::new(&relay.protection);
    let (mut due, mut octets, mut inception_ns) = (Vec::new(), Vec::new(), None);
    while let Some(now_ns) = schedule.next_due_ns().filter(|now_ns| *now_ns < SPAN_NS) {
        schedule.take_due(now_ns, &mut due);
        let now = SampleTime::from_ns(now_ns);
        for (stream, number) in &due {
            let stream = streams[*stream];
            let generator = generators.get_mut(&(stream.source.clone(), stream.rate))?;
            let sample = |number| generator.samples(number, false);
            frame::write(
                stream,
                MacAddress::default(),
                *number,
                Fate::default(),
                sample,
                &mut octets,
            );
            let begun = generator.fault_begun(stream.rate);
            inception_ns =
                inception_ns.or(begun.map(|(_, begin_s)| (begin_s * 1e9).round() as i64));
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
            && let Some(inception_ns) = inception_ns
        {
            return Some(now_ns as i64 - inception_ns);
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

    const UNIT: &str = include_str!("../../../../scenarios/feeder-fault/merging_unit.yaml");
    const RELAY: &str = include_str!("../../../../scenarios/feeder-fault/relay.yaml");

    fn expected(unit: &str, relay: &str) -> Option<i64> {
        let unit = merging_unit::read("unit.yaml", unit).expect("the settings are good");
        let relay = settings::read("relay.yaml", relay).expect("the settings are good");
        let generators = generators(&unit, Path::new("")).expect("there are no files");
        trip_after_ns(&unit, &relay, generators)
    }

    #[test]
    fn an_element_needs_a_part_of_a_period_and_its_delay() {
        let at_once = expected(UNIT, RELAY).expect("it trips");
        assert!((1_000_000..20_000_000).contains(&at_once), "{at_once}");
        let delayed = expected(UNIT, &RELAY.replace("delay: 0 ms", "delay: 100 ms"));
        let added = delayed.expect("it trips") - at_once;
        assert!(added.abs_diff(100_000_000) < 1_000_000, "{added}");
        // A fault that is hardly above the setting takes longer.
        let small = expected(&UNIT.replace("current: 8 kA", "current: 2.2 kA"), RELAY);
        assert!(small.expect("it trips") > at_once);
    }

    #[test]
    fn no_trip_is_told() {
        assert_eq!(expected(UNIT, &RELAY.replace("2 kA", "90 kA")), None);
    }
}
