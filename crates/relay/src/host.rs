//! What settings say of the host, in the words of `realtime`, which knows nothing of settings.

use std::path::Path;

use anyhow::Result;
use realtime::lines::{self, Lines};
use realtime::prepare::Scheduling;
use substation::settings::{Rotation, Thread};

pub(crate) const fn scheduling(Thread { core, priority }: Thread) -> Scheduling {
    Scheduling { core, priority }
}

/// Opens the file of records of a `qcrelay`.
pub(crate) fn records(path: Option<&Path>, rotation: Rotation) -> Result<Lines> {
    let Rotation { size_octets_max, age_max, keep } = rotation;
    Lines::open("qcrelay", path, lines::Rotation { size_octets_max, age_max, keep })
}
