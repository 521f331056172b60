//! Settings of a relay from one YAML text: streams, elements, which elements trip which breakers,
//! the GOOSE messages that say so and those of others, and the host that it runs on.
//!
//! Settings are right as a whole before anything runs: every quantity has its unit and lies
//! within the range of its element, every name that is used exists, and all that is wrong is
//! reported at once, each with its place and the fix. The caller reads the file.
//!
//! The keys stand in tables (`keys`, `elements`), each with its meaning, unit and range, from
//! which the crate `settings` checks them and draws schemas and reference pages. Fields of settings
//! that have the name of a key mean the same.
//!
//! [`merging_unit`]: the same for the program that feeds relays. [`quorum`]: for those that act as
//! one. [`imported`]: settings out of the files of a substation.

mod elements;
mod goose;
mod groups;
mod host;
pub mod imported;
mod keys;
mod locator;
pub mod merging_unit;
mod model;
mod names;
mod qualities;
pub mod quorum;
mod recorder;
mod streams;
mod subscriptions;
mod texts;

use std::collections::BTreeMap;
use std::path::Path;

use ::settings::cursor::{self, Cursor, Mapping};
use ::settings::problems::quoted;
use ::settings::table::Shape::Of;
use ::settings::{Fault, Problems};

pub use host::{Host, Rotation, Thread, WhenDown};
pub use keys::RELAY;
pub use model::{
    Element, Function, GooseControl, Groups, Locator, Mode, Pilot, Protection, Quantity,
    ReclosingElement, Recorder, Relay, Signal, SignalKind, Stream, SwitchOnto,
    SynchronisationNeeded,
};
pub use subscriptions::{Entry, Input, Subscription};
pub use texts::{socket, visible};

use names::Names;
use protection::trip::Matrix;

/// Reads the settings of a relay; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<Relay, Problems> {
    cursor::read(file.as_ref(), text, const { &Of(&RELAY) }, relay)
}

fn relay(top: &Mapping<'_>) -> Option<Relay> {
    top.check();
    let mode = if top.is("mode", "test") { Mode::Test } else { Mode::On };
    let names = Names::of(top);
    let protection = protection(top, &names, mode);
    let goose = goose::read(top, &names, mode);
    let subscriptions = subscriptions::read(top, &names);
    let recorder = recorder::read(top, &names);
    let locator = locator::read(top, &names);
    let host = host::read(top)?;
    let (name, mut protection) = (top.text("relay")?.value, protection?);
    protection.groups = groups::read(top, &names, &protection.elements)?;
    let recorder = recorder?;
    recorder::check_memory(top, &recorder, &protection.streams);
    Some(Relay { name, mode, protection, goose, subscriptions, recorder, locator, host })
}

fn protection(top: &Mapping<'_>, names: &Names<'_>, mode: Mode) -> Option<Protection> {
    let frequency_hz = top.quantity("frequency");
    let streams = streams::read(top, frequency_hz.unwrap_or(50.0), mode);
    let elements = elements::read(top, names);
    let trips = trips(top, names, &elements)?;
    elements::closing::check(top, names, &elements, &trips);
    let groups = Groups::default();
    Some(Protection { trips, streams, elements, frequency_hz: frequency_hz?, groups })
}

/// The trip matrix: a breaker for each key, with its elements.
fn trips(
    top: &Mapping<'_>,
    names: &Names<'_>,
    elements: &BTreeMap<String, Element>,
) -> Option<Matrix> {
    let map = top.mapping_or_empty("trips")?;
    let others = names.elements_of(&elements::TRIP_NOTHING);
    let element = |text: &str| match others.contains(&text) {
        true => Err(Fault::new(
            format!("{} releases, blocks or alarms, and trips nothing", quoted(text)),
            "remove it from `trips`",
        )),
        false => texts::known(text, ["element", "elements"], &names.elements),
    };
    let row = |cursor: &Cursor<'_>| {
        let elements = cursor.items()?;
        Some(elements.iter().filter_map(|item| Some(item.parse(element)?.value)).collect())
    };
    Some(Matrix {
        elements_by_breaker: map.by_name("breakers", row),
        single_pole: single_pole(&map, names, elements),
        pulse_min: map.time("pulse_min")?,
        lockout: map.is("lockout", "yes"),
    })
}

/// Breakers that may be tripped in one pole, and the elements that may do so: those after whose trip the
/// pole is closed again.
fn single_pole(
    map: &Mapping<'_>,
    names: &Names<'_>,
    elements: &BTreeMap<String, Element>,
) -> BTreeMap<String, Vec<String>> {
    let breakers = map.parse_all("single_pole", |text| {
        let breaker = names.breaker(text)?;
        let closes = elements.values().find_map(|element| match &element.function {
            Function::Reclosing(cycle) if cycle.breaker == breaker => {
                cycle.times.dead_time_single.map(|_| cycle.initiate_by.clone())
            }
            _ => None,
        });
        closes.map(|initiators| (breaker, initiators)).ok_or_else(|| {
            let what = format!("nothing closes a pole of {} again", quoted(text));
            let fix = "add an element with `function: reclosing` and `dead_time_single` for it";
            Fault::new(what, fix)
        })
    });
    breakers.into_iter().collect()
}
