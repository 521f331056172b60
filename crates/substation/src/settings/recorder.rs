//! Reads `recorder`: when the disturbance recorder (RDRE of IEC 61850-7-4) records, how much, and where
//! its records go.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional};
use ::settings::table::Shape::{Choice, Several, Whole, Within};
use ::settings::table::{Key, Shape, Table, key};
use ::settings::units::Dimension::{Size, Time};
use iec61850::comtrade::Encoding;

use super::goose::signal;
use super::model::{Recorder, Signal, SignalKind};
use super::names::Names;
use super::texts::TEXT;

const BEFORE: Shape = Within(Time, 0.02, 10.0);
const AFTER: Shape = Within(Time, 0.02, 10.0);
const LENGTH_MAX: Shape = Within(Time, 0.1, 60.0);
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

fn every_start_and_trip(names: &Names<'_>) -> Vec<Signal> {
    let of = |kind, name: &&str| Signal { kind, name: (*name).to_owned() };
    let starts = names.elements.iter().map(|name| of(SignalKind::Start, name));
    starts.chain(names.breakers.iter().map(|name| of(SignalKind::Trip, name))).collect()
}
