//! A node: a place where programs run, with interfaces, processes and mounts of its own.
//!
//! A node is a process, the first of a process-ID namespace, in network, mount, IPC and UTS
//! namespaces of its own, none of which has a name on the host. When it dies, by whatever cause,
//! the kernel ends every process in it, and with them goes everything that it had: so nothing
//! can be left behind. It dies with its agent.
//!
//! - [`inside`]: the process itself
//! - [`handle`]: what its agent has of it
//! - [`talk`]: the messages between the two

mod handle;
pub mod inside;
mod talk;

pub(super) use handle::{NodeEvent, NodeHandle};
