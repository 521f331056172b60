//! Records that only the two hosts of a pair can write and read (ChaCha20-Poly1305, RFC 8439), in the order in
//! which they were written.
//!
//! A pair has a secret of its own, which each of the two gets from whoever starts them. Each connection
//! and each direction has a key of its own, made of the secret and what both have greeted with. The number of a
//! record is its nonce, so one that is repeated, left out or moved cannot be opened, nor one of another connection.

use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// What is hashed along with the secret: these keys are for this and nothing else.
const CONTEXT: &str = "quartercycle 2026 hosts record key 1";

/// Octets that a sealed record has more than what is in it.
pub const TAG_OCTETS: usize = 16;

/// What two hosts and nobody else know.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PairSecret(pub [u8; 32]);

/// One direction of one connection.
pub(crate) struct Seal {
    cipher: ChaCha20Poly1305,
    /// The number of the next record.
    count: u64,
}

/// A record that the other one has not written, or not as the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forged;

impl Seal {
    /// That of a direction of a connection: `told` is all that the two have said before, and which of the
    /// directions it is.
    pub(crate) fn new(secret: &PairSecret, told: &[u8]) -> Self {
        let mut material = Zeroizing::new(secret.0.to_vec());
        material.extend_from_slice(told);
        let key = Zeroizing::new(blake3::derive_key(CONTEXT, &material));
        let cipher = ChaCha20Poly1305::new_from_slice(&*key).expect("a key has 32 octets");
        Self { cipher, count: 0 }
    }

    /// Seals a record with `head`, which everybody can read.
    pub(crate) fn close(&mut self, head: &[u8], record: &mut Vec<u8>) {
        let nonce = self.nonce();
        self.cipher
            .encrypt_in_place(&nonce.into(), head, record)
            .expect("records are shorter than 256 GiB");
    }

    /// Opens the next record.
    ///
    /// # Errors
    /// When it is not the next one of the other host. It is not counted then.
    pub(crate) fn open(&mut self, head: &[u8], record: &mut Vec<u8>) -> Result<(), Forged> {
        let nonce = self.nonce();
        let opened = self.cipher.decrypt_in_place(&nonce.into(), head, record);
        opened.map_err(|_| {
            self.count -= 1;
            Forged
        })
    }

    fn nonce(&mut self) -> [u8; 12] {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&self.count.to_le_bytes());
        self.count += 1;
        nonce
    }
}

impl std::fmt::Debug for PairSecret {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PairSecret")
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Seal").field("count", &self.count).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seal: &mut Seal, text: &[u8]) -> Vec<u8> {
        let mut record = text.to_vec();
        seal.close(b"head", &mut record);
        record
    }

    #[test]
    fn records_are_opened_once_and_in_order() {
        let secret = PairSecret([7; 32]);
        let [mut here, mut there] = [(); 2].map(|()| Seal::new(&secret, b"1 to 2"));
        let [mut first, mut second] = [b"first", b"secon"].map(|text| sealed(&mut here, text));
        assert_eq!(first.len(), 5 + TAG_OCTETS);
        assert_eq!(there.open(b"head", &mut second.clone()), Err(Forged));
        assert_eq!(there.open(b"hear", &mut first.clone()), Err(Forged));
        let again = first.clone();
        assert_eq!(there.open(b"head", &mut first), Ok(()));
        assert_eq!(first, b"first");
        assert_eq!(there.open(b"head", &mut again.clone()), Err(Forged));
        assert_eq!(there.open(b"head", &mut second), Ok(()));
    }

    #[test]
    fn each_secret_and_each_direction_has_a_key_of_its_own() {
        let mut record = sealed(&mut Seal::new(&PairSecret([7; 32]), b"1 to 2"), b"text");
        for (secret, told) in [([8; 32], b"1 to 2"), ([7; 32], b"2 to 1")] {
            let mut other = Seal::new(&PairSecret(secret), told);
            assert_eq!(other.open(b"head", &mut record), Err(Forged));
        }
    }

    #[test]
    fn a_changed_record_is_not_opened() {
        let secret = PairSecret([7; 32]);
        let record = sealed(&mut Seal::new(&secret, b""), b"text");
        for place in 0..record.len() {
            let mut record = record.clone();
            record[place] ^= 1;
            assert_eq!(Seal::new(&secret, b"").open(b"head", &mut record), Err(Forged));
        }
        assert_eq!(Seal::new(&secret, b"").open(b"head", &mut vec![0; 3]), Err(Forged));
    }
}
