//! Cryptography as symbols: a proof is a note of who made it with which key and of what.
//!
//! Nobody can make a proof in another's name, because only [`Symbolic::prove`] makes sound ones,
//! and it signs with the key that it holds; what hostile nodes do otherwise is to pass on what
//! they have heard, or to break it.

use quorum::{NoCertificate, NodeId, QUORUM, Scheme, Statement};

/// Who made it, with which key, of what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Proof {
    pub(crate) by: NodeId,
    pub(crate) key: u64,
    pub(crate) statement: Statement,
    /// False once an octet was changed.
    sound: bool,
}

/// Two proofs of one statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Certificate {
    pub(crate) proofs: [Proof; QUORUM],
    /// False once an octet was changed.
    sound: bool,
}

/// A working key, as its root key has certified it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct WorkingKey {
    pub(crate) node: NodeId,
    pub(crate) counter: u64,
    sound: bool,
}

impl Proof {
    pub(crate) fn broken(self) -> Self {
        Self { sound: false, ..self }
    }
}

impl Certificate {
    pub(crate) fn broken(self) -> Self {
        Self { sound: false, ..self }
    }

    /// What anybody can put together from proofs; sound if they are.
    pub(crate) fn of(proofs: [Proof; QUORUM]) -> Self {
        Self { proofs, sound: true }
    }
}

impl WorkingKey {
    /// What the root key of a node certifies, while the node is being born with this counter.
    pub(crate) fn certified(node: NodeId, counter: u64) -> Self {
        Self { node, counter, sound: true }
    }

    pub(crate) fn broken(self) -> Self {
        Self { sound: false, ..self }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Symbolic {
    /// None at the breaker node.
    pub(crate) me: Option<NodeId>,
    pub(crate) keys: [u64; 4],
    /// How many proofs and certificates were verified.
    pub(crate) checks: u64,
    /// How many pairs were combined.
    pub(crate) combinations: u64,
    /// What this node has proven, of late.
    pub(crate) proved: Vec<Statement>,
    /// Whose proofs go together with nobody's.
    pub(crate) apart: Option<NodeId>,
}

impl Symbolic {
    pub(crate) fn new(me: Option<NodeId>, keys: [u64; 4]) -> Self {
        Self { me, keys, checks: 0, combinations: 0, proved: Vec::new(), apart: None }
    }

    fn sound(&self, node: NodeId, statement: &Statement, proof: &Proof) -> bool {
        let key = self.keys[node.index()];
        proof.sound && proof.by == node && proof.key == key && proof.statement == *statement
    }
}

impl Scheme for Symbolic {
    type Proof = Proof;
    type Certificate = Certificate;
    type WorkingKey = WorkingKey;

    fn prove(&mut self, statement: &Statement) -> Option<Proof> {
        let by = self.me?;
        self.proved.push(*statement);
        Some(Proof { by, key: self.keys[by.index()], statement: *statement, sound: true })
    }

    fn is_proof(&mut self, node: NodeId, statement: &Statement, proof: &Proof) -> bool {
        self.checks += 1;
        self.sound(node, statement, proof)
    }

    fn combine(
        &mut self,
        statement: &Statement,
        proofs: [(NodeId, &Proof); QUORUM],
    ) -> Result<Certificate, NoCertificate> {
        self.combinations += 1;
        if proofs.iter().any(|(node, _)| Some(*node) == self.apart) {
            return Err(NoCertificate::NotTogether);
        }
        for (node, proof) in proofs {
            if !self.sound(node, statement, proof) {
                return Err(NoCertificate::Wrong(node));
            }
        }
        Ok(Certificate::of(proofs.map(|(_, proof)| *proof)))
    }

    fn certifies(&mut self, statement: &Statement, certificate: &Certificate) -> bool {
        self.checks += 1;
        let [one, two] = &certificate.proofs;
        let sound = |proof: &Proof| self.sound(proof.by, statement, proof);
        certificate.sound && one.by != two.by && sound(one) && sound(two)
    }

    fn working_key(&self) -> Option<WorkingKey> {
        self.me.map(|me| WorkingKey::certified(me, self.keys[me.index()]))
    }

    fn counter(key: &WorkingKey) -> u64 {
        key.counter
    }

    fn is_certified(&mut self, node: NodeId, key: &WorkingKey) -> bool {
        key.sound && key.node == node
    }
}
