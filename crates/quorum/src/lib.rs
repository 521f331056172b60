//! Relays that act as one: four of them decide, two of them suffice, one of them may lie and one
//! may be in recovery (Bommareddy et al., SRDS 2022 and 2023, with repairs).
//!
//! Each node is a state machine, `step(now, event) -> effects` and a next deadline; the same code
//! runs in the model checker, in the simulator and in the relay program. Sockets, files, clocks and
//! randomness are others': nothing here makes a system call.
//!
//! - [`relay`]: a relay node, which speaks by the Arbiter or by the Peer Protocol.
//! - [`breaker`]: the breaker node.
//! - [`relay_state`]: where a relay node stands.
//! - [`CommonTime`]: the clock of all nodes.
//! - [`counters`]: which working keys are still good.
//! - [`tokens`]: who may be destroyed and reborn.
//! - [`evidence`]: what no correct node says.
//! - [`statement`]: what a relay puts its name to.
//! - [`message`]: what nodes say to each other.
//! - [`effect`]: what state machines ask of the program round them.
//! - [`scheme`]: how nodes prove what they say.
//! - [`parameters`]: all numbers, with reasons.
//! - [`certificate`]: how nodes prove it with keys, in three ways.
//! - [`keys`]: whose they are, and for how long.
//! - [`dealer`]: all keys of a station, made in one place.
//! - [`channel`]: who a datagram is from, and that it is new.
//! - [`wire`]: datagrams as octets.
#![forbid(unsafe_code)]

mod arbiter;
pub mod breaker;
mod budget;
pub mod certificate;
pub mod channel;
mod common_time;
pub mod counters;
pub mod dealer;
pub mod effect;
pub mod evidence;
mod heartbeat;
mod hex;
pub mod keys;
pub mod message;
pub mod parameters;
mod peer;
mod recovery;
pub mod relay;
pub mod relay_state;
pub mod scheme;
pub mod statement;
pub mod tokens;
pub mod wire;

pub use breaker::{Breaker, BreakerEvent, BreakerEventOf, Remembered};
pub use common_time::CommonTime;
pub use counters::Counters;
pub use effect::{Effect, EffectOf, MessageOf, Refusal};
pub use evidence::{Evidence, Misdeed};
pub use message::{Acknowledgement, Attempt, Message, Party};
pub use parameters::Parameters;
pub use relay::{Event, EventOf, Relay, Speaker};
pub use relay_state::RelayState;
pub use scheme::{NoCertificate, Scheme};
pub use statement::{
    Action, BreakerId, Epoch, Gen, NODES, NodeId, Protocol, QUORUM, Statement, StationId, Subject,
    Tick,
};
pub use tokens::{Rejuvenation, TokenEvent, Tokens};
