//! A learning switch (IEEE 802.1Q, clause 8, without spanning tree and VLANs).
//!
//! It remembers at which port each source address was last seen, for 300 s of virtual time, and
//! sends a frame to the port of its destination, or to all ports but its own where it does not
//! know better. It works in no time: what a real switch adds belongs into the delay of a link.

use std::collections::BTreeMap;

use vtime::{VirtualSpan, VirtualTime};

use super::stats::SwitchStats;
use crate::wire::{Ethernet, MacAddress};

/// How long an address is remembered after it was last seen (802.1Q, table 8-6).
pub const AGING: VirtualSpan = VirtualSpan::from_s(300);

/// Addresses that fit into the table, as in a small real switch. A sender that makes up
/// addresses fills it, and the switch then floods what it cannot learn.
pub const TABLE_ENTRIES_MAX: usize = 8192;

/// How often a full table is searched for entries that are too old.
const SWEEP_EVERY: VirtualSpan = VirtualSpan::from_s(1);

/// What to do with a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forward {
    To(usize),
    /// Send it to all ports but the one from which it came.
    Flood,
    Filter,
}

/// The table of a switch. Ports are numbers; which there are is the fabric's business.
#[derive(Clone, Debug, Default)]
pub struct Switch {
    table: BTreeMap<MacAddress, LearnedPort>,
    swept_at: VirtualTime,
    stats: SwitchStats,
}

#[derive(Clone, Copy, Debug)]
struct LearnedPort {
    port: usize,
    at: VirtualTime,
}

impl Switch {
    /// A frame that came in at `port`: learns from it and decides where it goes.
    pub fn forward(&mut self, now: VirtualTime, port: usize, frame: &[u8]) -> Forward {
        let forward = match Ethernet::parse(frame) {
            Some(frame) => {
                self.learn(now, port, frame.source);
                self.decide(now, port, frame.destination)
            }
            None => Forward::Filter,
        };
        match forward {
            Forward::To(_) => self.stats.forwarded += 1,
            Forward::Flood => self.stats.flooded += 1,
            Forward::Filter => self.stats.filtered += 1,
        }
        forward
    }

    /// Forgets what was learned at a port whose link went down.
    pub fn forget(&mut self, port: usize) {
        self.table.retain(|_, seen| seen.port != port);
    }

    /// What was counted so far.
    pub const fn stats(&self) -> SwitchStats {
        self.stats
    }

    fn learn(&mut self, now: VirtualTime, port: usize, source: MacAddress) {
        if source.is_group() {
            return;
        }
        let seen = LearnedPort { port, at: now };
        if let Some(known) = self.table.get_mut(&source) {
            *known = seen;
            return;
        }
        if self.table.len() >= TABLE_ENTRIES_MAX && now - self.swept_at >= SWEEP_EVERY {
            self.table.retain(|_, seen| seen.is_fresh(now));
            self.swept_at = now;
        }
        if self.table.len() < TABLE_ENTRIES_MAX {
            self.table.insert(source, seen);
        }
    }

    fn decide(&self, now: VirtualTime, port: usize, destination: MacAddress) -> Forward {
        if destination.is_link_local() {
            return Forward::Filter;
        }
        match self.table.get(&destination) {
            Some(seen) if seen.is_fresh(now) && seen.port == port => Forward::Filter,
            Some(seen) if seen.is_fresh(now) => Forward::To(seen.port),
            _ => Forward::Flood,
        }
    }
}

impl LearnedPort {
    fn is_fresh(self, now: VirtualTime) -> bool {
        now - self.at < AGING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALICE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
    const BOB: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

    fn s(s: i64) -> VirtualTime {
        VirtualTime::ZERO + VirtualSpan::from_s(s)
    }

    fn frame(source: MacAddress, destination: MacAddress) -> Vec<u8> {
        Ethernet { destination, source, ethertype: 0x88b5, tag: None, payload: &[] }.encode()
    }

    #[test]
    fn an_unknown_address_is_flooded_and_a_known_one_is_not() {
        let mut switch = Switch::default();
        assert_eq!(switch.forward(s(0), 1, &frame(ALICE, BOB)), Forward::Flood);
        assert_eq!(switch.forward(s(0), 2, &frame(BOB, ALICE)), Forward::To(1));
        assert_eq!(switch.forward(s(0), 1, &frame(ALICE, BOB)), Forward::To(2));
        assert_eq!(switch.forward(s(0), 1, &frame(ALICE, MacAddress::BROADCAST)), Forward::Flood);
    }

    #[test]
    fn a_frame_never_goes_back() {
        let mut switch = Switch::default();
        let _ = switch.forward(s(0), 1, &frame(ALICE, BOB));
        assert_eq!(switch.forward(s(0), 1, &frame(BOB, ALICE)), Forward::Filter);
    }

    #[test]
    fn an_address_that_moves_is_found_at_its_new_port() {
        let mut switch = Switch::default();
        let _ = switch.forward(s(0), 1, &frame(ALICE, BOB));
        let _ = switch.forward(s(1), 3, &frame(ALICE, BOB));
        assert_eq!(switch.forward(s(1), 2, &frame(BOB, ALICE)), Forward::To(3));
        switch.forget(3);
        assert_eq!(switch.forward(s(1), 2, &frame(BOB, ALICE)), Forward::Flood);
    }

    #[test]
    fn addresses_age() {
        let mut switch = Switch::default();
        let _ = switch.forward(s(0), 1, &frame(ALICE, BOB));
        assert_eq!(switch.forward(s(299), 2, &frame(BOB, ALICE)), Forward::To(1));
        assert_eq!(switch.forward(s(300), 2, &frame(BOB, ALICE)), Forward::Flood);
    }

    #[test]
    fn group_addresses_are_not_learned_and_link_local_ones_not_forwarded() {
        let mut switch = Switch::default();
        let group = MacAddress([3, 0, 0, 0, 0, 1]);
        let _ = switch.forward(s(0), 1, &frame(group, BOB));
        assert_eq!(switch.forward(s(0), 2, &frame(BOB, group)), Forward::Flood);
        let spanning_tree = MacAddress([0x01, 0x80, 0xc2, 0, 0, 0]);
        assert_eq!(switch.forward(s(0), 1, &frame(ALICE, spanning_tree)), Forward::Filter);
        assert_eq!(switch.forward(s(0), 1, &[0; 13]), Forward::Filter);
    }

    #[test]
    fn a_flood_of_addresses_fills_the_table_and_ages_out() {
        let mut switch = Switch::default();
        for n in 0..=TABLE_ENTRIES_MAX as u32 {
            let [_, a, b, c] = n.to_be_bytes();
            let _ = switch.forward(s(0), 1, &frame(MacAddress([2, 9, 9, a, b, c]), BOB));
        }
        assert_eq!(switch.table.len(), TABLE_ENTRIES_MAX);
        let _ = switch.forward(s(10), 2, &frame(ALICE, BOB));
        assert_eq!(switch.forward(s(10), 1, &frame(BOB, ALICE)), Forward::Flood);
        let _ = switch.forward(s(300), 2, &frame(ALICE, BOB));
        assert_eq!(switch.forward(s(300), 1, &frame(BOB, ALICE)), Forward::To(2));
    }
}
