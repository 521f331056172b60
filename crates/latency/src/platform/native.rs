//! This machine, as it is.

use std::process::Command;

use probe::attend::Order;
use probe::{Cores, cores};

use super::{Attended, Binary, Platform, Refusal, Role};
use crate::profile::CoreChoice;

/// Programs on this machine, in no container and no guest.
#[derive(Debug)]
pub struct Native {
    cores: CoreChoice,
    binary: Binary,
}

impl Native {
    /// As a matrix describes it, with the probe that is run there.
    pub fn new(cores: &CoreChoice, binary: &Binary) -> Self {
        Self { cores: cores.clone(), binary: binary.clone() }
    }
}

impl Platform for Native {
    fn prepare(&mut self) -> Result<Cores, Refusal> {
        Ok(self.cores.of(&cores::chosen(&probe::Host::this(), None)?, &Cores::default())?)
    }

    fn attend(&mut self, order: &Order, _: Role) -> Result<Attended, Refusal> {
        let mut command = Command::new(self.binary.path());
        command.arg("attend");
        Ok(Attended::start(command, order)?)
    }
}
