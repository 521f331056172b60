//! Settings after they were read: plain values in base units.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::comtrade::Encoding;
use iec61850::stream::{self, StreamKey};
use iec61850::wire::{Form, MacAddress, Tag};

use super::host::Host;
use super::subscriptions::{Entry, Subscription};
use protection::recent::Transformers;
use protection::trip::Matrix;
use protection::{
    admittance, breaker_failure, breaker_supervision, broken_conductor, ct_supervision,
    differential, direction, distance, frequency_limit, frequency_rate, fuse_failure, overcurrent,
    power, power_swing, reclosing, restricted_earth, switch_onto_fault, synchro_check,
    teleprotection, thermal, voltage,
};

/// All settings of a relay.
#[derive(Clone, PartialEq, Debug)]
pub struct Relay {
    pub name: String,
    pub mode: Mode,
    pub protection: Protection,
    pub goose: BTreeMap<String, GooseControl>,
    pub subscriptions: BTreeMap<String, Subscription>,
    pub recorder: Recorder,
    pub locator: Option<Locator>,
    pub host: Host,
}

/// Streams, and the elements that trip breakers by them.
#[derive(Clone, PartialEq, Debug)]
pub struct Protection {
    pub frequency_hz: f64,
    pub streams: BTreeMap<String, Stream>,
    pub elements: BTreeMap<String, Element>,
    pub trips: Matrix,
    /// Other settings of the elements.
    pub groups: Groups,
}

impl Protection {
    /// The place of the element or breaker that a value of a message is for, in the order of their names.
    #[must_use]
    pub fn place(&self, entry: &Entry) -> Option<usize> {
        let breakers = &self.trips.elements_by_breaker;
        match entry {
            Entry::Input(_, name) | Entry::InitiatePole(name, _) => {
                self.elements.keys().position(|known| known == name)
            }
            Entry::Position(name)
            | Entry::PolePosition(name, _)
            | Entry::Trip(name)
            | Entry::Reset(name) => breakers.keys().position(|known| known == name),
            Entry::Group(_) | Entry::Quality(_) | Entry::Unused => None,
        }
    }
}

/// Setting groups beside the first one.
#[derive(Clone, PartialEq, Debug)]
pub struct Groups {
    /// Elements of group 2, 3 and so on that differ from those of group 1, with all their settings;
    /// `None`: it is off there.
    pub others: Vec<BTreeMap<String, Option<Element>>>,
    /// The group that is active at the start, from 1.
    pub active: u8,
}

impl Default for Groups {
    fn default() -> Self {
        Self { others: Vec::new(), active: 1 }
    }
}

impl Groups {
    /// How many there are, the first one included.
    #[must_use]
    pub fn count(&self) -> u8 {
        1 + self.others.len() as u8
    }
}

/// Whether a relay is at work (`Mod` of LLN0, IEC 61850-7-4 annex A).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It is: what comes from a test is not used.
    On,
    /// It takes part in a test: what comes from one is used as well, and what it says itself has
    /// the quality of a test, so that devices at work do not follow it.
    Test,
}

/// A stream of sampled values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stream {
    pub key: StreamKey,
    pub supervision: stream::Settings,
    pub synchronisation: SynchronisationNeeded,
    pub transformers: Transformers,
}

/// Whose clock a publisher must follow so that its samples are used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SynchronisationNeeded {
    /// Nobody's: elements that use this stream alone work.
    None,
    /// One of the substation.
    Local,
    /// One that follows universal time.
    Global,
}

/// A protection element with its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct Element {
    /// Streams that it looks at, one for each side.
    pub streams: Vec<String>,
    pub function: Function,
    /// Elements that block it while they see something: a blown fuse, a power swing, a current
    /// transformer that failed.
    pub guards: Vec<String>,
}

/// Which current an overcurrent element looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// The largest of the phases: 50, 51.
    Phases,
    /// The residual current: 50N, 51N.
    Residual,
    /// The negative sequence current, `I2`: 46.
    NegativeSequence,
}

