//! Settings after they were read: plain values in base units.

use std::collections::BTreeMap;
use std::time::Duration;

use super::host::Host;
use super::subscriptions::Subscription;
use crate::protection::trip::Matrix;
use crate::protection::{
    admittance, breaker_failure, differential, direction, distance, frequency_limit, overcurrent,
    voltage,
};
use crate::stream::{self, StreamKey};
use crate::wire::{Form, MacAddress, Tag};

/// All settings of a relay.
#[derive(Clone, PartialEq, Debug)]
pub struct Relay {
    /// Its name.
    pub name: String,
    /// Nominal frequency, in Hz.
    pub frequency_hz: f64,
    /// Streams that it subscribes to, by name.
    pub streams: BTreeMap<String, Stream>,
    /// Elements by name.
    pub elements: BTreeMap<String, Element>,
    /// Which elements trip which breakers.
    pub trips: Matrix,
    /// GOOSE messages that it publishes, by name.
    pub goose: BTreeMap<String, GooseControl>,
    /// GOOSE messages of other devices, by name.
    pub subscriptions: BTreeMap<String, Subscription>,
    /// Where and how it runs.
    pub host: Host,
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

/// One element.
#[derive(Clone, PartialEq, Debug)]
pub struct Element {
    /// Streams that it looks at, one for each side.
    pub streams: Vec<String>,
    /// What it does.
    pub function: Function,
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
#[expect(missing_docs, reason = "each is the element of its module")]
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
    },
    Admittance(admittance::Settings),
    BreakerFailure {
        breaker: String,
        settings: breaker_failure::Settings,
    },
}

/// A GOOSE message.
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
    /// APPID.
    pub app_id: u16,
    /// Priority and VLAN.
    pub tag: Tag,
    /// Revision of the configuration.
    pub conf_rev: u32,
    /// First repetition after a change.
    pub repeat_min: Duration,
    /// Repetition while nothing changes.
    pub repeat_max: Duration,
    /// How integers are encoded.
    pub form: Form,
    /// What it says, one boolean each.
    pub signals: Vec<Signal>,
}

/// One boolean of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal {
    /// What of it.
    pub kind: SignalKind,
    /// Name of the element or breaker.
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
}
