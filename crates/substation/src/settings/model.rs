//! Settings after they were read: plain values in base units.

use std::collections::BTreeMap;
use std::time::Duration;

use iec61850::stream::{self, StreamKey};
use iec61850::wire::{Form, MacAddress, Tag};

use super::host::Host;
use super::subscriptions::Subscription;
use crate::protection::trip::Matrix;
use crate::protection::{
    admittance, breaker_failure, differential, direction, distance, frequency_limit, fuse_failure,
    overcurrent, power_swing, voltage,
};

/// All settings of a relay.
#[derive(Clone, PartialEq, Debug)]
pub struct Relay {
    /// Name of the relay, for records and metrics.
    pub name: String,
    /// Whether it is at work or takes part in a test.
    pub mode: Mode,
    /// What it sees and when it trips.
    pub protection: Protection,
    /// GOOSE messages that it publishes, by name.
    pub goose: BTreeMap<String, GooseControl>,
    /// GOOSE messages of other devices, by name.
    pub subscriptions: BTreeMap<String, Subscription>,
    /// Where and how it runs.
    pub host: Host,
}

/// Streams, and the elements that trip breakers by them.
#[derive(Clone, PartialEq, Debug)]
pub struct Protection {
    /// Nominal frequency, in Hz.
    pub frequency_hz: f64,
    /// Streams that it subscribes to, by name.
    pub streams: BTreeMap<String, Stream>,
    /// Protection elements by name.
    pub elements: BTreeMap<String, Element>,
    /// Which elements trip which breakers.
    pub trips: Matrix,
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
    /// What tells it from others.
    pub key: StreamKey,
    /// What its samples must be like.
    pub supervision: stream::Settings,
    /// Whose clock its publisher must follow.
    pub synchronisation: SynchronisationNeeded,
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
    /// Kind of the element, with its settings.
    pub function: Function,
    /// Elements that block it while they see something: a blown fuse, a power swing.
    pub guards: Vec<String>,
}

/// Which current an overcurrent element looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// The largest of the phases: 50, 51.
    Phases,
    /// The residual current: 50N, 51N.
    Residual,
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
}

/// A GOOSE message that the relay publishes.
#[derive(Clone, PartialEq, Debug)]
pub struct GooseControl {
    /// Reference of the control block.
    pub reference: String,
    /// Reference of the data set.
    pub data_set: String,
    /// Name of the message.
    pub go_id: String,
    /// The group that it is sent to.
    pub destination: MacAddress,
    /// APPID of its frames, 0 to 0xbfff.
    pub app_id: u16,
    /// Priority and VLAN of its frames.
    pub tag: Tag,
    /// Revision of the configuration.
    pub conf_rev: u32,
    /// First repetition after a change.
    pub repeat_min: Duration,
    /// Repetition while nothing changes.
    pub repeat_max: Duration,
    /// How integers are encoded.
    pub form: Form,
    /// What it says: booleans, and quality where it is wanted.
    pub signals: Vec<Signal>,
}

/// One value of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    /// Start, operation, trip, or the quality of one.
    pub kind: SignalKind,
    /// Name of the element or breaker, also behind its value.
    pub name: String,
}

/// What a signal says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// An element has started.
    Start,
    /// An element has operated.
    Operate,
    /// A breaker is tripped.
    Trip,
    /// Quality of a start or operation: invalid while the element sees nothing that it can trust.
    ElementQuality,
    /// Quality of a trip.
    TripQuality,
}
