//! Writes a stream, block by block, onto anything that takes octets.

use std::io::{self, Write};

use serde::Serialize;

use super::block::{self, Tag};
use super::{End, Header, MAGIC, Note, Sample, samples};

/// Samples of one block: a block is lost as a whole, and two sums of ten octets stay small.
const SAMPLES_PER_BLOCK: usize = 4096;

/// Writes a stream; only [`Self::end`] makes it whole.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    period_ns: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a stream with its head, and flushes it.
    pub fn new(mut to: W, header: &Header) -> io::Result<Self> {
        to.write_all(&MAGIC)?;
        let mut stream = Self { to, period_ns: header.plan.period_ns };
        stream.json(Tag::Header, header)?;
        stream.flush()?;
        Ok(stream)
    }

    /// Adds samples of one thread, of which the first is its sample number `first`.
    pub fn samples(&mut self, thread: usize, first: u64, samples: &[Sample]) -> io::Result<()> {
        let mut first = first;
        for samples in samples.chunks(SAMPLES_PER_BLOCK) {
            let octets = samples::encode(thread, first, self.period_ns, samples);
            block::write(&mut self.to, Tag::Samples, &octets)?;
            first += samples.len() as u64;
        }
        Ok(())
    }

    /// Adds a note, which may stand anywhere between samples.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.json(Tag::Note, note)
    }

    /// Hands everything on: what was written before it survives the end of this program.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Ends the stream and gives back what it was written to.
    pub fn end(mut self, end: &End) -> io::Result<W> {
        self.json(Tag::End, end)?;
        self.flush()?;
        Ok(self.to)
    }

    fn json(&mut self, tag: Tag, value: &impl Serialize) -> io::Result<()> {
        block::write(&mut self.to, tag, &serde_json::to_vec(value)?)
    }
}
