//! Settings of what makes relays act as one: a relay node, the breaker node, and the rejuvenator,
//! which restarts nodes. Files (keys, membership, memory) are named here and read by the caller.

mod breaker;
mod keys;
mod node;
mod rejuvenation;

use std::net::SocketAddr;
use std::time::Duration;

use ::settings::cursor::Mapping;

pub use breaker::{BreakerNode, read as read_breaker};
pub use keys::{BREAKER_NODE, REJUVENATOR, RELAY_NODE};
pub use node::{Decides, ForeignEntry, Node, read as read_node};
pub use rejuvenation::{RejuvenationSettings, read as read_rejuvenation};

use quorum::{NODES, Parameters, Party, Protocol};

use super::Thread;
use super::host::{Rotation, canary_priority, rotation, thread};
use super::texts::party;

/// What all nodes of a station must agree on, and the files of this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quorum {
    /// Who counts votes: the breaker node, or the relays themselves.
    pub protocol: Protocol,
    pub parameters: Parameters,
    pub membership: String,
    pub keys: String,
    pub memory: String,
    pub addresses: [SocketAddr; NODES],
    pub breaker_address: SocketAddr,
}

impl Quorum {
    /// Where a party is heard.
    #[must_use]
    pub const fn address(&self, party: Party) -> SocketAddr {
        match party {
            Party::Relay(node) => self.addresses[node.index()],
            Party::Breaker => self.breaker_address,
        }
    }
}

/// Where a node runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeHost {
    pub interface: Option<String>,
    /// The thread that does everything that must be in time.
    pub thread: Thread,
    pub canary_priority: i32,
    pub stall_min: Duration,
    pub wait_min: Option<Duration>,
    pub require_realtime: bool,
    pub records: Option<String>,
    pub rotation: Rotation,
}

fn quorum(top: &Mapping<'_>) -> Option<Quorum> {
    let map = top.mapping("quorum")?;
    let addresses = addresses(&map);
    let parameters = parameters(&map);
    let (addresses, breaker_address) = (addresses?, map.parse("breaker_address", party)?.value);
    let mut all: Vec<SocketAddr> = addresses.into_iter().chain([breaker_address]).collect();
    if all.iter().any(|one| one.is_ipv4() != breaker_address.is_ipv4()) {
        map.wrong("addresses", "some are IPv4 and some IPv6", "use one kind for all");
    }
    all.sort();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        map.wrong("addresses", "two parties have the same address", "give each its own");
    }
    Some(Quorum {
        protocol: match map.choice("protocol")?.value {
            "peer" => Protocol::Peer,
            _ => Protocol::Arbiter,
        },
        parameters,
        membership: map.text("membership")?.value,
        keys: map.text("keys")?.value,
        memory: map.text("memory")?.value,
        addresses,
        breaker_address,
    })
}

fn parameters(map: &Mapping<'_>) -> Parameters {
    let mut parameters = Parameters::default();
    let set = |key, to: &mut Duration| *to = map.time(key).unwrap_or(*to);
    set("dwell_before_trip", &mut parameters.dwell_before_trip);
    set("dwell_before_close", &mut parameters.dwell_before_close);
    set("presence_interval", &mut parameters.presence_interval);
    if let Some(problem) = parameters.problem() {
        map.wrong("dwell_before_close", problem, "leave it out: the default is correct");
    }
    parameters
}

fn addresses(map: &Mapping<'_>) -> Option<[SocketAddr; NODES]> {
    let (count, known) = (map.items("addresses").len(), map.parse_all("addresses", party));
    let all_read = known.len() == count;
    let known = <[SocketAddr; NODES]>::try_from(known).ok();
    if known.is_none() && all_read {
        let what = format!("{count} addresses");
        map.wrong("addresses", what, format!("give those of the {NODES} relay nodes"));
    }
    known
}

fn host(top: &Mapping<'_>) -> Option<NodeHost> {
    let map = top.mapping_or_empty("host")?;
    let thread = thread(&map, "core", "priority")?;
    Some(NodeHost {
        interface: map.text("interface").map(|name| name.value),
        thread,
        canary_priority: canary_priority(&map, thread, "node")?,
        stall_min: map.time("stall_min")?,
        wait_min: map.time("wait_min"),
        require_realtime: map.is("require_realtime", "yes"),
        records: map.text("records").map(|file| file.value),
        rotation: rotation(&map)?,
    })
}
