//! What the kernels of nodes may still have to send, by timers of their own.
//!
//! A kernel's timers run on host time: those of TCP that send again, probe a closed window or delay an
//! acknowledgement, and those that ask again for an address on the link. If virtual time jumps while
//! one of them is set, it is late by the jump. What this network carries shows when one may be:
//! [`Owed`] is given each frame that leaves a node or is handed to one, and answers until when a
//! kernel may owe something. Then the clock must run, not jump.
//!
//! A flow of which a frame is under way is not owed: that frame, not a timer, is what comes next, and the
//! network knows when it arrives. If it does not, nothing is under way any more.
//!
//! The answer errs on the side of "owed": for longer than the kernel's schedule allows
//! (the module `timers`), until an acknowledgement is not only sent but there, and for everything if there
//! are more flows than fit. What cannot be seen here: timers of kernels that send nothing while they
//! run (keep-alive, `TCP_CORK`, ageing of neighbours), data written to a closed window after the
//! last probe, connections inside a node, other protocols with timers (SCTP), fragments beside the
//! first one of a segment, segments behind two VLAN tags. A forged RST or acknowledgement that the
//! kernel refuses is believed here.

mod deadlines;
mod flow;
mod moving;
mod timers;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use vtime::HostTime;

use crate::wire::ethernet::{ETHERTYPE_ARP, ETHERTYPE_IPV4};
use crate::wire::{Arp, Discovery, ETHERTYPE_IPV6, Ethernet, Ipv4, Ipv6, Operation, Tcp};
use deadlines::{Deadlines, Last};
use flow::Flow;
use moving::Moving;
use timers::{SOLICITATION, with_allowance};

/// Flows, and as many requests for neighbours, that are held at a time: 1 MiB in all, and more than
/// the connections of a substation.
const ENTRIES_MAX: usize = 4096;

/// Why a kernel may still have something to send.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// TCP: data, or the end of a stream, without acknowledgement.
    Data,
    /// TCP: a connection that is being opened.
    Handshake,
    /// TCP: the receiver has no room, and the sender asks from time to time.
    ClosedWindow,
    /// ARP or neighbour discovery: an address on the link that nobody has answered for.
    Neighbour,
    /// One of these, but too many at a time to say which.
    TooMany,
}

/// Something that a kernel may owe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owing {
    /// Index of the node among the stations of the plan.
    pub station: usize,
    pub reason: Reason,
    /// The host time from which on it is owed no more, if no frame says otherwise before.
    pub until: HostTime,
}

