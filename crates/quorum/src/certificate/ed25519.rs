//! Signatures of Ed25519 (RFC 8032), verified strictly: one signature of a message, so that nobody
//! can make another one of it, and no key of small order, under which signatures mean nothing.

use ed25519_dalek::{Signature as Parsed, Signer, SigningKey, VerifyingKey};

use crate::wire::Signature;

/// The key of these octets; none if they are no key or one of small order.
pub(crate) fn verifying_key(octets: &[u8; 32]) -> Option<VerifyingKey> {
    VerifyingKey::from_bytes(octets).ok().filter(|key| !key.is_weak())
}

/// The signature of a message.
pub(crate) fn sign(key: &SigningKey, message: &[u8]) -> Signature {
    key.sign(message).to_bytes()
}

/// Whether this is the signature of a message.
pub(crate) fn verify(key: &VerifyingKey, message: &[u8], signature: &Signature) -> bool {
    key.verify_strict(message, &Parsed::from_bytes(signature)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    /// RFC 8032, section 7.1: secret key, public key, message, signature of tests 1 to 3.
    const VECTORS: [[&str; 4]; 3] = [
        [
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ],
        [
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ],
        [
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ],
    ];

    #[test]
    fn signatures_are_those_of_rfc_8032() {
        for [secret, public, message, signature] in VECTORS {
            let key = SigningKey::from_bytes(&hex::decode(secret).unwrap());
            let message: Vec<u8> = match message.len() {
                0 => Vec::new(),
                2 => hex::decode::<1>(message).unwrap().to_vec(),
                _ => hex::decode::<2>(message).unwrap().to_vec(),
            };
            let expected: Signature = hex::decode(signature).unwrap();
            assert_eq!(key.verifying_key().to_bytes(), hex::decode(public).unwrap());
            assert_eq!(sign(&key, &message), expected);
            assert!(verify(&key.verifying_key(), &message, &expected));
            let mut other = expected;
            other[40] ^= 1;
            assert!(!verify(&key.verifying_key(), &message, &other));
        }
    }

    #[test]
    fn keys_of_small_order_are_refused() {
        let mut one = [0; 32];
        one[0] = 1;
        assert!(verifying_key(&one).is_none());
        assert!(verifying_key(&[0; 32]).is_none());
        // Not on the curve.
        one[0] = 2;
        assert!(verifying_key(&one).is_none());
    }
}
