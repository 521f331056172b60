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
//! scenario reads it, and `check` holds the parts against each other.

mod check;
mod cursor;
mod document;
mod events;
mod files;
mod instant;
mod keys;
pub mod model;
mod names;
mod network;
mod nodes;
mod plant;
mod problems;
mod profile;
mod read;
mod reference;
mod requirements;
mod schema;
mod suggest;
mod topology;
pub mod units;
mod words;

pub use instant::realtime_ns as moment;
pub use problems::{Fault, Problem, Problems};
pub use read::{Options, read, variants};
pub use reference::{example, reference};
pub use schema::schema;
