//! The process that owns a time domain, and everything that talks to it.
//!
//! Commands ask the agent of a program in virtual time, by messages over a
//! socket, also on the same machine: so that programs may as well be on another host. `qcycle
//! exec` is an agent with one program in the foreground, `qcycle agent` one that a run starts.
//!
//! - [`protocol`]: the messages
//! - [`registry`]: the names of domains, and finding their agents
//! - [`control`]: an agent's side of the socket
//! - [`local`]: what is done there to the domain: holds, dilation, status
//! - [`together`]: where a domain spans several hosts: what others have to answer or do
//! - [`query`]: how a domain and its programs stand
//! - [`client`]: the other side, for `qcycle hold`, `release`, `dilate`, `query` and `ps`
//! - [`target`]: whom these commands mean
//! - [`listing`]: what they print
//! - [`exec`]: `qcycle exec`; [`attach`]: `qcycle attach`
//! - [`keep`]: the process between an agent and a program, which ends what that leaves behind

pub mod attach;
pub mod client;
pub mod control;
pub mod exec;
pub mod keep;
pub mod listing;
pub mod local;
mod peer;
pub mod protocol;
mod query;
pub mod registry;
pub mod target;
mod together;
