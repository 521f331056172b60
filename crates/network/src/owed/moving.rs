//! Flows and requests of which a frame is under way.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::{FlowKey, Message, NeighbourKey};
use crate::wire::Discovery;

type End = (IpAddr, u16);

/// Segments and requests that are noted, each time after the network has done something: more are a
/// transfer that takes host time anyway. Flows of the others count as owed.
pub(super) const NOTED_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Moving {
    /// VLAN, sender and receiver.
    segments: BTreeSet<(u16, End, End)>,
    /// VLAN, and the address that is asked for or answered for.
    neighbours: BTreeSet<(u16, IpAddr)>,
}

impl Moving {
    /// Of these frames. Any octets may be handed in.
    pub(super) fn of<'f>(frames: impl Iterator<Item = &'f [u8]>) -> Self {
        let mut moving = Self::default();
        for (vlan, message) in frames.filter_map(Message::of).take(NOTED_MAX) {
            match message {
                Message::Segment { source, destination, segment } => {
                    let from = (source, segment.source_port);
                    let to = (destination, segment.destination_port);
                    moving.segments.insert((vlan, from, to));
                }
                Message::Arp(arp) => {
                    moving.neighbours.insert((vlan, arp.target_ip.into()));
                    moving.neighbours.insert((vlan, arp.sender_ip.into()));
                }
                Message::Discovery(
                    Discovery::Solicitation(target) | Discovery::Advertisement(target),
                ) => {
                    moving.neighbours.insert((vlan, target.into()));
                }
            }
        }
        moving
    }

    /// Whether data of a flow is under way, or an answer to it.
    pub(super) fn has_flow(&self, key: &FlowKey) -> bool {
        let FlowKey { vlan, local, remote, .. } = *key;
        self.segments.contains(&(vlan, local, remote))
            || self.segments.contains(&(vlan, remote, local))
    }

    /// Whether a request for an address is under way, or the answer to it.
    pub(super) fn has_neighbour(&self, key: &NeighbourKey) -> bool {
        self.neighbours.contains(&(key.vlan, key.target))
    }
}
