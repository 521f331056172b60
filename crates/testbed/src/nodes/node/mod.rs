//! A node: a place where programs run, with interfaces, processes and mounts of its own.
//!
//! A node is network, mount, IPC and UTS namespaces of its own, none of which has a name on the
//! host, and a namespace of processes. When the first process of that dies, by whatever cause, the
//! kernel ends every process in it, and with them goes everything that it had: so nothing can be
//! left behind. It dies with the process outside, which starts the programs, and that with the
//! agent.
//!
//! - [`inside`]: the process that starts programs
//! - [`begin`]: one of them, from its fork to its exec
//! - [`first`]: the first process of their namespace
//! - [`handle`]: what its agent has of it
//! - [`messages`]: the messages between the two

mod begin;
mod first;
mod handle;
pub mod inside;
mod messages;

pub(super) use handle::{NodeHandle, NodeOrders};
pub(super) use messages::FromNode;
