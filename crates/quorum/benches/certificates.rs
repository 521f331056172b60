//! What the cryptography of a quorum costs: proofs, certificates and their verification in the
//! three kinds, one wrong share, and what a datagram costs that is refused.
//!
//! The kinds take turns in each round, so that whatever disturbs the machine for longer than a
//! round disturbs all. Prints percentiles over rounds, and beside them what was published for the
//! RSA shares that the kinds replace, which is of another machine. `--tiny` (and any run by
//! `cargo test`) makes a few rounds, so that the bench cannot rot.

use std::fmt::Display;
use std::hint::black_box;
use std::time::Instant;

use quorum::certificate::Keyring;
use quorum::channel::{Channels, Refusal};
use quorum::dealer::{Station, generate};
use quorum::keys::{Secret, Working};
use quorum::wire::{Certificate, CertificateKind, Message, Payload, Proof};
use quorum::{
    Action, BreakerId, Epoch, Gen, NoCertificate, NodeId, Party, Protocol, Scheme, Statement,
    StationId, Tick,
};

/// Two relay nodes and the breaker node.
struct Nodes {
    station: Station,
    kind: CertificateKind,
    one: Keyring,
    other: Keyring,
    breaker: Keyring,
    tick: Tick,
}

/// A party with its channels and keys.
fn party(station: &Station, party: Party) -> (Channels, Keyring) {
    let root = &station.secrets[usize::from(party.octet())];
    let seed = Secret::new([party.octet() + 1; 32]);
    let working = match party {
        Party::Relay(_) => Working::born(root, &station.membership, 1, &seed),
        Party::Breaker => Working::of_breaker(root, &station.membership),
    };
    let working = working.expect("these keys were made together");
    let keyring = Keyring::new(&station.membership, &working, root.share.as_ref());
    let keyring = keyring.expect("these keys were made together");
    (Channels::new(working, &station.membership), keyring)
}

/// One node offers nonces to the other, if the kind needs any.
fn offer(tick: Tick, from: (&mut Keyring, NodeId), to: (&mut Keyring, NodeId)) {
    let mut octets = [from.1.number(); 32];
    octets[..8].copy_from_slice(&tick.0.to_be_bytes());
    for (peer, commitments) in from.0.commitments(tick, &Secret::new(octets)) {
        if peer == to.1 {
            assert!(to.0.committed(from.1, &commitments));
        }
    }
}

const ONE: NodeId = NodeId::ALL[0];
const OTHER: NodeId = NodeId::ALL[2];

impl Nodes {
    fn new(kind: CertificateKind) -> Self {
        let seed = Secret::new([7; 32]);
        let station = generate(StationId(1), Epoch(1), BreakerId(1), kind, &seed);
        let [mut one, mut other, mut breaker] =
            [Party::Relay(ONE), Party::Relay(OTHER), Party::Breaker].map(|p| party(&station, p).1);
        for node in [ONE, OTHER] {
            let key = if node == ONE { one.working_key() } else { other.working_key() };
            let key = key.expect("a relay node has one");
            for keyring in [&mut one, &mut other, &mut breaker] {
                assert!(keyring.is_certified(node, &key));
                assert!(keyring.adopt(node, &key));
            }
        }
        let mut nodes = Self { station, kind, one, other, breaker, tick: Tick(0) };
        (0..60).for_each(|_| nodes.pass_tick());
        nodes
    }

    /// A tick passes, in which nonces are exchanged if the kind needs any.
    fn pass_tick(&mut self) {
        self.tick = self.tick.plus(1);
        offer(self.tick, (&mut self.one, ONE), (&mut self.other, OTHER));
        offer(self.tick, (&mut self.other, OTHER), (&mut self.one, ONE));
    }

    fn statement(&self) -> Statement {
        let subject = self.station.membership.subject(Protocol::Peer);
        Statement { subject, action: Action::Trip, generation: Gen(1), tick: self.tick }
    }

    fn bad(&self, proof: &Proof) -> Proof {
        let mut bad = *proof;
        match &mut bad {
            Proof::Signature(octets) => octets[40] ^= 1,
            Proof::Frost(shares) => {
                shares.iter_mut().flatten().for_each(|share| share.z_share[0] ^= 1);
            }
            // Another point of the curve, so that it is found wrong as late as can be.
            Proof::Bls(octets) => octets[0] ^= 0x20,
        }
        bad
    }
}

/// What was measured of one thing, in nanoseconds.
#[derive(Default)]
struct Costs(Vec<f64>);

impl Costs {
    #[expect(clippy::disallowed_methods, reason = "a bench is where time is measured")]
    fn time<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = black_box(what());
        self.0.push(begin.elapsed().as_nanos() as f64);
        result
    }

    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted[(sorted.len() - 1) * percent / 100] / 1000.0
    }

    fn line(&self, what: &str, of: impl Display) {
        let [p50, p99, max] = [50, 99, 100].map(|percent| self.percentile(percent));
        let n = self.0.len();
        println!("{of:<15} {what:<28} {p50:9.2} {p99:9.2} {max:9.2} {n:8}");
    }
}

/// What is measured of each kind.
#[derive(Default)]
struct Round {
    prove: Costs,
    combine: Costs,
    verify: Costs,
    wrong: Costs,
}

