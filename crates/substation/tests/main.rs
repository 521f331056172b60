//! Settings as somebody writes them, and whole relays on waves.
mod closing;
mod curves;
mod engine;
mod faults;
mod frequency_rate;
mod groups;
mod lines;
mod logic;
mod merging_unit;
mod open_pole;
mod phasors;
mod samples;
mod scl;
mod settings;
mod settings_elements;
mod settings_quorum;
mod single_pole;
mod synchro;
// The captures of `iec61850`.
#[path = "../../iec61850/tests/support/mod.rs"]
mod support;
