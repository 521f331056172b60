//! Reads the settings of what destroys nodes and starts new ones.

use std::net::SocketAddr;
use std::path::Path;

use ::settings::Problems;
use ::settings::cursor::{self, Mapping};
use ::settings::table::Shape::Of;
use quorum::{NODES, Rejuvenation};

use super::super::host::{Rotation, rotation};
use super::super::texts::socket;
use super::keys::REJUVENATOR;

/// What restarts nodes, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejuvenationSettings {
    pub status: SocketAddr,
    pub rejuvenation: Rejuvenation,
    /// Program and arguments of each node, in their order: it is killed, and started again.
    pub nodes: [Vec<String>; NODES],
    pub records: Option<String>,
    pub rotation: Rotation,
}

/// Reads the settings; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<RejuvenationSettings, Problems> {
    cursor::read(file.as_ref(), text, const { &Of(&REJUVENATOR) }, settings)
}

fn settings(top: &Mapping<'_>) -> Option<RejuvenationSettings> {
    top.check();
    let rejuvenation =
        Rejuvenation { interval: top.time("interval")?, silence_max: top.time("silence_max")? };
    let nodes = top.mapping("nodes")?;
    let nodes = std::array::from_fn(|number| {
        nodes.parse_all(&number.to_string(), |text| Ok(text.to_owned()))
    });
    Some(RejuvenationSettings {
        status: top.parse("status", socket)?.value,
        rejuvenation,
        nodes,
        records: top.text("records").map(|file| file.value),
        rotation: rotation(top)?,
    })
}
