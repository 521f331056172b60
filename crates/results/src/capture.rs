//! All frames of a capture in memory, for the measures of verdicts.
//!
//! Tolerant: a capture of a killed run ends in the middle of a block, and then what lies before is
//! the result, with [`Capture::torn`] set.

use network::pcapng::{Fault, Frames};

pub use network::pcapng::CapturedFrame;

/// What a capture holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Capture {
    /// Ethernet frames, in the order of the file.
    pub frames: Vec<CapturedFrame>,
    /// Whether the file ends in the middle of a block, or makes no sense somewhere.
    pub torn: bool,
}

impl Capture {
    /// Reads a capture. A file that is empty was never written to.
    ///
    /// # Errors
    /// When the bytes do not begin with a section header: this is no pcapng file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Fault> {
        let mut capture = Self::default();
        if bytes.is_empty() {
            return Ok(capture);
        }
        for frame in Frames::new(bytes) {
            match frame {
                Ok(frame) => capture.frames.push(frame),
                Err(damage) if damage.fault == Fault::NotPcapng => return Err(damage.fault),
                Err(_) => capture.torn = true,
            }
        }
        Ok(capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::capture::{Heading, packet, section};

    #[test]
    fn a_file_cut_anywhere_keeps_the_frames_before_the_cut() {
        let mut whole = section("eth0", "of a node");
        packet(&mut whole, 5, Heading::Inbound, b"odd");
        let first = whole.len();
        packet(&mut whole, 6, Heading::Outbound, b"even");
        for cut in first + 1..whole.len() {
            let capture = Capture::parse(&whole[..cut]).unwrap();
            assert_eq!((capture.frames.len(), capture.torn), (1, true), "cut at {cut}");
        }
        let capture = Capture::parse(&whole).unwrap();
        assert_eq!((capture.frames.len(), capture.torn), (2, false));
    }

    #[test]
    fn other_files_are_refused_and_empty_ones_hold_nothing() {
        assert_eq!(Capture::parse(b"\xd4\xc3\xb2\xa1 an old pcap file"), Err(Fault::NotPcapng));
        assert_eq!(Capture::parse(b""), Ok(Capture::default()));
    }
}
