//! The agent of a run: the process that owns the domain of a run, its nodes and their programs.
//!
//! - [`daemon`]: `qcycle agent`, which a run starts; [`orders`] is what the two say to each other
//! - [`child`]: an agent as a child of whoever starts it
//! - [`relay`]: `qcycle relay`, between an agent on another machine and its runner; [`line`] is what goes over the line,
//!   [`outlet`] the relay's way into it
//! - [`lost`]: which hosts are lost
//! - [`needs`], [`kept`]: what they need of the machine, and what programs get of its variables
//! - [`naming`]: the name of its domain
//! - [`node`]: a place where programs run
//! - [`other_hosts`]: asks the agents of other hosts, and answers them
//! - [`outlook`]: what the network waits for, for a clock that jumps
//! - [`starter`]: starts the programs of all nodes
//! - [`wakes`]: when what is due reaches a node
//! - [`watch`]: what keeps programs from acting in time

pub mod child;
pub mod daemon;
pub mod kept;
pub mod line;
mod lost;
pub mod naming;
pub mod needs;
pub mod node;
pub mod orders;
mod other_hosts;
mod outlet;
mod outlook;
mod output;
mod owner;
mod points;
pub mod relay;
mod starter;
mod wakes;
mod watch;
