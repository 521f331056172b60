//! Datagrams of a quorum, behind the tag and in front of it, and key files: whatever is accepted
//! is encoded to the same octets.
#![no_main]

use quorum::keys::{Membership, RootSecrets};
use quorum::wire::{Header, Payload};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    match Header::decode(octets) {
        Ok((header, payload, tag)) => {
            let mut again = Vec::new();
            header.encode(&mut again);
            match Payload::decode(header.kind, payload) {
                Ok(decoded) => {
                    assert_eq!(decoded.kind(), header.kind);
                    decoded.encode(&mut again);
                    again.extend_from_slice(tag);
                    assert_eq!(again, octets);
                }
                Err(error) => {
                    assert!(error.octet <= octets.len() && !error.to_string().is_empty());
                }
            }
        }
        Err(error) => assert!(error.octet <= octets.len() && !error.to_string().is_empty()),
    }
    let Ok(text) = std::str::from_utf8(octets) else { return };
    if let Ok(membership) = Membership::read(text) {
        assert_eq!(Membership::read(&membership.to_string()), Ok(membership));
    }
    if let Ok(secrets) = RootSecrets::read(text) {
        let again = RootSecrets::read(&secrets.text()).expect("written here");
        assert_eq!(*again.text(), *secrets.text());
    }
});
