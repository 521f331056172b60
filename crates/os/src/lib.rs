//! The system calls that programs of the project make, each behind a safe function.
//!
//! - [`fds`]: messages with descriptors between processes
//! - [`files`]: folders and files that a user has named; [`regular`]: files that are no devices
//! - [`process`]: who is meant by a number, and whether it is still the same one
//! - [`glance`]: command lines of foreign processes, whose memory may never answer
//! - [`seccomp`]: filters of system calls, and what they notify
//! - [`signals`]: signals as events, and pidfds
//! - [`namespaces`]: places for programs that are gone with them
//! - [`sockets`]: the folder in which agents have their sockets; [`tcp`]: connections that are being made
//! - [`realtime`]: what makes a thread a real-time one; [`run_delay`]: how long it waited for its core
//! - [`packet`], [`datagram`]: frames and datagrams in batches, with the kernel's stamps
//! - [`wake`]: one thread wakes another that polls
//! - [`clock`]: how far `CLOCK_REALTIME` may be off
//! - [`at_rest`]: whether a thread sleeps; [`wakings`]: whether it was woken
//! - [`kernel_types`]: where a member of one of the kernel's structures stands
//! - [`elf`]: symbols of an object, and whether it needs a loader
//! - [`link_kind`]: what kind of link an interface of the host is
//! - [`queueing`]: the queue of packets in front of an interface
//! - [`routes`]: when a namespace's kernel acknowledges data of TCP
//! - [`process_bus`]: kernel links between namespaces, for relays that run in host time

pub mod at_rest;
pub mod clock;
pub mod datagram;
pub mod elf;
pub mod fds;
pub mod files;
pub mod glance;
pub mod kernel_types;
pub mod link_kind;
pub mod namespaces;
pub mod packet;
pub mod process;
pub mod process_bus;
pub mod queueing;
pub mod realtime;
pub mod regular;
pub mod routes;
pub mod run_delay;
pub mod seccomp;
pub mod signals;
pub mod sockets;
pub mod tcp;
pub mod wake;
pub mod wakings;
