//! What happened in a node, and a line of JSON for each: the sequence of events, and all times that
//! an action can be explained with.

use std::time::Duration;

use quorum::wire::Proof;
use quorum::{
    Action, Attempt, CommonTime, Evidence, Gen, Misdeed, NODES, NodeId, Party, Statement,
};
use realtime::time;
use serde_json::{Value, json};
use substation::decider::Decision;

/// What to do when there is no memory, and nobody has said yet that there was one.
pub(crate) const MEMORY_NEW: &str = "if this breaker node has run before with these keys, its memory \
     was lost: stop it, and give `memory` the file with which it ran, or make new keys for the \
     station (`qcrelay keys --force`)";
/// What to do when a memory was lost.
pub(crate) const MEMORY_LOST: &str = "the memory of this breaker node was lost, and relay nodes that \
     have run on are not obeyed: make new keys for the station (`qcrelay keys --force`), set \
     `initially` to how the breaker stands, and restart all parties";

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeEvent {
    pub(crate) at: CommonTime,
    pub(crate) what: What,
}

/// What happened; the names are those of the reference page, where times end in `_ns`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A node runs, with working keys of this number.
    Born {
        counter: u64,
    },
    /// The relay decides something else than before; the newest sample was stamped so.
    Decided {
        decision: Decision,
        sample: CommonTime,
    },
    /// An attempt begins: its first message is sent.
    Spoke {
        attempt: Attempt,
        cryptography: Duration,
    },
    /// The first certificate of an attempt is sent.
    /// `from` sent the share that completed it, if one did.
    Certified {
        attempt: Attempt,
        from: Option<NodeId>,
        received: CommonTime,
        cryptography: Duration,
    },
    /// The breaker node reports another gen than before; or of one for the first time.
    Learnt {
        generation: Gen,
        state: Action,
        acted_at: CommonTime,
        received: CommonTime,
    },
    /// The breaker was operated, and acknowledged from `acknowledging` on.
    Acted(Acted),
    /// A key is used from now on.
    Adopted {
        node: NodeId,
        counter: u64,
    },
    /// No key of a node is used until it announces one.
    Distrusted {
        node: NodeId,
        counter: u64,
    },
    /// The breaker node found no memory under its keys: it runs for the first time, or the memory
    /// was lost.
    MemoryNew,
    /// So many nodes know of actions that the breaker node does not that its memory was lost.
    MemoryLost {
        nodes: [bool; NODES],
    },
    /// Somebody said what no correct node says.
    Blamed(Box<Evidence<Proof>>),
    Stall {
        late: Duration,
    },
    /// The thread that must be in time was ready to run for so long, and another one had its core.
    Waited {
        waited: Duration,
    },
    /// A beat of the meter of a core was late: the core was gone for `taken` of it, and others had
    /// it for `waited`.
    Taken {
        core: usize,
        late: Duration,
        taken: Duration,
        waited: Duration,
    },
}

/// An action of the breaker, and where its time went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acted {
    pub(crate) action: Action,
    /// Which; the next one has this number.
    pub(crate) generation: Gen,
    /// Common time by which it was decided.
    pub(crate) decided: CommonTime,
    /// When the order had left.
    pub(crate) operated: CommonTime,
    /// When the kernel got the datagram that completed it.
    pub(crate) received: CommonTime,
    /// Who sent the datagram that completed it.
    pub(crate) from: NodeId,
    pub(crate) cryptography: Duration,
    /// When the first acknowledgement was about to be sent.
    pub(crate) acknowledging: CommonTime,
}

impl NodeEvent {
    pub(crate) fn line(&self) -> Value {
        let mut line = self.what.line();
        line["realtime_ns"] = self.at.ns().into();
        line
    }
}

