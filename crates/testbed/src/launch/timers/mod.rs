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
//! - [`table`]: deadlines and what is due; pure
//! - [`program`]: what a program has given to the kernel: memory, descriptors, signals
//! - [`service`]: the calls, and the thread that waits for the next deadline

mod program;
mod service;
mod table;

pub(super) use program::Process;
pub(super) use service::{KernelTimer, Service, is_timer_call};
