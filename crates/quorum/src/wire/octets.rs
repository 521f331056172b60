//! Fields of fixed size in a row, read by somebody who knows where the next one stands.

use iec61850::wire::{Fault, WireError};

use crate::statement::NodeId;

/// Takes fields from octets.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    octet: usize,
}

impl<'a> Reader<'a> {
    /// Octets of which the first is octet `octet` of the datagram.
    pub(super) const fn new(octets: &'a [u8], octet: usize) -> Self {
        Self { rest: octets, octet }
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        field: &'static str,
    ) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error(field, 0, Fault::Cut { has: self.rest.len(), needs: N }));
        };
        self.rest = rest;
        self.octet += N;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        Ok(u8::from_be_bytes(self.array(field)?))
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.array(field)?))
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }

    /// One octet that stands for something.
    pub(super) fn code<T>(
        &mut self,
        field: &'static str,
        meaning: impl FnOnce(u8) -> Option<T>,
    ) -> Result<T, WireError> {
        let octet = self.u8(field)?;
        meaning(octet).ok_or_else(|| self.error(field, 1, Fault::Range))
    }

    pub(super) fn node(&mut self, field: &'static str) -> Result<NodeId, WireError> {
        self.code(field, NodeId::new)
    }

    /// What must stand here.
    pub(super) fn expect<const N: usize>(
        &mut self,
        field: &'static str,
        expected: [u8; N],
    ) -> Result<(), WireError> {
        if self.array(field)? == expected {
            Ok(())
        } else {
            Err(self.error(field, N, Fault::Range))
        }
    }

    pub(super) fn finish(self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            octets => Err(self.error("datagram", 0, Fault::Trailing { octets })),
        }
    }

    /// An error about a field that ends `taken` octets after its begin, here.
    pub(super) const fn error(&self, field: &'static str, taken: usize, fault: Fault) -> WireError {
        WireError { field, octet: self.octet - taken, fault }
    }
}
