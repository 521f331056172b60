//! Reads `hosts`: the machines that nodes run on.

use std::net::IpAddr;
use std::path::PathBuf;

use remote::Target;
use signal_bus::{Active, Drive, Through, Wiring};

use super::files::Places;
use super::model::{Host, OnLoss};
use settings::cursor::{Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::suggest;

/// The hosts as far as they are right, those that ssh reaches first: a host connects to those before it, and
/// this machine may be one that nobody else can reach.
#[derive(Debug, Default)]
pub(super) struct Read<'a> {
    pub(super) hosts: Vec<Host>,
    pub(super) names: Vec<Placed<'a, String>>,
    /// Whether ssh reaches it, rightly described or not.
    are_far: Vec<bool>,
}

pub(super) fn read<'a>(scenario: &Mapping<'a>, places: &Places) -> Read<'a> {
    let named = scenario.named("hosts").into_iter().map(|(name, cursor)| {
        let options = cursor.mapping();
        let is_far = options.as_ref().is_some_and(|options| options.has("ssh"));
        (is_far, name, options)
    });
    let mut all: Vec<_> = named.collect();
    all.sort_by_key(|(is_far, ..)| !is_far);
    let mut read = Read::default();
    for (is_far, name, options) in all {
        read.hosts.push(read_host(&name, options.as_ref(), places));
        read.names.push(Placed { value: name.value.to_owned(), place: name.place });
        read.are_far.push(is_far);
    }
    read
}

fn read_host(name: &Placed<'_, &str>, options: Option<&Mapping<'_>>, places: &Places) -> Host {
    let mut host = Host {
        name: name.value.to_owned(),
        ssh: None,
        address: None,
        directory: places.directory.clone(),
        bus: None,
        on_loss: OnLoss::End,
    };
    let Some(options) = options else { return host };
    host.bus = options.mapping("bus").and_then(|bus| wiring(&bus));
    if options.choice("on_loss").is_some_and(|word| word.value == "go-on") {
        host.on_loss = OnLoss::GoOn;
    }
    if options.has("ssh") {
        host.ssh = Target::read(options, "ssh", &places.directory);
        host.address = options.parse("address", address).map(|address| address.value);
        let directory = options.parse("directory", absolute);
        host.directory = directory.map_or(host.directory, |directory| directory.value);
        return host;
    }
    let far = ["port", "identity", "config", "folder", "address", "directory"];
    options.refuse(&far, "this is for hosts that `ssh` reaches");
    host
}

fn wiring(bus: &Mapping<'_>) -> Option<Wiring> {
    let keys = ["output", "input", "input_released"];
    let lines = keys.map(|key| bus.whole(key).and_then(|line| u32::try_from(line.value).ok()));
    for (number, key) in keys.iter().enumerate() {
        if let Some(line) = lines[number]
            && lines[..number].contains(&Some(line))
        {
            bus.wrong(
                key,
                format!("line {line} is named twice"),
                "each line has one part on the bus",
            );
        }
    }
    let (chip, debounce, through) = (bus.text("chip"), bus.time("debounce"), bus.choice("through"));
    let is = |key, word| bus.is(key, word);
    let [output, input, input_released] = lines;
    let (active, drive) = (is("active", "high"), is("drive", "push-pull"));
    Some(Wiring {
        chip: chip?.value,
        output: output?,
        input: input?,
        input_released,
        active: if active { Active::High } else { Active::Low },
        drive: if drive { Drive::PushPull } else { Drive::OpenDrain },
        debounce_us: u32::try_from(debounce?.as_micros()).ok()?,
        through: match through?.value {
            "module" => Through::Module,
            "lines" => Through::Lines,
            _ => Through::Either,
        },
    })
}

fn address(text: &str) -> Result<IpAddr, Fault> {
    text.parse().map_err(|_| {
        let what = format!("{} is not an address", quoted(text));
        Fault::new(what, "write it as `192.0.2.7` or `2001:db8::7`")
    })
}

fn absolute(text: &str) -> Result<PathBuf, Fault> {
    let path = PathBuf::from(text);
    if !path.is_absolute() || text.contains('\0') {
        let what = format!("{} is not an absolute path", quoted(text));
        return Err(Fault::new(what, "write it as `/opt/station`"));
    }
    Ok(path)
}

impl Read<'_> {
    /// The number of the host that a node is on; reports where it is on none, or on one that is not there.
    pub(super) fn of_node(
        &self,
        node: &Placed<'_, String>,
        host: Option<&Placed<'_, String>>,
    ) -> Option<usize> {
        let names = || self.names.iter().map(|name| name.value.as_str());
        match host {
            None if self.names.is_empty() => {}
            None => {
                let what = format!("the node {} is on no host", quoted(&node.value));
                let first = names().next().unwrap_or_default();
                node.place.wrong(what, format!("add `host: {first}`, or another one of `hosts`"));
            }
            Some(host) => {
                let found = names().position(|name| name == host.value);
                if found.is_none() {
                    let what = format!("{} is not a host", quoted(&host.value));
                    let fix = match self.names.is_empty() {
                        true => "describe it under `hosts`".to_owned(),
                        false => suggest::instead_of(&host.value, "hosts", names()),
                    };
                    host.place.wrong(what, fix);
                }
                return found;
            }
        }
        None
    }

    /// Whether programs of a host are files of this machine.
    pub(super) fn is_here(&self, host: Option<usize>) -> bool {
        host.is_none_or(|host| !self.are_far[host])
    }
}
