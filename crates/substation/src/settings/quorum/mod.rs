//! Settings of what makes relays act as one: a relay node, the breaker node, and who has nodes
//! born anew. Files (keys, membership, memory) are named here and read by whoever calls.

mod breaker;
mod node;
mod rejuvenation;

use std::net::SocketAddr;
use std::time::Duration;

pub use breaker::{BreakerNode, read as read_breaker};
pub use node::{Decides, ForeignEntry, Node, read as read_node};
pub use rejuvenation::{RejuvenatedNode, RejuvenationSettings, read as read_rejuvenation};

use quorum::{NODES, Parameters, Party, Protocol};

use super::Thread;
use super::cursor::Map;
use super::problems::quoted;

/// What all nodes of a station are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quorum {
    /// By which protocol.
    pub protocol: Protocol,
    /// All numbers of the protocol.
    pub parameters: Parameters,
    /// File with the membership.
    pub membership: String,
    /// File with the secrets of this party.
    pub keys: String,
    /// File with what must be found again after a restart.
    pub memory: String,
    /// Where the relay nodes are heard, in their order.
    pub addresses: [SocketAddr; NODES],
    /// Where the breaker node is heard.
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
    /// Interface of the process bus.
    pub interface: Option<String>,
    /// The thread that does everything that must be in time.
    pub thread: Thread,
    /// Priority of the thread that measures what the host takes away, on the same core.
    pub canary_priority: i32,
    /// How much the canary may be late without a line in the records.
    pub stall_min: Duration,
    /// How long the thread may wait for its core without a line in the records; not looked at if
    /// nothing is said.
    pub wait_min: Option<Duration>,
    /// Whether to refuse to run without what real-time threads need, and without a clock that
    /// somebody keeps within its bound.
    pub require_realtime: bool,
    /// File for the sequence of events, one JSON object a line.
    pub records: Option<String>,
}

/// Priorities without settings: the kernel's own interrupt threads have 50.
const PRIORITY: i32 = 75;
const CANARY_PRIORITY: i32 = 90;
/// A twentieth of a quarter cycle at 60 Hz.
const STALL_MIN: Duration = Duration::from_micros(200);

fn quorum(top: &Map<'_>) -> Option<Quorum> {
    let Some(map) = top.map("quorum") else {
        top.wrong("quorum", "`quorum` is missing", "add protocol, files and addresses below it");
        return None;
    };
    let protocol = map.choice("protocol", &["arbiter", "peer"]);
    let protocol = protocol.map(|word| match word {
        "peer" => Protocol::Peer,
        _ => Protocol::Arbiter,
    });
    let (membership, keys, memory) = (map.text("membership"), map.text("keys"), map.text("memory"));
    let addresses = addresses(&map);
    let breaker_address = map.text("breaker_address");
    let breaker_address = breaker_address.and_then(|text| address(&map, "breaker_address", &text));
    let parameters = parameters(&map);
    map.finish();
    let (addresses, breaker_address) = (addresses?, breaker_address?);
    let mut all: Vec<SocketAddr> = addresses.into_iter().chain([breaker_address]).collect();
    if all.iter().any(|one| one.is_ipv4() != breaker_address.is_ipv4()) {
        map.wrong("addresses", "some are IPv4 and some IPv6", "use one kind for all");
    }
    all.sort();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        map.wrong("addresses", "two parties have the same address", "give each its own");
    }
    Some(Quorum {
        protocol: protocol?,
        parameters,
        membership: membership?,
        keys: keys?,
        memory: memory?,
        addresses,
        breaker_address,
    })
}

fn parameters(map: &Map<'_>) -> Parameters {
    let mut parameters = Parameters::default();
    let (min, max) = (Duration::from_millis(1), Duration::from_secs(10));
    let set = |key, to: &mut Duration| {
        *to = map.optional_time(key, min, max).unwrap_or(*to);
    };
    set("dwell_before_trip", &mut parameters.dwell_before_trip);
    set("dwell_before_close", &mut parameters.dwell_before_close);
    set("presence_interval", &mut parameters.presence_interval);
    if let Some(problem) = parameters.problem() {
        map.wrong("dwell_before_close", problem, "leave it out: the default is correct");
    }
    parameters
}

fn addresses(map: &Map<'_>) -> Option<[SocketAddr; NODES]> {
    let texts = map.texts("addresses");
    let known: Vec<SocketAddr> =
        texts.iter().filter_map(|text| address(map, "addresses", text)).collect();
    let count = known.len();
    let known = <[SocketAddr; NODES]>::try_from(known).ok();
    if known.is_none() && count == texts.len() {
        let what = format!("{count} addresses");
        map.wrong("addresses", what, format!("give those of the {NODES} relay nodes"));
    }
    known
}

fn address(map: &Map<'_>, key: &str, text: &str) -> Option<SocketAddr> {
    let address = text.parse().ok();
    if address.is_none() {
        let what = format!("{} is not an address with a port", quoted(text));
        map.wrong(key, what, "write it as `192.0.2.1:7400` or `[2001:db8::1]:7400`");
    }
    address
}

fn host(top: &Map<'_>) -> NodeHost {
    let mut host = NodeHost {
        interface: None,
        thread: Thread { core: None, priority: PRIORITY },
        canary_priority: CANARY_PRIORITY,
        stall_min: STALL_MIN,
        wait_min: None,
        require_realtime: false,
        records: None,
    };
    let Some(map) = top.map("host") else { return host };
    host.interface = map.optional_text("interface").map(str::to_owned);
    host.thread.core = map.optional_whole("core", 0..=1023).map(|core| core as usize);
    let priority =
        |key, default| map.optional_whole(key, 1..=98).map_or(default, |priority| priority as i32);
    host.thread.priority = priority("priority", PRIORITY);
    host.canary_priority = priority("canary_priority", CANARY_PRIORITY);
    if host.canary_priority <= host.thread.priority {
        let what = "a canary that does not run before the node detects nothing";
        map.wrong("canary_priority", what, format!("give more than {}", host.thread.priority));
    }
    let span = |key| map.optional_time(key, Duration::from_micros(1), Duration::from_secs(1));
    host.stall_min = span("stall_min").unwrap_or(STALL_MIN);
    host.wait_min = span("wait_min");
    host.require_realtime = map.optional_choice("require_realtime", &["yes", "no"]) == Some("yes");
    host.records = map.optional_text("records").map(str::to_owned);
    map.finish();
    host
}
