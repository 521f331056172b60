//! One node on a bench: each rule, and what would happen without it.
mod breaker_arbiter;
mod breaker_peer;
mod clock;
mod nobodys_fault;
mod recovery;
mod relay_arbiter;
mod relay_peer;
mod slips;
