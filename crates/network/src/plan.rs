//! The network of a scenario, checked: who is linked to whom, with which addresses, and what
//! happens when.
//!
//! Names become numbers here, so that the fabric has nothing to look up and nothing to refuse.
//! Switches speak no spanning tree protocol, so links that form a loop are refused: a broadcast
//! would circulate for ever.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use domain::span_ns;
use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use super::attacker::Victim;
use super::link::shortest_frame;
use crate::wire::MacAddress;

/// A host without programs that attacks when an event says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attacker {
    pub name: String,
}

/// A link, the same in both directions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Link {
    /// One end: the name of a node, switch or attacker.
    pub from: String,
    pub to: String,
    pub delay: VirtualSpan,
    /// Rate in bits per virtual second; unlimited if `None`.
    pub rate_bps: Option<u64>,
    /// Frames that may wait in each direction; further ones are dropped and counted.
    pub queue: usize,
    pub loss: Loss,
}

/// How often a link loses a frame, in each direction, whatever became of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Loss {
    /// Of a million frames.
    pub per_million: u32,
    /// From which it follows what frames these are, counted in the order in which they are sent.
    pub seed: u64,
}

/// Something that happens to the network, at a scenario time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub at: VirtualSpan,
    pub what: EventKind,
}

/// What an event does to the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// The attacker answers ARP for both victims, so that their frames for each other reach it,
    /// and drops them.
    ArpPoison { attacker: String, victims: [String; 2] },
    /// A link goes down or comes up.
    Link { from: String, to: String, up: bool },
}

/// A host that may have a link: its name, and its address with the prefix length.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    pub name: String,
    /// Address and prefix length of its interface `eth0`, if it has one.
    pub address: Option<(Ipv4Addr, u8)>,
}

/// Stations: nodes first, then attackers, in the order of the scenario.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// All nodes that have a link, then all attackers.
    pub stations: Vec<Station>,
    pub switches: Vec<String>,
    /// Links in the order of the scenario.
    pub links: Vec<PlannedLink>,
    /// What happens, in order of time.
    pub changes: Vec<Change>,
}

/// A sender and receiver at the edge of the network.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Station {
    pub name: String,
    #[serde(with = "crate::mac_octets")]
    pub mac: MacAddress,
    /// Node or attacker, with what only nodes have.
    pub kind: StationKind,
}

/// What a station is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StationKind {
    /// A node with programs, behind a TAP device that gets this address and prefix length.
    Node(Ipv4Addr, u8),
    /// An attacker, played by the network itself.
    Attacker,
}

/// One link, with ends as indices.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedLink {
    /// Names of both ends, for people.
    pub names: [String; 2],
    pub ends: [Place; 2],
    /// Propagation delay, each way.
    #[serde(with = "span_ns")]
    pub delay: VirtualSpan,
    /// Rate in bits per virtual second.
    pub rate_bps: Option<u64>,
    /// Frames that may wait or be sent in each direction.
    pub queue: usize,
    pub loss: Loss,
}

impl PlannedLink {
    /// How long a frame takes from one end to the other at least.
    pub fn least(&self) -> VirtualSpan {
        self.rate_bps.map_or(self.delay, |rate_bps| self.delay + shortest_frame(rate_bps))
    }
}

/// Where a link ends: an index into stations or switches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Place {
    Station(usize),
    Switch(usize),
}

/// Something that happens to the network, at a scenario time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    #[serde(with = "span_ns")]
    pub at: VirtualSpan,
    pub what: ChangeKind,
}

/// What a change does, with indices into the parts of the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ChangeKind {
    /// A link goes down or comes up.
    Link { link: usize, up: bool },
    /// An attacker comes between two nodes.
    Poison { attacker: usize, victims: [Victim; 2] },
}

/// Why a network cannot be built, with the names that it is about: [`Self::what_and_fix`] says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlanError {
    Unknown(String),
    Twice(String),
    NoAddress(String),
    TwoLinks(String),
    SameAddress(String, String, Ipv4Addr),
    Loop(String, String),
    Impossible(String, String),
    TooMany(usize),
}

