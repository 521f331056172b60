//! A record out of samples and states: primary values of the channels of 9-2LE, a file for each rate.

use iec61850::comtrade::{Analog, Configuration, Encoding, Rate, Record, Revision, date_and_time};
use substation::engine::UNITS;

use super::channels::{Channels, States};
use super::disturbance::Span;
use super::track::Placed;

/// Name, phase and unit of the channels of a stream.
const CHANNELS: [(&str, &str, &str); 8] = [
    ("IA", "A", "A"),
    ("IB", "B", "A"),
    ("IC", "C", "A"),
    ("IN", "N", "A"),
    ("UA", "A", "V"),
    ("UB", "B", "V"),
    ("UC", "C", "V"),
    ("UN", "N", "V"),
];
/// What 16 bits hold.
const STEPS_16: f64 = 32_767.0;

/// Which relay a record is of, and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Style {
    pub(super) relay: String,
    pub(super) frequency_hz: f64,
    pub(super) encoding: Encoding,
}

/// Numbers of the first sample of a span and of the one behind its last.
pub(super) fn numbers(span: &Span, rate: u16) -> std::ops::Range<u64> {
    let number = |ns: u64| (u128::from(ns) * u128::from(rate)).div_ceil(1_000_000_000) as u64;
    number(span.begin_ns)..number(span.end_ns)
}

/// When a sample is due.
pub(super) fn time_ns(number: u64, rate: u16) -> u64 {
    (u128::from(number) * 1_000_000_000 / u128::from(rate)) as u64
}

/// The record of streams of one rate; their states have times of the same axis.
pub(super) fn record(
    style: &Style,
    span: &Span,
    rate: u16,
    streams: &[Placed<'_>],
    (channels, states): (&Channels, &States),
) -> Record {
    let numbers = numbers(span, rate);
    let samples = numbers.end.saturating_sub(numbers.start) as usize;
    let (mut analog, mut about) = (Vec::new(), Vec::new());
    for stream in streams {
        for (channel, (unit, named)) in UNITS.into_iter().zip(CHANNELS).enumerate() {
            let value =
                |number| stream.get(number).map_or(f64::NAN, |raw| f64::from(raw[channel]) * unit);
            let values: Vec<f64> = numbers.clone().map(value).collect();
            about.push(channel_of(stream.name, named, factor(style.encoding, unit, &values)));
            analog.push(values);
        }
    }
    Record {
        configuration: Configuration {
            station: style.relay.clone(),
            recorder: style.relay.clone(),
            revision: Revision::Of2013,
            analog: about,
            digital: channels.all.clone(),
            frequency_hz: style.frequency_hz,
            rates: vec![Rate { hz: rate.into(), last: samples }],
            samples,
            begin: date_and_time(time_ns(numbers.start, rate)),
            trigger: date_and_time(span.trigger_ns),
            encoding: style.encoding,
            stamp_us: 1.0,
        },
        time_s: (0..samples).map(|sample| sample as f64 / f64::from(rate)).collect(),
        digital: states.at(numbers.map(|number| time_ns(number, rate))),
        analog,
    }
}

fn channel_of(stream: &str, (name, phase, unit): (&str, &str, &str), factor: f64) -> Analog {
    Analog {
        name: format!("{stream} {name}"),
        phase: phase.to_owned(),
        component: stream.to_owned(),
        unit: unit.to_owned(),
        factor,
        offset: 0.0,
        skew_us: 0.0,
        ratio: 1.0,
        is_primary: true,
    }
}

/// The value of one step: that of the sampled values, or what makes the largest value fit.
fn factor(encoding: Encoding, unit: f64, values: &[f64]) -> f64 {
    let largest = values.iter().filter(|value| value.is_finite());
    let largest = largest.fold(0.0_f64, |largest, value| largest.max(value.abs()));
    match encoding {
        Encoding::Binary32 => unit,
        Encoding::Float32 => 1.0,
        Encoding::Ascii | Encoding::Binary => unit.max(largest / STEPS_16),
    }
}
