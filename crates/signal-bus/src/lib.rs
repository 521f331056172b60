//! The signal bus of Hannon et al. (2019): a wire between boards that any of them can assert, and that is
//! asserted while somebody does (wired OR). The edge by which it becomes so stops the clocks of all.
//!
//! A board has a place on it ([`Wiring`]) in one of two ways ([`Through`]): the kernel module `qcbus`, which stops the clock in
//! the interrupt of the edge, in a page that is its own; or the character devices of GPIO chips, whose edges
//! a thread of the agent reads. Both tell edges, drive the line and say what the bus is; the
//! difference is how soon the clock stands.

mod debounce;
mod lines;
mod module;
mod wiring;

use std::io;
use std::os::fd::BorrowedFd;

use domain::DeviceMemory;
use vtime::HostTime;

use lines::{Inputs, Output};
use module::{Hold, Module};
pub use wiring::{Active, Drive, Through, Wiring};

/// A place on the bus that was found, and is taken by [`Place::attach`].
#[derive(Debug)]
pub struct Place {
    wiring: Wiring,
    /// `None`: through character devices.
    module: Option<Module>,
}

impl Place {
    /// Finds the place. Returns with it the memory in which the clock must lie, if the module is to stop it.
    ///
    /// # Errors
    /// When the module is asked for and is not there, has another version, or may not be used.
    pub fn find(wiring: Wiring) -> io::Result<(Self, Option<DeviceMemory>)> {
        let opened = match wiring.through {
            Through::Lines => return Ok((Self { wiring, module: None }, None)),
            Through::Module | Through::Either => Module::open(),
        };
        match opened {
            Ok((module, memory)) => Ok((Self { wiring, module: Some(module) }, Some(memory))),
            Err(error) if wiring.through == Through::Either && is_not_there(&error) => {
                Ok((Self { wiring, module: None }, None))
            }
            Err(error) => Err(error),
        }
    }

    /// Which way it takes: [`Through::Module`] or [`Through::Lines`].
    pub const fn through(&self) -> Through {
        if self.module.is_some() { Through::Module } else { Through::Lines }
    }

    /// Takes the lines.
    ///
    /// # Errors
    /// When there is no such chip or line, or it is in use, or may not be used.
    pub fn attach(self) -> io::Result<(Driver, Watcher)> {
        let Self { wiring, module } = self;
        let Some(module) = module else {
            let chip = lines::chip(&wiring.chip)?;
            let output = Output::request(&chip, &wiring)?;
            let inputs = Inputs::request(&chip, &wiring)?;
            return Ok((Driver(Way::Lines(output)), Watcher(Seen::Lines(inputs))));
        };
        module.attach(&wiring)?;
        Ok((Driver(Way::Module(module.hold()?)), Watcher(Seen::Module(module))))
    }
}

/// Only root may open the device of the module; without it, or without rights, there are the lines.
fn is_not_there(error: &io::Error) -> bool {
    [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied].contains(&error.kind())
}

/// One end of the bus, to assert it by.
pub trait Drives: Send + Sync {
    /// Asserts the bus, or lets go of it.
    fn drive(&self, asserted: bool) -> io::Result<()>;
}

/// One end of the bus, at which its edges are seen. Once it is dropped, none stops a clock.
pub trait Watches: Send {
    /// The descriptor to poll for edges.
    fn fd(&self) -> BorrowedFd<'_>;

    /// Edges since the last time, oldest first: whether the bus has become asserted by it, or was released.
    fn edges(&mut self) -> io::Result<Vec<bool>>;

    /// Whether the bus is asserted now, also where an edge was lost.
    fn is_asserted(&self) -> io::Result<bool>;

    /// Host time at which to ask for edges again though the descriptor has nothing; `None` if that need not be.
    fn due(&self) -> Option<HostTime>;
}

/// What drives the bus through hardware.
#[derive(Debug)]
pub struct Driver(Way);

#[derive(Debug)]
enum Way {
    Lines(Output),
    Module(Hold),
}

impl Drives for Driver {
    fn drive(&self, asserted: bool) -> io::Result<()> {
        match &self.0 {
            Way::Lines(output) => output.drive(asserted),
            Way::Module(hold) => hold.write(asserted),
        }
    }
}

/// What watches the bus through hardware.
#[derive(Debug)]
pub struct Watcher(Seen);

#[derive(Debug)]
enum Seen {
    Lines(Inputs),
    Module(Module),
}

impl Watches for Watcher {
    fn fd(&self) -> BorrowedFd<'_> {
        match &self.0 {
            Seen::Lines(inputs) => inputs.fd(),
            Seen::Module(module) => module.fd(),
        }
    }

    fn edges(&mut self) -> io::Result<Vec<bool>> {
        match &mut self.0 {
            Seen::Lines(inputs) => inputs.edges(),
            Seen::Module(module) => module.edges(),
        }
    }

    fn is_asserted(&self) -> io::Result<bool> {
        match &self.0 {
            Seen::Lines(inputs) => inputs.is_asserted(),
            Seen::Module(module) => module.is_asserted(),
        }
    }

    fn due(&self) -> Option<HostTime> {
        match &self.0 {
            Seen::Lines(inputs) => inputs.due(),
            Seen::Module(_) => None,
        }
    }
}
