//! An intruder on the network, without keys: takes down what passes, sends it again, and floods,
//! under whatever address it likes, because it makes whole frames.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use realtime::packet::{Batch, PacketSocket, wait};

use crate::quorum::records::hexadecimal;

/// EtherType of IPv4.
const ETHERTYPE_IPV4: u16 = 0x0800;
/// Octets before the datagram: Ethernet, IPv4 without options, UDP.
const HEAD_OCTETS: usize = 14 + 20 + 8;
/// What datagrams of this protocol begin with.
const MAGIC: &[u8] = b"QCQ1";
/// Frames that are taken or given at once.
const AT_ONCE: usize = 64;
/// How soon it notices that it shall stop.
const WAIT: Duration = Duration::from_millis(50);

/// Takes down frames with datagrams of the protocol until `stop`; answers how many.
///
/// # Errors
/// Those of the interface and the file.
pub fn record(interface: &str, path: &Path, stop: &AtomicBool) -> Result<u64> {
    let socket = PacketSocket::open(interface, ETHERTYPE_IPV4).context("opening the interface")?;
    let mut out = BufWriter::new(File::create(path).with_context(|| path.display().to_string())?);
    let (mut batch, mut count) = (Batch::new(AT_ONCE), 0);
    eprintln!("qchostile: begins");
    while !stop.load(Ordering::Relaxed) {
        wait(&[&socket], WAIT)?;
        socket.receive(&mut batch)?;
        for frame in batch.frames() {
            if frame.octets.get(HEAD_OCTETS..).is_some_and(|octets| octets.starts_with(MAGIC)) {
                writeln!(out, "{}", hexadecimal(frame.octets))?;
                count += 1;
            }
        }
    }
    out.flush()?;
    Ok(count)
}

/// Sends recorded frames again and again, so many a second, until `stop`; answers how many.
///
/// # Errors
/// Those of the interface and the file.
pub fn replay(interface: &str, path: &Path, rate: u32, stop: &AtomicBool) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut frames: Vec<Vec<u8>> = text.lines().filter_map(octets_of).collect();
    for frame in &mut frames {
        // A host leaves the checksum of its own datagrams to the interface, so what was recorded may
        // not be right; none at all is.
        if let Some(checksum) = frame.get_mut(HEAD_OCTETS - 2..HEAD_OCTETS) {
            checksum.fill(0);
        }
    }
    send(interface, &frames, rate, stop)
}

/// Sends made-up datagrams from one address to another, so many a second, until `stop`; answers how
/// many. They look right up to their tag.
///
/// # Errors
/// Those of the interface.
pub fn flood(
    interface: &str,
    (from, to): (SocketAddrV4, SocketAddrV4),
    (sender, recipient, epoch): (u8, u8, u32),
    rate: u32,
    stop: &AtomicBool,
) -> Result<u64> {
    let frames: Vec<Vec<u8>> = (0..256_u64)
        .map(|number| {
            let mut datagram = MAGIC.to_vec();
            // A query: header, tick, tag.
            datagram.extend([5, sender, recipient, 0]);
            datagram.extend(epoch.to_be_bytes());
            datagram.extend((1 << 62 | number).to_be_bytes());
            datagram.extend([0x5a; 8 + 16]);
            frame(from, to, &datagram)
        })
        .collect();
    send(interface, &frames, rate, stop)
}

fn send(interface: &str, frames: &[Vec<u8>], rate: u32, stop: &AtomicBool) -> Result<u64> {
    let socket = PacketSocket::open(interface, 0).context("opening the interface")?;
    eprintln!("qchostile: begins");
    let begin_ns = realtime::now_ns();
    let mut sent = 0_u64;
    while !stop.load(Ordering::Relaxed) && !frames.is_empty() {
        let due = (realtime::now_ns() - begin_ns) as u64 * u64::from(rate) / 1_000_000_000;
        let count = due.saturating_sub(sent).min(AT_ONCE as u64) as usize;
        let next: Vec<&[u8]> =
            (0..count).map(|i| &frames[(sent as usize + i) % frames.len()][..]).collect();
        if count == 0 {
            realtime::sleep_until(realtime::now_ns() + 200_000);
        } else {
            // What the interface does not take is lost on the way.
            let _taken = socket.send(&next).unwrap_or(0);
            sent += count as u64;
        }
    }
    Ok(sent)
}

/// A whole frame of the loopback interface.
fn frame(from: SocketAddrV4, to: SocketAddrV4, datagram: &[u8]) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend(ETHERTYPE_IPV4.to_be_bytes());
    let ip_octets = (20 + 8 + datagram.len()) as u16;
    let mut ip = vec![0x45, 0];
    ip.extend(ip_octets.to_be_bytes());
    ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    ip.extend(from.ip().octets());
    ip.extend(to.ip().octets());
    let checksum = checksum(&ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    frame.extend(ip);
    frame.extend(from.port().to_be_bytes());
    frame.extend(to.port().to_be_bytes());
    frame.extend(((8 + datagram.len()) as u16).to_be_bytes());
    // No checksum, as IPv4 allows.
    frame.extend([0, 0]);
    frame.extend(datagram);
    frame
}

/// The checksum of the Internet (RFC 1071).
fn checksum(octets: &[u8]) -> u16 {
    let words = octets.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

fn octets_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_checksum_is_that_of_a_captured_header() {
        // 192.168.0.1 to 192.168.0.199, UDP.
        let header = [
            0x45, 0, 0, 0x73, 0, 0, 0x40, 0, 0x40, 0x11, 0, 0, 0xc0, 0xa8, 0, 1, 0xc0, 0xa8, 0,
            0xc7,
        ];
        assert_eq!(checksum(&header), 0xb861);
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let octets: Vec<u8> = (0..=255).collect();
        assert_eq!(octets_of(&hexadecimal(&octets)), Some(octets));
        assert_eq!(octets_of("0g"), None);
    }

    #[test]
    fn a_frame_has_its_lengths() {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7400);
        let frame = frame(address, address, b"QCQ1");
        assert_eq!((frame.len(), &frame[HEAD_OCTETS..]), (HEAD_OCTETS + 4, &b"QCQ1"[..]));
        assert_eq!([frame[16], frame[17], frame[38], frame[39]], [0, 32, 0, 12]);
    }
}