/// What kernels of nodes owe, by the frames of all nodes.
#[derive(Clone, Debug)]
pub struct Owed {
    flows: Deadlines<FlowKey, Flow>,
    neighbours: Deadlines<NeighbourKey, ()>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct FlowKey {
    station: usize,
    vlan: u16,
    /// Address and port of the kernel that waits, and of its peer.
    local: (IpAddr, u16),
    remote: (IpAddr, u16),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct NeighbourKey {
    station: usize,
    vlan: u16,
    target: IpAddr,
}

/// What a frame says that a timer may depend on.
enum Message<'a> {
    Segment { source: IpAddr, destination: IpAddr, segment: Tcp<'a> },
    Arp(Arp),
    Discovery(Discovery),
}

impl Default for Owed {
    fn default() -> Self {
        Self::with_room_for(ENTRIES_MAX)
    }
}

impl Owed {
    fn with_room_for(entries_max: usize) -> Self {
        Self { flows: Deadlines::new(entries_max), neighbours: Deadlines::new(entries_max) }
    }

    /// A frame that a node sends at host time `now`, whatever becomes of it. Any octets may be
    /// handed in.
    pub fn sent(&mut self, station: usize, frame: &[u8], now: HostTime) {
        let Some((vlan, message)) = Message::of(frame) else { return };
        match message {
            Message::Segment { source, destination, segment } => {
                let local = (source, segment.source_port);
                let remote = (destination, segment.destination_port);
                let key = FlowKey { station, vlan, local, remote };
                self.update(key, now, |flow| match flow {
                    Some(flow) => flow.sends(&segment, now),
                    None => Flow::begin(&segment, now),
                });
            }
            // A kernel asks with an address of its own, and never for that.
            Message::Arp(arp)
                if arp.operation == Operation::Request
                    && !arp.sender_ip.is_unspecified()
                    && arp.sender_ip != arp.target_ip =>
            {
                self.solicited(NeighbourKey { station, vlan, target: arp.target_ip.into() }, now);
            }
            Message::Discovery(Discovery::Solicitation(target)) => {
                self.solicited(NeighbourKey { station, vlan, target: target.into() }, now);
            }
            Message::Arp(_) | Message::Discovery(Discovery::Advertisement(_)) => {}
        }
    }

    /// A frame that is handed to a node at host time `now`. Any octets may be handed in.
    pub fn delivered(&mut self, station: usize, frame: &[u8], now: HostTime) {
        let Some((vlan, message)) = Message::of(frame) else { return };
        match message {
            Message::Segment { source, destination, segment } => {
                let local = (destination, segment.destination_port);
                let remote = (source, segment.source_port);
                let key = FlowKey { station, vlan, local, remote };
                self.update(key, now, |flow| match flow {
                    Some(flow) => flow.hears(&segment, now),
                    None => Flow::closed(&segment, now),
                });
            }
            // A request says as well where its sender is.
            Message::Arp(Arp { sender_ip, .. }) => {
                self.neighbours.remove(&NeighbourKey { station, vlan, target: sender_ip.into() });
            }
            Message::Discovery(Discovery::Advertisement(target)) => {
                self.neighbours.remove(&NeighbourKey { station, vlan, target: target.into() });
            }
            Message::Discovery(Discovery::Solicitation(_)) => {}
        }
    }

    /// What is owed longest, unless that is over at host time `now`, while no frame is under way.
    pub fn owes(&self, now: HostTime) -> Option<Owing> {
        self.owes_beside(now, std::iter::empty())
    }

    /// The same while these are, which the network has still to hand over.
    pub fn owes_beside<'f>(
        &self,
        now: HostTime,
        under_way: impl Iterator<Item = &'f [u8]>,
    ) -> Option<Owing> {
        if self.flows.is_empty() && self.neighbours.is_empty() {
            return None;
        }
        let moving = Moving::of(under_way);
        let flow =
            self.flows.last_but(|key| moving.has_flow(key)).map(|Last { until, key, value }| {
                Owing {
                    station: key.station,
                    reason: value.map_or(Reason::TooMany, |flow| flow.reason()),
                    until,
                }
            });
        let neighbour = self.neighbours.last_but(|key| moving.has_neighbour(key)).map(
            |Last { until, key, value }| Owing {
                station: key.station,
                reason: value.map_or(Reason::TooMany, |()| Reason::Neighbour),
                until,
            },
        );
        let owing = flow.into_iter().chain(neighbour).max_by_key(|owing| owing.until);
        owing.filter(|owing| owing.until > now)
    }

    fn update(
        &mut self,
        key: FlowKey,
        now: HostTime,
        change: impl FnOnce(Option<Flow>) -> Option<Flow>,
    ) {
        self.flows.expire(now);
        let before = self.flows.get(&key);
        match change(before) {
            Some(flow) if Some(flow) == before => {}
            Some(flow) => self.flows.set(key, flow, flow.until()),
            None if before.is_some() => self.flows.remove(&key),
            None => {}
        }
    }

    fn solicited(&mut self, key: NeighbourKey, now: HostTime) {
        self.neighbours.expire(now);
        self.neighbours.set(key, (), now + with_allowance(SOLICITATION));
    }
}

impl<'a> Message<'a> {
    /// What a frame says, and in which VLAN.
    fn of(frame: &'a [u8]) -> Option<(u16, Self)> {
        let frame = Ethernet::parse(frame)?;
        let message = match frame.ethertype {
            ETHERTYPE_IPV4 => Self::of_ipv4(&Ipv4::parse(frame.payload)?),
            ETHERTYPE_ARP => Arp::parse(frame.payload).map(Self::Arp),
            ETHERTYPE_IPV6 => Self::of_ipv6(&Ipv6::parse(frame.payload)?),
            _ => None,
        };
        const VLAN: u16 = 0x0fff;
        Some((frame.tag.unwrap_or(0) & VLAN, message?))
    }

    fn of_ipv4(packet: &Ipv4<'a>) -> Option<Self> {
        let (source, destination) = (packet.source.into(), packet.destination.into());
        packet.tcp().map(|segment| Self::Segment { source, destination, segment })
    }

    fn of_ipv6(packet: &Ipv6<'a>) -> Option<Self> {
        if packet.protocol != Ipv4::TCP || packet.is_later_fragment {
            return Discovery::parse(packet).map(Self::Discovery);
        }
        let segment = Tcp::parse(packet.payload)?;
        let (source, destination) = (packet.source.into(), packet.destination.into());
        Some(Self::Segment { source, destination, segment })
    }
}
