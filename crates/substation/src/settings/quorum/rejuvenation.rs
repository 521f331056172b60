//! Reads the settings of who has nodes destroyed and born anew.

use std::net::SocketAddr;
use std::time::Duration;

use quorum::{NODES, Rejuvenation};

use super::super::cursor::Map;
use super::super::problems::{Collector, Problems};
use super::super::tree;
use super::address;

/// Longest interval: a month.
const INTERVAL_MAX: Duration = Duration::from_secs(31 * 86_400);

/// Who has nodes born anew.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RejuvenationSettings {
    /// Where the breaker node tells who is heard.
    pub status: SocketAddr,
    /// How it goes.
    pub rejuvenation: Rejuvenation,
    /// The nodes, in their order.
    pub nodes: [RejuvenatedNode; NODES],
    /// File for what was done, one JSON object a line.
    pub records: Option<String>,
}

/// A node that is destroyed and born anew.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RejuvenatedNode {
    /// The program and its arguments. It is killed, and started again.
    pub command: Vec<String>,
}

/// Reads the settings.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(text: &str) -> Result<RejuvenationSettings, Problems> {
    let collector = Collector::default();
    let settings = tree::parse(text, &collector).and_then(|value| settings(&value, &collector));
    collector.finish(settings)
}

fn settings(value: &tree::Value, collector: &Collector) -> Option<RejuvenationSettings> {
    let top = Map::new(value, "", collector)?;
    let status = top.text("status").and_then(|text| address(&top, "status", &text));
    let interval = top.time("interval", Duration::from_millis(100), INTERVAL_MAX);
    let silence_max =
        top.optional_time("silence_max", Duration::from_millis(10), Duration::from_secs(3600));
    let records = top.optional_text("records").map(str::to_owned);
    let nodes = nodes(&top);
    top.finish();
    let rejuvenation = Rejuvenation {
        interval: interval?,
        // Four signs of life of a node that has nothing else to say.
        silence_max: silence_max.unwrap_or(Duration::from_secs(2)),
    };
    Some(RejuvenationSettings { status: status?, rejuvenation, nodes: nodes?, records })
}

fn nodes(top: &Map<'_>) -> Option<[RejuvenatedNode; NODES]> {
    let Some(map) = top.map("nodes") else {
        let way_out = "add a command for each relay node, such as `0: [qcrelay, node, a.yaml]`";
        top.wrong("nodes", "`nodes` is missing", way_out);
        return None;
    };
    let nodes = std::array::from_fn(|number| {
        let command = map.texts(&number.to_string());
        RejuvenatedNode { command }
    });
    map.finish();
    nodes.iter().all(|node| !node.command.is_empty()).then_some(nodes)
}
