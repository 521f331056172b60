//! Reads `switches`, `attackers` and `links`.

use std::collections::BTreeMap;

use super::nodes;
use super::topology::Topology;
use ::network::plan::{Attacker, Link, Loss};
use settings::cursor::{Mapping, Place, Placed};
use settings::problems::quoted;
use settings::{names, suggest, units};

/// The network as far as it is right.
#[derive(Debug, Default)]
pub(super) struct Read<'a> {
    pub(super) switches: Vec<String>,
    pub(super) attackers: Vec<Attacker>,
    pub(super) links: Vec<Link>,
    /// Where each of them stands.
    pub(super) link_places: Vec<Place<'a>>,
    pub(super) topology: Topology,
    /// The links of the topology that join two switches.
    between_switches: Topology,
    pub(super) parts: BTreeMap<String, Part>,
    /// Ends of links, in the order of the file.
    pub(super) ends: Vec<Placed<'a, String>>,
    pub(super) attackers_named: Vec<Placed<'a, String>>,
    /// Whether all links are right, so that what is not connected is so on purpose.
    pub(super) is_whole: bool,
}

/// What a name on the network stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Node,
    Switch,
    Attacker,
}

impl Part {
    pub(super) fn with_article(self) -> &'static str {
        match self {
            Self::Node => "a node",
            Self::Switch => "a switch",
            Self::Attacker => "an attacker",
        }
    }

    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Node => "nodes",
            Self::Switch => "switches",
            Self::Attacker => "attackers",
        }
    }
}

impl Read<'_> {
    pub(super) fn names(&self, part: Part) -> impl Iterator<Item = &str> + Clone {
        self.parts.iter().filter(move |(_, of)| **of == part).map(|(name, _)| name.as_str())
    }
}

pub(super) fn read<'a>(scenario: &Mapping<'a>, nodes: &[nodes::Read<'a>]) -> Read<'a> {
    let mut read = Read { is_whole: true, ..Read::default() };
    for node in nodes {
        add_part(&mut read, &node.name, Part::Node);
    }
    for name in names_in(scenario, "switches") {
        add_part(&mut read, &name, Part::Switch);
        read.switches.push(name.value);
    }
    for name in names_in(scenario, "attackers") {
        if add_part(&mut read, &name, Part::Attacker) {
            read.attackers.push(Attacker { name: name.value.clone() });
            read.attackers_named.push(name);
        }
    }
    for cursor in scenario.items("links") {
        match cursor.mapping().and_then(|mapping| read_link(&mapping, &mut read)) {
            Some(link) => {
                read.links.push(link);
                read.link_places.push(cursor.place);
            }
            None => read.is_whole = false,
        }
    }
    read
}

fn names_in<'a>(scenario: &Mapping<'a>, key: &str) -> Vec<Placed<'a, String>> {
    let items = scenario.items(key);
    items.iter().filter_map(|item| item.parse(names::on_network)).collect()
}

/// Adds a name. Returns whether it is new; reports it otherwise.
fn add_part(read: &mut Read<'_>, name: &Placed<'_, String>, part: Part) -> bool {
    if let Some(other) = read.parts.get(&name.value) {
        let (name_quoted, other) = (quoted(&name.value), other.with_article());
        let what = format!("{name_quoted} is already the name of {other}");
        name.place.wrong(what, "give each node, switch and attacker a name of its own");
        return false;
    }
    read.parts.insert(name.value.clone(), part);
    true
}

fn read_link<'a>(mapping: &Mapping<'a>, read: &mut Read<'a>) -> Option<Link> {
    let delay = mapping.parse("delay", units::time_not_negative);
    let rate = mapping.parse("rate", units::rate_bps);
    let queue = mapping.whole("queue");
    let loss = mapping.parse("loss", units::per_million);
    let from = end(mapping, "from", read);
    let to = end(mapping, "to", read);
    let (from, to) = (from?, to?);
    read.ends.extend([from.clone(), to.clone()]);
    if from.value == to.value {
        let what = format!("{} is linked to itself", quoted(&to.value));
        to.place.wrong(what, "name a different end");
        return None;
    }
    add_link(mapping, &from.value, &to.value, read);
    if mapping.has("rate") && rate.is_none() {
        return None;
    }
    Some(Link {
        from: from.value,
        to: to.value,
        delay: delay?.value,
        rate_bps: rate.map(|rate| rate.value),
        queue: usize::try_from(queue?.value).expect("the table bounds it far below 32 bits"),
        // The seed comes when all is read.
        loss: Loss { per_million: loss?.value, seed: 0 },
    })
}

fn end<'a>(mapping: &Mapping<'a>, key: &str, read: &Read<'_>) -> Option<Placed<'a, String>> {
    let end = mapping.text(key)?;
    if read.parts.contains_key(&end.value) {
        return Some(end);
    }
    let what = format!("{} is not a node, switch or attacker", quoted(&end.value));
    let parts = read.parts.keys().map(String::as_str);
    end.place.wrong(what, suggest::instead_of(&end.value, "ends there", parts));
    None
}

/// Adds a link to the topology unless it is there or closes a loop of switches.
fn add_link(mapping: &Mapping<'_>, from: &str, to: &str, read: &mut Read<'_>) {
    if read.topology.joins(from, to) {
        let what = format!("`{from}` and `{to}` are already linked");
        return mapping.place.wrong(what, "keep one of the links");
    }
    if [from, to].iter().all(|end| read.parts.get(*end) == Some(&Part::Switch)) {
        if let Some(path) = read.between_switches.path(from, to) {
            let what = format!("switches form a loop: {} - {from}", path.join(" - "));
            let fix = "remove one of its links; there is no spanning tree protocol";
            return mapping.place.wrong(what, fix);
        }
        read.between_switches.connect(from, to);
    }
    read.topology.connect(from, to);
}

/// Reports nodes and attackers with several links, linked nodes without address, and what has
/// no link although it needs one.
pub(super) fn check_ends(read: &Read<'_>, nodes: &[nodes::Read<'_>]) {
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for end in &read.ends {
        let part = read.parts.get(&end.value).copied();
        let Some(line) = first.get(end.value.as_str()) else {
            first.insert(&end.value, end.place.line());
            continue;
        };
        if let Some(part @ (Part::Node | Part::Attacker)) = part {
            let (name, part) = (quoted(&end.value), part.with_article());
            let what = format!("{part} has one interface, and line {line} already links {name}");
            end.place.wrong(what, "put a switch in between");
        }
    }
    let no_link = |name: &Placed<'_, String>, what: String| {
        if read.is_whole && !first.contains_key(name.value.as_str()) {
            name.place.wrong(what, "add it to `links`");
        }
    };
    for attacker in &read.attackers_named {
        no_link(attacker, format!("the attacker {} has no link", quoted(&attacker.value)));
    }
    for node in nodes {
        let name = quoted(&node.name.value);
        if node.has_address {
            no_link(&node.name, format!("the node {name} has an address but no link"));
        } else if first.contains_key(node.name.value.as_str()) {
            let what = format!("the node {name} is linked but has no address");
            node.name.place.wrong(what, "add `address`, such as `10.0.0.4/24`");
        }
    }
}
