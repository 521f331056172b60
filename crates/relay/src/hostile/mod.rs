//! A relay node that was taken over, and an intruder on the network: what tests set against relays
//! that act as one. No part of a station.
//!
//! - `insider`: holds the keys of a node, or some that are not worth anything, and lies.
//! - `attack`: what it says, decided without touching anything.
//! - `cli`: the command line of `qchostile`
//! - `outsider`: holds nothing; records, replays and floods frames, under any address.

mod attack;
pub(crate) mod cli;
mod insider;
mod outsider;
