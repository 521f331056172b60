//! Nodes of relays that act as one, as programs: what `quorum` decides, with sockets, a clock,
//! threads and files round it.
//!
//! A node has one thread that must be in time. It takes samples and datagrams in, lets the relay
//! and the state machine decide, and sends what they say: nothing is handed from thread to thread
//! on the way from a sample to a vote. A canary beside it measures what the host takes away, and
//! the thread that called does whatever may block.
//!
//! - `bus`: datagrams from and to the other parties; `pace`: whose turn it is.
//! - `harness`: what both kinds of nodes have in common; `timed`: how long cryptography takes.
//! - `node`, `breaker`: the loops; `frames`: samples and GOOSE in; `operate`: the breaker.
//! - `birth`: keys into memory; `blame`: what of misdeeds is worth a line; `memory`: what a restart
//!   finds again; `keys`: files of keys.
//! - `run`: threads and what is round them; `records`, [`status`]: what comes out.
//! - `meter`: what the host takes of each core, beside the nodes.
//! - `rejuvenate`: nodes destroyed and reborn, one after the other.

pub(crate) mod birth;
mod blame;
mod breaker;
pub(crate) mod bus;
mod frames;
pub(crate) mod harness;
pub(crate) mod keys;
mod memory;
pub(crate) mod meter;
mod node;
mod operate;
mod pace;
pub(crate) mod records;
pub(crate) mod rejuvenate;
pub(crate) mod run;
pub mod status;
mod timed;
