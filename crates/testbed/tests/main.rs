//! The tests of `qcycle` with real programs: one binary, so that it is linked once and its tests run
//! beside each other; most of them wait most of the time.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod bench;
mod common;
mod conformance;
mod exec;
mod latency;
mod process_bus;
mod protocol;
mod run;
mod users;