impl PlanError {
    /// What is wrong, and the fix.
    pub fn what_and_fix(&self) -> (String, &'static str) {
        match self {
            Self::Unknown(name) => (
                format!("`{name}` is not a linked node, switch, attacker or link of the scenario"),
                "add it or correct the name",
            ),
            Self::Twice(name) => {
                (format!("`{name}` is the name of two nodes, switches or attackers"), "rename one")
            }
            Self::NoAddress(node) => (
                format!("node `{node}` has a link but no address"),
                "give it one, such as `10.0.0.1/24`",
            ),
            Self::TwoLinks(name) => (
                format!("`{name}` has two links, but a node or attacker has only one interface"),
                "link it to a switch",
            ),
            Self::SameAddress(one, other, ip) => {
                (format!("nodes `{one}` and `{other}` both have address {ip}"), "change one")
            }
            Self::Loop(from, to) => (
                format!(
                    "the link from `{from}` to `{to}` closes a loop, and the switches have no \
                     spanning tree protocol"
                ),
                "remove one link of the loop",
            ),
            Self::Impossible(from, to) => (
                format!(
                    "the link from `{from}` to `{to}` has a rate, queue, delay or loss out of range"
                ),
                "give a rate and a queue of at least 1, a delay that is not negative, and a loss of \
                 at most all",
            ),
            Self::TooMany(count) => (
                format!("{count} nodes and attackers are more than {STATIONS_MAX}"),
                "split the scenario",
            ),
        }
    }
}

/// As many as the last two octets of a MAC address distinguish.
const STATIONS_MAX: usize = 0xffff;

impl Plan {
    /// The network made of these parts; nodes without a link have no place in it.
    ///
    /// # Errors
    /// When it cannot be built, with the place and the fix.
    pub fn of(
        nodes: &[Host],
        switches: &[String],
        attackers: &[Attacker],
        links: &[Link],
        events: &[Event],
    ) -> Result<Self, PlanError> {
        let stations = stations(nodes, attackers, links)?;
        let places = places(&stations, switches)?;
        let links = planned_links(links, &places)?;
        check_shape(&stations, switches.len(), &links)?;
        let changes = changes(events, &stations, &places, &links)?;
        Ok(Self { stations, switches: switches.to_vec(), links, changes })
    }

    /// Names of the attackers, in order.
    pub fn attackers(&self) -> impl Iterator<Item = &str> {
        let attackers = self.stations.iter();
        attackers.filter(|one| one.kind == StationKind::Attacker).map(|one| one.name.as_str())
    }

    /// The nodes that need a TAP device: name, MAC address, address and prefix length.
    pub fn nodes(&self) -> impl Iterator<Item = (&str, MacAddress, Ipv4Addr, u8)> {
        self.stations.iter().filter_map(|station| match station.kind {
            StationKind::Node(ip, prefix) => Some((station.name.as_str(), station.mac, ip, prefix)),
            StationKind::Attacker => None,
        })
    }
}

/// The MAC address of the station at `index`: locally administered, with the initials of the
/// project, counted from 1.
fn mac_of(index: usize) -> MacAddress {
    let [high, low] = u16::try_from(index + 1).unwrap_or(u16::MAX).to_be_bytes();
    MacAddress([0x02, 0x51, 0x43, 0x00, high, low])
}

fn stations(
    nodes: &[Host],
    attackers: &[Attacker],
    links: &[Link],
) -> Result<Vec<Station>, PlanError> {
    let count = nodes.len() + attackers.len();
    if count > STATIONS_MAX {
        return Err(PlanError::TooMany(count));
    }
    let is_linked = |name: &str| links.iter().any(|link| link.from == name || link.to == name);
    let mut stations = Vec::new();
    let mut owners = BTreeMap::new();
    // A MAC address depends on the place in the file only, not on who else is linked.
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| is_linked(&node.name)) {
        let name = node.name.clone();
        let (ip, prefix) = node.address.ok_or_else(|| PlanError::NoAddress(name.clone()))?;
        if let Some(owner) = owners.insert(ip, name.clone()) {
            return Err(PlanError::SameAddress(owner, name, ip));
        }
        stations.push(Station { name, mac: mac_of(index), kind: StationKind::Node(ip, prefix) });
    }
    for (index, attacker) in attackers.iter().enumerate() {
        let mac = mac_of(nodes.len() + index);
        stations.push(Station { name: attacker.name.clone(), mac, kind: StationKind::Attacker });
    }
    Ok(stations)
}

