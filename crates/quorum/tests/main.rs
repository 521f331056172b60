//! What holds of relays that act as one, whatever one of them does.
//!
//! - `stories`: one node on a bench, rule by rule.
//! - `sim`: all nodes, a network and a hostile node, a nanosecond at a time.
//! - `model`: all runs of small stations.
//! - `keys`: nodes with their keys, over a network of octets; `corpus`: what a fuzzer begins with.
mod bench;
mod corpus;
mod keys;
mod model;
mod sim;
mod stories;
mod symbolic;
