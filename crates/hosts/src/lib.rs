//! One virtual time over several hosts: what they tell each other, and what follows from it.
//!
//! A host is a number, from 0. Each has a clock that it stops by itself where it may not go on, and sends
//! frames, with the virtual time at which they arrive, and messages of its own to each other one, which come
//! in the order in which they were sent and are not lost. How long they take is of no importance for virtual
//! time.
//!
//! - [`distances`]: how long it takes at least until what happens at one host can matter at another
//! - [`grants`]: how far the clock of a host may run, so that no frame from another one is late
//! - [`report`]: what hosts say for that
//! - [`holds`]: who holds all clocks, where they stand then, and when they go on
//! - [`comparison`]: what another host's clock shows, where clocks run by themselves
//! - [`questions`]: what hosts ask each other, which is nothing of time, and the answers
//!
//! - [`words`]: what one host tells another, as octets
//! - [`session`]: each of them once and in order, over connections that may break
//! - [`stream`]: one connection: who is there, and records
//! - [`seal`]: records that only the two can write and read
//!
//! None of these reads a clock or does I/O: events go in, with their times, and what is to be done comes out.

#![forbid(unsafe_code)]

pub mod comparison;
pub mod distances;
pub mod grants;
pub mod holds;
mod ns;
pub mod questions;
pub mod report;
pub mod seal;
pub mod session;
pub mod stream;
pub mod words;

use serde::{Deserialize, Serialize};

pub use comparison::Comparison;
pub use distances::Distances;
pub use grants::Grants;
pub use holds::Holds;
pub use questions::Questions;
pub use report::Report;

/// How the clocks of several hosts are kept one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Each runs as far as the others have granted, so no frame is ever late ([`grants`]).
    #[default]
    Granted,
    /// Each runs by itself. While somebody holds all stand at the same nanosecond; between holds they differ by what
    /// is known of each other's clocks ([`comparison`]).
    Free,
}
