//! Frames read back from a pcapng file, one at a time (draft-ietf-opsawg-pcapng).
//!
//! A capture may be larger than memory, torn by a kill or changed by others. So no more than one
//! block is held, of bounded length, and whatever the octets, the reader answers with frames and
//! with the places where the file makes no sense; it never panics. It reads section headers,
//! interface descriptions and enhanced packets, and steps over all other blocks. Timestamps are
//! what the writer stamped: virtual `CLOCK_REALTIME`.

use std::fmt;
use std::io::{self, Read};

use super::capture::Heading;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_FLAGS: u16 = 2;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

/// Type and length of a block, which its body follows.
const HEAD_OCTETS: usize = 8;
/// Block type, length, and length again at the end.
const BLOCK_OVERHEAD: usize = 12;
/// Longest block. A frame has 64 KiB at most; what else tools write into captures is far shorter
/// than this, and a length that is wrong must not take all memory.
const BLOCK_OCTETS_MAX: usize = 16 * 1024 * 1024;
/// Interfaces of a section: each is remembered, so a file of descriptions alone must end somewhere.
const INTERFACES_MAX: usize = 65_536;

/// A captured Ethernet frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedFrame {
    /// When, in nanoseconds since 1970 as the virtual `CLOCK_REALTIME` had it.
    pub realtime_ns: i64,
    /// Which way it went, seen from the node; `None` if the writer did not say.
    pub heading: Option<Heading>,
    pub bytes: Vec<u8>,
}

/// A place where a file makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Where the block begins that makes none, in octets from the begin of the file.
    pub offset: u64,
    pub fault: Fault,
}

/// What is wrong with a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The file does not begin with a section header.
    NotPcapng,
    /// The file ends before the block does.
    Torn,
    /// The section header does not say in which order octets are.
    Order,
    /// No block has this length.
    Length(u32),
    /// The length at the end is not that at the begin.
    Lengths(u32, u32),
    /// An enhanced packet without interface, longer than its block, or with a time that is none.
    Packet,
    /// More interfaces than a section can have here.
    Interfaces,
    /// The file could not be read.
    Read(io::ErrorKind),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPcapng => {
                write!(out, "not a pcapng file: it does not begin with a section header block")
            }
            Self::Torn => write!(out, "the file ends within this block"),
            Self::Order => write!(out, "a section header without byte-order magic"),
            Self::Length(length) => write!(
                out,
                "a block of {length} octets; blocks have 12 to {BLOCK_OCTETS_MAX}, a multiple of 4"
            ),
            Self::Lengths(begin, end) => {
                write!(out, "a block of {begin} octets that ends as one of {end}")
            }
            Self::Packet => write!(out, "a packet whose interface, length or time is impossible"),
            Self::Interfaces => write!(out, "a section of more than {INTERFACES_MAX} interfaces"),
            Self::Read(kind) => write!(out, "{kind}"),
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at octet {}: {}", self.offset, self.fault)
    }
}

impl std::error::Error for Damage {}

/// The Ethernet frames of a capture, in the order of the file. After [`Fault::Packet`] it goes on
/// with the next block; after all others there is nothing more.
#[derive(Debug)]
pub struct Frames<R> {
    source: R,
    /// Where the block begins that is read next.
    offset: u64,
    /// The block read last.
    block: Vec<u8>,
    order: Order,
    interfaces: Vec<Interface>,
    ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    ethernet: bool,
    ticks_per_s: u64,
    offset_s: i64,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Little,
    Big,
}

impl<R: Read> Iterator for Frames<R> {
    type Item = Result<CapturedFrame, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let offset = self.offset;
            match self.step() {
                Ok(frame) => {
                    if let Some(frame) = frame {
                        return Some(Ok(frame));
                    }
                }
                Err(fault) => {
                    self.ended = fault != Fault::Packet;
                    return Some(Err(Damage { offset, fault }));
                }
            }
        }
        None
    }
}

impl<R: Read> Frames<R> {
    /// Begins to read; a `source` of many small reads is best buffered.
    pub const fn new(source: R) -> Self {
        Self {
            source,
            offset: 0,
            block: Vec::new(),
            order: Order::Little,
            interfaces: Vec::new(),
            ended: false,
        }
    }

    /// Reads a block; the frame in it if it has one.
    fn step(&mut self) -> Result<Option<CapturedFrame>, Fault> {
        let Some(kind) = self.read_block()? else {
            self.ended = true;
            return Ok(None);
        };
        let body = &self.block[HEAD_OCTETS..self.block.len() - 4];
        match kind {
            SECTION_HEADER => self.interfaces.clear(),
            INTERFACE_DESCRIPTION if self.interfaces.len() == INTERFACES_MAX => {
                return Err(Fault::Interfaces);
            }
            INTERFACE_DESCRIPTION => self.interfaces.push(Interface::of(self.order, body)),
            ENHANCED_PACKET => {
                return packet(self.order, &self.interfaces, body).ok_or(Fault::Packet);
            }
            _ => {}
        }
        Ok(None)
    }

