//! What a protection relay knows, without a single system call: samples in, decisions out.
//!
//! The caller with sockets and clocks (the relay program, the testbed, a test) hands in samples,
//! messages and times; nothing here reads a clock, opens a file or starts a thread, so that the
//! same code runs in virtual time and on a real process bus.
//!
//! - [`protection`]: phasors and the elements that look at them.
//! - [`engine`]: all elements of a relay, run together.
//! - [`decider`]: what the relay beside a harness decides, where relays act as one.
//! - [`settings`]: all that a relay is set to, from YAML.
//! - [`waveform`]: the waves that faults make.
#![forbid(unsafe_code)]

pub mod decider;
pub mod engine;
pub mod fault;
pub mod protection;
pub mod settings;
pub mod waveform;
