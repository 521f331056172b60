//! Cross references: what one part of a scenario says about another must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use vtime::VirtualSpan;

use super::network::{self, Part};
use super::nodes;
use ::network::plan::Link;
use ::plant::name::{self, PointName};
use settings::cursor::{Mapping, Placed};
use settings::problems::quoted;
use settings::suggest;

/// What events and requirements refer to.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) network: network::Read<'a>,
    pub(super) captures: bool,
    /// Whether there is a plant, right or wrong.
    pub(super) has_plant: bool,
    /// Points that are recorded, in lower case.
    pub(super) recorded: BTreeSet<String>,
    /// Names of programs, and in which nodes they run.
    pub(super) programs: BTreeMap<String, String>,
    /// Length of the run as the file has it.
    pub(super) duration: Option<VirtualSpan>,
}

impl World<'_> {
    /// Reports a name that is not the one of a `part`. Returns whether it is.
    pub(super) fn expect(&self, name: &Placed<'_, String>, part: Part) -> bool {
        let there = self.network.parts.get(&name.value).copied();
        if there == Some(part) {
            return true;
        }
        let is = match there {
            Some(other) => format!("is {}, not {}", other.with_article(), part.with_article()),
            None => format!("is not {}", part.with_article()),
        };
        let fix = suggest::instead_of(&name.value, part.plural(), self.network.names(part));
        name.place.wrong(format!("{} {is}", quoted(&name.value)), fix);
        false
    }

    /// Reports two nodes that are one, or that do not reach each other. Returns whether both are
    /// nodes.
    pub(super) fn expect_connected_nodes(&self, names: [&Placed<'_, String>; 2]) -> bool {
        let [one, other] = names;
        let are_nodes = names.map(|name| self.expect(name, Part::Node)) == [true, true];
        if are_nodes && one.value == other.value {
            other.place.wrong(format!("{} is named twice", quoted(&one.value)), "name two nodes");
        } else if are_nodes {
            self.expect_path(one, other);
        }
        are_nodes
    }

    /// Reports a measure of frames if none are kept.
    pub(super) fn expect_captures(&self, measure: &Mapping<'_>) {
        if !self.captures {
            let fix = "remove `capture: none`";
            measure.place.wrong("this measures frames, but captures are off", fix);
        }
    }

    /// Reports `to` if nothing connects it to `from`.
    pub(super) fn expect_path(&self, from: &Placed<'_, String>, to: &Placed<'_, String>) {
        let topology = &self.network.topology;
        if self.network.is_whole && topology.path(&from.value, &to.value).is_none() {
            let (from, to_name) = (quoted(&from.value), quoted(&to.value));
            let what = format!("no path of links connects {from} and {to_name}");
            to.place.wrong(what, "connect them in `links`");
        }
    }

    /// The link between two ends; reports that there is none.
    pub(super) fn expect_link(&self, ends: [&Placed<'_, String>; 2]) -> Option<&Link> {
        let [one, other] = ends.map(|end| end.value.as_str());
        let pair = [(one, other), (other, one)];
        let joins = |link: &&Link| pair.contains(&(&link.from, &link.to));
        let link = self.network.links.iter().find(joins);
        if link.is_none() && self.network.is_whole {
            let links = self.network.links.iter();
            let pairs: Vec<String> =
                links.map(|link| format!("{}-{}", link.from, link.to)).collect();
            let fix = suggest::all("links", pairs.iter().map(String::as_str));
            let what = format!("there is no link between {} and {}", quoted(one), quoted(other));
            ends[0].place.wrong(what, fix);
        }
        link
    }

    /// Reports a name that no program has. Returns whether one has it.
    pub(super) fn expect_program(&self, name: &Placed<'_, String>) -> bool {
        let is_there = self.programs.contains_key(&name.value);
        if !is_there {
            let names = self.programs.keys().map(String::as_str);
            let fix = suggest::instead_of(&name.value, "programs", names);
            name.place.wrong(format!("{} is not a program", quoted(&name.value)), fix);
        }
        is_there
    }

    /// Reports a point of a scenario without a plant.
    pub(super) fn expect_plant(&self, point: &Placed<'_, PointName>) {
        if !self.has_plant {
            let what = format!("`{}` needs a plant, and the scenario has none", point.value.0);
            point.place.wrong(what, "describe it under `plant`");
        }
    }

    /// Reports a point that is measured and not recorded.
    pub(super) fn expect_recorded(&self, point: &Placed<'_, PointName>) {
        self.expect_plant(point);
        if self.has_plant && !self.recorded.contains(&name::point_key(&point.value)) {
            let what = format!("`{}` is not recorded, so it cannot be measured", point.value.0);
            point.place.wrong(what, "add it to `plant.record.points`");
        }
    }
}

/// Reports two nodes with one address, and addresses outside the subnet of the others.
pub(super) fn addresses(nodes: &[nodes::Read<'_>]) {
    let given = || nodes.iter().filter_map(|node| Some((&node.name.value, node.address.as_ref()?)));
    let mut taken: BTreeMap<Ipv4Addr, &str> = BTreeMap::new();
    for (name, address) in given() {
        if let Some(other) = taken.insert(address.value.0, name) {
            let what = format!("`{other}` also has the address {}", address.value.0);
            address.place.wrong(what, "give each node an address of its own");
        }
    }
    let Some(subnet) = most_common(given().map(|(_, address)| subnet(address.value))) else {
        return;
    };
    for (_, address) in given().filter(|(_, address)| self::subnet(address.value) != subnet) {
        let ((host, prefix), (network, length)) = (address.value, subnet);
        let what =
            format!("{host}/{prefix} is outside {network}/{length}, the subnet of the other nodes");
        address.place.wrong(what, "put all nodes in one subnet; there are no routers");
    }
}

fn subnet((address, prefix): (Ipv4Addr, u8)) -> (Ipv4Addr, u8) {
    (Ipv4Addr::from(u32::from(address) & !(u32::MAX >> prefix)), prefix)
}

/// The value that comes most often, the first of those that come equally often.
fn most_common<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, (usize, std::cmp::Reverse<usize>)> = BTreeMap::new();
    for (index, value) in values.enumerate() {
        counts.entry(value).or_insert((0, std::cmp::Reverse(index))).0 += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

/// Reports programs of one name.
pub(super) fn programs(nodes: &[nodes::Read<'_>]) {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for name in nodes.iter().flat_map(|node| &node.programs) {
        if let Some(line) = lines.insert(&name.value, name.place.line()) {
            let what = format!("the program on line {line} is also called {}", quoted(&name.value));
            name.place.wrong(what, "give each program a name of its own");
        }
    }
}

/// Reports points that nodes serve without a plant, that two of them write, and that one writes
/// while a profile drives them.
pub(super) fn point_files(
    nodes: &[nodes::Read<'_>],
    driven: &[Placed<'_, PointName>],
    world: &World<'_>,
) {
    let driven = driven.iter().map(|at| (name::point_key(&at.value), at.place.line()));
    let driven: BTreeMap<String, usize> = driven.collect();
    let mut written: BTreeMap<String, &str> = BTreeMap::new();
    for node in nodes {
        for (point, writable) in &node.files {
            world.expect_plant(point);
            if *writable {
                let (key, name) = (name::point_key(&point.value), point.value.0.as_str());
                if let Some(line) = driven.get(&key) {
                    let what = format!(
                        "programs would write `{name}`, which the profile on line {line} drives"
                    );
                    point.place.wrong(what, "set `access: read`, or drop it from the profile");
                }
                if let Some(other) = written.insert(key, &node.name.value)
                    && other != node.name.value
                {
                    let what = format!("{} also writes `{name}`", quoted(other));
                    point.place.wrong(what, "let only one node write it");
                }
            }
        }
    }
}
