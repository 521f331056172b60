//! Settings of a merging unit that is a program: the streams that it publishes, the waves that
//! they carry, and what goes wrong on the way.
//!
//! A source makes samples, a stream carries one source to one group, a disturbance spoils streams
//! for a while, and a breaker that is tripped over GOOSE ends the fault current of sources. Files
//! (fault records, captures) are named here and read by the caller.

mod disturbances;
mod keys;
mod read;
mod sources;

use std::collections::BTreeMap;
use std::time::Duration;

pub use read::read;

use ::settings::Spot;
use iec61850::stream::StreamKey;
use iec61850::wire::{MacAddress, Synchronisation, Tag};

use crate::protection::Complex;

/// Streams that one merging unit may publish: far more than a process bus of 100 Mbit/s carries.
pub const STREAMS_MAX: usize = 256;

/// All settings of a merging unit.
#[derive(Clone, PartialEq, Debug)]
pub struct MergingUnit {
    /// Name of the merging unit, for messages.
    pub name: String,
    /// Nominal frequency, in Hz.
    pub frequency_hz: f64,
    /// The interface that it sends to, unless the command line names one.
    pub interface: Option<String>,
    /// How long it publishes; without, until it is ended.
    pub duration: Option<Duration>,
    /// What the chance of disturbances begins with: the same seed, the same frames.
    pub seed: u32,
    /// Where samples come from, by name.
    pub sources: BTreeMap<String, Source>,
    /// Streams that it publishes, by name.
    pub streams: BTreeMap<String, PublishedStream>,
    /// What goes wrong with frames, by name.
    pub disturbances: BTreeMap<String, Disturbance>,
    /// The breaker, if somebody may trip it.
    pub breaker: Option<TrippedBreaker>,
}

/// A stream that is published.
#[derive(Clone, PartialEq, Debug)]
pub struct PublishedStream {
    /// Group, APPID and name.
    pub key: StreamKey,
    /// Priority and VLAN; frames without a tag if there is none.
    pub tag: Option<Tag>,
    /// Revision of the configuration.
    pub conf_rev: u32,
    /// Samples per second, 1000 to 15,360.
    pub rate: u16,
    /// Samples in a frame.
    pub asdus: u8,
    /// How much later than its newest sample a frame is sent.
    pub phase: Duration,
    /// What the stream says of its clock.
    pub synchronisation: Synchronisation,
    /// The name of its source.
    pub source: String,
}

/// Where samples come from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// They are computed from phasors and faults.
    Waveform(Waveform),
    /// They are those of a record.
    Playback(Playback),
    /// They follow a simulated grid.
    Plant(Plant),
}

/// A place in a simulated grid, whose quantities are files with a number each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plant {
    /// Where the files are.
    pub folder: String,
    /// The bus with the voltages: `680` for `bus.680.v1` and so on.
    pub bus: String,
    /// The element with the currents: `line.650632` for `line.650632.i1`.
    pub element: String,
    /// How often they are read.
    pub every: Duration,
}

/// Three symmetrical phases, and perhaps a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Waveform {
    /// Frequency of the waves, in Hz.
    pub frequency_hz: f64,
    /// Voltage of phase A to earth at time zero.
    pub voltage: Complex,
    /// Current of phase A at time zero.
    pub current: Complex,
    /// Harmonics of currents: number, and share of the fundamental.
    pub current_harmonics: Vec<(u8, f64)>,
    /// Harmonics of voltages: number, and share of the fundamental.
    pub voltage_harmonics: Vec<(u8, f64)>,
    /// A fault in the waves; none without it.
    pub fault: Option<WaveformFault>,
    /// Current transformers that saturate; ideal ones if there are none.
    pub transformer: Option<Transformer>,
}

/// A fault, once or again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct WaveformFault {
    /// It begins at the first moment from here on at which `inception_deg` is right.
    pub at: Duration,
    /// From one fault to the next; once if there is none.
    pub every: Option<Duration>,
    /// How long it stays if nobody clears it.
    pub lasts: Option<Duration>,
    /// Which of the phases A, B, C.
    pub phases: [bool; 3],
    /// Root mean square value of the fault current, in A.
    pub current_a: f64,
    /// By how much the current lags its voltage, in degrees.
    pub lag_deg: f64,
    /// What is left of the voltage of faulted phases.
    pub voltage_left: f64,
    /// Where on the wave of the first faulted phase's voltage it begins: 0 at the rising zero, in
    /// degrees.
    pub inception_deg: f64,
    /// Time constant of the direct current that decays.
    pub tau: Duration,
}

/// A current transformer with a burden.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transformer {
    /// Primary to secondary current.
    pub ratio: f64,
    /// Burden with winding, in ohm.
    pub burden_ohm: f64,
    /// Saturation voltage at 10 A of magnetising current, in V.
    pub saturation_v: f64,
    /// Flux that is left in it, as a share of the knee.
    pub remanence: f64,
}

/// Samples that somebody has recorded, again and again.
#[derive(Clone, PartialEq, Debug)]
pub struct Playback {
    /// Files that hold the record.
    pub record: RecordFiles,
    /// When the fault begins in it, so that its time can be reported.
    pub inception: Option<Duration>,
    /// Where its source stands, for what is wrong with the files.
    pub spot: Spot,
}

/// A record by its files, relative to the settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordFiles {
    /// A fault record (COMTRADE).
    Comtrade {
        /// The `.cfg` file, which describes channels and rates.
        configuration: String,
        /// The `.dat` file, which holds the samples.
        data: String,
        /// Names of its channels for Ia Ib Ic In Ua Ub Uc Un; `none` for one that stays zero.
        channels: Vec<String>,
    },
    /// Sampled values as somebody captured them.
    Capture {
        /// A libpcap file with frames of sampled values.
        file: String,
        /// Name of the stream in it.
        sv_id: String,
        /// Its samples a second, which a capture does not tell.
        rate: u16,
    },
}

/// Something that goes wrong with frames for a while.
#[derive(Clone, PartialEq, Debug)]
pub struct Disturbance {
    /// What happens to the frames.
    pub kind: DisturbanceKind,
    /// Which streams; all if there are none.
    pub streams: Vec<String>,
    /// Share of the frames that it strikes.
    pub share: f64,
    /// From the first frame to its start.
    pub at: Duration,
    /// How long; to the end if nothing is said.
    pub lasts: Option<Duration>,
}

/// What happens to a frame.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DisturbanceKind {
    /// It is not sent.
    Loss,
    /// It is sent twice.
    Duplicate,
    /// It is sent behind the next one.
    Reorder,
    /// It says that its clock follows nothing.
    Unsynchronised,
    /// All its samples are invalid.
    Invalid,
    /// All its samples are questionable.
    Questionable,
    /// All its samples were made by a test.
    Test,
}

/// A breaker that a GOOSE message trips.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrippedBreaker {
    /// Reference of the control block.
    pub reference: String,
    /// The group that the message is sent to.
    pub destination: MacAddress,
    /// APPID of its frames, 0 to 0xbfff.
    pub app_id: u16,
    /// Which of the values is the trip, counted from 0.
    pub value: usize,
    /// From the message to contacts apart.
    pub opening: Duration,
    /// File that gets a 0 then: the breaker in a simulated grid.
    pub position: Option<String>,
}
