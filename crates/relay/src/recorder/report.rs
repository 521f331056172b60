//! What is said of a fault that tripped a breaker: which elements saw it and when, currents and voltages
//! before it and at the operation, how long it lasted, and where it is.

use protection::Measurands;
use protection::locator::{Location, Method, Settings};
use serde_json::{Map, Value, json};
use substation::fault::{Fault, Recorded};
use substation::settings::{Relay, SignalKind};

use super::channels::{Channels, Edge, States};
use super::compose::{numbers, time_ns};
use super::disturbance::Span;
use super::track::Placed;
use crate::measurands;
use substation::engine::UNITS;

/// Names of what a report is about.
#[derive(Debug)]
pub(super) struct Reporter {
    relay: String,
    frequency_hz: f64,
    elements: Vec<String>,
    breakers: Vec<String>,
    /// The stream that faults are located by, and its line.
    locator: Option<(String, Settings)>,
}

impl Reporter {
    pub(super) fn new(relay: &Relay) -> Self {
        let locator = relay.locator.as_ref();
        Self {
            relay: relay.name.clone(),
            frequency_hz: relay.protection.frequency_hz,
            elements: relay.protection.elements.keys().cloned().collect(),
            breakers: relay.protection.trips.elements_by_breaker.keys().cloned().collect(),
            locator: locator.map(|locator| (locator.stream.clone(), locator.line)),
        }
    }

    /// The report; nothing unless a breaker was tripped.
    pub(super) fn report(
        &self,
        span: &Span,
        streams: &[Placed<'_>],
        (channels, states): (&Channels, &States),
        records: &[String],
    ) -> Option<Value> {
        let within = |edge: &&Edge| (span.begin_ns..=span.end_ns).contains(&edge.at_ns) && edge.on;
        let edges: Vec<&Edge> = states.edges().filter(within).collect();
        let first = |kind, place| {
            let channel = channels.of_signal(kind, place)?;
            edges.iter().find(|edge| edge.channel == channel).map(|edge| edge.at_ns)
        };
        let all = |kind, names: &[String]| -> Vec<(String, Option<u64>)> {
            let each = names.iter().enumerate();
            each.map(|(place, name)| (name.clone(), first(kind, place))).collect()
        };
        let starts = all(SignalKind::Start, &self.elements);
        let operations = all(SignalKind::Operate, &self.elements);
        let trips = all(SignalKind::Trip, &self.breakers);
        let earliest = |of: &[(String, Option<u64>)]| of.iter().filter_map(|each| each.1).min();
        let tripped_ns = earliest(&trips)?;
        let start_ns = earliest(&starts).unwrap_or(span.trigger_ns);
        let operation_ns = earliest(&operations).unwrap_or(tripped_ns);
        let after_ms = |at_ns: u64| (at_ns as f64 - start_ns as f64) / 1e6;
        let elements = starts
            .iter()
            .zip(&operations)
            .filter(|(start, operation)| start.1.is_some() || operation.1.is_some());
        let elements = elements.map(|((name, started), (_, operated))| {
            json!({
                "element": name,
                "start_ms": started.map(after_ms),
                "operate_ms": operated.map(after_ms),
            })
        });
        let trips = trips.iter().filter_map(|(breaker, at_ns)| {
            Some(json!({"breaker": breaker, "trip_ms": after_ms((*at_ns)?)}))
        });
        let (mut seen, mut location) = (Map::new(), Value::Null);
        for stream in streams {
            let line = self.locator.as_ref().filter(|(located, _)| located == stream.name);
            let line = line.map(|(_, line)| *line);
            let fault = self.fault(span, stream, [start_ns, operation_ns], line);
            if let (Some(found), Some(line)) = (&fault.location, line) {
                location = place(stream.name, found, &line);
            }
            seen.insert(stream.name.to_owned(), of_stream(&fault, span, stream.rate));
        }
        Some(json!({
            "fault": self.relay,
            "first_start_ns": start_ns,
            "elements": elements.collect::<Vec<_>>(),
            "trips": trips.collect::<Vec<_>>(),
            "streams": seen,
            "location": location,
            "records": records,
        }))
    }

    fn fault(
        &self,
        span: &Span,
        stream: &Placed<'_>,
        [start_ns, operation_ns]: [u64; 2],
        line: Option<Settings>,
    ) -> Fault {
        let rate = stream.rate;
        let numbers = numbers(span, rate);
        let place = |at_ns: u64| {
            let number = (u128::from(at_ns) * u128::from(rate) / 1_000_000_000) as u64;
            number.saturating_sub(numbers.start) as usize
        };
        let primary = |raw: [i32; 8]| std::array::from_fn(|c| f64::from(raw[c]) * UNITS[c]);
        let samples: Vec<_> =
            numbers.clone().map(|number| stream.get(number).map(primary)).collect();
        let recorded =
            Recorded { samples: &samples, rate: rate.into(), frequency_hz: self.frequency_hz };
        recorded.fault(place(start_ns), Some(place(operation_ns)), line)
    }
}

fn of_stream(fault: &Fault, span: &Span, rate: u16) -> Value {
    let first = numbers(span, rate).start;
    let at_ns = |sample: usize| time_ns(first + sample as u64, rate);
    let phasors = |shown: &Option<Measurands>| {
        shown.as_ref().map(|shown| {
            json!({
                "currents_a": shown.currents.as_ref().map(measurands::quantities),
                "voltages_v": shown.voltages.as_ref().map(measurands::quantities),
            })
        })
    };
    let lasted = fault.begin.zip(fault.gone);
    json!({
        "inception_ns": fault.begin.map(at_ns),
        "before": phasors(&fault.before),
        "at_operation": phasors(&fault.at_operation),
        "duration_ms": lasted.map(|(begin, gone)| (gone - begin) as f64 * 1e3 / f64::from(rate)),
    })
}

fn place(stream: &str, location: &Location, line: &Settings) -> Value {
    let Location { share, uncertainty, phases, method } = location;
    json!({
        "stream": stream,
        "phases": phases.to_string(),
        "ohm": share * line.impedance.norm(),
        "percent": share * 100.0,
        "km": share * line.length_km,
        "uncertainty_percent": uncertainty * 100.0,
        "uncertainty_km": uncertainty * line.length_km,
        "method": match method {
            Method::Takagi => "takagi",
            Method::Reactance => "reactance",
        },
    })
}
