//! Reads `nodes`: where programs run, what they see of the plant, and the programs.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use super::files::Places;
use super::model::{Compute, Node, OnExit, PointFile, Program};
use super::{hosts, plant};
use ::plant::name::{self, PointName};
use settings::cursor::{Cursor, Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::table::Shape;
use settings::{names, units, words};
use vtime::{Tdf, VirtualSpan};

/// Prefix lengths that leave room for two hosts besides network and broadcast address.
const PREFIX_LENGTHS: std::ops::RangeInclusive<u8> = 1..=30;

/// A node as far as it is right, and where its parts stand.
#[derive(Debug)]
pub(super) struct Read<'a> {
    pub(super) node: Node,
    pub(super) name: Placed<'a, String>,
    /// The number of its host.
    pub(super) host: Option<usize>,
    /// Whether there is an address, right or wrong.
    pub(super) has_address: bool,
    pub(super) address: Option<Placed<'a, (Ipv4Addr, u8)>>,
    /// Points served, and whether programs may write them.
    pub(super) files: Vec<(Placed<'a, PointName>, bool)>,
    pub(super) programs: Vec<Placed<'a, String>>,
}

pub(super) fn read<'a>(
    scenario: &Mapping<'a>,
    places: &Places,
    hosts: &hosts::Read<'_>,
) -> Vec<Read<'a>> {
    let nodes = scenario.named("nodes").into_iter();
    nodes.map(|(name, cursor)| read_node(&name, &cursor, places, hosts)).collect()
}

fn read_node<'a>(
    name: &Placed<'a, &str>,
    cursor: &Cursor<'a>,
    places: &Places,
    hosts: &hosts::Read<'_>,
) -> Read<'a> {
    name.place.clone().parse(name.value, names::on_network);
    let name = Placed { value: name.value.to_owned(), place: name.place.clone() };
    let node = Node {
        name: name.value.clone(),
        address: None,
        compute: Compute::default(),
        files: Vec::new(),
        programs: Vec::new(),
    };
    let mut read = Read {
        node,
        name,
        host: None,
        has_address: false,
        address: None,
        files: Vec::new(),
        programs: Vec::new(),
    };
    if let Some(mapping) = cursor.mapping() {
        mapping.choice("kind");
        read.host = hosts.of_node(&read.name, mapping.text("host").as_ref());
        read.has_address = mapping.has("address");
        read.address = mapping.parse("address", address);
        read.node.address = read.address.as_ref().map(|address| address.value);
        read.node.compute = mapping.mapping("compute").map(|it| compute(&it)).unwrap_or_default();
        read_files(&mapping, &mut read);
        let here = hosts.is_here(read.host).then_some(places);
        read_programs(&mapping, here, &mut read);
    }
    read
}

fn compute(mapping: &Mapping<'_>) -> Compute {
    let keys = ["per_wakeup", "per_processor_time"];
    if !keys.iter().any(|key| mapping.has(key)) {
        let fix = "add `per_wakeup: 50 us` or `per_processor_time: 8`";
        mapping.place.wrong("neither `per_wakeup` nor `per_processor_time` is there", fix);
    }
    let per_wakeup = mapping.parse(keys[0], units::time_not_negative);
    let factor = mapping.parse(keys[1], |text| {
        let fix = "write a plain decimal number between 0.01 and 1000, such as 8";
        let wrong = |_| Fault::new(format!("{} is no such factor", quoted(text)), fix);
        text.parse::<Tdf>().map_err(wrong)
    });
    let millionths = factor.map_or(0, |factor| factor.value.millionths());
    Compute {
        per_wakeup: per_wakeup.map_or(VirtualSpan::ZERO, |span| span.value),
        per_processor_time_millionths: u32::try_from(millionths).unwrap_or(u32::MAX),
    }
}

fn read_files<'a>(node: &Mapping<'a>, read: &mut Read<'a>) {
    for file in node.items("files").iter().filter_map(Cursor::mapping) {
        let point = file.parse("point", name::point);
        let access = file.choice("access");
        let latency = file.parse("latency", units::time_not_negative);
        let (Some(point), Some(access), Some(latency)) = (point, access, latency) else { continue };
        let writable = access.value == "write";
        if writable {
            plant::refuse_results(&point);
        }
        let latency = latency.value;
        read.node.files.push(PointFile { point: point.value.clone(), writable, latency });
        read.files.push((point, writable));
    }
    let points: Vec<_> = read.files.iter().map(|(point, _)| point.clone()).collect();
    plant::refuse_twice(&points, "two files of this node serve", "serve it once");
}

