//! Frames read back from a pcapng file (IETF draft-ietf-opsawg-pcapng).
//!
//! The reader is tolerant: a capture of a killed run ends in the middle of a block, and then what
//! lies before is the result, with [`Capture::torn`] set. It never panics, whatever the bytes.
//! It reads section headers, interface descriptions and enhanced packets, and steps over all
//! other blocks. Timestamps are what the writer stamped: virtual `CLOCK_REALTIME`.

use network::capture::Heading;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;
const OPTION_END: u16 = 0;
const OPTION_FLAGS: u16 = 2;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;
/// Block type, length, and length again at the end.
const BLOCK_OVERHEAD: usize = 12;

/// What a capture holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// Ethernet frames, in the order of the file.
    pub frames: Vec<CapturedFrame>,
    /// Whether the file ends in the middle of a block, or makes no sense from some block on.
    pub torn: bool,
}

/// A captured Ethernet frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedFrame {
    /// When, in nanoseconds since 1970 as the virtual `CLOCK_REALTIME` had it.
    pub realtime_ns: i64,
    /// Which way it went, seen from the node; `None` if the writer did not say.
    pub heading: Option<Heading>,
    pub bytes: Vec<u8>,
}

impl Capture {
    /// Reads a capture.
    ///
    /// # Errors
    /// When the bytes do not begin with a section header: this is no pcapng file.
    pub fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        if !bytes.is_empty() && Order::Little.u32(bytes, 0) != Some(SECTION_HEADER) {
            return Err("not a pcapng file: it does not begin with a section header block");
        }
        let mut reader = Reader { order: Order::Little, interfaces: Vec::new() };
        let mut capture = Self::default();
        let mut rest = bytes;
        while let Some((kind, body, after)) = reader.block(rest) {
            match kind {
                INTERFACE_DESCRIPTION => reader.interfaces.push(reader.interface(body)),
                ENHANCED_PACKET => match reader.packet(body) {
                    Some(frame) => capture.frames.extend(frame),
                    None => capture.torn = true,
                },
                _ => {}
            }
            rest = after;
        }
        capture.torn |= !rest.is_empty();
        Ok(capture)
    }
}

/// What the blocks so far say about those that follow.
struct Reader {
    order: Order,
    interfaces: Vec<Interface>,
}

#[derive(Clone, Copy)]
struct Interface {
    ethernet: bool,
    ticks_per_s: u64,
    offset_s: i64,
}

