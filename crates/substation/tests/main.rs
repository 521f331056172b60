//! Settings as somebody writes them, and whole relays on waves.
mod curves;
mod engine;
mod faults;
mod frequency_rate;
mod groups;
mod lines;
mod logic;
mod merging_unit;
mod phasors;
mod scl;
mod settings;
mod settings_elements;
mod settings_quorum;
// The captures of `iec61850`.
#[path = "../../iec61850/tests/support/mod.rs"]
mod support;
