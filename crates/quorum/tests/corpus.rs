//! What the fuzzer of datagrams begins with: one datagram of each kind and form, and key files.
//!
//! `QCYCLE_BLESS=1` writes the files again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use quorum::dealer::generate;
use quorum::keys::Secret;
use quorum::wire::{
    Certificate, CertificateKind, Commitment, Commitments, Header, Kind, Message, PairShare,
    Payload, Proof, SLOTS, TAG_OCTETS, TwoSignatures, WorkingKey,
};
use quorum::{
    Acknowledgement, Action, Attempt, BreakerId, CommonTime, Epoch, Gen, NodeId, Party, StationId,
    Tick,
};

fn corpus() -> BTreeMap<String, Vec<u8>> {
    let attempt = Attempt { action: Action::Trip, generation: Gen(0x0102_0304) };
    let tick = Tick(0x0506_0708_090a);
    let pair = PairShare { own_serial: 17, peer_serial: 18, z_share: [0x11; 32] };
    let proofs = [
        Proof::Signature([0x22; 64]),
        Proof::Frost([Some(pair), None, Some(pair)]),
        Proof::Bls([0x33; 48]),
    ];
    let [one, other, ..] = NodeId::ALL;
    let certificates = [
        TwoSignatures::new((one, [0x44; 64]), (other, [0x55; 64]))
            .map(Certificate::TwoSignatures)
            .expect("they are two"),
        Certificate::Frost([0x66; 64]),
        Certificate::Bls([0x77; 48]),
    ];
    let key = WorkingKey {
        counter: 3,
        signing_key: [0x88; 32],
        channel_key: [0x99; 32],
        signature: [0xaa; 64],
    };
    let standing = Acknowledgement {
        generation: Gen(9),
        state: Action::Close,
        acted_at: CommonTime::from_ns(1_000_000_001),
        tick,
        counters: [1, 2, 3, 4],
    };
    let commitment = |slot| Commitment { slot, serial: 5, hiding: [1; 32], binding: [2; 32] };
    let commitments = |slots: &[u8]| {
        let offered = slots.iter().map(|slot| commitment(*slot)).collect();
        let commitments = Commitments::new(true, [7; SLOTS], offered);
        Payload::Commitments(commitments.expect("these slots are there"))
    };
    let mut messages = vec![
        Message::Vote { attempt, tick, proof: proofs[0] },
        Message::Acknowledgement(standing),
        Message::Query { tick },
        Message::Announcement { key },
        Message::Noted { counter: 0, key: Some(key) },
        Message::Noted { counter: 3, key: None },
    ];
    for proof in proofs {
        messages.push(Message::Share { attempt, tick, proof, proof_next: proof });
    }
    for certificate in certificates {
        messages.push(Message::Certificate { attempt, tick, certificate });
    }
    let mut payloads: Vec<Payload> = messages.into_iter().map(Payload::Message).collect();
    payloads.extend([commitments(&[]), commitments(&[0, 15])]);
    let mut files = BTreeMap::new();
    for (number, payload) in payloads.iter().enumerate() {
        let header = Header {
            kind: payload.kind(),
            sender: Party::Relay(one),
            recipient: Party::Breaker,
            epoch: Epoch(1),
            sequence: number as u64 + 1,
        };
        let mut datagram = Vec::new();
        header.encode(&mut datagram);
        payload.encode(&mut datagram);
        datagram.extend_from_slice(&[0xbb; TAG_OCTETS]);
        let kind = format!("{:?}", payload.kind()).to_lowercase();
        files.insert(format!("{number:02}-{kind}"), datagram);
    }
    for kind in CertificateKind::ALL {
        let seed = Secret::new([1; 32]);
        let station = generate(StationId(1), Epoch(1), BreakerId(1), kind, &seed);
        files.insert(format!("membership-{kind}"), station.membership.to_string().into());
        files.insert(format!("secrets-{kind}"), station.secrets[0].text().as_bytes().into());
    }
    files
}

#[test]
fn the_corpus_is_what_is_encoded_today() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    let files = corpus();
    let is_there = |kind: &Kind| {
        files
            .values()
            .any(|file| Header::decode(file).is_ok_and(|(header, ..)| header.kind == *kind))
    };
    assert!(Kind::ALL.iter().all(is_there), "each kind has a file");
    #[expect(clippy::disallowed_methods, reason = "who runs the test says so")]
    if std::env::var("QCYCLE_BLESS").is_ok() {
        std::fs::create_dir_all(&folder).unwrap();
        for (name, octets) in &files {
            std::fs::write(folder.join(name), octets).unwrap();
        }
    }
    for (name, octets) in &files {
        let found = std::fs::read(folder.join(name)).unwrap_or_default();
        assert_eq!(&found, octets, "{name}; QCYCLE_BLESS=1 writes it again");
    }
}