    /// Reads a block as a whole; its type, or `None` at the end of the file.
    fn read_block(&mut self) -> Result<Option<u32>, Fault> {
        self.block.clear();
        let head = self.fill(HEAD_OCTETS)?;
        if self.offset == 0 && Order::Little.u32(&self.block, 0) != Some(SECTION_HEADER) {
            return Err(Fault::NotPcapng);
        }
        if head == 0 {
            return Ok(None);
        }
        let kind = self.order.u32(&self.block, 0).ok_or(Fault::Torn)?;
        if kind == SECTION_HEADER {
            // Only the octets behind its length say how to read it.
            self.fill(BLOCK_OVERHEAD)?;
            self.order = Order::of_section(&self.block)?;
        }
        let length = self.order.u32(&self.block, 4).ok_or(Fault::Torn)?;
        let octets = usize::try_from(length).unwrap_or(usize::MAX);
        if !(BLOCK_OVERHEAD..=BLOCK_OCTETS_MAX).contains(&octets) || !octets.is_multiple_of(4) {
            return Err(Fault::Length(length));
        }
        if self.fill(octets)? < octets {
            return Err(Fault::Torn);
        }
        let again = self.order.u32(&self.block, octets - 4).ok_or(Fault::Torn)?;
        if again != length {
            return Err(Fault::Lengths(length, again));
        }
        self.offset += u64::from(length);
        Ok(Some(kind))
    }

    /// Reads on until the block has this many octets, or the file ends; how many it has.
    fn fill(&mut self, octets: usize) -> Result<usize, Fault> {
        let missing = octets.saturating_sub(self.block.len());
        let read = self.source.by_ref().take(missing as u64).read_to_end(&mut self.block);
        read.map_err(|error| Fault::Read(error.kind()))?;
        Ok(self.block.len())
    }
}

/// `None` for a packet block that makes no sense, `Some(None)` for one of another link type.
fn packet(order: Order, interfaces: &[Interface], body: &[u8]) -> Option<Option<CapturedFrame>> {
    let word = |at| order.u32(body, at);
    let interface = interfaces.get(usize::try_from(word(0)?).ok()?)?;
    let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
    let kept = usize::try_from(word(12)?).ok()?;
    let bytes = body.get(20..20_usize.checked_add(kept)?)?;
    if !interface.ethernet {
        return Some(None);
    }
    let mut heading = None;
    let options = body.get(20 + kept.next_multiple_of(4)..).unwrap_or_default();
    order.options(options, |code, value| {
        if code == OPTION_FLAGS {
            // `epb_flags`, bits 0 and 1.
            heading = match order.u32(value, 0).unwrap_or(0) & 3 {
                1 => Some(Heading::Inbound),
                2 => Some(Heading::Outbound),
                _ => None,
            };
        }
    });
    let realtime_ns = interface.realtime_ns(ticks)?;
    Some(Some(CapturedFrame { realtime_ns, heading, bytes: bytes.to_vec() }))
}

impl Interface {
    /// An interface that is described badly is one of unknown kind; its number still counts.
    fn of(order: Order, body: &[u8]) -> Self {
        let mut interface = Self {
            ethernet: order.u16(body, 0) == Some(LINKTYPE_ETHERNET),
            ticks_per_s: 1_000_000,
            offset_s: 0,
        };
        order.options(body.get(8..).unwrap_or_default(), |code, value| match (code, value) {
            (OPTION_TSRESOL, [resolution, ..]) => match ticks_per_s(*resolution) {
                Some(ticks) => interface.ticks_per_s = ticks,
                None => interface.ethernet = false,
            },
            (OPTION_TSOFFSET, _) => {
                interface.offset_s = order.array(value, 0).map_or(0, i64::from_le_bytes);
            }
            _ => {}
        });
        interface
    }

    fn realtime_ns(self, ticks: u64) -> Option<i64> {
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(self.ticks_per_s);
        let offset_ns = i128::from(self.offset_s) * 1_000_000_000;
        i64::try_from(i128::try_from(ns).ok()?.checked_add(offset_ns)?).ok()
    }
}

/// `if_tsresol`: a negative power of ten, or of two where the highest bit is set.
fn ticks_per_s(resolution: u8) -> Option<u64> {
    let exponent = u32::from(resolution & 0x7f);
    let base: u64 = if resolution & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent)
}

