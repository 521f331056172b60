//! The agents of a run: one on this machine, or one on each host of the scenario, and how far each has come.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use anyhow::Context;
use rustix::rand::{GetRandomFlags, getrandom};
use vtime::VirtualSpan;

use super::agent_process::AgentProcess;
use super::trust::{WARNINGS_MAX, text_of};
use crate::nodes::kept::kept;
use crate::nodes::line::SILENCE_LONGEST;
use crate::nodes::needs::Needs;
use crate::nodes::orders::{FinalReport, Hosts, There};
use report_kit::machine::Machine;
use results::record::HostRecord;
use scenario::model::{Host, Node, OnLoss, Scenario};
use signal_bus::Through;

/// How far an agent has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    Started,
    /// Its machine is reached.
    There,
    Prepared,
    /// It has met all others.
    Met,
    /// Its clock is at the end of the scenario.
    Arrived,
}

/// An agent, with its nodes.
#[derive(Debug)]
pub(super) struct Part {
    /// `None` where the scenario names no hosts.
    pub(super) host: Option<Host>,
    pub(super) agent: AgentProcess,
    pub(super) stage: Stage,
    pub(super) is_gone: bool,
    /// If it is lost and the run goes on without it: up to which scenario time it is known to have been there.
    pub(super) lost: Option<VirtualSpan>,
    /// What it is like where it runs, if that is another machine.
    pub(super) there: Option<There>,
    /// The name of its domain, once that is made.
    pub(super) domain: Option<String>,
    /// Where it waits for other hosts.
    pub(super) address: Option<SocketAddr>,
    /// Who sees the edges of its signal bus.
    pub(super) bus: Option<Through>,
    /// How far its clock had come when it last said so.
    pub(super) virtual_ns: i64,
    /// Since when it has not said how it stands, though it was asked.
    pub(super) asked_at: Option<Instant>,
    pub(super) last: Option<FinalReport>,
    warnings: usize,
}

impl Part {
    pub(super) fn new(host: Option<Host>, agent: AgentProcess) -> Self {
        let is_far = host.as_ref().is_some_and(|host| host.ssh.is_some());
        let stage = if is_far { Stage::Started } else { Stage::There };
        Self {
            host,
            agent,
            stage,
            is_gone: false,
            lost: None,
            there: None,
            domain: None,
            address: None,
            bus: None,
            virtual_ns: 0,
            asked_at: None,
            last: None,
            warnings: 0,
        }
    }

    /// A warning of it, as it is recorded; `None` where there are too many.
    pub(super) fn warns(&mut self, text: &str) -> Option<String> {
        self.warnings += 1;
        match self.warnings {
            ..WARNINGS_MAX => Some(self.says(text)),
            WARNINGS_MAX => Some(self.says("it has warned so often that the rest is left out")),
            _ => None,
        }
    }

    /// Whether the run may go on without it.
    pub(super) fn may_be_lost(&self) -> bool {
        self.host.as_ref().is_some_and(|host| host.on_loss == OnLoss::GoOn)
    }

    /// Whether its last report is still to come.
    pub(super) fn is_awaited(&self) -> bool {
        !self.is_gone && self.last.is_none()
    }

    /// What it says, with its name before it where there are several.
    pub(super) fn says(&self, text: &str) -> String {
        match &self.host {
            Some(host) => format!("host `{}`: {}", host.name, text_of(text)),
            None => text_of(text),
        }
    }

    /// Where to wait for hosts after it.
    fn listens_at(&self) -> anyhow::Result<SocketAddr> {
        let address = match &self.host {
            Some(Host { address: Some(address), .. }) => *address,
            Some(Host { ssh: Some(_), name, .. }) => {
                let there = self.there.as_ref().and_then(|there| there.address);
                there.with_context(|| {
                    format!("the ssh server of host `{name}` does not say its address; name it as its `address`")
                })?
            }
            // Hosts on this machine come last, so that no other one has to reach it.
            _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
        };
        Ok(SocketAddr::new(address, 0))
    }

    /// What is recorded of its host.
    pub(super) fn record(&self, scenario: &Scenario, number: usize) -> Option<HostRecord> {
        let host = self.host.as_ref()?;
        let there = self.there.as_ref();
        Some(HostRecord {
            name: host.name.clone(),
            ssh: host.ssh.as_ref().map(|target| target.destination.clone()),
            address: self.address.map(|address| address.ip()),
            machine: there.map_or_else(Machine::here, |there| there.machine.clone()),
            environment: there.map_or_else(kept, |there| there.environment.clone()),
            nodes: scenario.nodes_on(number).map(|node| node.name.clone()).collect(),
            bus: self.bus.map(|bus| bus.as_str().to_owned()),
        })
    }

