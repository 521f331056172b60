//! Reads the settings of what destroys nodes and starts new ones.

use std::net::SocketAddr;
use std::path::Path;

use ::settings::Problems;
use ::settings::cursor::{self, Mapping};
use quorum::{NODES, Rejuvenation};

use super::super::texts::socket;
use super::keys::REJUVENATION;

/// What restarts nodes, one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejuvenationSettings {
    /// Where the breaker node reports whom it hears.
    pub status: SocketAddr,
    /// How often, and after which silence.
    pub rejuvenation: Rejuvenation,
    /// The nodes, in their order.
    pub nodes: [RejuvenatedNode; NODES],
    /// File for what was done, one JSON object a line.
    pub records: Option<String>,
}

/// A node that is destroyed and started again.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RejuvenatedNode {
    /// The program and its arguments. It is killed, and started again.
    pub command: Vec<String>,
}

/// Reads the settings; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<RejuvenationSettings, Problems> {
    cursor::read(file.as_ref(), text, &REJUVENATION, settings)
}

fn settings(top: &Mapping<'_>) -> Option<RejuvenationSettings> {
    top.check();
    let rejuvenation =
        Rejuvenation { interval: top.time("interval")?, silence_max: top.time("silence_max")? };
    let nodes = top.mapping("nodes")?;
    let nodes = std::array::from_fn(|number| RejuvenatedNode {
        command: nodes.parse_all(&number.to_string(), |text| Ok(text.to_owned())),
    });
    Some(RejuvenationSettings {
        status: top.parse("status", socket)?.value,
        rejuvenation,
        nodes,
        records: top.text("records").map(|file| file.value),
    })
}
