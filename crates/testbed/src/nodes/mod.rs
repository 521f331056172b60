//! The agent of a run: the process that owns the domain of a run, its nodes and their programs.
//!
//! - [`daemon`]: `qcycle agent`, which a run starts; [`orders`] is what the two say to each other
//! - [`node`]: a place where programs run
//! - [`watch`]: what keeps programs from acting in time

pub mod daemon;
pub mod node;
pub mod orders;
mod output;
mod owner;
mod points;
mod watch;
