//! What was published of such a system on four boards: Hannon, Yan, Liu and Jin, A Distributed Virtual Time System on
//! Embedded Linux for Evaluating Cyber-Physical Systems, SIGSIM-PADS 2019. The file beside this has figures that were
//! read in its text and tables, which are facts and under no licence, and nothing else of it.

use report_kit::csv::fields;
use serde::{Deserialize, Serialize};

const FILE: &str = include_str!("published_2019.csv");

pub(crate) const PAUSE_ONE: &str = "pause 16 processes, one board";
pub(crate) const RESUME_ONE: &str = "resume 16 processes, one board";
pub(crate) const FOUR: &str = "pause or resume 8 processes, four boards";
pub(crate) const ROUNDS: &str = "pause/resume rounds in the skew test";
pub(crate) const THROUGHPUT: &str = "iperf3 TCP between two boards";
pub(crate) const RATIO: &str = "wall time per virtual time, power grid case";

/// A figure of the paper.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Published {
    pub(crate) quantity: String,
    pub(crate) value: f64,
    pub(crate) unit: String,
    pub(crate) note: String,
}

/// The figure of this name; the file has it.
pub(crate) fn published(quantity: &str) -> Option<Published> {
    FILE.lines().skip(1).map(fields).find_map(|line| match &line[..] {
        [name, value, unit, note] if name == quantity => Some(Published {
            quantity: name.clone(),
            value: value.parse().ok()?,
            unit: unit.replace("us", "µs"),
            note: note.clone(),
        }),
        _ => None,
    })
}
