//! Randomness that is handed in: octets that a caller has from the kernel, stretched to as many
//! as a computation asks for (BLAKE3 as an extendable output).
//!
//! Nothing here asks an operating system, so the same octets lead to the same keys.

use blake3::{Hasher, OutputReader};
use frost_ed25519::rand_core::{CryptoRng, Error, RngCore, impls};
use zeroize::Zeroize;

use super::Secret;

/// What each use of randomness is for, so that no two share octets.
const CONTEXT: &str = "quartercycle 2026 quorum random octets 1";

/// Random octets without end.
pub(crate) struct Random(OutputReader);

impl Random {
    /// The octets that follow from a seed that is used for nothing else.
    pub(crate) fn from_seed(seed: &Secret, purpose: &str) -> Self {
        let mut hasher = Hasher::new_derive_key(CONTEXT);
        hasher.update(seed.expose()).update(purpose.as_bytes());
        let reader = hasher.finalize_xof();
        hasher.zeroize();
        Self(reader)
    }

    /// The next 32 octets.
    pub(crate) fn secret(&mut self) -> Secret {
        let mut octets = [0; 32];
        self.0.fill(&mut octets);
        let secret = Secret::new(octets);
        octets.zeroize();
        secret
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl RngCore for Random {
    fn next_u32(&mut self) -> u32 {
        impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        self.0.fill(out);
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

/// Its seed must be secret and from the kernel, which the callers of this crate see to.
impl CryptoRng for Random {}