impl What {
    fn line(&self) -> Value {
        match self {
            Self::Born { counter } => json!({"event": "born", "counter": counter}),
            Self::Decided { decision, sample } => json!({
                "event": "decided",
                "decision": match decision {
                    Decision::Decided(action) => action.to_string(),
                    Decision::Withdrawn => "nothing".into(),
                },
                "sample_ns": sample.ns(),
            }),
            Self::Spoke { attempt, cryptography } => {
                attempted("spoke", attempt, json!({"cryptography_ns": time::ns(*cryptography)}))
            }
            Self::Certified { attempt, from, received, cryptography } => attempted(
                "certified",
                attempt,
                json!({
                    "from": from.map(NodeId::number),
                    "received_ns": received.ns(),
                    "cryptography_ns": time::ns(*cryptography),
                }),
            ),
            Self::Learnt { generation, state, acted_at, received } => json!({
                "event": "learnt",
                "gen": generation.0,
                "state": state.to_string(),
                "acted_at_ns": acted_at.ns(),
                "received_ns": received.ns(),
            }),
            Self::Acted(acted) => acted.line(),
            Self::Adopted { node, counter } => {
                json!({"event": "adopted", "node": node.number(), "counter": counter})
            }
            Self::Distrusted { node, counter } => {
                json!({"event": "distrusted", "node": node.number(), "counter": counter})
            }
            Self::Blamed(evidence) => blamed(evidence),
            Self::MemoryNew => json!({"event": "memory", "state": "new", "fix": MEMORY_NEW}),
            Self::MemoryLost { nodes } => json!({
                "event": "memory",
                "state": "lost",
                "nodes": NodeId::ALL.iter().filter(|node| nodes[node.index()])
                    .map(|node| node.number()).collect::<Vec<_>>(),
                "fix": MEMORY_LOST,
            }),
            Self::Stall { late } => json!({"event": "stall", "late_ns": time::ns(*late)}),
            Self::Waited { waited } => json!({"event": "waited", "waited_ns": time::ns(*waited)}),
            Self::Taken { core, late, taken, waited } => json!({
                "event": "taken",
                "core": core,
                "late_ns": time::ns(*late),
                "taken_ns": time::ns(*taken),
                "waited_ns": time::ns(*waited),
            }),
        }
    }
}

fn attempted(event: &str, attempt: &Attempt, mut more: Value) -> Value {
    more["event"] = event.into();
    more["action"] = attempt.action.to_string().into();
    more["gen"] = attempt.generation.0.into();
    more
}

impl Acted {
    fn line(&self) -> Value {
        json!({
            "event": "acted",
            "action": self.action.to_string(),
            "gen": self.generation.0,
            "decided_ns": self.decided.ns(),
            "operated_ns": self.operated.ns(),
            "received_ns": self.received.ns(),
            "from": self.from.number(),
            "cryptography_ns": time::ns(self.cryptography),
            "acknowledging_ns": self.acknowledging.ns(),
        })
    }
}

/// Evidence with the octets that were signed and what was put under them, so that others can see
/// for themselves.
fn blamed(evidence: &Evidence<Proof>) -> Value {
    let said = |what: &str, statement: &Statement, proofs: Vec<String>| {
        json!({
            "event": "blamed",
            "node": evidence.node.number(),
            "misdeed": what,
            "statement": statement.to_string(),
            "statement_octets": hexadecimal(&statement.encode()),
            "proofs": proofs,
        })
    };
    match &evidence.misdeed {
        Misdeed::WrongProof { statement, proof } => {
            said("wrong proof", statement, vec![proof_octets(proof)])
        }
        Misdeed::Equivocation { statement, proofs } => {
            said("equivocation", statement, proofs.iter().map(proof_octets).collect())
        }
        Misdeed::Impossible { statement, proof } => {
            said("impossible", statement, vec![proof_octets(proof)])
        }
    }
}

fn proof_octets(proof: &Proof) -> String {
    match proof {
        Proof::Signature(octets) => hexadecimal(octets),
        Proof::Bls(octets) => hexadecimal(octets),
        Proof::Frost(shares) => {
            let shares = shares.iter().flatten().map(|share| {
                let serials = [share.own_serial, share.peer_serial].map(u64::to_be_bytes);
                hexadecimal(&[&serials.concat()[..], &share.z_share[..]].concat())
            });
            shares.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Two digits for each octet.
pub(crate) fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// A party in a word.
pub(crate) const fn name_of(party: Party) -> &'static str {
    const NODES: [&str; 4] = ["node 0", "node 1", "node 2", "node 3"];
    match party {
        Party::Relay(node) => NODES[node.index()],
        Party::Breaker => "breaker",
    }
}