/// Programs, which are looked for at `places` unless they are on another machine.
fn read_programs<'a>(node: &Mapping<'a>, places: Option<&Places>, read: &mut Read<'a>) {
    for program in node.items("programs").iter().filter_map(Cursor::mapping) {
        let name = program.parse("name", names::of_program);
        let command = program.cursor("run").and_then(|run| command(&run, places));
        let environment = environment(&program);
        let on_exit = program.choice("on_exit");
        read.programs.extend(name.clone());
        if let (Some(name), Some(command), Some(on_exit)) = (name, command, on_exit) {
            let (name, ignored) = (name.value, on_exit.value == "ignore");
            let on_exit = if ignored { OnExit::Ignore } else { OnExit::Fail };
            read.node.programs.push(Program { name, command, environment, on_exit });
        }
    }
}

/// Program and arguments, the program as it was found, or as it stands where nobody can look yet.
fn command(run: &Cursor<'_>, places: Option<&Places>) -> Option<Vec<String>> {
    let mut words = if run.is_list() {
        let items = run.as_shape(&Shape::List(&Shape::Text)).items()?;
        let words = items.iter().map(|item| item.parse(no_zero).map(|word| word.value));
        words.collect::<Option<Vec<String>>>()?
    } else {
        run.parse(|text| no_zero(text).and_then(|text| words::split(&text)))?.value
    };
    let Some(program) = words.first_mut() else {
        run.place.wrong("no program is given", "write the program and its arguments");
        return None;
    };
    let Some(places) = places else { return Some(words) };
    let found = places.program(program).and_then(|path| {
        let no_text = |_| {
            let what = format!("the path of {} is not UTF-8", quoted(program));
            Fault::new(what, "move it to a folder with a different name")
        };
        path.into_os_string().into_string().map_err(no_text)
    });
    *program = found.map_err(|fault| run.place.report(fault)).ok()?;
    Some(words)
}

fn environment(program: &Mapping<'_>) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for (name, value) in program.named("environment") {
        name.place.clone().parse(name.value, names::of_variable);
        if let Some(value) = value.parse(no_zero) {
            environment.insert(name.value.to_owned(), value.value);
        }
    }
    environment
}

/// Linux ends arguments and variables at a zero octet.
fn no_zero(text: &str) -> Result<String, Fault> {
    if text.contains('\0') {
        return Err(Fault::new("the text contains a NUL byte", "leave it out"));
    }
    Ok(text.to_owned())
}

/// An address of a host and its prefix length, `10.0.0.4/24`.
fn address(text: &str) -> Result<(Ipv4Addr, u8), Fault> {
    let refuse = |reason: &str| {
        let what = format!("{} {reason}", quoted(text));
        Err(Fault::new(what, "write the address of a host, such as `10.0.0.4/24`"))
    };
    let Some((address, prefix)) = text.split_once('/') else {
        return refuse("has no prefix length");
    };
    let Ok(address) = address.parse::<Ipv4Addr>() else {
        return refuse("is not an IPv4 address");
    };
    // Not in hexadecimal, as addresses are written.
    let length = prefix.parse::<u8>().ok().filter(|_| !prefix.starts_with('+'));
    let Some(prefix) = length.filter(|length| PREFIX_LENGTHS.contains(length)) else {
        return refuse("has no prefix length from 1 to 30");
    };
    let host = u32::from(address) & (u32::MAX >> prefix);
    let first = address.octets()[0];
    let is_special = address.is_loopback() || address.is_multicast() || first == 0;
    match host {
        0 => refuse("is the address of the network"),
        _ if host == u32::MAX >> prefix => refuse("is the broadcast address of its network"),
        _ if is_special => refuse("is not an address that a host can have"),
        _ if first >= 240 => refuse("is in a reserved range"),
        _ => Ok((address, prefix)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_hosts_are_accepted() {
        assert_eq!(address("10.0.0.4/24").unwrap(), (Ipv4Addr::new(10, 0, 0, 4), 24));
        assert!(address("10.0.0.1/30").is_ok());
        for text in [
            "10.0.0.4",
            "10.0.0.0/24",
            "10.0.0.255/24",
            "10.0.0.4/31",
            "10.0.0.4/0",
            "10.0.0.4/-1",
            "10.0.0.256/24",
            "127.0.0.1/8",
            "224.0.0.5/24",
            "0.0.0.1/24",
            "250.0.0.1/24",
            "fe80::1/64",
            "/",
        ] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
