//! What the programs on a process bus share so that some of their threads are always in time.
//!
//! A program has threads that may never wait for anything but their next work, and one that may block.
//! Here is what both sides need whatever the program does with it, without a frame and without a
//! socket of the bus: `relay` adds those.
//!
//! - [`time`]: all clocks that are read; [`clock`]: what stamps of messages say of the clock.
//! - [`prepare`]: what a host must grant to a thread that shall be in time; `cache`: a share of the
//!   processor's cache for it.
//! - [`supervise`]: the thread that may block, round the others.
//! - [`exchange`]: measurements from real-time threads to the one that may block.
//! - [`canary`]: threads that wake up at each tick, and one that does nothing else; [`blame`]: why a
//!   task was late.
//! - [`lines`]: records for a file, by a thread that alone waits for the disk.

pub mod blame;
mod cache;
pub mod canary;
pub mod clock;
pub mod exchange;
pub mod lines;
pub mod prepare;
pub mod supervise;
pub mod time;
