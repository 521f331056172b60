//! What a user writes in `scenario.yaml`, read and checked as a whole before anything starts.
//!
//! - [`model`]: a scenario that was read; the contract with all other parts
//! - [`read()`], [`variants`]: from a file to the model, or to everything that is wrong with it
//! - [`units`]: quantities as users write them, for the command line too
//!
//! - [`schema()`], [`reference()`]: the format for editors and for people
//!
//! Inside, from the file upwards: `document` is YAML with places, `keys` the table of all keys,
//! `cursor` takes typed values from the one by the other, one module for each part of a
//! scenario reads it, and `check` holds the parts against each other. `document`, `keys`, `cursor`
//! and `suggest` know nothing of scenarios, and read the files of `qcycle latency` as well.

mod check;
pub(crate) mod cursor;
pub(crate) mod document;
mod events;
mod files;
mod instant;
pub(crate) mod keys;
pub mod model;
pub(crate) mod names;
mod network;
mod nodes;
mod plant;
pub(crate) mod problems;
mod profile;
mod read;
pub(crate) mod reference;
mod requirements;
mod schema;
pub(crate) mod script;
pub(crate) mod suggest;
pub mod told;
mod topology;
pub mod units;
pub(crate) mod words;

pub use instant::realtime_ns as moment;
pub use problems::{Fault, Problem, Problems, Spot};
pub use read::{Options, read, variants};
pub use reference::{example, reference};
pub use schema::schema;
