//! An order: what `qcprobe attend` is asked to do where it was started.
//!
//! It reads the order from its standard input, one line of JSON. It starts the loads, waits until
//! they are under way, measures by the plan, and says the stream on its standard output; without a
//! plan it is a neighbour, which keeps the loads running. A further line, `stop`, or the end of the
//! input ends it: a pipe that its owner holds is a lifeline that works on every platform, and holds
//! whatever way the owner ends. What it started ends with it.

mod keep;
mod tend;

use serde::{Deserialize, Serialize};

use crate::Plan;

pub use keep::keep;
pub use tend::{Tended, tend};

/// Begin of a line on standard error that says which load did not run, or not all the time.
pub const LOAD_MISSING: &str = "qcprobe: load: ";

/// What is measured, and what runs beside it meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Order {
    /// None: nothing is measured, only the loads run.
    pub plan: Option<Plan>,
    pub loads: Vec<Load>,
    /// From the start of the loads to the begin of the measurement, ns.
    pub settle_ns: u64,
}

/// A program that keeps a platform busy. One that ends well is started again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Program, as the shell would find it, and arguments.
    pub words: Vec<String>,
    /// Cores that it may use; none: all.
    pub cores: Vec<usize>,
}
