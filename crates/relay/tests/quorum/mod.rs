//! Relays that act as one, as programs, in a network namespace: each step of the current is one
//! action of the breaker, whoever is missing, lies or floods. Nothing here judges how long it took.

mod attacks;
mod conditions;
mod deciders;
mod keys;
mod network;
mod rebirth;
mod spells;
mod station;
