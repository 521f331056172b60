//! One node on a bench: each rule, and what would happen without it.
mod breaker_arbiter;
mod breaker_peer;
mod clock;
mod nobodys_fault;
mod recovery;
mod relay_arbiter;
mod relay_peer;
mod slips;

use std::time::Duration;

use quorum::Action::{Close, Trip};
use quorum::{
    Acknowledgement, Action, Attempt, Breaker, Counters, Effect, Event, Gen, Message, Misdeed,
    NODES, NodeId, Parameters, Party, Protocol, Refusal, RelayState, Scheme, Tick,
};

use crate::bench::*;
use crate::symbolic::{Symbolic, WorkingKey};
