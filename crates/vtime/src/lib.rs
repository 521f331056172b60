//! Virtual time: what the agent, the image inside programs and the tests share.
//!
//! A virtual clock maps host time to virtual time in straight pieces:
//! `T_v = (T_wall - T_start - T_paused) / tdf + T_start` (Hannon et al. 2019). One owner, the
//! agent, decides when it is stopped and how fast it runs ([`clock::VirtualClock`]); it
//! publishes the present piece in a page of shared memory ([`page::ClockPage`]), and every
//! program computes its own time from it. So a hold costs one store, whatever the number of
//! programs, and two programs can never disagree.
//!
//! This crate reads no clock: callers pass host time in.
//!
//! - [`time`]: host and virtual time as different types
//! - [`rate`]: the time dilation factor and the exact rate derived from it
//! - [`line`]: one straight piece of the map, with its inverse
//! - [`clock`]: holds, dilation and horizon: the state machine of a virtual clock
//! - [`page`]: the clock page, versioned shared memory with a sequence counter
//! - [`own`]: a program's own line along the time of its domain, with its inverse
//! - [`own_page`]: the page of one program: its own line, its counters
//! - [`history`]: where the map bent lately, for stamps of the past
//! - [`processor`]: processor time in virtual time
//! - [`image`]: where the image and its pages lie in a program
//! - [`masks`]: signal masks, in which another signal stands for that of the image
//! - [`ahead`]: how far a program is ahead of its domain by what it computes
//! - [`late`]: how late something happened
//! - [`timer_call`]: what the image asks the agent about timers, in registers
//! - [`waits`]: what threads of a program wait for, told to the owner of a clock that jumps
//! - [`wakes`]: when what is due reaches a node, where no time passes while programs run
//! - [`resumed`]: the deadline of a wait that was in progress when its program got its clock
#![no_std]

pub mod ahead;
pub mod clock;
pub mod history;
pub mod image;
pub mod late;
pub mod line;
pub mod masks;
pub mod own;
pub mod own_page;
pub mod page;
pub mod processor;
pub mod rate;
pub mod resumed;
pub mod time;
pub mod timer_call;
pub mod waits;
pub mod wakes;

pub use clock::VirtualClock;
pub use history::History;
pub use own_page::OwnPage;
pub use page::ClockPage;
pub use rate::Tdf;
pub use time::{HostSpan, HostTime, ProgramSpan, ProgramTime, VirtualSpan, VirtualTime};
pub use wakes::Wakes;
