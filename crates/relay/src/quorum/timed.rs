//! A scheme that measures how long it was at work, so that an action that took long can be
//! explained.

use std::time::Duration;

use quorum::scheme::NoCertificate;
use quorum::{NodeId, QUORUM, Scheme, Statement};
use realtime::time;

/// A scheme with a stop-watch.
#[derive(Debug)]
pub(crate) struct Timed<S> {
    pub(crate) scheme: S,
    spent: Duration,
}

impl<S> Timed<S> {
    pub(crate) const fn new(scheme: S) -> Self {
        Self { scheme, spent: Duration::ZERO }
    }

    /// How long it was at work since this was last asked.
    pub(crate) const fn take_spent(&mut self) -> Duration {
        std::mem::replace(&mut self.spent, Duration::ZERO)
    }

    fn time<T>(&mut self, work: impl FnOnce(&mut S) -> T) -> T {
        let begin = time::own();
        let result = work(&mut self.scheme);
        self.spent += time::own().since(begin);
        result
    }
}

impl<S: Scheme> Scheme for Timed<S> {
    type Proof = S::Proof;
    type Certificate = S::Certificate;
    type WorkingKey = S::WorkingKey;

    fn prove(&mut self, statement: &Statement) -> Option<S::Proof> {
        self.time(|scheme| scheme.prove(statement))
    }

    fn is_proof(&mut self, node: NodeId, statement: &Statement, proof: &S::Proof) -> bool {
        self.time(|scheme| scheme.is_proof(node, statement, proof))
    }

    fn combine(
        &mut self,
        statement: &Statement,
        proofs: [(NodeId, &S::Proof); QUORUM],
    ) -> Result<S::Certificate, NoCertificate> {
        self.time(|scheme| scheme.combine(statement, proofs))
    }

    fn certifies(&mut self, statement: &Statement, certificate: &S::Certificate) -> bool {
        self.time(|scheme| scheme.certifies(statement, certificate))
    }

    fn working_key(&self) -> Option<S::WorkingKey> {
        self.scheme.working_key()
    }

    fn counter(key: &S::WorkingKey) -> u64 {
        S::counter(key)
    }

    fn is_certified(&mut self, node: NodeId, key: &S::WorkingKey) -> bool {
        self.time(|scheme| scheme.is_certified(node, key))
    }
}
