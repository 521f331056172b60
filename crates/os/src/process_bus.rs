//! A process bus of kernel links between network namespaces: what a merging unit and relays of
//! this host are tested on, in host time.
//!
//! Namespaces without names, held by descriptors: they and all links in them vanish with the last
//! process that is in them or holds one, also after a kill. Three ways to wire them, as relays in
//! containers and virtual machines are wired: a cable (veth), a software bridge, or macvlan on the
//! receiving end of a cable. macvlan gets the cutoff of -1 that sampled values need, and it is read
//! back, because a kernel that does not know it says nothing.
//!
//! veth(4), network_namespaces(7), rtnetlink(7), `Documentation/networking/` of the kernel.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoMacVlan, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
    MacVlanMode, State,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::link_kind::{CUTOFF_AT_ONCE, LinkKind, exchange, link, link_kind, named};
use super::namespaces::enter_network;

/// Name of the interface in each namespace.
pub const INTERFACE: &str = "bus0";
/// Until the kernel's worker has seen both ends of a cable up, what is sent is thrown away.
const CARRIER_PATIENCE: Duration = Duration::from_secs(10);

/// How publisher and relays are wired.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Wiring {
    /// One cable, for one relay.
    Veth,
    /// A cable from each to a software bridge.
    Bridge,
    /// A cable, and on its far end a macvlan for each relay.
    Macvlan,
}

impl std::str::FromStr for Wiring {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "veth" => Ok(Self::Veth),
            "bridge" => Ok(Self::Bridge),
            "macvlan" => Ok(Self::Macvlan),
            _ => Err("choose veth, bridge or macvlan".to_owned()),
        }
    }
}

/// A process bus; it is gone when this and all processes on it are.
#[derive(Debug)]
pub struct ProcessBus {
    /// Where the merging unit belongs.
    pub publisher: NetworkNamespace,
    /// Namespaces in which relays run, in their order.
    pub relays: Vec<NetworkNamespace>,
    between: NetworkNamespace,
}

/// A network namespace without a name.
#[derive(Debug)]
pub struct NetworkNamespace(OwnedFd);

impl ProcessBus {
    /// Wires a publisher and this many relays.
    ///
    /// # Errors
    /// Without root, when the kernel lacks a kind of link, for more than one relay on one cable,
    /// and when macvlan does not take its cutoff.
    pub fn lay(wiring: Wiring, relays: usize) -> anyhow::Result<Self> {
        let fits = if wiring == Wiring::Veth { relays == 1 } else { relays > 0 };
        ensure!(fits, "{relays} relays: a cable (veth) takes one, a bridge or macvlan one or more");
        let make = |_| NetworkNamespace::new();
        let bus = Self {
            publisher: make(0)?,
            relays: (0..relays).map(make).collect::<anyhow::Result<_>>()?,
            between: make(0)?,
        };
        let wired = bus.between.run(|| bus.wire(wiring)).context("wiring a process bus")?;
        let ends = || bus.relays.iter().chain([&bus.publisher]);
        ends().try_for_each(|end| end.run(|| order(up(INTERFACE), 0)))?;
        ends().try_for_each(|end| end.run(|| wait_until_up(INTERFACE)))?;
        bus.between.run(|| wired.iter().try_for_each(|name| wait_until_up(name)))?;
        if wiring == Wiring::Macvlan {
            bus.relays.iter().try_for_each(|relay| relay.run(check_cutoff))?;
        }
        Ok(bus)
    }

    /// Makes the links, in the namespace between; returns the names of those that stay there.
    fn wire(&self, wiring: Wiring) -> anyhow::Result<Vec<String>> {
        match wiring {
            Wiring::Veth => {
                cable("near", &self.publisher, self.relays.first())?;
                Ok(Vec::new())
            }
            Wiring::Bridge => self.bridge(),
            Wiring::Macvlan => {
                cable("uplink", &self.publisher, None)?;
                order(up("uplink"), 0)?;
                let uplink = link("uplink")?.header.index;
                self.relays.iter().try_for_each(|relay| macvlan(uplink, relay))?;
                Ok(vec!["uplink".to_owned()])
            }
        }
    }

    fn bridge(&self) -> anyhow::Result<Vec<String>> {
        make_link(named("bridge"), vec![LinkInfo::Kind(InfoKind::Bridge)])?;
        order(up("bridge"), 0)?;
        let bridge = link("bridge")?.header.index;
        let mut ports = Vec::new();
        for end in [&self.publisher].into_iter().chain(&self.relays) {
            let port = format!("port{}", ports.len());
            cable(&port, end, None)?;
            let mut joined = up(&port);
            joined.attributes.push(LinkAttribute::Controller(bridge));
            order(joined, 0)?;
            ports.push(port);
        }
        Ok(ports)
    }
}