#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Reader {
    /// The first block of `bytes`: its type, its body and what follows it.
    fn block<'a>(&mut self, bytes: &'a [u8]) -> Option<(u32, &'a [u8], &'a [u8])> {
        let kind = self.order.u32(bytes, 0)?;
        if kind == SECTION_HEADER {
            self.order = Order::of_section(bytes)?;
            self.interfaces.clear();
        } else if self.interfaces.is_empty() && kind == ENHANCED_PACKET {
            return None;
        }
        let length = usize::try_from(self.order.u32(bytes, 4)?).ok()?;
        if length < BLOCK_OVERHEAD || !length.is_multiple_of(4) || length > bytes.len() {
            return None;
        }
        let (block, after) = bytes.split_at(length);
        let again = usize::try_from(self.order.u32(block, length - 4)?).ok()?;
        (again == length).then_some((kind, &block[8..length - 4], after))
    }

    /// An interface that is described badly is one of unknown kind; its number still counts.
    fn interface(&self, body: &[u8]) -> Interface {
        let mut interface = Interface {
            ethernet: self.order.u16(body, 0) == Some(LINKTYPE_ETHERNET),
            ticks_per_s: 1_000_000,
            offset_s: 0,
        };
        self.options(body.get(8..).unwrap_or_default(), |code, value| match (code, value) {
            (OPTION_TSRESOL, [resolution, ..]) => match ticks_per_s(*resolution) {
                Some(ticks) => interface.ticks_per_s = ticks,
                None => interface.ethernet = false,
            },
            (OPTION_TSOFFSET, _) => {
                interface.offset_s = self.order.array(value, 0).map_or(0, i64::from_le_bytes);
            }
            _ => {}
        });
        interface
    }

    /// `None` for a packet block that makes no sense, `Some(None)` for one of another link type.
    fn packet(&self, body: &[u8]) -> Option<Option<CapturedFrame>> {
        let word = |at| self.order.u32(body, at);
        let interface = self.interfaces.get(usize::try_from(word(0)?).ok()?)?;
        let ticks = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let kept = usize::try_from(word(12)?).ok()?;
        let bytes = body.get(20..20_usize.checked_add(kept)?)?;
        if !interface.ethernet {
            return Some(None);
        }
        let mut heading = None;
        let options = body.get(20 + kept.next_multiple_of(4)..).unwrap_or_default();
        self.options(options, |code, value| {
            if code == OPTION_FLAGS {
                // `epb_flags`, bits 0 and 1.
                heading = match self.order.u32(value, 0).unwrap_or(0) & 3 {
                    1 => Some(Heading::Inbound),
                    2 => Some(Heading::Outbound),
                    _ => None,
                };
            }
        });
        let realtime_ns = interface.realtime_ns(ticks)?;
        Some(Some(CapturedFrame { realtime_ns, heading, bytes: bytes.to_vec() }))
    }

    fn options(&self, mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
        while let (Some(code), Some(length)) = (self.order.u16(bytes, 0), self.order.u16(bytes, 2))
        {
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

impl Interface {
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
    fn of_section(bytes: &[u8]) -> Option<Self> {
        let is_said_by = |order: &Self| order.u32(bytes, 8) == Some(BYTE_ORDER_MAGIC);
        [Self::Little, Self::Big].into_iter().find(is_said_by)
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::capture::{packet, section};
    use proptest::prelude::*;
    use proptest::sample::Index;

    /// A file as the network part writes it.
    fn pcapng(frames: &[CapturedFrame]) -> Vec<u8> {
        let mut file = section("eth0", "of a node");
        for frame in frames {
            packet(&mut file, frame.realtime_ns, frame.heading.unwrap(), &frame.bytes);
        }
        file
    }

    fn two_frames() -> Vec<CapturedFrame> {
        let frame = |realtime_ns, heading, bytes: &[u8]| CapturedFrame {
            realtime_ns,
            heading: Some(heading),
            bytes: bytes.to_vec(),
        };
        vec![
            frame(1_700_000_000_123_456_789, Heading::Inbound, b"odd"),
            frame(1_700_000_000_123_456_790, Heading::Outbound, b"even"),
        ]
    }

    #[test]
    fn frames_come_back_with_time_and_direction() {
        let capture = Capture::parse(&pcapng(&two_frames())).unwrap();
        assert_eq!(capture, Capture { frames: two_frames(), torn: false });
    }

    #[test]
    fn a_file_cut_anywhere_keeps_the_frames_before_the_cut() {
        let whole = pcapng(&two_frames());
        let first = pcapng(&two_frames()[..1]).len();
        for cut in first + 1..whole.len() {
            let capture = Capture::parse(&whole[..cut]).unwrap();
            assert_eq!((capture.frames.len(), capture.torn), (1, true), "cut at {cut}");
        }
    }

    #[test]
    fn other_blocks_are_stepped_over_and_other_files_refused() {
        let mut file = pcapng(&[]);
        file.extend([0x0BAD, 16, 0x0403_0201, 16].map(u32::to_le_bytes).concat());
        let whole = pcapng(&two_frames());
        file.extend(&whole[pcapng(&[]).len()..]);
        assert_eq!(Capture::parse(&file).unwrap().frames.len(), 2);
        assert!(Capture::parse(b"\xd4\xc3\xb2\xa1 an old pcap file").is_err());
        assert_eq!(Capture::parse(b"").unwrap(), Capture::default());
    }

    #[test]
    fn resolutions_are_powers_of_ten_or_two() {
        assert_eq!(ticks_per_s(6), Some(1_000_000));
        assert_eq!(ticks_per_s(0x80 | 10), Some(1024));
        assert_eq!(ticks_per_s(0x7f), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Capture::parse(&bytes);
        }

        #[test]
        fn no_change_of_a_good_file_makes_it_panic(at: Index, to: u8) {
            let mut file = pcapng(&two_frames());
            *at.get_mut(&mut file) = to;
            let _ = Capture::parse(&file);
        }
    }
}
