//! `qcycle`: runs scenarios, as a library so that tests and benches reach its parts.
//!
//! - [`run`]: one execution of a scenario, from start to verdict
//! - [`nodes`]: the agent of a run, with its nodes and their programs
//! - [`devices`]: what programs see of the plant
//! - [`compare`]: whether runs are the same
//! - [`bus`]: programs on a process bus in host time

pub mod bus;
pub mod compare;
pub mod devices;
pub mod nodes;
pub mod run;

use report_kit::machine::Build;

/// What this program was built from.
pub const BUILD: Build =
    Build { version: env!("CARGO_PKG_VERSION"), commit: option_env!("QCYCLE_GIT_COMMIT") };
