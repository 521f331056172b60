//! What a protection relay knows, without a single system call: samples in, decisions out.
//!
//! The caller with sockets and clocks (the relay program, the testbed, a test) hands in samples,
//! messages and times; nothing here reads a clock, opens a file or starts a thread, so that the
//! same code runs in virtual time and on a real process bus.
//!
//! - [`engine`]: all elements of a relay (crate `protection`), run together.
//! - [`decider`]: what the relay beside a harness decides, where relays act as one.
//! - [`settings`]: all that a relay is set to, from YAML.
#![forbid(unsafe_code)]

pub mod decider;
pub mod engine;
pub mod fault;
pub mod settings;