/// A cable from an end to another one, or to an interface `here` of the present namespace.
fn cable(
    here: &str,
    end: &NetworkNamespace,
    other: Option<&NetworkNamespace>,
) -> anyhow::Result<()> {
    let mut peer = named(INTERFACE);
    peer.attributes.push(end.attribute());
    let mut near = named(if other.is_some() { INTERFACE } else { here });
    near.attributes.extend(other.map(NetworkNamespace::attribute));
    let infos =
        vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer)))];
    make_link(near, infos).context("a veth pair")
}

/// A macvlan in a namespace, which hands multicast over at once.
fn macvlan(uplink: u32, relay: &NetworkNamespace) -> anyhow::Result<()> {
    let mut link = named(INTERFACE);
    link.attributes.extend([LinkAttribute::Link(uplink), relay.attribute()]);
    let settings =
        vec![InfoMacVlan::Mode(MacVlanMode::Bridge), InfoMacVlan::BcCutoff(CUTOFF_AT_ONCE)];
    let infos =
        vec![LinkInfo::Kind(InfoKind::MacVlan), LinkInfo::Data(InfoData::MacVlan(settings))];
    make_link(link, infos).context("a macvlan")
}

fn check_cutoff() -> anyhow::Result<()> {
    match link_kind(INTERFACE)? {
        LinkKind::Macvlan { cutoff: Some(CUTOFF_AT_ONCE) } => Ok(()),
        other => bail!(
            "macvlan did not accept a cutoff of {CUTOFF_AT_ONCE} but has {other:?}: without Linux \
             6.4 or newer, sampled values are late and lost; use a bridge instead"
        ),
    }
}

impl NetworkNamespace {
    /// A fresh one, in which interfaces have no IPv6 and so send nothing by themselves.
    fn new() -> anyhow::Result<Self> {
        on_own_thread(|| {
            // SAFETY: descriptors stay shared; network namespaces belong to threads, and this one ends.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }
                .context("a network namespace (needs root)")?;
            for which in ["all", "default"] {
                // A kernel without IPv6 has nothing to switch off.
                fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1").ok();
            }
            Ok(Self(File::open("/proc/thread-self/ns/net")?.into()))
        })
    }

    /// Runs something in it, on a thread of its own.
    pub fn run<T: Send>(
        &self,
        act: impl FnOnce() -> anyhow::Result<T> + Send,
    ) -> anyhow::Result<T> {
        on_own_thread(|| {
            enter_network(self.0.as_fd())?;
            act()
        })
    }

    /// Has a program start in it, and end when the calling thread does.
    pub fn host(&self, command: &mut Command) -> io::Result<()> {
        let namespace = self.0.try_clone()?;
        // SAFETY: between fork and exec this makes two system calls and asks for no memory.
        unsafe {
            command.pre_exec(move || {
                set_parent_process_death_signal(Some(Signal::KILL))?;
                enter_network(namespace.as_fd())
            });
        }
        Ok(())
    }

    fn attribute(&self) -> LinkAttribute {
        LinkAttribute::NetNsFd(self.0.as_raw_fd())
    }
}

/// Runs something on a thread that ends with it.
fn on_own_thread<T: Send>(act: impl FnOnce() -> anyhow::Result<T> + Send) -> anyhow::Result<T> {
    thread::scope(|scope| {
        scope.spawn(act).join().unwrap_or_else(|_| bail!("a thread of the network panicked"))
    })
}

fn up(name: &str) -> LinkMessage {
    let mut link = named(name);
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    link
}

fn make_link(mut link: LinkMessage, infos: Vec<LinkInfo>) -> anyhow::Result<()> {
    link.attributes.push(LinkAttribute::LinkInfo(infos));
    order(link, NLM_F_CREATE | NLM_F_EXCL)
}

/// Has the kernel make or change a link of the present namespace.
fn order(link: LinkMessage, flags: u16) -> anyhow::Result<()> {
    let order = RouteNetlinkMessage::NewLink(link);
    match exchange(order, NLM_F_REQUEST | NLM_F_ACK | flags)? {
        None => Ok(()),
        other => bail!("unexpected answer of the kernel: {other:?}"),
    }
}

fn wait_until_up(name: &str) -> anyhow::Result<()> {
    let begin = Instant::now();
    while !link(name)?.attributes.contains(&LinkAttribute::OperState(State::Up)) {
        let is_late = begin.elapsed() > CARRIER_PATIENCE;
        ensure!(!is_late, "{name} is not up after {} s", CARRIER_PATIENCE.as_secs());
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
