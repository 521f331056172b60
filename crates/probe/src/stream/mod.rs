//! What a probe says: a stream of blocks that can be cut off anywhere.
//!
//! The octets are the same in a file, through a pipe or ssh, out of a container and over a serial
//! port, so nothing may be needed after the fact: no index at the end, no length that is filled in
//! later. Each block has a checksum. A reader keeps everything up to the last whole block, and says
//! if the stream was cut. Samples are binary and small (two to three octets each); all that is rare
//! is JSON. The format is written down in `docs/reference/probe-stream.md`.

mod block;
mod note;
mod read;
mod samples;
mod stamps;
mod varint;
mod write;

pub use note::{
    Cause, CoreTime, Counts, Detector, End, Evidence, Gaps, Header, Note, Outcome, Ran, Stall,
};
pub use read::{Item, NotAStream, Reader};
pub use samples::{Sample, Samples};
pub use stamps::Stamps;
pub use write::Writer;

/// What a stream begins with: name and version of the format.
pub const MAGIC: [u8; 4] = *b"QCS1";

#[cfg(test)]
mod tests;
