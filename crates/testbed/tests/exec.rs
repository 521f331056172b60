//! `qcycle exec` as a user meets it: programs of many kinds run natively and in virtual time, and
//! must do the same, but for the time that passes.
//!
//! Guests are built from `tests/guests` by the compilers of this machine. No test has a threshold
//! that a slow machine could break: nothing may be early, and how late it is, is printed.

#![expect(clippy::unwrap_used, reason = "all of this file is a test")]

#[cfg(target_arch = "x86_64")]
#[path = "exec/attach.rs"]
mod attach;
#[path = "exec/clocks.rs"]
mod clocks;
#[path = "exec/crowds.rs"]
mod crowds;
#[path = "exec/ends.rs"]
mod ends;
#[path = "exec/follow.rs"]
mod follow;
#[path = "exec/freeze.rs"]
mod freeze;
#[path = "exec/guards.rs"]
mod guards;
#[path = "common/guests.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more of it")]
mod harness;
#[path = "exec/image.rs"]
mod image;
#[path = "exec/load.rs"]
mod load;
#[path = "exec/looks.rs"]
mod looks;
#[path = "exec/names.rs"]
mod names;
#[path = "exec/namespaces.rs"]
mod namespaces;
#[path = "exec/ordinary.rs"]
mod ordinary;
#[path = "exec/outside.rs"]
mod outside;
#[path = "common/processes.rs"]
mod processes;
#[path = "exec/programs.rs"]
mod programs;
#[path = "exec/real.rs"]
mod real;
#[path = "exec/sandboxes.rs"]
mod sandboxes;
#[path = "exec/sockets.rs"]
mod sockets;
#[path = "exec/stamps.rs"]
mod stamps;
#[path = "exec/timer_storm.rs"]
mod timer_storm;
#[path = "exec/timers.rs"]
mod timers;
#[path = "exec/times.rs"]
mod times;
#[path = "exec/waits.rs"]
mod waits;