fn places<'a>(
    stations: &'a [Station],
    switches: &'a [String],
) -> Result<BTreeMap<&'a str, Place>, PlanError> {
    let stations =
        stations.iter().enumerate().map(|(n, station)| (station.name.as_str(), Place::Station(n)));
    let switches = switches.iter().enumerate().map(|(n, name)| (name.as_str(), Place::Switch(n)));
    let mut places = BTreeMap::new();
    for (name, place) in stations.chain(switches) {
        if places.insert(name, place).is_some() {
            return Err(PlanError::Twice(name.to_owned()));
        }
    }
    Ok(places)
}

fn find(places: &BTreeMap<&str, Place>, name: &str) -> Result<Place, PlanError> {
    places.get(name).copied().ok_or_else(|| PlanError::Unknown(name.to_owned()))
}

fn planned_links(
    links: &[Link],
    places: &BTreeMap<&str, Place>,
) -> Result<Vec<PlannedLink>, PlanError> {
    let planned = links.iter().map(|link| {
        let ends = [find(places, &link.from)?, find(places, &link.to)?];
        let names = [link.from.clone(), link.to.clone()];
        let Link { delay, rate_bps, queue, loss, .. } = *link;
        let loses_too_many = loss.per_million > 1_000_000;
        if rate_bps == Some(0) || queue == 0 || delay < VirtualSpan::ZERO || loses_too_many {
            let [from, to] = names;
            return Err(PlanError::Impossible(from, to));
        }
        Ok(PlannedLink { names, ends, delay, rate_bps, queue, loss })
    });
    planned.collect()
}

fn check_shape(
    stations: &[Station],
    switches: usize,
    links: &[PlannedLink],
) -> Result<(), PlanError> {
    let mut linked = vec![false; stations.len()];
    let number = |place| match place {
        Place::Station(n) => n,
        Place::Switch(n) => stations.len() + n,
    };
    // Places that are connected so far carry the same number.
    let mut islands: Vec<usize> = (0..stations.len() + switches).collect();
    for link in links {
        let [from, to] = link.ends.map(|end| islands[number(end)]);
        if from == to {
            let [from, to] = link.names.clone();
            return Err(PlanError::Loop(from, to));
        }
        for end in link.ends {
            if let Place::Station(n) = end
                && std::mem::replace(&mut linked[n], true)
            {
                return Err(PlanError::TwoLinks(stations[n].name.clone()));
            }
        }
        islands.iter_mut().filter(|island| **island == to).for_each(|island| *island = from);
    }
    Ok(())
}

fn changes(
    events: &[Event],
    stations: &[Station],
    places: &BTreeMap<&str, Place>,
    links: &[PlannedLink],
) -> Result<Vec<Change>, PlanError> {
    let mut changes = Vec::new();
    for event in events {
        let what = match &event.what {
            EventKind::Link { from, to, up } => {
                ChangeKind::Link { link: find_link(places, links, from, to)?, up: *up }
            }
            EventKind::ArpPoison { attacker, victims: [one, other] } => ChangeKind::Poison {
                attacker: find_attacker(stations, attacker)?,
                victims: [find_victim(stations, one)?, find_victim(stations, other)?],
            },
        };
        changes.push(Change { at: event.at, what });
    }
    // Stable, so that what happens at the same time happens in the order of the scenario.
    changes.sort_by_key(|change| change.at);
    Ok(changes)
}

fn find_link(
    places: &BTreeMap<&str, Place>,
    links: &[PlannedLink],
    from: &str,
    to: &str,
) -> Result<usize, PlanError> {
    let (one, other) = (find(places, from)?, find(places, to)?);
    let is_meant = |link: &PlannedLink| [[one, other], [other, one]].contains(&link.ends);
    let found = links.iter().position(is_meant);
    found.ok_or_else(|| PlanError::Unknown(format!("{from} - {to}")))
}

