//! What a user writes in `scenario.yaml`, read and checked as a whole before anything starts.

mod document;
pub mod model;
mod problems;
mod suggest;

pub use problems::{Fault, Problem, Problems};
