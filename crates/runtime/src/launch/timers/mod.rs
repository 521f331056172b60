//! Timers of programs, in virtual time: timerfd_settime(2), timer_settime(2), setitimer(2) and
//! alarm(2).
//!
//! A timer of the kernel counts host time and cannot be stopped by who does not own it. So the
//! kernel never gets to see a program's deadline: the filter reports the calls, the agent keeps
//! the deadlines in virtual time, and when the clock of the domain has reached one it lets the
//! timer expire: a timerfd by setting its count of expirations, a timer or interval timer by
//! sending its signal. A timer can therefore not expire early, held or dilated as the clock may
//! be; it is late by as long as the agent takes to wake up.
//!
//! Nothing that a program does may keep another one waiting, or take from the agent what others
//! need: calls come as numbers, and each tree of programs has a thread, a share of the descriptors
//! and a pace of its own.
//!
//! - [`table`]: deadlines and what is due; pure
//! - [`pace`]: how much of a processor the timers of a tree may take; pure
//! - [`signal`], [`descriptor`]: how a program is notified when a timer expires
//! - [`held`]: whether a program still has its timerfd
//! - [`unsent`]: signals for which there was no room; pure
//! - [`posix`]: one timer of timer_create(2)
//! - [`tree`]: the timers of one tree
//! - [`worker`]: its thread
//! - [`pool`]: how many timers a tree may have, and what all trees share
//! - [`service`]: which tree a call belongs to

mod descriptor;
mod held;
mod pace;
mod pool;
mod posix;
mod service;
mod signal;
mod table;
mod tree;
mod unsent;
mod worker;

pub(super) use held::timerfds_of;
pub(super) use service::{KernelTimer, Service, is_timer_call};
pub(super) use signal::queue;
