//! What a user writes in `scenario.yaml`, read and checked as a whole before anything starts.
//!
//! - [`model`]: a scenario that was read; the contract with all other parts
//! - [`read()`], [`variants`]: from a file to the model, or to everything that is wrong with it
//! - [`schema()`], [`reference()`]: the format for editors and for people
//!
//! Inside, `keys` is the table of all keys, one module for each part of a scenario reads it, and
//! `check` holds the parts against each other.

mod check;
mod events;
mod files;
mod hosts;
mod instant;
mod keys;
pub mod model;
mod network;
mod nodes;
mod plant;
mod profile;
mod read;
mod reference;
mod requirements;
pub mod script;
mod spread;
pub mod told;
mod topology;

pub use files::find_program;
pub use instant::realtime_ns as moment;
pub use read::{Options, read, variants};
pub use reference::{example, reference, schema};
