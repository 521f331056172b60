//! How late a platform lets programs act: the probe that runs there, and what it says.
//!
//! The crate is apart because it is another artefact: `qcprobe`, one small static binary that is
//! carried to remote machines and may be the only program in a guest. It measures by a [`Plan`] and
//! reports all it saw as one [`stream`] of octets, which is the same through a pipe, ssh, a container
//! or a serial port. What the samples mean is not its business: that is `testbed::latency`.

pub mod attend;
pub mod cli;
pub mod cores;
mod facts;
mod host;
pub mod init;
mod plan;
pub mod stream;

mod blame;
mod clock;
mod collect;
mod control;
mod core_time;
mod gaps;
mod kinds;
mod measure;
mod meter;
mod run;
mod schedule;
mod show;
mod sink;
mod stage;
mod sys;
mod threads;

pub use control::Control;
pub use cores::Cores;
pub use facts::Facts;
pub use host::Host;
pub use measure::{CoreLatency, Measured, measure};
pub use plan::{Kind, Plan, WiredLines};
pub use run::run;