impl Round {
    fn run(&mut self, nodes: &mut Nodes) {
        nodes.pass_tick();
        let statement = nodes.statement();
        let own = self.prove.time(|| nodes.one.prove(&statement)).expect("nonces were exchanged");
        let theirs = nodes.other.prove(&statement).expect("nonces were exchanged");
        let bad = nodes.bad(&theirs);
        let with = |theirs| [(ONE, &own), (OTHER, theirs)];
        let wrong = self.wrong.time(|| nodes.one.combine(&statement, with(&bad)));
        assert_eq!(wrong, Err(NoCertificate::Wrong(OTHER)));
        let certificate: Certificate = self
            .combine
            .time(|| nodes.one.combine(&statement, with(&theirs)))
            .expect("both are right");
        assert!(self.verify.time(|| nodes.breaker.certifies(&statement, &certificate)));
    }
}

/// What is refused, one datagram at a time: by whom it comes, the cost of each.
fn refusals(rounds: usize, batch: u32) {
    let kind = CertificateKind::TwoSignatures;
    let seed = Secret::new([7; 32]);
    let station = generate(StationId(1), Epoch(1), BreakerId(1), kind, &seed);
    let (mut sender, mut keyring) = party(&station, Party::Relay(ONE));
    let (mut breaker, _) = party(&station, Party::Breaker);
    let key = keyring.working_key().expect("a relay node has one");
    assert!(breaker.adopt(ONE, &key));
    let statement = Statement {
        subject: station.membership.subject(Protocol::Arbiter),
        action: Action::Trip,
        generation: Gen(1),
        tick: Tick(1),
    };
    let attempt = quorum::Attempt { action: Action::Trip, generation: Gen(1) };
    let proof = keyring.prove(&statement).expect("a vote needs nothing more");
    let vote = Payload::Message(Message::Vote { attempt, tick: Tick(1), proof });
    let mut sealed = || {
        let mut datagram = Vec::new();
        sender.seal(Party::Breaker, &vote, |octets| datagram.extend_from_slice(octets));
        datagram
    };
    let replayed = sealed();
    assert!(breaker.open(&replayed).is_ok());
    let mut foreign = replayed.clone();
    foreign[11] ^= 1;
    let noise = vec![0xa5; replayed.len()];
    let mut cases = [
        ("no datagram", noise, None),
        ("of another epoch", foreign, None),
        ("replayed", replayed, Some(Refusal::Replayed)),
        ("with a wrong tag", Vec::new(), Some(Refusal::Tag)),
    ];
    let mut costs: [Costs; 4] = Default::default();
    let mut accepted = Costs::default();
    for _ in 0..rounds {
        // Its number must be a new one, or it is refused before its tag is looked at.
        let forged = &mut cases[3].1;
        *forged = sealed();
        *forged.last_mut().expect("it has octets") ^= 1;
        for (cost, (_, datagram, expected)) in costs.iter_mut().zip(&cases) {
            let refusal = cost.time(|| {
                (1..batch).for_each(|_| assert!(breaker.open(black_box(datagram)).is_err()));
                breaker.open(black_box(datagram))
            });
            assert!(expected.is_none_or(|expected| refusal == Err(expected)));
        }
        let fresh: Vec<_> = (0..batch).map(|_| sealed()).collect();
        accepted.time(|| fresh.iter().for_each(|datagram| assert!(breaker.open(datagram).is_ok())));
    }
    println!("\none datagram of 118 octets, µs; each figure is the mean of {batch} in a row");
    println!("{:<15} {:<28} {:>9} {:>9} {:>9} {:>8}", "", "", "p50", "p99", "max", "n");
    let named = cases.iter().map(|(name, ..)| *name).zip(&costs).chain([("accepted", &accepted)]);
    for (name, cost) in named {
        let one = Costs(cost.0.iter().map(|ns| ns / f64::from(batch)).collect());
        let of = if name == "accepted" { "" } else { "refused" };
        one.line(name, of);
    }
}

fn main() {
    // `cargo bench` says so; `cargo test` does not.
    let tiny = std::env::args().any(|word| word == "--tiny")
        || !std::env::args().any(|word| word == "--bench");
    let rounds = if tiny { 3 } else { 1001 };
    let mut kinds = CertificateKind::ALL.map(|kind| (Nodes::new(kind), Round::default()));
    for _ in 0..rounds {
        kinds.iter_mut().for_each(|(nodes, round)| round.run(nodes));
    }
    println!("one proof or certificate, µs");
    println!("{:<15} {:<28} {:>9} {:>9} {:>9} {:>8}", "", "", "p50", "p99", "max", "n");
    for (nodes, round) in &kinds {
        let shares =
            if nodes.kind == CertificateKind::Frost { "proof (one peer)" } else { "proof" };
        round.prove.line(shares, nodes.kind);
        round.combine.line("combine, verified", nodes.kind);
        round.wrong.line("find a wrong share", nodes.kind);
        round.verify.line("verify (breaker node)", nodes.kind);
    }
    println!("published for RSA, on another machine (Bommareddy et al., 2022), µs:");
    println!("  1024 bits: share 301, combine 142; 2048 bits: share 1875, combine 454");
    refusals(if tiny { 2 } else { 201 }, if tiny { 100 } else { 1000 });
}
