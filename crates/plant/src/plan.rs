//! What a plant is made of, read and checked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use vtime::VirtualSpan;

use crate::name::PointName;

/// The simulated grid: OpenDSS in duty mode.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Absolute path of the circuit file.
    pub circuit: PathBuf,
    /// Step of the simulation; a whole number of milliseconds.
    pub step: VirtualSpan,
    /// Inputs that follow recorded data.
    pub profiles: Vec<Profile>,
    /// Time between recorded rows; a multiple of `step`.
    pub record_every: VirtualSpan,
    /// Points to record, in the order of the file.
    pub record: Vec<PointName>,
    /// The share of a requirement's window in which the plant may fail to converge.
    pub unconverged_share: f64,
}

/// A table of values over time, each column of which drives a point (sample and hold).
#[derive(Clone, Debug)]
pub struct Profile {
    /// Absolute path of the CSV file.
    pub file: PathBuf,
    /// The column with the time in seconds.
    pub time_column: String,
    /// Column of the file, and the point that it drives.
    pub columns: BTreeMap<String, PointName>,
}