/// What an element does, with its settings.
#[derive(Clone, PartialEq, Debug)]
pub enum Function {
    Overcurrent {
        of: Quantity,
        settings: overcurrent::Settings,
    },
    Directional(direction::Settings),
    Voltage(voltage::Settings),
    Frequency(frequency_limit::Settings),
    Distance(distance::Settings),
    Differential {
        settings: differential::Settings,
        /// Rated current of each side, in A, and the number of its vector group.
        sides: Vec<(f64, u8)>,
        /// Susceptance of the line between the sides, whose charging current is no difference, in
        /// S; zero where there is none.
        charging_s: f64,
    },
    Admittance(admittance::Settings),
    BreakerFailure {
        breaker: String,
        settings: breaker_failure::Settings,
    },
    FuseFailure(fuse_failure::Settings),
    PowerSwing(power_swing::Settings),
    BrokenConductor(broken_conductor::Settings),
    FrequencyRate(frequency_rate::Settings),
    Power(power::Settings),
    CtSupervision(ct_supervision::Settings),
    Thermal(thermal::Settings),
    RestrictedEarth(restricted_earth::Settings),
    SwitchOntoFault(SwitchOnto),
    Teleprotection(Pilot),
    BreakerSupervision {
        breaker: String,
        settings: breaker_supervision::Settings,
    },
    /// Its streams are those of the line and of the busbar.
    SynchroCheck(synchro_check::Settings),
    Reclosing(ReclosingElement),
    PoleDiscordance {
        breaker: String,
        delay: Duration,
    },
}

/// A switch-onto-fault element, and what it looks at by name.
#[derive(Clone, PartialEq, Debug)]
pub struct SwitchOnto {
    /// Whose position tells that the line is off.
    pub breaker: Option<String>,
    /// Elements whose start it takes for a fault of the line.
    pub elements: Vec<String>,
    pub settings: switch_onto_fault::Settings,
}

/// A teleprotection element, and what it looks at by name.
#[derive(Clone, PartialEq, Debug)]
pub struct Pilot {
    /// Which a weak end does not trip when it is open.
    pub breaker: Option<String>,
    /// Elements that look ahead, beyond the line.
    pub forward: Vec<String>,
    /// Elements that look ahead no further than the line.
    pub underreaching: Vec<String>,
    /// Elements that look behind.
    pub reverse: Vec<String>,
    pub settings: teleprotection::Settings,
}

/// A reclosing element, and what it looks at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReclosingElement {
    pub breaker: String,
    pub initiate_by: Vec<String>,
    pub release: Option<String>,
    pub needs_ready: bool,
    pub open_pole_blocks: Vec<String>,
    pub times: reclosing::Settings,
}

/// A GOOSE message that the relay publishes.
#[derive(Clone, PartialEq, Debug)]
pub struct GooseControl {
    pub reference: String,
    pub data_set: String,
    pub go_id: String,
    pub destination: MacAddress,
    pub app_id: u16,
    pub tag: Tag,
    pub conf_rev: u32,
    pub repeat_min: Duration,
    pub repeat_max: Duration,
    pub form: Form,
    /// What it says: booleans, and quality where it is wanted.
    pub signals: Vec<Signal>,
}

/// When a disturbance recorder records, how much, and where its records go.
#[derive(Clone, PartialEq, Debug)]
pub struct Recorder {
    pub folder: Option<String>,
    pub before: Duration,
    pub after: Duration,
    pub length_max: Duration,
    pub triggers: Vec<Signal>,
    pub size_octets_max: u64,
    pub keep: u64,
    pub encoding: Encoding,
}

/// A fault locator and the stream that it looks at.
#[derive(Clone, PartialEq, Debug)]
pub struct Locator {
    pub stream: String,
    pub line: protection::locator::Settings,
}

/// One value of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    pub kind: SignalKind,
    /// Name of the element or breaker, also behind its value.
    pub name: String,
}

/// What a signal says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    Start,
    Operate,
    Trip,
    /// Quality of a start or operation: invalid while the element sees nothing that it can trust.
    ElementQuality,
    TripQuality,
    /// One pole of a breaker is tripped; its place.
    TripPole(usize),
    /// A reclosing element closes no more.
    Lockout,
}
