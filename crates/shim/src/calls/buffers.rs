//! The buffers of a call that reads or writes, one or several (`struct iovec`), taken as one.
//!
//! A stream may take or give a part of what it was asked for, and the rest goes on from there.

use crate::memory;
use crate::wait::EINVAL;

/// `UIO_MAXIOV`: more buffers are refused.
const COUNT_MAX: usize = 1024;

/// `struct iovec`
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Buffer {
    pub(crate) base: usize,
    pub(crate) length: usize,
}

#[derive(Clone, Copy)]
pub(crate) enum Buffers {
    One(Buffer),
    /// An array of the program's.
    Many {
        first: usize,
        count: usize,
    },
}

impl Buffers {
    pub(crate) fn one(base: usize, length: usize) -> Self {
        Self::One(Buffer { base, length })
    }

    pub(crate) fn length(self) -> Result<usize, isize> {
        let mut sum = 0usize;
        self.find(|buffer| {
            sum = sum.saturating_add(buffer.length);
            false
        })?;
        Ok(sum)
    }

    /// What is left of the buffer in which the octet with this number lies; `None` behind all.
    pub(crate) fn rest(self, octet: usize) -> Result<Option<Buffer>, isize> {
        let mut skip = octet;
        let found = self.find(|buffer| {
            let here = skip < buffer.length;
            skip -= if here { 0 } else { buffer.length };
            here
        })?;
        Ok(found.map(|Buffer { base, length }| Buffer { base: base + skip, length: length - skip }))
    }

    fn find(self, mut wanted: impl FnMut(Buffer) -> bool) -> Result<Option<Buffer>, isize> {
        let (first, count) = match self {
            Self::One(buffer) => return Ok(wanted(buffer).then_some(buffer)),
            Self::Many { first, count } => (first, count),
        };
        if count > COUNT_MAX {
            return Err(EINVAL);
        }
        for number in 0..count {
            // SAFETY: numbers, which may have any value.
            let buffer: Buffer = unsafe { memory::read(first + number * size_of::<Buffer>())? };
            if wanted(buffer) {
                return Ok(Some(buffer));
            }
        }
        Ok(None)
    }
}