impl Order {
    fn of_section(block: &[u8]) -> Result<Self, Fault> {
        if block.len() < BLOCK_OVERHEAD {
            return Err(Fault::Torn);
        }
        let is_said_by = |order: &Self| order.u32(block, HEAD_OCTETS) == Some(BYTE_ORDER_MAGIC);
        [Self::Little, Self::Big].into_iter().find(is_said_by).ok_or(Fault::Order)
    }

    /// `N` octets, the lowest first.
    fn array<const N: usize>(self, bytes: &[u8], at: usize) -> Option<[u8; N]> {
        let mut octets = *bytes.get(at..)?.first_chunk()?;
        if matches!(self, Self::Big) {
            octets.reverse();
        }
        Some(octets)
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        self.array(bytes, at).map(u16::from_le_bytes)
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        self.array(bytes, at).map(u32::from_le_bytes)
    }

    fn options(self, mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
        while let (Some(code), Some(length)) = (self.u16(bytes, 0), self.u16(bytes, 2)) {
            let length = usize::from(length);
            let Some(value) = bytes.get(4..4 + length) else { return };
            if code == OPTION_END {
                return;
            }
            each(code, value);
            bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{packet, section};
    use proptest::prelude::*;
    use proptest::sample::Index;

    type Read = Vec<Result<CapturedFrame, Damage>>;

    fn read(octets: &[u8]) -> Read {
        Frames::new(octets).collect()
    }

    fn frame(realtime_ns: i64, heading: Heading, bytes: &[u8]) -> CapturedFrame {
        CapturedFrame { realtime_ns, heading: Some(heading), bytes: bytes.to_vec() }
    }

    fn two_frames() -> Vec<CapturedFrame> {
        vec![
            frame(1_700_000_000_123_456_789, Heading::Inbound, b"odd"),
            frame(1_700_000_000_123_456_790, Heading::Outbound, b"even"),
        ]
    }

    /// A file as this crate writes it.
    fn pcapng(frames: &[CapturedFrame]) -> Vec<u8> {
        let mut file = section("eth0", "of a node");
        for frame in frames {
            packet(&mut file, frame.realtime_ns, frame.heading.unwrap(), &frame.bytes);
        }
        file
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn damage(offset: usize, fault: Fault) -> Read {
        vec![Err(Damage { offset: offset as u64, fault })]
    }

    /// Times, lengths and directions as tshark has them.
    #[test]
    fn captures_are_read_as_tshark_reads_them() {
        use Heading::{Inbound, Outbound};
        let shown = |octets: &[u8]| -> Vec<_> {
            let frames = Frames::new(octets).map(Result::unwrap);
            frames.map(|frame| (frame.realtime_ns, frame.bytes.len(), frame.heading)).collect()
        };
        let expected = [
            (1_795_782_547_963_806_257, 42, Some(Outbound)),
            (1_795_782_547_972_281_574, 42, Some(Inbound)),
            (1_795_782_547_972_337_756, 52, Some(Outbound)),
            (1_795_782_547_981_086_553, 52, Some(Inbound)),
        ];
        assert_eq!(shown(include_bytes!("../tests/data/poller.pcapng")), expected);
        let expected = [(105_000_001_000, 60, Some(Inbound)), (105_000_003_000, 61, None)];
        assert_eq!(shown(include_bytes!("../tests/data/big_endian.pcapng")), expected);
    }

    #[test]
    fn a_cut_names_the_block_that_it_went_through() {
        let whole = pcapng(&two_frames());
        let (head, first) = (pcapng(&[]).len(), pcapng(&two_frames()[..1]).len());
        for cut in head + 1..whole.len() {
            let torn_at = if cut < first { head } else { first };
            let mut expected: Read = Vec::new();
            if cut >= first {
                expected.push(Ok(two_frames()[0].clone()));
            }
            if cut != first {
                expected.extend(damage(torn_at, Fault::Torn));
            }
            assert_eq!(read(&whole[..cut]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_pcapng_is_refused() {
        for octets in [&b""[..], b"\n", b"\xd4\xc3\xb2\xa1 an old pcap file"] {
            assert_eq!(read(octets), damage(0, Fault::NotPcapng));
        }
        let nonsense = words(&[SECTION_HEADER, 28, 0x0403_0201]);
        assert_eq!(read(&nonsense), damage(0, Fault::Order));
        assert_eq!(read(&nonsense[..8]), damage(0, Fault::Torn));
    }

    #[test]
    fn other_blocks_are_stepped_over() {
        let mut file = pcapng(&[]);
        file.extend(words(&[0x0BAD, 16, 0x0403_0201, 16]));
        file.extend(&pcapng(&two_frames())[pcapng(&[]).len()..]);
        assert_eq!(read(&file), two_frames().into_iter().map(Ok).collect::<Read>());
    }

    #[test]
    fn a_second_section_may_have_the_other_order_of_octets() {
        let mut file = pcapng(&two_frames());
        let big =
            |words: &[u32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
        file.extend(big(&[SECTION_HEADER, 28, BYTE_ORDER_MAGIC, 1 << 16, u32::MAX, u32::MAX, 28]));
        // Ethernet, stamps in microseconds.
        file.extend(big(&[INTERFACE_DESCRIPTION, 20, 1 << 16, 0, 20]));
        file.extend(big(&[ENHANCED_PACKET, 36, 0, 0, 7, 4, 4, u32::from_be_bytes(*b"four"), 36]));
        let last = CapturedFrame { realtime_ns: 7_000, heading: None, bytes: b"four".to_vec() };
        assert_eq!(read(&file)[2..], [Ok(last)]);
    }

    /// No more than what is there is allocated, whatever a length says.
    #[test]
    fn lengths_that_are_wrong_end_it_and_packets_that_are_wrong_do_not() {
        let file = pcapng(&[]);
        let with = |tail: &[u32]| [&file[..], &words(tail)].concat();
        for length in [0, 8, 13, 0x0100_0004, u32::MAX] {
            assert_eq!(read(&with(&[6, length])), damage(file.len(), Fault::Length(length)));
        }
        let largest = 16 << 20;
        assert_eq!(read(&with(&[6, largest, 0])), damage(file.len(), Fault::Torn));
        assert_eq!(read(&with(&[9, 16, 0, 20])), damage(file.len(), Fault::Lengths(16, 20)));
        // Of the second interface, of which there is none.
        let strange = [ENHANCED_PACKET, 32, 1, 0, 0, 0, 0, 32];
        let mut file = with(&strange);
        let offset = file.len() - 32;
        file.extend(&pcapng(&two_frames())[offset..]);
        let mut expected = damage(offset, Fault::Packet);
        expected.extend(two_frames().into_iter().map(Ok));
        assert_eq!(read(&file), expected);
    }

    #[test]
    fn a_file_of_interfaces_alone_takes_no_more_memory_than_a_section_may() {
        let one = words(&[INTERFACE_DESCRIPTION, 20, 1, 0, 20]);
        let mut file = pcapng(&[]);
        // One is there already.
        let offset = file.len() + one.len() * (INTERFACES_MAX - 1);
        file.extend(one.repeat(INTERFACES_MAX + 10));
        assert_eq!(read(&file), damage(offset, Fault::Interfaces));
    }

    #[test]
    fn resolutions_are_powers_of_ten_or_two() {
        assert_eq!(ticks_per_s(6), Some(1_000_000));
        assert_eq!(ticks_per_s(0x80 | 10), Some(1024));
        assert_eq!(ticks_per_s(0x7f), None);
    }

    /// Answers as few octets at a time as it may, and fails at the end.
    struct Slow<'a>(&'a [u8]);

    impl io::Read for Slow<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else {
                return Err(io::ErrorKind::StaleNetworkFileHandle.into());
            };
            into[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn a_source_may_be_slow_and_its_failure_is_named() {
        let file = pcapng(&two_frames());
        let read: Read = Frames::new(Slow(&file)).collect();
        let frames: Read = two_frames().into_iter().map(Ok).collect();
        assert_eq!(read[..2], frames);
        let last = *read[2].as_ref().unwrap_err();
        assert_eq!(last.fault, Fault::Read(io::ErrorKind::StaleNetworkFileHandle));
        assert_eq!(last.to_string(), format!("at octet {}: stale network file handle", file.len()));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            written in proptest::collection::vec(
                (0..=i64::MAX, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..100)),
                0..10,
            ),
        ) {
            let one = |(at, inbound, bytes): (i64, bool, Vec<u8>)| {
                frame(at, if inbound { Heading::Inbound } else { Heading::Outbound }, &bytes)
            };
            let frames: Vec<_> = written.into_iter().map(one).collect();
            prop_assert_eq!(read(&pcapng(&frames)), frames.into_iter().map(Ok).collect::<Read>());
        }

        #[test]
        fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
            let file = [&pcapng(&[])[..], &octets].concat();
            for octets in [&octets, &file] {
                for damage in read(octets).into_iter().filter_map(Result::err) {
                    prop_assert!(damage.offset <= octets.len() as u64);
                }
            }
        }

        #[test]
        fn no_change_of_a_good_file_makes_it_panic(at: Index, to: u8) {
            let mut file = pcapng(&two_frames());
            *at.get_mut(&mut file) = to;
            prop_assert!(read(&file).len() <= 3);
        }
    }
}
