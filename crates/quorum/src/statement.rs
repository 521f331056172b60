//! What a relay puts its name to: this action of this breaker, for this gen, in this tick.
//!
//! A statement is 44 octets of fixed form, so that it has one encoding only and nobody can be
//! made to sign octets that mean something else elsewhere: they begin with a domain that no
//! other signed octets of the project share, and name protocol, station and key epoch. Thus a
//! vote of the Arbiter Protocol is no share of the Peer Protocol, and a statement for one breaker
//! is worth nothing at another. The gen, the breaker's own counter of actions, says which action
//! is meant; the tick says when, and bounds how long the statement has authority.
//!
//! | octets | field | |
//! |---|---|---|
//! | 0 to 15 | domain | `qcycle-quorum-1` and a zero |
//! | 16 | protocol | 1 Arbiter, 2 Peer |
//! | 17 | action | 1 trip, 2 close |
//! | 18 to 19 | breaker | big-endian, as all numbers |
//! | 20 to 23 | station | |
//! | 24 to 27 | key epoch | |
//! | 28 to 35 | gen | |
//! | 36 to 43 | tick | |

use std::fmt;
use std::time::Duration;

use crate::{Attempt, CommonTime};

/// Domain of statements: no other octets that a key of ours signs begin with it.
pub const DOMAIN: [u8; 16] = *b"qcycle-quorum-1\0";

/// Octets of an encoded statement.
pub const STATEMENT_OCTETS: usize = 44;

/// How many nodes there are: n = 2f + k + 1 for f = 1 hostile and k = 1 in recovery.
pub const NODES: usize = 4;

/// How many distinct nodes it takes: f + 1, so that one of them at least is correct.
pub const QUORUM: usize = 2;

/// One of the relay nodes, 0 to 3. A number outside that range cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u8);

impl NodeId {
    /// All of them, in order.
    pub const ALL: [Self; NODES] = [Self(0), Self(1), Self(2), Self(3)];

    /// The node of this number; none if there is no such node.
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < NODES { Some(Self(number)) } else { None }
    }

    /// Its number, below [`NODES`].
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place in a table of nodes, below [`NODES`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A breaker of a station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BreakerId(pub u16);

/// A station, so that keys used twice by mistake do not open another station's breakers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StationId(pub u32);

/// Counts sets of keys; what is authenticated under an older one is worth nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Epoch(pub u32);

/// Counts the actions of a breaker. The breaker executes only its own gen and then counts up, so
/// that an event leads to one action at most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Gen(pub u64);

impl Gen {
    /// The gen after this one. It stays at the largest number, which no breaker reaches.
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// A millisecond of the nodes' common time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// How long a tick is: that of the published protocols.
    pub const LENGTH: Duration = Duration::from_millis(1);

    const LENGTH_NS: u64 = Self::LENGTH.as_nanos() as u64;

    /// The tick in which a moment lies.
    pub const fn at(time: CommonTime) -> Self {
        Self(time.ns() / Self::LENGTH_NS)
    }

    /// The moment at which it begins; the last one that there is if it lies behind that.
    pub const fn begin(self) -> CommonTime {
        CommonTime::from_ns(self.0.saturating_mul(Self::LENGTH_NS))
    }

    /// The tick `ticks` later; the last one that there is if it lies behind that.
    pub const fn plus(self, ticks: u64) -> Self {
        Self(self.0.saturating_add(ticks))
    }

    /// The tick `ticks` earlier, not before the first one.
    pub const fn minus(self, ticks: u64) -> Self {
        Self(self.0.saturating_sub(ticks))
    }
}

/// Which of the two protocols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Protocol {
    /// Relays vote, the breaker counts: one hop.
    Arbiter,
    /// Relays exchange shares and send one certificate: two hops.
    Peer,
}

impl Protocol {
    /// Its octet in statements.
    pub const fn octet(self) -> u8 {
        self as u8 + 1
    }
}

/// What a breaker can be ordered to do; also the state that it is in afterwards. Trip is the lesser,
/// so that it stands before close wherever actions are ordered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    Trip,
    Close,
}

impl Action {
    /// What undoes it: a trip undoes a close, and a close a trip.
    pub const fn opposite(self) -> Self {
        match self {
            Self::Trip => Self::Close,
            Self::Close => Self::Trip,
        }
    }

    /// Its octet in statements and datagrams.
    pub const fn octet(self) -> u8 {
        self as u8 + 1
    }

    /// The action of an octet, if it is one.
    pub const fn from_octet(octet: u8) -> Option<Self> {
        match octet {
            1 => Some(Self::Trip),
            2 => Some(Self::Close),
            _ => None,
        }
    }
}

/// What all statements of one breaker, protocol and key epoch have in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Subject {
    pub protocol: Protocol,
    pub station: StationId,
    pub breaker: BreakerId,
    pub epoch: Epoch,
}

