//! Platforms of latency: containers, remote machines, guests.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod platforms;
mod ssh_server;
mod static_probe;
mod vm;
