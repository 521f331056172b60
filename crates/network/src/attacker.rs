//! A host that puts itself between two others by ARP poisoning, and swallows what they send each
//! other: the man-in-the-middle step of the attack in Hannon et al. 2019.
//!
//! ARP believes any answer. From the attack on, the host claims to both victims, at once and
//! then every 50 ms of virtual time, that the address of the other is at its own MAC address, and
//! answers their requests for each other. Each claim is sent as a plain reply and as a gratuitous
//! one: Linux ignores a plain reply within a second of the last update of an entry (`locktime`),
//! but not a gratuitous one (sender and target address equal, target MAC equal to the sender's:
//! `arp_is_garp` in `net/ipv4/arp.c`).
//!
//! It knows addresses and MAC addresses of its victims from the scenario, as an attacker does who
//! has scanned the network before. Until its first attack it is silent. It forwards nothing.

use std::net::Ipv4Addr;

use vtime::{VirtualSpan, VirtualTime};

use super::Frame;
use super::stats::AttackerStats;
use crate::wire::ethernet::ETHERTYPE_ARP;
use crate::wire::{Arp, Ethernet, MacAddress, Operation};

/// Time between two rounds of forged replies: short against any timeout of ARP, so that what a
/// victim learns from the true owner is overwritten before it matters.
pub const POISON_EVERY: VirtualSpan = VirtualSpan::from_ms(50);

/// A host under attack, by the addresses of its interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Victim {
    pub ip: Ipv4Addr,
    #[serde(with = "crate::mac_octets")]
    pub mac: MacAddress,
}

/// A host that poisons the ARP caches of others.
#[derive(Clone, Debug)]
pub struct Attacker {
    mac: MacAddress,
    attacks: Vec<Attack>,
    stats: AttackerStats,
}

#[derive(Clone, Copy, Debug)]
struct Attack {
    victims: [Victim; 2],
    next: VirtualTime,
}

impl Attacker {
    /// A host that attacks nobody yet.
    pub fn new(mac: MacAddress) -> Self {
        Self { mac, attacks: Vec::new(), stats: AttackerStats::default() }
    }

    /// Attacks two hosts from `now` on.
    pub fn attack(&mut self, now: VirtualTime, victims: [Victim; 2]) {
        self.attacks.push(Attack { victims, next: now });
    }

    /// When it sends next without being asked.
    pub fn next(&self) -> Option<VirtualTime> {
        self.attacks.iter().map(|attack| attack.next).min()
    }

    /// The frames that it sends by `now` without being asked.
    pub fn take_due(&mut self, now: VirtualTime) -> Vec<Frame> {
        let mut frames = Vec::new();
        for attack in &mut self.attacks {
            while attack.next <= now {
                let [one, other] = attack.victims;
                frames.extend(claims(self.mac, one, other));
                frames.extend(claims(self.mac, other, one));
                attack.next = attack.next + POISON_EVERY;
            }
        }
        self.stats.sent += frames.len() as u64;
        frames
    }

    /// A frame that reached it. Returns the frame it sends back, if any.
    pub fn receive(&mut self, octets: &[u8]) -> Option<Frame> {
        let frame = Ethernet::parse(octets);
        if frame.is_some_and(|frame| self.is_diverted(&frame)) {
            self.stats.dropped += 1;
            self.stats.dropped_octets += octets.len() as u64;
            return None;
        }
        self.stats.overheard += 1;
        let answer = self.answer_to(&frame?)?;
        self.stats.answered += 1;
        Some(answer)
    }

    /// What was counted so far.
    pub const fn stats(&self) -> AttackerStats {
        self.stats
    }

    /// Whether a victim sent this to the attacker, believing it to be the other victim.
    fn is_diverted(&self, frame: &Ethernet<'_>) -> bool {
        frame.destination == self.mac
            && frame.ethertype != ETHERTYPE_ARP
            && self.attacks.iter().flat_map(|a| a.victims).any(|victim| victim.mac == frame.source)
    }

    fn answer_to(&self, frame: &Ethernet<'_>) -> Option<Frame> {
        let asked = Arp::parse(frame.payload)?;
        if frame.ethertype != ETHERTYPE_ARP || asked.operation != Operation::Request {
            return None;
        }
        let (asking, claimed) = self.attacks.iter().find_map(|attack| {
            let [one, other] = attack.victims;
            [(one, other), (other, one)].into_iter().find(|(asking, claimed)| {
                asking.ip == asked.sender_ip && claimed.ip == asked.target_ip
            })
        })?;
        Some(reply(self.mac, asking, claimed.ip, asking.ip, asking.mac))
    }
}

/// A plain and a gratuitous reply to `victim` that claim the address of `claimed`.
fn claims(mac: MacAddress, victim: Victim, claimed: Victim) -> [Frame; 2] {
    [
        reply(mac, victim, claimed.ip, victim.ip, victim.mac),
        reply(mac, victim, claimed.ip, claimed.ip, mac),
    ]
}

