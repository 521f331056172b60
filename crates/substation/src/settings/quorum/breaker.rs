//! Reads the settings of the breaker node.

use std::net::SocketAddr;
use std::time::Duration;

use quorum::Action;

use super::super::cursor::Map;
use super::super::problems::{Collector, Problems};
use super::super::{GooseControl, goose, tree};
use super::{NodeHost, Quorum, address, host, quorum};
use crate::protection::breaker;

/// Slowest breaker.
const TRAVEL_MAX: Duration = Duration::from_secs(1);

/// The breaker node.
#[derive(Clone, PartialEq, Debug)]
pub struct BreakerNode {
    /// Name of the breaker.
    pub name: String,
    /// What all nodes of the station are told.
    pub quorum: Quorum,
    /// How the breaker stands when this node runs for the first time.
    pub initially: Action,
    /// How fast the contacts move, as the published position shows it.
    pub breaker: breaker::Settings,
    /// The message that operates the breaker: trip, close, and its position.
    pub goose: Option<GooseControl>,
    /// Where it tells who is heard and how it stands; none for nowhere.
    pub status: Option<SocketAddr>,
    /// Where it runs.
    pub host: NodeHost,
}

/// Reads the settings of a breaker node.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(text: &str) -> Result<BreakerNode, Problems> {
    let collector = Collector::default();
    let node = tree::parse(text, &collector).and_then(|value| node(&value, &collector));
    collector.finish(node)
}

fn node(value: &tree::Value, collector: &Collector) -> Option<BreakerNode> {
    let top = Map::new(value, "", collector)?;
    let name = top.text("breaker");
    let quorum = quorum(&top);
    let initially = match top.optional_choice("initially", &["closed", "open"]) {
        Some("open") => Action::Trip,
        _ => Action::Close,
    };
    let travel = |key| top.optional_time(key, Duration::ZERO, TRAVEL_MAX).unwrap_or_default();
    let breaker = breaker::Settings { opening: travel("opening"), closing: travel("closing") };
    let goose = top.map("goose").map(|map| goose::control(&map, Vec::new()));
    let status = top.optional_text("status").and_then(|text| address(&top, "status", text));
    let host = host(&top);
    if goose.is_some() && host.interface.is_none() {
        let what = "it has no interface to send to";
        top.wrong("goose", what, "add `interface` to `host`");
    }
    top.finish();
    let goose = goose.map_or(Some(None), |goose| goose.map(Some));
    Some(BreakerNode {
        name: name?,
        quorum: quorum?,
        initially,
        breaker,
        goose: goose?,
        status,
        host,
    })
}
