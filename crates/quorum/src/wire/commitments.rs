//! COMMIT: a relay node gives a peer commitments to nonces, ahead of the signatures that they
//! will be used for (FROST, RFC 9591, section 5.1).
//!
//! Each is for the ticks of one slot, and for the pair of sender and recipient only. Along with
//! them goes which ones of the recipient's the sender has, because both must use the same.

use iec61850::wire::{Fault, WireError};

use super::octets::Reader;

/// Slots of nonces that a pair has, and so the most commitments in one datagram. As many as
/// 16 ticks of an attempt, in which new ones come in place of the used ones.
pub const SLOTS: usize = 16;

/// What a node offers to a peer, and what it has of the peer's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commitments {
    wants_answer: bool,
    seen: [u64; SLOTS],
    offered: Vec<Commitment>,
}

/// A commitment to one pair of nonces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Commitment {
    /// For which ticks: those that leave this rest when divided by [`SLOTS`].
    pub slot: u8,
    /// Counts the nonces of the sender, from 1, and is never used again.
    pub serial: u64,
    /// Commitment to the hiding nonce: a point of Ed25519.
    pub hiding: [u8; 32],
    /// Commitment to the binding nonce: a point of Ed25519.
    pub binding: [u8; 32],
}

impl Commitments {
    /// Commitments for distinct slots. None if there is a slot that there is not, a slot twice, or
    /// a serial of 0.
    pub fn new(
        wants_answer: bool,
        seen: [u64; SLOTS],
        mut offered: Vec<Commitment>,
    ) -> Option<Self> {
        offered.sort();
        let ascending = offered.windows(2).all(|pair| pair[0].slot < pair[1].slot);
        let known = |c: &Commitment| usize::from(c.slot) < SLOTS && c.serial != 0;
        let good = ascending && offered.iter().all(known);
        good.then_some(Self { wants_answer, seen, offered })
    }

    /// Whether some of those offered were not confirmed yet.
    pub const fn wants_answer(&self) -> bool {
        self.wants_answer
    }

    /// For each slot the latest serial of the recipient's that the sender has; 0 if none.
    pub const fn seen(&self) -> &[u64; SLOTS] {
        &self.seen
    }

    /// The commitments in the order of their slots.
    pub fn as_slice(&self) -> &[Commitment] {
        &self.offered
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let wants_answer = reader.code("wish for an answer", |octet| match octet {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        })?;
        let mut seen = [0; SLOTS];
        for serial in &mut seen {
            *serial = reader.u64("serial")?;
        }
        let count = reader.code("count", |count| (usize::from(count) <= SLOTS).then_some(count))?;
        let mut offered = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let after = offered.last().map_or(0, |last: &Commitment| last.slot + 1);
            let slot =
                reader.code("slot", |slot| (after..SLOTS as u8).contains(&slot).then_some(slot))?;
            let serial = reader.u64("serial")?;
            if serial == 0 {
                return Err(reader.error("serial", 8, Fault::Range));
            }
            let hiding = reader.array("commitment")?;
            let binding = reader.array("commitment")?;
            offered.push(Commitment { slot, serial, hiding, binding });
        }
        Ok(Self { wants_answer, seen, offered })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.wants_answer));
        self.seen.iter().for_each(|serial| out.extend(serial.to_be_bytes()));
        out.push(self.offered.len() as u8);
        for Commitment { slot, serial, hiding, binding } in &self.offered {
            out.push(*slot);
            out.extend(serial.to_be_bytes());
            out.extend(hiding);
            out.extend(binding);
        }
    }
}
