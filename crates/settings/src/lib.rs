#![forbid(unsafe_code)]
//! Settings that users write, read and checked before anything starts; each error has line, key
//! and fix.
//!
//! From the file upwards: [`document`] is YAML with places, a [`table`] has all keys of a mapping,
//! and a [`cursor`] takes typed values from the one by the other. [`schema`] and [`reference`]
//! draw the JSON Schema and the reference page from the same tables.
//!
//! - [`problems`]: everything that is wrong with a file
//! - [`names`], [`units`], [`words`]: names, quantities and command lines as users write them
//! - [`suggest`]: "did you mean"

pub mod cursor;
pub mod document;
pub mod names;
pub mod problems;
pub mod reference;
pub mod schema;
pub mod suggest;
pub mod table;
pub mod units;
pub mod words;

pub use problems::{Fault, Problem, Problems, Spot};
