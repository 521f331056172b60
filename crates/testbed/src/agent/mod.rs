//! The per-host daemon that owns time domains, and everything that talks to it.
//!
//! Whoever wants something of a program in virtual time asks its agent, by messages over a
//! socket, also on the same machine: so that programs may as well be on another host. `qcycle
//! exec` is an agent with one program in the foreground, `qcycle agent` one that a run starts.
//!
//! - [`protocol`]: the messages
//! - [`registry`]: where the sockets of agents lie, and finding them by name
//! - [`control`]: an agent's side of the socket: holds, dilation, status
//! - [`client`]: the other side: `qcycle hold`, `release`, `dilate`, `ps`
//! - [`exec`]: `qcycle exec`
//! - [`daemon`]: `qcycle agent`, which a run starts; [`orders`] is what the two say to each other
//! - [`node`]: a place where programs run
//! - [`keep`]: the process between an agent and a program that keeps its terminal and its end
//! - [`orphans`]: what a program leaves behind

pub mod client;
pub mod control;
pub mod daemon;
pub mod exec;
pub mod keep;
pub mod node;
pub mod orders;
mod orphans;
mod output;
mod owner;
mod points;
pub mod protocol;
pub mod registry;
pub(crate) mod signals;
