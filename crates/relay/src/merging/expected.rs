//! What a relay that takes no time would do: what its filter and elements need by themselves, apart from
//! what software and network add.
//!
//! The relay's own engine is given the merging unit's own frames, each at the moment at which it
//! is due, and is asked after each. No clock is read and nothing is sent.
//!
//! Records are looked at once, from their first sample to their last: what they hold comes again only
//! where somebody plays them. Computed waves have no end, and are looked at up to the first trip.

use std::collections::BTreeMap;

use iec61850::SampleTime;
use iec61850::wire::{MacAddress, SampledValues};
use protection::PhaseSet;
use serde_json::{Value, json};
use substation::engine::{Arrival, Change, Engine};
use substation::settings::Relay;
use substation::settings::merging_unit::MergingUnit;

use super::disturbance::Fate;
use super::frame;
use super::generator::Generator;
use super::schedule::Schedule;

/// Until when computed waves are looked at: one fault must be within.
const END: SampleTime = SampleTime::from_ns(60_000_000_000);

/// What a relay did, each thing when it first did it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expected {
    /// When the first fault began, if there was one.
    pub(crate) inception: Option<SampleTime>,
    /// How far was looked.
    pub(crate) end: SampleTime,
    /// By name: start and operation of each element.
    pub(crate) elements: BTreeMap<String, [Option<SampleTime>; 2]>,
    /// By name: the trip of each breaker.
    pub(crate) breakers: BTreeMap<String, Option<SampleTime>>,
    /// The first trip of any breaker after the inception.
    trip: Option<SampleTime>,
}

/// What this relay does with the samples of this merging unit.
pub(crate) fn expect(
    unit: &MergingUnit,
    relay: &Relay,
    mut generators: BTreeMap<(String, u16), Generator>,
) -> Expected {
    let streams: Vec<_> = unit.streams.values().collect();
    let mut schedule = Schedule::new(streams.iter().map(|stream| frame::pace(stream)));
    let mut engine = Engine::new(&relay.protection);
    let mut expected = Expected::of(relay);
    let ends = generators.iter().map(|((_, rate), generator)| generator.once(*rate));
    // Where one source has no end there is none.
    let record_end = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
    let end = record_end.unwrap_or(END);
    let (mut due, mut octets) = (Vec::new(), Vec::new());
    while let Some(now) = schedule.next_due().filter(|now| *now < end) {
        schedule.take_due(now, &mut due);
        for (stream, number) in &due {
            let stream = streams[*stream];
            let key = (stream.source.clone(), stream.rate);
            let generator = generators.get_mut(&key).expect("each stream has one");
            let sample = |number| generator.samples(number, PhaseSet::NONE);
            frame::write(
                stream,
                MacAddress::default(),
                *number,
                Fate::default(),
                sample,
                &mut octets,
            );
            let begun = generator.fault_begun(stream.rate).map(|(_, begin)| begin);
            expected.inception = expected.inception.or(begun);
            let decoded = SampledValues::decode(&octets).expect("it was encoded");
            for asdu in decoded.asdus() {
                let mut known = relay.protection.streams.values();
                if let Some(place) = known.position(|s| s.key.matches(&decoded.header, &asdu)) {
                    engine.sample(&Arrival::new(place as u16, now, decoded.header, &asdu));
                }
            }
        }
        expected.end = now;
        engine.step(now).iter().for_each(|change| expected.take(now, *change));
        if record_end.is_none() && expected.trip.is_some() {
            break;
        }
    }
    expected
}

impl Expected {
    fn of(relay: &Relay) -> Self {
        let breakers = relay.protection.trips.elements_by_breaker.keys();
        Self {
            inception: None,
            end: SampleTime::ZERO,
            elements: relay.protection.elements.keys().map(|e| (e.clone(), [None; 2])).collect(),
            breakers: breakers.map(|breaker| (breaker.clone(), None)).collect(),
            trip: None,
        }
    }

