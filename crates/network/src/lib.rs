//! The emulated network of a scenario: links and switches in virtual time.
//!
//! Every node has one interface `eth0`, a TAP device in a network namespace of its own. All that
//! lies between them is computed here, in user space: the kernel's own link emulation (netem)
//! waits in host time and would go on delivering while the virtual clock is stopped. Here a
//! frame is stamped with virtual time when it is taken from its sender and handed to its receiver
//! when the virtual clock has reached its arrival, never before, and never while the domain is
//! held.
//!
//! What decides is pure and takes `now` as an argument:
//! - [`link`]: one direction of a link: rate, queue, delay
//! - [`switch`]: a learning switch
//! - [`attacker`]: a host that poisons ARP caches
//! - [`plan`]: the network of a scenario, checked
//! - [`placement`]: which host each part of it is on
//! - [`repeats`]: TCP segments that exist only because the kernel waited on host time
//! - [`owed`]: what kernels may still have to send by timers of their own
//! - [`fabric`]: all of these together, one event after the other
//!
//! - [`wire`]: views of Ethernet, ARP, IPv4, IPv6, TCP and UDP
//! - [`pcapng`]: frames read back from captures, one at a time
//!
//! What touches the world:
//! - [`tap`]: TAP devices and their addresses
//! - [`tcp_settings`]: what keeps TCP in a node from waiting on timers of its own
//! - [`capture`]: pcapng files stamped in virtual time
//! - [`emulator`]: the thread between TAP devices and fabric
//! - [`border`]: other hosts, to which frames go and from which they come
//! - [`outlook`]: what the emulator waits for, for whoever lets virtual time jump
//! - [`stats`]: what it counted; [`whole`]: the same of all hosts

pub mod attacker;
pub mod border;
pub mod capture;
pub mod emulator;
pub mod fabric;
pub mod link;
mod mac_octets;
pub mod outlook;
pub mod owed;
pub mod pcapng;
pub mod placement;
pub mod plan;
pub mod repeats;
pub mod stats;
pub mod switch;
pub mod tap;
pub mod tcp_settings;
pub mod whole;
pub mod wire;

/// An Ethernet frame from destination address to the end of the payload, without preamble and
/// check sequence: what a TAP device reads and writes. Shared, so that flooding and captures copy
/// no octets.
pub type Frame = std::sync::Arc<[u8]>;