fn find_attacker(stations: &[Station], name: &str) -> Result<usize, PlanError> {
    let is_meant = |one: &Station| one.name == name && one.kind == StationKind::Attacker;
    stations.iter().position(is_meant).ok_or_else(|| PlanError::Unknown(name.to_owned()))
}

fn find_victim(stations: &[Station], name: &str) -> Result<Victim, PlanError> {
    let victim = stations.iter().find_map(|station| match station.kind {
        StationKind::Node(ip, _) if station.name == name => Some(Victim { ip, mac: station.mac }),
        _ => None,
    });
    victim.ok_or_else(|| PlanError::Unknown(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, last: u8) -> Host {
        Host { name: name.into(), address: Some((Ipv4Addr::new(10, 0, 0, last), 24)) }
    }

    fn link(from: &str, to: &str) -> Link {
        let (from, to) = (from.into(), to.into());
        let (delay, loss) = (VirtualSpan::from_ms(1), Loss::default());
        Link { from, to, delay, rate_bps: None, queue: 100, loss }
    }

    fn plan(links: &[Link], events: &[Event]) -> Result<Plan, PlanError> {
        let nodes = [node("alone", 9), node("alice", 1), node("bob", 2)];
        let attackers = [Attacker { name: "eve".into() }];
        Plan::of(&nodes, &["hub".into(), "far".into()], &attackers, links, events)
    }

    fn star() -> Vec<Link> {
        vec![link("alice", "hub"), link("hub", "bob"), link("eve", "hub")]
    }

    #[test]
    fn names_become_numbers_and_places_become_mac_addresses() {
        let victims = ["alice".into(), "bob".into()];
        let attack = EventKind::ArpPoison { attacker: "eve".into(), victims };
        let cut = EventKind::Link { from: "bob".into(), to: "hub".into(), up: false };
        let event = |s, what| Event { at: VirtualSpan::from_s(s), what };
        let plan = plan(&star(), &[event(3, attack), event(1, cut)]).unwrap();
        let nodes: Vec<_> = plan.nodes().map(|(name, mac, ..)| (name, mac.to_string())).collect();
        let expected = [("alice", "02:51:43:00:00:02"), ("bob", "02:51:43:00:00:03")];
        assert_eq!(nodes, expected.map(|(name, mac)| (name, mac.to_owned())));
        assert_eq!(plan.stations[2].mac.to_string(), "02:51:43:00:00:04");
        assert_eq!(plan.links[1].ends, [Place::Switch(0), Place::Station(1)]);
        assert_eq!(plan.changes[0].what, ChangeKind::Link { link: 1, up: false });
        let ChangeKind::Poison { attacker, victims } = plan.changes[1].what else {
            panic!("no attack")
        };
        assert_eq!((attacker, victims[1].ip), (2, Ipv4Addr::new(10, 0, 0, 2)));
    }

    #[test]
    fn what_cannot_work_is_refused() {
        let refused = |links: &[Link]| plan(links, &[]).unwrap_err();
        assert_eq!(refused(&[link("alice", "nowhere")]), PlanError::Unknown("nowhere".into()));
        assert_eq!(
            refused(&[link("alice", "hub"), link("alice", "far")]),
            PlanError::TwoLinks("alice".into())
        );
        assert_eq!(
            refused(&[link("hub", "far"), link("far", "hub")]),
            PlanError::Loop("far".into(), "hub".into())
        );
        assert!(matches!(refused(&[link("hub", "hub")]), PlanError::Loop(..)));
        let still = Link { rate_bps: Some(0), ..link("alice", "hub") };
        assert_eq!(refused(&[still]), PlanError::Impossible("alice".into(), "hub".into()));
        let bare = Host { address: None, ..node("bare", 1) };
        let bare = Plan::of(&[bare], &["hub".into()], &[], &[link("bare", "hub")], &[]);
        assert_eq!(bare, Err(PlanError::NoAddress("bare".into())));
        let cut = EventKind::Link { from: "alice".into(), to: "bob".into(), up: false };
        let cut = plan(&star(), &[Event { at: VirtualSpan::ZERO, what: cut }]);
        assert_eq!(cut, Err(PlanError::Unknown("alice - bob".into())));
    }
}
