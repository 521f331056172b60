//! Key files: read as they were written, refused with line and key, no secret in sight.

use super::*;
use crate::Party;
use crate::dealer::{Station, generate};
use crate::statement::{BreakerId, Epoch, NodeId, StationId};
use crate::wire::CertificateKind;
use proptest::prelude::*;

fn station(kind: CertificateKind, seed: u8) -> Station {
    generate(StationId(4_000_000_000), Epoch(2), BreakerId(65_535), kind, &Secret::new([seed; 32]))
}

#[test]
fn files_are_read_as_they_were_written() {
    for kind in CertificateKind::ALL {
        let Station { membership, secrets } = station(kind, 1);
        assert_eq!(Membership::read(&membership.to_string()), Ok(membership.clone()));
        for root in &secrets {
            let read = RootSecrets::read(&root.text()).unwrap();
            assert_eq!(*read.text(), *root.text());
            assert_eq!(read.party, root.party);
            assert_eq!(read.misfit(&membership), None, "{kind}, {}", root.party);
        }
        // The same seed, the same keys; another one, others.
        assert_eq!(station(kind, 1).membership, membership);
        assert_ne!(station(kind, 2).membership.nodes, membership.nodes);
    }
}

#[test]
fn what_is_wrong_is_named_with_line_and_key_and_without_the_value() {
    let Station { membership, secrets } = station(CertificateKind::Frost, 1);
    let (public, secret) = (membership.to_string(), secrets[2].text());
    let said = |text: &str| Membership::read(text).unwrap_err().to_string();
    assert_eq!(
        said(""),
        "line 1: `quorum-membership` is expected here; use the file as `qcrelay keys` wrote it"
    );
    assert_eq!(
        said(&public.replace("station 4", "station -4")),
        "line 3: station: give a number from 0 to 4294967295"
    );
    assert_eq!(
        said(&public.replace("frost", "rsa")),
        "line 6: certificate: give `two-signatures`, `frost` or `bls`"
    );
    assert_eq!(
        said(&public.replace("node-1-channel-key ", "node-1-channel-key 0")),
        "line 10: node-1-channel-key: give 64 hexadecimal digits"
    );
    assert_eq!(
        said(&format!("{public}\n# A remark.\nmore 1\n")),
        "line 23: nothing may follow `node-3-share-key`; remove it"
    );
    let said = |text: &str| RootSecrets::read(text).unwrap_err().to_string();
    assert_eq!(
        said(&secret.replace("party 2", "party 4")),
        "line 3: party: give 0, 1, 2, 3 or `breaker`"
    );
    let digits = secret.lines().nth(5).unwrap().split_once(' ').unwrap().1;
    let error = said(&secret.replace(digits, &digits[..62]));
    assert_eq!(error, "line 6: signing-secret: give 64 hexadecimal digits");
}

#[test]
fn secrets_of_others_do_not_fit() {
    let Station { membership, secrets } = station(CertificateKind::Frost, 1);
    let other = station(CertificateKind::Frost, 2);
    let said = |secrets: &RootSecrets| secrets.misfit(&membership).unwrap_or("").to_owned();
    assert!(said(&other.secrets[0]).contains("channel secret"));
    let good = &secrets[0];
    let nodes = NodeId::ALL.map(Party::Relay);
    assert!(said(&RootSecrets { party: nodes[1], ..good.clone() }).contains("channel secret"));
    assert!(said(&RootSecrets { epoch: Epoch(3), ..good.clone() }).contains("epoch"));
    assert!(said(&RootSecrets { station: StationId(3), ..good.clone() }).contains("station"));
    assert!(said(&RootSecrets { share: None, ..good.clone() }).contains("share"));
    let signing = other.secrets[0].signing.clone();
    assert!(said(&RootSecrets { signing, ..good.clone() }).contains("signing secret"));
}

#[test]
fn nobody_is_born_with_counter_zero_or_as_somebody_else() {
    let Station { membership, secrets } = station(CertificateKind::TwoSignatures, 1);
    let seed = Secret::new([9; 32]);
    assert!(Working::born(&secrets[0], &membership, 0, &seed).is_none());
    assert!(Working::born(&secrets[4], &membership, 1, &seed).is_none());
    assert!(Working::of_breaker(&secrets[0], &membership).is_none());
    let [one, two] =
        [1, 2].map(|counter| Working::born(&secrets[0], &membership, counter, &seed).unwrap());
    assert_eq!((one.party(), one.key().unwrap().counter), (Party::Relay(NodeId::ALL[0]), 1));
    assert_ne!(one.key().unwrap().signature, two.key().unwrap().signature);
}

#[test]
fn no_secret_is_shown() {
    let Station { membership, secrets } = station(CertificateKind::Bls, 1);
    let working = Working::born(&secrets[0], &membership, 1, &Secret::new([9; 32])).unwrap();
    let shown = format!("{:?} {working:?}", secrets[0]);
    for secret in [&secrets[0].signing, &secrets[0].channel, working.signing().unwrap()] {
        let listed = format!("{:?}", secret.expose());
        let listed = listed.trim_matches(['[', ']']);
        assert!(!shown.contains(listed), "{shown}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_panic(
        text in "(\\PC{0,40}\n){0,12}", line in 0usize..12, with in "\\PC{0,80}",
    ) {
        let Station { membership, secrets } = station(CertificateKind::TwoSignatures, 1);
        for good in [membership.to_string(), secrets[1].text().to_string()] {
            let mut lines: Vec<&str> = good.lines().collect();
            let place = line % lines.len();
            lines[place] = &with;
            for text in [text.clone(), lines.join("\n")] {
                let _ = Membership::read(&text);
                let _ = RootSecrets::read(&text);
            }
        }
    }
}