fn reply(
    mac: MacAddress,
    victim: Victim,
    claimed_ip: Ipv4Addr,
    target_ip: Ipv4Addr,
    target_mac: MacAddress,
) -> Frame {
    let arp = Arp {
        operation: Operation::Reply,
        sender_mac: mac,
        sender_ip: claimed_ip,
        target_mac,
        target_ip,
    };
    let (destination, source, payload) = (victim.mac, mac, &arp.encode());
    Ethernet { destination, source, ethertype: ETHERTYPE_ARP, tag: None, payload }.encode().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVE: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
    const ALICE: Victim =
        Victim { ip: Ipv4Addr::new(10, 0, 0, 1), mac: MacAddress([2, 0, 0, 0, 0, 1]) };
    const BOB: Victim =
        Victim { ip: Ipv4Addr::new(10, 0, 0, 2), mac: MacAddress([2, 0, 0, 0, 0, 2]) };

    fn ms(ms: i64) -> VirtualTime {
        VirtualTime::ZERO + VirtualSpan::from_ms(ms)
    }

    fn arp_of(frame: &[u8]) -> (MacAddress, Arp) {
        let frame = Ethernet::parse(frame).unwrap();
        (frame.destination, Arp::parse(frame.payload).unwrap())
    }

    fn request(from: Victim, to: Ipv4Addr) -> Vec<u8> {
        let arp = Arp {
            operation: Operation::Request,
            sender_mac: from.mac,
            sender_ip: from.ip,
            target_mac: MacAddress([0; 6]),
            target_ip: to,
        };
        let destination = MacAddress::BROADCAST;
        let payload = &arp.encode();
        Ethernet { destination, source: from.mac, ethertype: ETHERTYPE_ARP, tag: None, payload }
            .encode()
    }

    fn datagram(from: MacAddress, to: MacAddress) -> Vec<u8> {
        let (destination, source) = (to, from);
        Ethernet { destination, source, ethertype: 0x0800, tag: None, payload: &[0x45; 40] }
            .encode()
    }

    #[test]
    fn is_silent_before_its_attack() {
        let mut eve = Attacker::new(EVE);
        assert_eq!(eve.next(), None);
        assert!(eve.take_due(ms(1000)).is_empty());
        assert_eq!(eve.receive(&request(ALICE, BOB.ip)), None);
        assert_eq!(eve.receive(&datagram(ALICE.mac, EVE)), None);
        assert_eq!(eve.stats(), AttackerStats { overheard: 2, ..AttackerStats::default() });
    }

    #[test]
    fn tells_both_victims_in_both_forms_every_50_ms() {
        let mut eve = Attacker::new(EVE);
        eve.attack(ms(10), [ALICE, BOB]);
        assert_eq!(eve.next(), Some(ms(10)));
        let frames = eve.take_due(ms(10));
        let claims: Vec<_> = frames.iter().map(|frame| arp_of(frame)).collect();
        for (victim, claimed, at) in [(ALICE, BOB, 0), (BOB, ALICE, 2)] {
            let (plain, gratuitous) = (claims[at], claims[at + 1]);
            for (destination, arp) in [plain, gratuitous] {
                assert_eq!(destination, victim.mac);
                assert_eq!(arp.operation, Operation::Reply);
                assert_eq!((arp.sender_ip, arp.sender_mac), (claimed.ip, EVE));
            }
            assert_eq!((plain.1.target_ip, plain.1.target_mac), (victim.ip, victim.mac));
            assert_eq!((gratuitous.1.target_ip, gratuitous.1.target_mac), (claimed.ip, EVE));
        }
        assert_eq!(eve.next(), Some(ms(60)));
        assert!(eve.take_due(ms(59)).is_empty());
        assert_eq!(eve.take_due(ms(60)).len(), 4);
        assert_eq!(eve.stats().sent, 8);
    }

    #[test]
    fn answers_victims_about_each_other_and_nobody_else() {
        let mut eve = Attacker::new(EVE);
        eve.attack(ms(0), [ALICE, BOB]);
        let (destination, arp) = arp_of(&eve.receive(&request(ALICE, BOB.ip)).unwrap());
        assert_eq!(destination, ALICE.mac);
        assert_eq!((arp.sender_ip, arp.sender_mac), (BOB.ip, EVE));
        let carol = Victim { ip: Ipv4Addr::new(10, 0, 0, 3), mac: MacAddress([2, 0, 0, 0, 0, 3]) };
        assert_eq!(eve.receive(&request(carol, BOB.ip)), None);
        assert_eq!(eve.receive(&request(ALICE, carol.ip)), None);
        assert_eq!((eve.stats().answered, eve.stats().overheard), (1, 3));
    }

    #[test]
    fn swallows_what_victims_send_each_other() {
        let mut eve = Attacker::new(EVE);
        eve.attack(ms(0), [ALICE, BOB]);
        assert_eq!(eve.receive(&datagram(ALICE.mac, EVE)), None);
        assert_eq!(eve.receive(&datagram(ALICE.mac, BOB.mac)), None);
        let stats = eve.stats();
        assert_eq!((stats.dropped, stats.dropped_octets, stats.overheard), (1, 54, 1));
    }
}
