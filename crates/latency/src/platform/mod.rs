//! Where a cell is measured: one interface for this machine, containers, virtual machines, and
//! machines that ssh reaches.
//!
//! On every platform the same program does the work: `qcprobe attend` reads an order from its
//! standard input, starts the loads of the order, measures, says the stream on its standard output,
//! and ends all that it has started when its input ends. So a platform has little to do: to bring
//! that program to where it shall run, to connect its input and output, and to take away what it
//! had to put there. Since the input is a pipe that only this process holds, a killed `qcycle` ends
//! everything, wherever it runs.

mod attended;
mod binary;
pub mod container;
pub mod native;
pub mod remote;
mod scratch;
pub mod vm;

use std::fmt;

use probe::attend::Order;

use super::cell::Mark;
use super::matrix::{PlatformKind, PlatformSpec};
use probe::Cores;

pub use attended::{Attended, Ending};
pub use binary::Binary;
pub use scratch::sweep;

/// One place to measure at. What it puts anywhere it takes away when it is dropped.
pub trait Platform: fmt::Debug {
    /// Gets ready, and returns the cores that plans may name. Asked once, before the first cell.
    ///
    /// # Errors
    /// When nothing can be measured here: what is missing, and what to do about it.
    fn prepare(&mut self) -> Result<Cores, Refusal>;

    /// What one must know before trusting any figure from here. Asked after a cell was measured.
    fn marks(&self) -> Vec<Mark> {
        Vec::new()
    }

    /// The cores of a neighbour; none where this kind of platform has no neighbours.
    fn neighbour_cores(&self) -> Option<Cores> {
        None
    }

    /// Starts `qcprobe attend` with this order.
    ///
    /// # Errors
    /// When this cell cannot be measured here, or starting failed.
    fn attend(&mut self, order: &Order, role: Role) -> Result<Attended, Refusal>;
}

/// What an order is to a platform.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Measured,
    /// A neighbour with this number, from 0: it has loads only, and runs until its input ends.
    Neighbour(usize),
}

/// Why there are no samples.
#[derive(Debug)]
pub enum Refusal {
    /// This host cannot measure it, and nothing is wrong.
    NotMeasured(NotMeasured),
    Failed(anyhow::Error),
}

/// What a host lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotMeasured {
    pub reason: String,
    pub fix: String,
}

impl Refusal {
    /// Something is missing here.
    pub fn missing(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::NotMeasured(NotMeasured { reason: reason.into(), fix: fix.into() })
    }
}

impl fmt::Display for NotMeasured {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}; {}", self.reason, self.fix)
    }
}

impl<E: Into<anyhow::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The platform that a matrix describes.
pub fn of(spec: &PlatformSpec, binary: &Binary) -> Box<dyn Platform> {
    match &spec.kind {
        PlatformKind::Native(cores) => Box::new(native::Native::new(cores, binary)),
        PlatformKind::Container(container) => {
            Box::new(container::Container::new(container, binary))
        }
        PlatformKind::Remote(remote) => Box::new(remote::Remote::new(remote, binary)),
        PlatformKind::Vm(vm) => Box::new(vm::Vm::new(vm, binary)),
    }
}
