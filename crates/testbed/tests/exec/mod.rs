//! `qcycle exec` as a user meets it: programs of many kinds run natively and in virtual time, and
//! must do the same, but for the time that passes.
//!
//! Guests are built from `tests/guests` by the compilers of this machine. No test has a threshold
//! that a slow machine could break: nothing may be early, and how late it is, is printed.

#[cfg(target_arch = "x86_64")]
mod attach;
mod clocks;
mod crowds;
mod ends;
mod follow;
mod freeze;
mod guards;
mod image;
mod load;
mod looks;
mod names;
mod namespaces;
mod ordinary;
mod outside;
mod programs;
mod randomness;
mod real;
mod sandboxes;
mod skip;
mod sockets;
mod stamps;
mod timer_storm;
mod timers;
mod times;
mod waits;
