//! Samples of one thread in a row, as few octets as possible: intended times as differences from
//! the period, which are mostly zero, and latencies as differences from the one before.
//!
//! Samples of some kinds can be split, by moments that the kernel noted ([`Stamps`]). They are
//! further columns behind the samples, each a row of differences again: a block without them is the
//! one that readers always knew, and a kind without moments pays nothing. Parts themselves are not
//! written: they are the differences between begin, moments and end, and so cannot contradict the
//! whole.

use super::stamps::{STAMPS_MAX, Stamps};
use super::varint;

/// One measurement: how late a thread was at one of its times.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Sample {
    /// When it should have been, ns since the stream began.
    pub at_ns: i64,
    /// How much later it was, ns.
    pub latency_ns: i64,
    /// What the kernel noted in between.
    pub stamps: Stamps,
}

/// Samples of one thread in a row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Samples {
    /// Which thread of the plan.
    pub thread: usize,
    /// Which of all samples of the thread the first one is, from 0. If it is more than what came
    /// before, those between were lost.
    pub first: u64,
    /// In the order in which they were taken.
    pub samples: Vec<Sample>,
}

/// Threads that a stream may have: what a plan may have, and some air.
const THREADS_MAX: u64 = 1 << 16;

/// The octets of a block. Differences wrap round at the end of 64 bits.
pub(super) fn encode(thread: usize, first: u64, period_ns: u64, samples: &[Sample]) -> Vec<u8> {
    let mut octets = Vec::with_capacity(40 + 8 * samples.len());
    for number in [thread as u64, first, samples.len() as u64, period_ns] {
        varint::put(number, &mut octets);
    }
    let mut before = start(period_ns);
    for sample in samples {
        let at_ns = sample.at_ns.wrapping_sub(before.at_ns).wrapping_sub(period_ns.cast_signed());
        varint::put_signed(at_ns, &mut octets);
        varint::put_signed(sample.latency_ns.wrapping_sub(before.latency_ns), &mut octets);
        before = *sample;
    }
    for index in 0..columns_of(samples) {
        let mut before = 0;
        for sample in samples {
            let value = sample.stamps.column(index);
            varint::put_signed(value - before, &mut octets);
            before = value;
        }
    }
    octets
}

/// Columns that are needed: those behind the last moment that is known are left out.
fn columns_of(samples: &[Sample]) -> usize {
    let is_needed = |index: &usize| samples.iter().any(|sample| sample.stamps.column(*index) != 0);
    (0..STAMPS_MAX).rev().find(is_needed).map_or(0, |last| last + 1)
}

/// What a block holds; `None` if it holds no samples in order.
pub(super) fn decode(mut octets: &[u8]) -> Option<Samples> {
    let rest = &mut octets;
    let thread = varint::take(rest).filter(|thread| *thread < THREADS_MAX)?;
    let first = varint::take(rest)?;
    let count = varint::take(rest)?;
    let period_ns = varint::take(rest)?;
    // Each sample is two octets or more, so that memory is bounded by what really came.
    if count > rest.len() as u64 / 2 || first.checked_add(count).is_none() {
        return None;
    }
    let mut samples = Vec::with_capacity(count as usize);
    let mut before = start(period_ns);
    for _ in 0..count {
        let step_ns = varint::take_signed(rest)?.wrapping_add(period_ns.cast_signed());
        let at_ns = before.at_ns.wrapping_add(step_ns);
        let latency_ns = before.latency_ns.wrapping_add(varint::take_signed(rest)?);
        before = Sample { at_ns, latency_ns, stamps: Stamps::default() };
        samples.push(before);
    }
    for index in 0..STAMPS_MAX {
        if !rest.is_empty() {
            decode_column(rest, index, &mut samples)?;
        }
    }
    rest.is_empty().then_some(Samples { thread: thread as usize, first, samples })
}

fn decode_column(rest: &mut &[u8], index: usize, samples: &mut [Sample]) -> Option<()> {
    let mut value = 0i64;
    for sample in samples {
        value = value.wrapping_add(varint::take_signed(rest)?);
        sample.stamps.set_column(index, value)?;
    }
    Some(())
}

/// What the first sample is a difference from.
fn start(period_ns: u64) -> Sample {
    Sample { at_ns: 0i64.wrapping_sub(period_ns.cast_signed()), ..Sample::default() }
}
