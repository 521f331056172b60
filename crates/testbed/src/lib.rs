//! The testbed behind `qcycle`, as a library so that tests and benches reach its parts.
//!
//! - [`domain`]: the owner's side of a time domain
//! - [`launch`]: programs in virtual time: seccomp filter, exec following, image
//! - [`agent`]: the per-host daemon that owns domains, nodes and programs, and its protocol
//! - [`scenario`]: what a user writes, read and checked as a whole
//! - [`plant`]: the simulated grid
//! - [`devices`]: what programs see of the plant
//! - [`network`]: links and switches in virtual time
//! - [`latency`]: how late this platform lets programs act
//! - [`check`]: whether this host is ready for protection software
//! - [`bus`]: programs on a process bus in host time
//! - [`run`]: one execution of a scenario, from start to verdict
//! - [`results`]: what a run leaves behind, and the verdicts drawn from it
//! - [`report`]: one HTML page drawn from run folders
//! - [`exit`]: exit codes by name
//! - [`wire`]: views of Ethernet, ARP, IPv4, TCP and UDP
//! - [`fds`]: messages with descriptors between processes
//! - [`files`]: folders and files that a user has named

pub mod agent;
pub mod bus;
pub mod check;
pub mod devices;
pub mod domain;
pub mod exit;
pub mod fds;
pub mod files;
pub mod latency;
pub mod launch;
pub mod network;
pub mod plant;
mod regular;
pub mod report;
pub mod results;
pub mod run;
pub mod scenario;
pub mod wire;
