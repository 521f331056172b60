//! GOOSE as it lives: a publisher repeats the present state until it changes, a subscriber knows
//! from that whether the publisher is still there (IEC 61850-8-1, clause 18.1.2.5).
//!
//! Both only decide: what to send when, and what to make of a message that came. Neither knows a
//! key: anyone who can send on the bus can invent a message with a higher `stNum`, and only IEC
//! 62351-6 helps against that, which is not here. What was sent before is refused, and what was
//! invented locks nobody out for good (`subscriber`).

mod order;
mod publisher;
mod refusal;
mod subscriber;

pub use publisher::{Message, Publisher};
pub use refusal::{Field, Refusal, Refusals, Said, ShortText};
pub use subscriber::{Counters, Expected, Liveness, Reception, Subscriber};
