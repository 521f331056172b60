//! Settings of a merging unit that is a program: the streams that it publishes, the waves that
//! they carry, and what goes wrong on the way.
//!
//! A source makes samples, a stream carries one source to one group, a disturbance spoils streams
//! for a while, and a breaker that is tripped over GOOSE ends the fault current of sources. Files
//! (fault records, captures) are named here and read by the caller.

mod keys;
mod read;

use std::collections::BTreeMap;
use std::time::Duration;

pub use keys::MERGING_UNIT;
pub use read::read;

use ::settings::Spot;
use iec61850::stream::StreamKey;
use iec61850::wire::{MacAddress, Synchronisation, Tag};

use super::model::GooseControl;
use protection::Complex;

/// Streams that one merging unit may publish: far more than a process bus of 100 Mbit/s carries.
pub const STREAMS_MAX: usize = 256;

/// All settings of a merging unit.
#[derive(Clone, PartialEq, Debug)]
pub struct MergingUnit {
    pub name: String,
    pub frequency_hz: f64,
    pub interface: Option<String>,
    pub duration: Option<Duration>,
    pub seed: u32,
    pub sources: BTreeMap<String, Source>,
    pub streams: BTreeMap<String, PublishedStream>,
    pub disturbances: BTreeMap<String, Disturbance>,
    pub breaker: Option<TrippedBreaker>,
}

/// A stream that is published.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedStream {
    pub key: StreamKey,
    /// Priority and VLAN; frames without a tag if there is none.
    pub tag: Option<Tag>,
    pub conf_rev: u32,
    pub rate: u16,
    pub asdus: u8,
    pub phase: Duration,
    pub synchronisation: Synchronisation,
    pub source: String,
}

/// Where samples come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    Waveform(Waveform),
    Playback(Playback),
    Plant(Plant),
}

/// A place in a simulated grid, whose quantities are files with a number each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plant {
    pub folder: String,
    pub bus: String,
    pub element: String,
    pub every: Duration,
}

/// Three symmetrical phases, and perhaps a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Waveform {
    pub frequency_hz: f64,
    /// Voltage of phase A to earth at time zero.
    pub voltage: Complex,
    /// Current of phase A at time zero.
    pub current: Complex,
    /// Harmonics of currents: number, and share of the fundamental.
    pub current_harmonics: Vec<(u8, f64)>,
    pub voltage_harmonics: Vec<(u8, f64)>,
    pub fault: Option<WaveformFault>,
    pub transformer: Option<Transformer>,
}

/// A fault, once or again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveformFault {
    /// It begins at the first moment from here on at which `inception_deg` is right.
    pub at: Duration,
    pub every: Option<Duration>,
    pub lasts: Option<Duration>,
    pub phases: [bool; 3],
    pub current_a: f64,
    pub lag_deg: f64,
    pub voltage_left: f64,
    /// Where on the wave of the first faulted phase's voltage it begins: 0 at the rising zero, in
    /// degrees.
    pub inception_deg: f64,
    pub tau: Duration,
    /// Once its phases carry no current for so long it is gone; without it, it stays.
    pub dies_after: Option<Duration>,
}

/// A current transformer with a burden.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transformer {
    pub ratio: f64,
    pub burden_ohm: f64,
    pub saturation_v: f64,
    pub remanence: f64,
}

/// Samples that somebody has recorded, again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct Playback {
    pub record: RecordFiles,
    pub inception: Option<Duration>,
    /// Where its source stands, for what is wrong with the files.
    pub spot: Spot,
}

/// A record by its files, relative to the settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordFiles {
    /// A fault record (COMTRADE).
    Comtrade {
        configuration: String,
        /// Nothing where `configuration` is a combined file.
        data: Option<String>,
        /// Names of its channels for Ia Ib Ic In Ua Ub Uc Un; `none` for one that stays zero.
        channels: Vec<String>,
    },
    /// Sampled values as somebody captured them.
    Capture { file: String, sv_id: String, rate: u16 },
}

/// Something that goes wrong with frames for a while.
#[derive(Clone, PartialEq, Debug)]
pub struct Disturbance {
    pub kind: DisturbanceKind,
    /// Which streams; all if there are none.
    pub streams: Vec<String>,
    pub share: f64,
    pub at: Duration,
    pub lasts: Option<Duration>,
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DisturbanceKind {
    Loss,
    Duplicate,
    /// It is sent behind the next one.
    Reorder,
    /// It says that its clock follows nothing.
    Unsynchronised,
    Invalid,
    Questionable,
    Test,
}

/// A breaker that a GOOSE message trips.
#[derive(Clone, PartialEq, Debug)]
pub struct TrippedBreaker {
    pub reference: String,
    pub destination: MacAddress,
    pub app_id: u16,
    pub value: usize,
    /// Values that trip single poles, of A, B and C; none where it has one drive.
    pub pole_values: Vec<usize>,
    pub closes: Option<Closes>,
    /// The message with the position of the breaker and of its poles.
    pub tells: Option<GooseControl>,
    pub opening: Duration,
    pub position: Option<String>,
}

/// How a breaker is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closes {
    /// Which value of the message closes it, from 0.
    pub value: usize,
    pub closing: Duration,
}