impl Subject {
    /// What is said of an attempt in a tick.
    pub const fn statement(self, attempt: Attempt, tick: Tick) -> Statement {
        let Attempt { action, generation } = attempt;
        Statement { subject: self, action, generation, tick }
    }
}

/// What a relay puts its name to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Statement {
    /// Of which breaker, by which protocol, under which keys.
    pub subject: Subject,
    pub action: Action,
    /// For which action of the breaker (`gen`, which Rust keeps for itself).
    pub generation: Gen,
    pub tick: Tick,
}

impl Statement {
    /// Its only encoding: what is signed.
    pub fn encode(&self) -> [u8; STATEMENT_OCTETS] {
        let Subject { protocol, station, breaker, epoch } = self.subject;
        let mut octets = [0; STATEMENT_OCTETS];
        octets[..16].copy_from_slice(&DOMAIN);
        octets[16] = protocol.octet();
        octets[17] = self.action.octet();
        octets[18..20].copy_from_slice(&breaker.0.to_be_bytes());
        octets[20..24].copy_from_slice(&station.0.to_be_bytes());
        octets[24..28].copy_from_slice(&epoch.0.to_be_bytes());
        octets[28..36].copy_from_slice(&self.generation.0.to_be_bytes());
        octets[36..44].copy_from_slice(&self.tick.0.to_be_bytes());
        octets
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "node {}", self.0)
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Arbiter => "arbiter",
            Self::Peer => "peer",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Trip => "trip",
            Self::Close => "close",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, station, breaker, epoch } = self;
        write!(out, "{protocol}, station {}, breaker {}, epoch {}", station.0, breaker.0, epoch.0)
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, action, generation, tick } = self;
        write!(out, "{action}, gen {}, tick {}, {subject}", generation.0, tick.0)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn subjects() -> impl Strategy<Value = Subject> {
        let protocol = prop::sample::select(vec![Protocol::Arbiter, Protocol::Peer]);
        (protocol, any::<u32>(), any::<u16>(), any::<u32>()).prop_map(
            |(protocol, station, breaker, epoch)| Subject {
                protocol,
                station: StationId(station),
                breaker: BreakerId(breaker),
                epoch: Epoch(epoch),
            },
        )
    }

    pub(crate) fn attempts() -> impl Strategy<Value = Attempt> {
        let action = prop::sample::select(vec![Action::Trip, Action::Close]);
        (action, any::<u64>())
            .prop_map(|(action, generation)| Attempt { action, generation: Gen(generation) })
    }

    fn statements() -> impl Strategy<Value = Statement> {
        (subjects(), attempts(), any::<u64>())
            .prop_map(|(subject, attempt, tick)| subject.statement(attempt, Tick(tick)))
    }

    proptest! {
        #[test]
        fn different_statements_have_different_octets(one in statements(), two in statements()) {
            prop_assert_eq!(one == two, one.encode() == two.encode());
            // Each field alone makes a difference.
            let mut changed = [one; 7];
            let protocols = [Protocol::Arbiter, Protocol::Peer];
            let protocol = protocols.into_iter().find(|other| *other != one.subject.protocol);
            changed[0].subject.protocol = protocol.unwrap();
            changed[1].subject.station.0 ^= 1;
            changed[2].subject.breaker.0 ^= 1;
            changed[3].subject.epoch.0 ^= 1;
            changed[4].action = one.action.opposite();
            changed[5].generation.0 ^= 1;
            changed[6].tick.0 ^= 1;
            for other in changed {
                prop_assert_ne!(one.encode(), other.encode());
            }
        }

        #[test]
        fn a_moment_lies_in_its_tick(ns: u64) {
            let (time, tick) = (CommonTime::from_ns(ns), Tick::at(CommonTime::from_ns(ns)));
            prop_assert!(tick.begin() <= time && time.since(tick.begin()) < Tick::LENGTH);
        }
    }

    #[test]
    fn a_statement_is_these_octets() {
        let statement = Statement {
            subject: Subject {
                protocol: Protocol::Peer,
                station: StationId(0x0102_0304),
                breaker: BreakerId(0x0506),
                epoch: Epoch(0x0708_090a),
            },
            action: Action::Trip,
            generation: Gen(0x0b0c_0d0e_0f10_1112),
            tick: Tick(0x1314_1516_1718_191a),
        };
        let expected = b"qcycle-quorum-1\0\x02\x01\x05\x06\x01\x02\x03\x04\x07\x08\x09\x0a\
            \x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a";
        assert_eq!(&statement.encode(), expected);
        assert_eq!(
            statement.to_string(),
            "trip, gen 796025588171149586, tick 1374746970875762970, \
             peer, station 16909060, breaker 1286, epoch 117967114"
        );
    }

    #[test]
    fn there_are_four_nodes() {
        assert!(NodeId::ALL.iter().enumerate().all(|(i, node)| node.index() == i));
        assert_eq!(NodeId::new(4), None);
        assert_eq!(NodeId::new(3), Some(NodeId::ALL[3]));
    }
}
