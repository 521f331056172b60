//! Reads `recorder`: when the disturbance recorder (RDRE of IEC 61850-7-4) records, how much, and where
//! its records go.

use std::collections::BTreeMap;

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional};
use ::settings::table::Shape::{Choice, Several, Whole, Within};
use ::settings::table::{Key, Shape, Table, key};
use ::settings::units::Dimension::{Size, Time};
use iec61850::comtrade::Encoding;

use super::goose::signal;
use super::model::{Recorder, Signal, SignalKind, Stream};
use super::names::Names;
use super::texts::TEXT;

const BEFORE: Shape = Within(Time, 0.02, 10.0);
const AFTER: Shape = Within(Time, 0.02, 10.0);
const LENGTH_MAX: Shape = Within(Time, 0.1, 60.0);
/// What is kept of a sample: eight values of 32 bits, and whether it came.
const SAMPLE_OCTETS: f64 = 36.0;
/// What is kept of all streams together: it never leaves memory.
const KEPT_OCTETS_MAX: f64 = 1_073_741_824.0;
/// A megabyte to a tebibyte.
const SIZE: Shape = Within(Size, 1_048_576.0, 1_099_511_627_776.0);
const FORMATS: Key = key(
    "format",
    Choice(&["binary", "binary32", "float32", "ascii"]),
    Default("binary32"),
    "of data; `binary32` has each sample as it came, `binary` and `ascii` have 16 bits of it",
);

pub(super) static RECORDER: Table = Table {
    what: "a disturbance recorder",
    name: "recorder",
    keys: &[
        key("folder", TEXT, Optional, "where records go; without it none are written"),
        key("before", BEFORE, Default("200 ms"), "recorded before the first trigger"),
        key("after", AFTER, Default("500 ms"), "recorded after the last trigger has dropped"),
        key("length_max", LENGTH_MAX, Default("5 s"), "longest record"),
        key(
            "triggers",
            Several(&TEXT),
            Optional,
            "such as `start Z1`, `operate Z1`, `trip Q0`; without it, each start and trip",
        ),
        key("size_max", SIZE, Default("1 GiB"), "of all records; the oldest are removed"),
        key("keep", Whole { min: 1, max: 100_000 }, Default("200"), "how many records are kept"),
        FORMATS,
    ],
};

pub(super) fn read(top: &Mapping<'_>, names: &Names<'_>) -> Option<Recorder> {
    let map = top.mapping_or_empty("recorder")?;
    let [before, after] = [map.time("before")?, map.time("after")?];
    let length_max = map.time("length_max")?;
    if length_max < before + after {
        let what = "not even `before` and `after` fit into the longest record";
        map.wrong("length_max", what, "give at least their sum");
    }
    let triggers = match map.has("triggers") {
        true => map.parse_all("triggers", |text| signal(text, names)),
        false => every_start_and_trip(names),
    };
    Some(Recorder {
        folder: map.text("folder").map(|folder| folder.value),
        before,
        after,
        length_max,
        triggers,
        size_octets_max: map.quantity("size_max")? as u64,
        keep: map.whole("keep")?.value,
        encoding: match map.choice("format")?.value {
            "ascii" => Encoding::Ascii,
            "binary" => Encoding::Binary,
            "float32" => Encoding::Float32,
            _ => Encoding::Binary32,
        },
    })
}

/// Refuses a longest record for which samples of all streams would take too much memory.
pub(super) fn check_memory(
    top: &Mapping<'_>,
    recorder: &Recorder,
    streams: &BTreeMap<String, Stream>,
) {
    let rate: f64 = streams.values().map(|stream| f64::from(stream.supervision.rate)).sum();
    let octets = recorder.length_max.as_secs_f64() * rate * SAMPLE_OCTETS;
    if octets > KEPT_OCTETS_MAX
        && let Some(map) = top.mapping_or_empty("recorder")
    {
        let (streams, mebibytes) = (streams.len(), (octets / 1_048_576.0).ceil());
        // Down to what is written with a digit.
        let fits_s = (KEPT_OCTETS_MAX / (rate * SAMPLE_OCTETS) * 10.0).floor() / 10.0;
        let what = format!("samples of {streams} streams would take {mebibytes} MiB of memory");
        let fix = format!("give {fits_s} s or less (1024 MiB), or other streams to another relay");
        map.wrong("length_max", what, fix);
    }
}

fn every_start_and_trip(names: &Names<'_>) -> Vec<Signal> {
    let of = |kind, name: &&str| Signal { kind, name: (*name).to_owned() };
    let starts = names.elements.iter().map(|name| of(SignalKind::Start, name));
    starts.chain(names.breakers.iter().map(|name| of(SignalKind::Trip, name))).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    #[test]
    fn what_does_not_fit_into_memory_is_refused_and_what_is_proposed_fits() {
        let settings = |length_max: &str| {
            let mut text = "relay: bay\nfrequency: 50 Hz\nstreams:\n".to_owned();
            for number in 0..40 {
                let _infallible = writeln!(
                    text,
                    "  s{number}: {{sv_id: S{number}, destination: '01:0c:cd:04:00:01', app_id: \
                     0x4000, rate: 14400 Hz}}"
                );
            }
            super::super::read(
                "relay.yaml",
                &format!("{text}recorder: {{length_max: {length_max}}}"),
            )
        };
        let problems = settings("60 s").expect_err("it is too much").to_string();
        assert!(problems.contains("samples of 40 streams would take 1187 MiB"), "{problems}");
        assert!(problems.contains("give 51.7 s or less"), "{problems}");
        assert!(settings("51.7 s").is_ok());
        assert!(settings("51.8 s").is_err());
    }
}