    fn take(&mut self, now: SampleTime, change: Change) {
        let (name, phase) = match change {
            Change::Start(place, true) => (place, 0),
            Change::Operate(place, true) => (place, 1),
            Change::Trip(place, true) => {
                let breaker = self.breakers.values_mut().nth(place).expect("it has a name");
                breaker.get_or_insert(now);
                self.trip = self.trip.or(self.inception.map(|_| now));
                return;
            }
            _ => return,
        };
        let element = self.elements.values_mut().nth(name).expect("it has a name");
        element[phase].get_or_insert(now);
    }

    /// From the first inception to the first trip of any breaker after it, in ns.
    pub(crate) fn trip_after_ns(&self) -> Option<i64> {
        self.trip.map(|trip| self.after_inception_ns(trip))
    }

    /// A moment as seen from the inception, or from the first sample where there is none: before it,
    /// below zero.
    fn after_inception_ns(&self, at: SampleTime) -> i64 {
        at.ns() as i64 - self.inception.unwrap_or(SampleTime::ZERO).ns() as i64
    }

    /// All of it, for programs.
    pub(crate) fn summary(&self) -> Value {
        let ns = |at: Option<SampleTime>| at.map(|at| self.after_inception_ns(at));
        let elements = self.elements.iter().map(|(name, [start, operate])| {
            (name, json!({"start_ns": ns(*start), "operate_ns": ns(*operate)}))
        });
        let breakers =
            self.breakers.iter().map(|(name, trip)| (name, json!({"trip_ns": ns(*trip)})));
        json!({
            "trip_after_ns": self.trip_after_ns(),
            "inception_ns": self.inception.map(SampleTime::ns),
            "looked_at_ns": self.end.ns(),
            "elements": elements.collect::<BTreeMap<_, _>>(),
            "breakers": breakers.collect::<BTreeMap<_, _>>(),
        })
    }

