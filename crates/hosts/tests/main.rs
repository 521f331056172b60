//! Hosts in a simulated world: the order in which things happen is random, what comes of it is not.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

mod comparison;
mod grants;
mod holds;
