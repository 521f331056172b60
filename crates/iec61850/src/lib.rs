//! What IEC 61850 and its neighbours say, without a single system call: frames, streams, messages,
//! files.
//!
//! Nothing here knows what a relay does with it. The caller with sockets, files and clocks hands in
//! octets, text and times; nothing here reads a clock, opens a file or starts a thread, so that the
//! same code runs in virtual time, on a real process bus and in a fuzzer.
//!
//! - [`wire`]: sampled values and GOOSE as octets.
//! - [`stream`]: whether a stream of samples can be trusted.
//! - [`goose`]: when a publisher sends, and what a subscriber believes.
//! - [`scl`]: parameters of streams and messages from the files of a substation.
//! - [`comtrade`]: fault records as relays write them.
//! - [`SampleTime`]: when a sample was taken.
#![forbid(unsafe_code)]

pub mod comtrade;
pub mod goose;
pub mod scl;
pub mod stream;
mod time;
pub mod wire;

pub use time::SampleTime;
