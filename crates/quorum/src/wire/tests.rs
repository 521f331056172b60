//! Datagrams: decoded as they were encoded, refused with their octet.

use super::*;
use crate::statement::NodeId;
use crate::statement::tests::attempts;
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::{array, option};

/// A signature, right or wrong.
fn signatures() -> impl Strategy<Value = Signature> {
    any::<[[u8; 32]; 2]>().prop_map(|halves| *halves.as_flattened().as_array().unwrap())
}

fn points() -> impl Strategy<Value = [u8; 48]> {
    any::<u8>().prop_map(|octet| [octet; 48])
}

fn attempts_and_ticks() -> impl Strategy<Value = (Attempt, Tick)> {
    (attempts(), (0..u64::MAX).prop_map(Tick))
}

fn proofs(kind: CertificateKind) -> BoxedStrategy<Proof> {
    let pair = (1..=u64::MAX, 1..=u64::MAX, any::<[u8; 32]>()).prop_map(
        |(own_serial, peer_serial, z_share)| PairShare { own_serial, peer_serial, z_share },
    );
    match kind {
        CertificateKind::TwoSignatures => signatures().prop_map(Proof::Signature).boxed(),
        CertificateKind::Frost => array::uniform3(option::of(pair)).prop_map(Proof::Frost).boxed(),
        CertificateKind::Bls => points().prop_map(Proof::Bls).boxed(),
    }
}

fn votes_and_shares() -> impl Strategy<Value = Message> {
    (attempts_and_ticks(), 0..3usize, any::<bool>()).prop_flat_map(|(attempt, kind, is_vote)| {
        let kind = CertificateKind::ALL[kind];
        (Just(attempt), proofs(kind), proofs(kind)).prop_map(
            move |((attempt, tick), proof, proof_next)| {
                if is_vote {
                    Message::Vote { attempt, tick, proof }
                } else {
                    Message::Share { attempt, tick, proof, proof_next }
                }
            },
        )
    })
}

fn certificates() -> impl Strategy<Value = Certificate> {
    let nodes = || (0..NODES).prop_map(|index| NodeId::ALL[index]);
    let two = (nodes(), signatures(), nodes(), signatures()).prop_filter_map(
        "two nodes",
        |(one, first, other, second)| {
            TwoSignatures::new((one, first), (other, second)).map(Certificate::TwoSignatures)
        },
    );
    let frost = signatures().prop_map(Certificate::Frost);
    prop_oneof![two, frost, points().prop_map(Certificate::Bls)]
}

fn acknowledgements() -> impl Strategy<Value = Acknowledgement> {
    (attempts(), any::<[u64; 2]>(), any::<[u64; NODES]>()).prop_map(
        |(Attempt { action, generation }, [ns, tick], counters)| Acknowledgement {
            generation,
            state: action,
            acted_at: CommonTime::from_ns(ns),
            tick: Tick(tick),
            counters,
        },
    )
}

fn working_keys() -> impl Strategy<Value = WorkingKey> {
    (any::<u64>(), any::<[[u8; 32]; 2]>(), signatures()).prop_map(
        |(counter, [signing_key, channel_key], signature)| WorkingKey {
            counter,
            signing_key,
            channel_key,
            signature,
        },
    )
}

fn commitments() -> impl Strategy<Value = Commitments> {
    let nonces = (1..=u64::MAX, any::<[u8; 32]>(), any::<[u8; 32]>());
    let offered = btree_map(0..SLOTS as u8, nonces, 0..=SLOTS);
    (any::<bool>(), any::<[u64; SLOTS]>(), offered).prop_map(|(wants_answer, seen, offered)| {
        let offered = offered.into_iter();
        let offered = offered.map(|(slot, (serial, hiding, binding))| Commitment {
            slot,
            serial,
            hiding,
            binding,
        });
        Commitments::new(wants_answer, seen, offered.collect()).unwrap()
    })
}

