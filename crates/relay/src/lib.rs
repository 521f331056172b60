//! What runs on a process bus: frames from and to network interfaces, and the programs that use
//! them.
//!
//! What a relay decides is in the crates `substation` and `quorum`, without a system call; here are
//! the sockets and threads round it; clocks, and what keeps a thread in time, are in `realtime`, and
//! what clients of IEC 61850-8-1 see of it is in `ied`.
//! Three threads of a relay may never wait for anything but their next work: the one that receives,
//! the protection task, and the canary. Whatever may block is done by the thread that started them,
//! which they reach through queues without locks.
//!
//! - `merging`: what publishes sampled values, `qcmerge`.
//! - `receive`, `task`: two of the three threads; `realtime::canary` is the third.
//! - `malformed`: what no decoder takes; `refusals`: which refusals are worth a record.
//! - `publish`, `subscribed`: GOOSE out and in.
//! - `links`: whether interfaces are still there.
//! - `quorum`: nodes of relays that act as one.
//! - `hostile`: what tests set against them.
//! - `program`: what its programs do first and last.
//! - `run`: a relay; `host`: what its settings say of the host.
//! - `group`: who asks for another setting group; `control`: the socket through which users do.
//! - `measurands`: what is measured of the grid, for people and other programs.
//! - `recorder`: disturbances and faults, as records and reports.
//! - `event`: what the task tells.
//! - `records`, `metrics`, `top`: what comes out.

mod cli;
mod control;
mod event;
#[cfg(test)]
#[path = "../tests/support/goose.rs"]
mod goose;
mod group;
mod host;
mod hostile;
mod links;
mod malformed;
mod measurands;
mod merging;
mod metrics;
mod program;
mod publish;
pub mod quorum;
mod receive;
mod recorder;
mod records;
mod refusals;
mod run;
mod subscribed;
mod task;
pub mod top;
mod totals;

pub use cli::main as qcrelay;
pub use hostile::cli::main as qchostile;
pub use merging::cli::main as qcmerge;
