//! Secrets in memory: shown to nobody, overwritten before their memory is given back.

use std::fmt;

use zeroize::Zeroize;

/// 32 octets that nobody else may know.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes the octets over; the caller wipes its copy.
    pub const fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// The octets, for as long as they are looked at.
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        let shown = format!("{:?}", Secret::new([0x5a; 32]));
        assert!(!shown.contains("5a") && !shown.contains("90"), "{shown}");
    }
}