/// Anything that can be said.
pub(crate) fn payloads() -> impl Strategy<Value = Payload> {
    let certificate =
        (attempts_and_ticks(), certificates()).prop_map(|((attempt, tick), certificate)| {
            Message::Certificate { attempt, tick, certificate }
        });
    prop_oneof![
        votes_and_shares().prop_map(Payload::Message),
        certificate.prop_map(Payload::Message),
        acknowledgements().prop_map(Message::Acknowledgement).prop_map(Payload::Message),
        any::<u64>().prop_map(|tick| Payload::Message(Message::Query { tick: Tick(tick) })),
        working_keys().prop_map(|key| Payload::Message(Message::Announcement { key })),
        working_keys()
            .prop_map(|key| Payload::Message(Message::Noted { counter: 0, key: Some(key) })),
        any::<u64>().prop_map(|counter| Payload::Message(Message::Noted { counter, key: None })),
        commitments().prop_map(Payload::Commitments),
    ]
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_again(payload in payloads()) {
        let mut octets = vec![0xa5];
        payload.encode(&mut octets);
        prop_assert!(HEADER_OCTETS + octets.len() - 1 + TAG_OCTETS <= DATAGRAM_OCTETS_MAX);
        prop_assert_eq!(Payload::decode(payload.kind(), &octets[1..]), Ok(payload));
    }

    #[test]
    fn what_is_cut_or_too_long_is_refused_with_its_octet(payload in payloads(), end: u16) {
        let mut octets = Vec::new();
        payload.encode(&mut octets);
        let end = usize::from(end) % octets.len();
        let error = Payload::decode(payload.kind(), &octets[..end]).unwrap_err();
        prop_assert!(error.octet >= HEADER_OCTETS && error.octet <= HEADER_OCTETS + end);
        octets.push(0);
        let error = Payload::decode(payload.kind(), &octets).unwrap_err();
        prop_assert_eq!(error.octet, HEADER_OCTETS + octets.len() - 1);
    }

    #[test]
    fn whatever_is_accepted_has_one_encoding(
        kind in 0..Kind::ALL.len(), payload in payloads(), place: u16, value: u8,
    ) {
        let mut octets = Vec::new();
        payload.encode(&mut octets);
        let place = usize::from(place) % octets.len();
        octets[place] = value;
        for kind in [payload.kind(), Kind::ALL[kind]] {
            if let Ok(decoded) = Payload::decode(kind, &octets) {
                let mut again = Vec::new();
                decoded.encode(&mut again);
                prop_assert_eq!(&again, &octets);
            }
        }
    }
}

#[test]
fn one_node_twice_is_no_certificate() {
    let [one, other, ..] = NodeId::ALL;
    assert_eq!(TwoSignatures::new((one, [1; 64]), (one, [2; 64])), None);
    let two = TwoSignatures::new((other, [1; 64]), (one, [2; 64])).unwrap();
    assert_eq!(two.signatures()[0], (one, [2; 64]));
    let mut octets = Vec::new();
    Payload::Message(Message::Certificate {
        attempt: Attempt { action: Action::Trip, generation: Gen(1) },
        tick: Tick(1),
        certificate: Certificate::TwoSignatures(two),
    })
    .encode(&mut octets);
    // Behind attempt, tick and kind: the two nodes.
    for ids in [[0, 0], [1, 0], [2, 2]] {
        octets[18..20].copy_from_slice(&ids);
        let error = Payload::decode(Kind::Certificate, &octets).unwrap_err();
        assert_eq!(error.to_string(), "signers at octet 38: the field cannot have this value");
    }
}

#[test]
fn what_is_wrong_is_named_with_field_and_octet() {
    let said = |kind, octets: &[u8]| Payload::decode(kind, octets).unwrap_err().to_string();
    let range = "the field cannot have this value";
    assert_eq!(said(Kind::Vote, &[0]), format!("action at octet 20: {range}"));
    let mut share = [0xff; 200];
    share[0] = 2;
    assert_eq!(said(Kind::Share, &share), format!("tick at octet 29: {range}"));
    share[9] = 0;
    assert_eq!(said(Kind::Share, &share), format!("certificate kind at octet 37: {range}"));
    assert_eq!(said(Kind::Query, &[1, 2, 3]), "tick at octet 20: 8 octets are needed, 3 are there");
    assert_eq!(said(Kind::Commitments, &[2]), format!("wish for an answer at octet 20: {range}"));
    let mut commitments = [0; 200];
    commitments[129] = 17;
    assert_eq!(said(Kind::Commitments, &commitments), format!("count at octet 149: {range}"));
    commitments[129..131].copy_from_slice(&[1, 16]);
    assert_eq!(said(Kind::Commitments, &commitments), format!("slot at octet 150: {range}"));
    assert_eq!(said(Kind::Noted, &[0; 9]), "datagram at octet 28: 1 octets too many at the end");
}

#[test]
fn no_nonces_have_serial_0() {
    let commitment = |serial| Commitment { slot: 3, serial, hiding: [1; 32], binding: [2; 32] };
    let with = |serial| Commitments::new(false, [0; SLOTS], vec![commitment(serial)]);
    assert_eq!(with(0), None);
    let mut octets = Vec::new();
    Payload::Commitments(with(1).unwrap()).encode(&mut octets);
    // Behind the wish for an answer, what was seen, count and slot.
    octets[131..139].fill(0);
    let error = Payload::decode(Kind::Commitments, &octets).unwrap_err();
    assert_eq!(error.to_string(), "serial at octet 151: the field cannot have this value");
}
