//! One block: a tag, a length, what it holds, and a checksum over all of it (CRC-32 of zlib).

use std::io::{self, Read, Write};

/// Octets that a block may hold: what a reader must be ready to keep in memory.
pub(super) const PAYLOAD_MAX: usize = 1 << 20;

/// What a block holds, by its first octet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::FromRepr)]
#[repr(u8)]
pub(super) enum Tag {
    /// JSON: the head of the stream.
    Header = b'H',
    /// Binary: samples of one thread.
    Samples = b'S',
    Note = b'N',
    /// JSON: nothing comes after it.
    End = b'E',
}

pub(super) fn write(to: &mut impl Write, tag: Tag, payload: &[u8]) -> io::Result<()> {
    if payload.len() > PAYLOAD_MAX {
        let what = format!("a block of {} octets; at most {PAYLOAD_MAX}", payload.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    let head = head(tag as u8, payload.len() as u32);
    to.write_all(&head)?;
    to.write_all(payload)?;
    to.write_all(&checksum(&head, payload).to_le_bytes())
}

/// Reads the next block; `None` exactly at the end of the stream.
///
/// # Errors
/// Why there is no whole block, in words.
pub(super) fn read(from: &mut impl Read) -> Result<Option<(Tag, Vec<u8>)>, String> {
    let mut octet = [0];
    if fill(from, &mut octet)? == 0 {
        return Ok(None);
    }
    let tag = Tag::from_repr(octet[0])
        .ok_or_else(|| format!("no block begins with {:#04x}", octet[0]))?;
    let length = number(from)?;
    if length as usize > PAYLOAD_MAX {
        return Err(format!("a block of {length} octets; at most {PAYLOAD_MAX}"));
    }
    let mut payload = vec![0; length as usize];
    whole(from, &mut payload)?;
    if number(from)? != checksum(&head(octet[0], length), &payload) {
        return Err("a block with a wrong checksum".to_owned());
    }
    Ok(Some((tag, payload)))
}

fn head(tag: u8, length: u32) -> [u8; 5] {
    let [a, b, c, d] = length.to_le_bytes();
    [tag, a, b, c, d]
}

fn checksum(head: &[u8], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(head);
    sum.update(payload);
    sum.finalize()
}

fn number(from: &mut impl Read) -> Result<u32, String> {
    let mut octets = [0; 4];
    whole(from, &mut octets)?;
    Ok(u32::from_le_bytes(octets))
}

fn whole(from: &mut impl Read, octets: &mut [u8]) -> Result<(), String> {
    let count = fill(from, octets)?;
    if count == octets.len() { Ok(()) } else { Err("it ends within a block".to_owned()) }
}

/// As many octets as there are up to the length asked for.
fn fill(from: &mut impl Read, octets: &mut [u8]) -> Result<usize, String> {
    let mut count = 0;
    while count < octets.len() {
        match from.read(&mut octets[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("reading failed: {error}")),
        }
    }
    Ok(count)
}
