//! What a protection relay knows, without a single system call: frames in, decisions out.
//!
//! Whoever has sockets and clocks (the relay program, the testbed, a test) hands in octets,
//! samples and times; nothing here reads a clock, opens a file or starts a thread, so that the
//! same code runs in virtual time, on a real process bus and in a fuzzer.
//!
//! - [`wire`]: sampled values and GOOSE as octets.
//! - [`protection`]: phasors and the elements that look at them.
//! - [`engine`]: all elements of a relay, run together.
//! - [`stream`]: whether a stream of samples can be trusted.
//! - [`scl`]: parameters of streams and messages from the files of a substation.
//! - [`settings`]: all that a relay is set to, from YAML.
//! - [`goose`]: when a publisher sends, and what a subscriber believes.
//! - [`comtrade`]: fault records as relays write them.
//! - [`waveform`]: the waves that faults make.
//! - [`quorum`]: four relays that act as one.
#![forbid(unsafe_code)]

pub mod comtrade;
pub mod engine;
pub mod goose;
pub mod protection;
pub mod quorum;
pub mod scl;
pub mod settings;
pub mod stream;
pub mod time;
pub mod waveform;
pub mod wire;

pub use time::SampleTime;
