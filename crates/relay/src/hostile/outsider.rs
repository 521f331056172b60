//! An intruder on the network, without keys: records what passes, sends it again, and floods,
//! under whatever address it likes, because it makes whole packets. The kernel finds their way, so
//! that an intruder may be anywhere.
//!
//! raw(7).

use std::io::{BufWriter, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use os::packet::{Batch, PacketSocket, wait};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto};

use crate::program::{self, bad_input};
use crate::quorum::records::hexadecimal;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERNET_OCTETS: usize = 14;
/// Octets before the datagram: IPv4 without options, UDP.
const HEAD_OCTETS: usize = 20 + 8;
/// Where IPv4 has the address of the recipient.
const DESTINATION_AT: usize = 16;
/// What datagrams of this protocol begin with.
const MAGIC: &[u8] = b"QCQ1";
const RECORDING_OCTETS_MAX: u64 = 1 << 32;
/// Frames that are taken, or packets that are given, before the clock is looked at.
const AT_ONCE: usize = 64;
/// How soon it notices that it shall stop.
const WAIT: Duration = Duration::from_millis(50);

/// Records packets with datagrams of the protocol until `stop`; answers how many.
pub(crate) fn record(interface: &str, path: &Path, stop: &AtomicBool) -> Result<u64> {
    let socket = PacketSocket::open(interface, ETHERTYPE_IPV4).context("opening the interface")?;
    let mut out = BufWriter::new(program::create(path)?);
    let (mut batch, mut count) = (Batch::new(AT_ONCE), 0);
    terminal::err!("qchostile: begins");
    while !stop.load(Ordering::Relaxed) {
        wait(&[&socket], WAIT)?;
        socket.receive(&mut batch)?;
        for frame in batch.frames() {
            let packet = frame.octets.get(ETHERNET_OCTETS..).unwrap_or_default();
            if packet.get(HEAD_OCTETS..).is_some_and(|octets| octets.starts_with(MAGIC)) {
                writeln!(out, "{}", hexadecimal(packet))?;
                count += 1;
            }
        }
    }
    out.flush()?;
    Ok(count)
}

/// Sends recorded packets again and again, so many a second, until `stop`; answers how many.
pub(crate) fn replay(path: &Path, rate: u32, stop: &AtomicBool) -> Result<u64> {
    let mut packets = recording(path)?;
    for packet in &mut packets {
        // A host leaves the checksum of its own datagrams to the interface, so what was recorded may
        // not be right; none at all is.
        packet[HEAD_OCTETS - 2..HEAD_OCTETS].fill(0);
    }
    send(&packets, rate, stop)
}

fn recording(path: &Path) -> Result<Vec<Vec<u8>>> {
    let text = program::text(path, RECORDING_OCTETS_MAX)?;
    let wrong = |line, what| {
        let path = path.display();
        bad_input(format!("{path}:{line}: {what}; give a file that `qchostile record` wrote"))
    };
    let packets = text.lines().zip(1_usize..).map(|(digits, line)| {
        let packet = octets_of(digits).filter(|packet| packet.len() >= HEAD_OCTETS);
        packet.ok_or_else(|| wrong(line, "this is not a recorded packet"))
    });
    let packets = packets.collect::<Result<Vec<_>>>()?;
    if packets.is_empty() { Err(wrong(1, "there are no packets")) } else { Ok(packets) }
}

/// Sends made-up datagrams from one address to another, so many a second, until `stop`; answers how
/// many. They look right up to their tag.
pub(crate) fn flood(
    (from, to): (SocketAddrV4, SocketAddrV4),
    (sender, recipient, epoch): (u8, u8, u32),
    rate: u32,
    stop: &AtomicBool,
) -> Result<u64> {
    let packets: Vec<Vec<u8>> = (0..256_u64)
        .map(|number| {
            let mut datagram = MAGIC.to_vec();
            // A query: header, tick, tag.
            datagram.extend([5, sender, recipient, 0]);
            datagram.extend(epoch.to_be_bytes());
            datagram.extend((1 << 62 | number).to_be_bytes());
            datagram.extend([0x5a; 8 + 16]);
            packet(from, to, &datagram)
        })
        .collect();
    send(&packets, rate, stop)
}

fn send(packets: &[Vec<u8>], rate: u32, stop: &AtomicBool) -> Result<u64> {
    let (family, kind) = (AddressFamily::INET, SocketType::RAW);
    let protocol = Some(ipproto::RAW);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol);
    let socket = socket.context("opening a raw socket (it takes CAP_NET_RAW)")?;
    terminal::err!("qchostile: begins");
    let begin_ns = os::realtime::now_ns();
    let mut sent = 0_u64;
    while !stop.load(Ordering::Relaxed) && !packets.is_empty() {
        let elapsed_ns = (os::realtime::now_ns() - begin_ns) as u128;
        let due = (elapsed_ns * u128::from(rate) / 1_000_000_000) as u64;
        let count = due.saturating_sub(sent).min(AT_ONCE as u64) as usize;
        for number in sent as usize..sent as usize + count {
            let packet = &packets[number % packets.len()];
            // What the kernel does not take is lost on the way.
            let _taken = rustix::net::sendto(&socket, packet, SendFlags::DONTWAIT, &to(packet));
        }
        sent += count as u64;
        if count == 0 {
            os::realtime::sleep_until(os::realtime::now_ns() + 200_000);
        }
    }
    Ok(sent)
}

/// To whom a packet goes.
fn to(packet: &[u8]) -> SocketAddrV4 {
    let octets = packet[DESTINATION_AT..].first_chunk::<4>().copied();
    SocketAddrV4::new(octets.map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from), 0)
}

/// A whole packet. The kernel fills in the checksum of its head; the datagram has none, as IPv4
/// allows.
fn packet(from: SocketAddrV4, to: SocketAddrV4, datagram: &[u8]) -> Vec<u8> {
    let octets = (HEAD_OCTETS + datagram.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(octets.to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(from.ip().octets());
    packet.extend(to.ip().octets());
    packet.extend(from.port().to_be_bytes());
    packet.extend(to.port().to_be_bytes());
    packet.extend((8 + datagram.len() as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(datagram);
    packet
}

fn octets_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let octets: Vec<u8> = (0..=255).collect();
        assert_eq!(octets_of(&hexadecimal(&octets)), Some(octets));
        assert_eq!(octets_of("0g"), None);
    }

    #[test]
    fn what_is_no_recording_is_refused_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("recording");
        let packet = hexadecimal(&[0; HEAD_OCTETS]);
        for (text, line) in [(format!("{packet}\nrelay: F1\n"), 2), (String::new(), 1)] {
            std::fs::write(&path, text).expect("it writes");
            let refused = recording(&path).expect_err("it is no recording").to_string();
            assert!(refused.contains(&format!("recording:{line}: ")), "{refused}");
        }
        std::fs::write(&path, packet).expect("it writes");
        assert_eq!(recording(&path).expect("a recording"), [[0; HEAD_OCTETS]]);
    }

    #[test]
    fn a_packet_has_its_lengths_and_its_recipient() {
        let [from, recipient] = [1, 5].map(|last| SocketAddrV4::new([10, 0, 0, last].into(), 7400));
        let packet = packet(from, recipient, b"QCQ1");
        assert_eq!((packet.len(), &packet[HEAD_OCTETS..]), (HEAD_OCTETS + 4, &b"QCQ1"[..]));
        assert_eq!([packet[2], packet[3], packet[24], packet[25]], [0, 32, 0, 12]);
        assert_eq!(to(&packet).ip(), recipient.ip());
    }
}