    /// Why there is no time from an inception to a trip.
    pub(crate) fn why_no_trip(&self) -> String {
        let looked_s = self.end.ns() as f64 / 1e9;
        let names = |phase: usize| {
            let seen = self.elements.iter().filter(|(_, times)| times[phase].is_some());
            let names: Vec<&str> = seen.map(|(name, _)| name.as_str()).collect();
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        if self.inception.is_none() {
            return format!(
                "no fault begins in {looked_s:.3} s of these sources: give a waveform a `fault`, a \
                 record its `inception`"
            );
        }
        format!(
            "no fault of these sources trips this relay in {looked_s:.3} s; elements that started: \
             {}; that operated: {}",
            names(0),
            names(1)
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use substation::settings::{self, merging_unit};

    use super::*;
    use crate::merging::files::generators;

    const MS: Duration = Duration::from_millis(1);
    const UNIT: &str = include_str!("../../../../scenarios/feeder-fault/merging_unit.yaml");
    const RELAY: &str = include_str!("../../../../scenarios/feeder-fault/relay.yaml");

    fn expected(unit: &str, relay: &str, folder: &Path) -> Expected {
        let unit = merging_unit::read("unit.yaml", unit).unwrap_or_else(|p| panic!("{p}"));
        let relay = settings::read("relay.yaml", relay).expect("the settings are good");
        let generators = generators(&unit, &folder.join("unit.yaml")).expect("files are good");
        expect(&unit, &relay, generators)
    }

    fn trip_after(unit: &str, relay: &str) -> Option<Duration> {
        let after_ns = expected(unit, relay, Path::new("")).trip_after_ns()?;
        Some(Duration::from_nanos(after_ns.try_into().expect("after the inception")))
    }

    #[test]
    fn an_element_needs_a_part_of_a_period_and_its_delay() {
        let at_once = trip_after(UNIT, RELAY).expect("it trips");
        assert!((MS..20 * MS).contains(&at_once), "{at_once:?}");
        let delayed = trip_after(UNIT, &RELAY.replace("delay: 0 ms", "delay: 100 ms"));
        let added = delayed.expect("it trips") - at_once;
        assert!(added.abs_diff(100 * MS) < MS, "{added:?}");
        // A fault that is hardly above the setting takes longer.
        let small = trip_after(&UNIT.replace("current: 8 kA", "current: 2.2 kA"), RELAY);
        assert!(small.expect("it trips") > at_once);
    }

    #[test]
    fn no_trip_is_told() {
        let none = expected(UNIT, &RELAY.replace("2 kA", "90 kA"), Path::new(""));
        assert_eq!(
            (none.trip_after_ns(), none.end >= SampleTime::from_ns(59_000_000_000)),
            (None, true)
        );
        let said = none.why_no_trip();
        assert!(said.contains("elements that started: none; that operated: none"), "{said}");
    }

    /// A record of 400 ms, in which 4 kA flow in phase a from 200 ms on, and a relay that sees it.
    fn of_record(inception: &str, elements: &str) -> Expected {
        let folder = tempfile::tempdir().expect("a folder");
        let configuration = "bay,1,1999\n1,1A,0D\n1,IA,A,,A,1,0,0,-9999,9999,1,1,P\n50\n1\n4000,1600\n\
                             01/01/2020,00:00:00.0\n01/01/2020,00:00:00.2\nASCII\n1\n";
        let line = |n: u32| {
            let peak_a = if n < 800 { 100.0 } else { 4000.0 * std::f64::consts::SQRT_2 };
            let turns = 50.0 * f64::from(n) / 4000.0;
            let value_a = peak_a * (std::f64::consts::TAU * turns).sin();
            format!("{},{},{value_a:.0}\n", n + 1, n * 250)
        };
        std::fs::write(folder.path().join("a.cfg"), configuration).expect("it writes");
        std::fs::write(folder.path().join("a.dat"), (0..1600).map(line).collect::<String>())
            .expect("it writes");
        let unit = format!(
            "merging_unit: bay\nfrequency: 50 Hz\nsources:\n  fault: {{kind: comtrade, configuration: a.cfg, \
             data: a.dat, {inception}channels: [IA, none, none, none, none, none, none, none]}}\n\
             streams:\n  bay: {{sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: \
             4000 Hz, source: fault}}\n"
        );
        let relay = format!(
            "relay: bay\nfrequency: 50 Hz\nstreams: {{s: {{sv_id: MU01, destination: \
             '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}}}\nelements:\n{elements}\
             trips: {{breakers: {{Q0: [fast], Q1: [slow]}}}}\n"
        );
        expected(&unit, &relay, folder.path())
    }

    #[test]
    fn a_record_is_looked_at_once_and_all_that_was_done_is_told() {
        let elements = "  fast: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}\n  \
                        slow: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 150 ms}\n  \
                        last: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 300 ms}\n";
        let seen = of_record("inception: 200 ms, ", elements);
        assert_eq!(seen.inception, Some(SampleTime::from_ns(200_000_000)));
        let end_ms = seen.end.ns() / 1_000_000;
        assert_eq!(end_ms, 399, "once");
        let summary = seen.summary();
        let ms =
            |path: &str| summary.pointer(path).and_then(Value::as_i64).map(|ns| ns / 1_000_000);
        let start = ms("/elements/fast/start_ns").expect("it starts");
        assert!((1..20).contains(&start), "{summary}");
        // It goes on behind the first trip.
        assert_eq!(ms("/trip_after_ns"), ms("/breakers/Q0/trip_ns"));
        assert_eq!(ms("/breakers/Q1/trip_ns"), Some(start + 150), "{summary}");
        assert_eq!(ms("/elements/last/start_ns"), Some(start));
        assert_eq!(summary.pointer("/elements/last/operate_ns"), Some(&Value::Null));
    }

    #[test]
    fn a_record_without_an_inception_is_told_from_its_begin() {
        let elements = "  fast: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}\n  \
                        slow: {function: overcurrent, stream: s, pick_up: 9 kA, delay: 0 s}\n";
        let seen = of_record("", elements);
        assert_eq!((seen.inception, seen.trip_after_ns()), (None, None));
        assert!(seen.why_no_trip().contains("a record its `inception`"), "{}", seen.why_no_trip());
        let summary = seen.summary();
        let trip_ns = summary.pointer("/breakers/Q0/trip_ns").and_then(Value::as_i64);
        assert!(trip_ns.is_some_and(|ns| (200_000_000..220_000_000).contains(&ns)), "{summary}");
    }
}
