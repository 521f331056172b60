//! The server from outside: octets of clients in, octets for them out.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

mod client;
mod hostile;
mod reports;
mod services;
