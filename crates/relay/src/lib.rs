//! What runs on a process bus: frames from and to network interfaces, and the programs that use
//! them.
//!
//! What a relay decides is in the crate `substation`, without a system call; here are the sockets,
//! clocks and threads round it.
//!
//! - [`merging`]: what publishes sampled values, `qcmerge`.
//! - [`packet`]: frames of one EtherType in batches, stamped by the kernel.

pub mod merging;
pub mod packet;
