//! Settings of a relay from one YAML text: streams, elements, which elements trip which breakers,
//! the GOOSE messages that say so and those of others, and the host that it runs on.
//!
//! Settings are right as a whole before anything runs: every quantity has its unit and lies
//! within the range of its element, every name that is used exists, and all that is wrong is
//! told at once, each with its line and the way out. Whoever calls reads the file.
//!
//! [`merging_unit`]: the same for the program that feeds relays. [`quorum`]: for those that act as
//! one. [`imported`]: settings out of the files of a substation.

mod cursor;
mod elements;
mod goose;
mod host;
pub mod imported;
pub mod merging_unit;
mod model;
mod problems;
pub mod quorum;
mod streams;
mod subscriptions;
mod tree;
mod units;

use std::time::Duration;

pub use host::{Host, Thread, WhenDown};
pub use model::{
    Element, Function, GooseControl, Mode, Quantity, Relay, Signal, SignalKind, Stream,
    SynchronisationNeeded,
};
pub use problems::{Problem, Problems};
pub use subscriptions::{Entry, Subscription};

use crate::protection::trip::Matrix;
use cursor::Map;
use problems::Collector;
use units::Unit;

/// Reads the settings of a relay.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(text: &str) -> Result<Relay, Problems> {
    let collector = Collector::default();
    let relay = tree::parse(text, &collector).and_then(|value| relay(&value, &collector));
    collector.finish(relay)
}

/// A time such as `60 s` or `500ms`, as command lines name it.
///
/// # Errors
/// What is wrong with the text, and the way out.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let seconds = units::parse(text, Unit::Time).map_err(|(what, out)| format!("{what}; {out}"))?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| format!("{} is not a time; give 0 s or more", problems::quoted(text)))
}

fn relay(value: &tree::Value, collector: &Collector) -> Option<Relay> {
    let top = Map::new(value, "", collector)?;
    let name = top.text("relay");
    let frequency_hz = top.quantity("frequency", Unit::Frequency, 45.0..=65.0);
    let mode = match top.optional_choice("mode", &["on", "test"]) {
        Some("test") => Mode::Test,
        _ => Mode::On,
    };
    let streams = streams::read(&top, frequency_hz.unwrap_or(50.0), mode);
    let elements = elements::read(&top);
    let trips = trips(&top);
    let goose = goose::read(&top, mode);
    let subscriptions = subscriptions::read(&top);
    let host = host::read(&top);
    top.finish();
    let (name, frequency_hz) = (name?, frequency_hz?);
    Some(Relay { name, frequency_hz, mode, streams, elements, trips, goose, subscriptions, host })
}

/// The trip matrix: a breaker for each key, with its elements.
fn trips(top: &Map<'_>) -> Matrix {
    let mut matrix = Matrix::default();
    let elements = top.names_below("elements");
    let Some(trips) = top.map("trips") else { return matrix };
    let pulse = trips.optional_time("pulse_min", Duration::ZERO, Duration::from_secs(10));
    matrix.pulse_min = pulse.unwrap_or(Duration::from_millis(100));
    matrix.lockout = trips.optional_choice("lockout", &["yes", "no"]) == Some("yes");
    if let Some(breakers) = trips.map("breakers") {
        for breaker in breakers.names() {
            let row = breakers.names_in_list(&breaker, "element", elements.iter());
            matrix.elements_by_breaker.insert(breaker, row);
        }
        breakers.finish();
    }
    trips.finish();
    matrix
}
