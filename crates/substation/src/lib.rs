//! What a protection relay knows, without a single system call: frames in, decisions out.
//!
//! Whoever has sockets and clocks (the relay program, the testbed, a test) hands in octets,
//! samples and times; nothing here reads a clock, opens a file or starts a thread, so that the
//! same code runs in virtual time, on a real process bus and in a fuzzer.
//!
//! - [`wire`]: sampled values and GOOSE as octets, and the supervision of their streams.
#![forbid(unsafe_code)]

pub mod wire;
