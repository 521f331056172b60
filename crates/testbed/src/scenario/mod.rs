//! What a user writes in `scenario.yaml`, read and checked as a whole before anything starts.

mod document;
mod instant;
pub mod model;
mod names;
mod problems;
mod suggest;
pub mod units;
mod words;

pub use problems::{Fault, Problem, Problems};