    /// What about its machine makes results doubtful.
    pub(super) fn doubts(&self) -> Vec<String> {
        let Some(There { machine, load, .. }) = &self.there else { return Vec::new() };
        let mut doubts = Vec::new();
        let source = &machine.clock_source;
        if !source.is_empty() && !readiness::is_read_in_user_space(source) {
            doubts.push(self.says(&format!(
                "its clock source is {source}, of which each reading costs a system call or more; boot it with \
                 `clocksource=tsc tsc=reliable` if its clock is one"
            )));
        }
        if let Some(load) = load.filter(|load| *load > machine.cores as f64) {
            doubts.push(self.says(&format!(
                "it has {} processors and {load:.1} processes that want one; give it less other work",
                machine.cores
            )));
        }
        doubts
    }
}

/// How many agents a run has.
pub(super) fn count(scenario: &Scenario) -> usize {
    scenario.hosts.as_ref().map_or(1, |hosts| hosts.all.len())
}

/// The nodes and attackers of an agent, which have captures.
pub(super) fn captured(scenario: &Scenario, number: usize) -> Vec<&str> {
    let nodes = scenario.nodes_on(number).map(|node| node.name.as_str());
    let attackers = scenario.network.attackers().filter(|name| match &scenario.hosts {
        Some(hosts) => hosts.of_station(&scenario.network, name) == Some(number),
        None => true,
    });
    nodes.chain(attackers).collect()
}

/// What nodes need of this machine; `None` if there are none on it.
pub(super) fn needs_here(scenario: &Scenario) -> Option<Needs> {
    let here = (0..count(scenario)).filter(|number| scenario.is_here(*number));
    let nodes: Vec<&Node> = here.flat_map(|number| scenario.nodes_on(number)).collect();
    (!nodes.is_empty() || scenario.hosts.is_none()).then(|| Needs::of(nodes))
}

/// What each agent is told of the others; nothing where there are none.
pub(super) fn of_each(scenario: &Scenario, parts: &[Part]) -> anyhow::Result<Vec<Option<Hosts>>> {
    let Some(hosts) = scenario.hosts.as_ref().filter(|hosts| hosts.all.len() > 1) else {
        return Ok(parts.iter().map(|_| None).collect());
    };
    let secrets = secrets(parts.len())?;
    let is_far = hosts.all.iter().any(|host| host.ssh.is_some());
    let mark = is_far.then(mark).transpose()?;
    let names: Vec<String> = hosts.all.iter().map(|host| host.name.clone()).collect();
    let of_each = parts.iter().zip(secrets).enumerate().map(|(me, (part, secrets))| {
        Ok(Some(Hosts {
            me,
            names: names.clone(),
            placement: hosts.placement.clone(),
            mark: mark.clone(),
            sync: hosts.sync,
            listen: part.listens_at()?,
            secrets,
            silence_longest_ns: i64::try_from(SILENCE_LONGEST.as_nanos()).unwrap_or(i64::MAX),
            bus: part.host.as_ref().and_then(|host| host.bus.clone()),
        }))
    });
    of_each.collect()
}

/// What agents of this run have in common, and of no other one.
fn mark() -> anyhow::Result<String> {
    let octets = random::<16>().context("cannot make a mark")?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}

/// Random numbers of the kernel.
fn random<const COUNT: usize>() -> anyhow::Result<[u8; COUNT]> {
    let mut octets = [0; COUNT];
    let got = getrandom(&mut octets, GetRandomFlags::empty())?;
    anyhow::ensure!(got == octets.len(), "the kernel gave too few random octets");
    Ok(octets)
}

/// By host and host what these two know and nobody else.
fn secrets(count: usize) -> anyhow::Result<Vec<Vec<[u8; 32]>>> {
    let mut of_two = BTreeMap::new();
    for one in 0..count {
        for other in one..count {
            let secret = random::<32>().context("cannot make a secret")?;
            of_two.insert((one, other), secret);
        }
    }
    let of = |me: usize| (0..count).map(|other| of_two[&(me.min(other), me.max(other))]).collect();
    Ok((0..count).map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_two_hosts_have_a_secret_of_their_own() {
        let all = secrets(3).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for (one, secrets) in all.iter().enumerate() {
            for (other, secret) in secrets.iter().enumerate() {
                assert_eq!(*secret, all[other][one]);
                seen.insert(*secret);
            }
        }
        assert_eq!(seen.len(), 6);
    }
}
