//! The agent of a run: the process that owns the domain of a run, its nodes and their programs.
//!
//! - [`daemon`]: `qcycle agent`, which a run starts; [`orders`] is what the two say to each other
//! - [`node`]: a place where programs run
//! - [`outlook`]: what the network waits for, for a clock that jumps
//! - [`starter`]: starts the programs of all nodes
//! - [`wakes`]: when what is due reaches a node
//! - [`watch`]: what keeps programs from acting in time

pub mod daemon;
pub mod node;
pub mod orders;
mod outlook;
mod output;
mod owner;
mod points;
mod starter;
mod wakes;
mod watch;
