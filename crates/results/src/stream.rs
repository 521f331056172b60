//! Which TCP payload is new, and which was sent before.
//!
//! A controller that waits for an answer sends nothing new, but its kernel sends the last segment
//! again and again. To count those as polls would hide the silence that a verdict looks for. So
//! each direction of a connection remembers which sequence numbers it has shown; a segment is new
//! if it shows at least one byte for the first time. A keep-alive probe repeats an old byte
//! (RFC 9293, 3.8.4) and is not new either. UDP knows no repetition: every datagram is new.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use super::frame::Segment;

/// What all directions of all connections have shown so far.
#[derive(Clone, Debug, Default)]
pub struct Streams {
    shown: BTreeMap<(SocketAddrV4, SocketAddrV4), Shown>,
}

impl Streams {
    /// Whether a segment carries payload for the first time. Segments are given in the order in
    /// which they were captured, all of them.
    pub fn is_new(&mut self, segment: &Segment) -> bool {
        let Some(tcp) = segment.tcp else { return segment.payload > 0 };
        let direction = (segment.source, segment.destination);
        if tcp.syn {
            // The ports may have served an earlier connection, with other numbers.
            self.shown.insert(direction, Shown::from_syn(tcp.sequence));
        }
        let first_byte = tcp.sequence.wrapping_add(u32::from(tcp.syn));
        let shown = self.shown.entry(direction).or_insert_with(|| Shown::starting(first_byte));
        shown.add(first_byte, segment.payload)
    }
}

/// The sequence numbers shown in one direction, counted from the first and without wrapping.
#[derive(Clone, Debug)]
struct Shown {
    /// Sequence number of the highest byte so far, as on the wire and counted.
    newest: (u32, i64),
    /// Ranges begin to end (not included) that do not touch each other.
    ranges: BTreeMap<i64, i64>,
}

impl Shown {
    fn starting(first_byte: u32) -> Self {
        Self { newest: (first_byte, 0), ranges: BTreeMap::new() }
    }

    /// The SYN takes a number of its own, the one that a keep-alive before any data repeats.
    fn from_syn(sequence: u32) -> Self {
        let mut shown = Self::starting(sequence);
        shown.add(sequence, 1);
        shown
    }

    /// Adds a range; whether any of it is new.
    fn add(&mut self, sequence: u32, length: u32) -> bool {
        let distance = sequence.wrapping_sub(self.newest.0).cast_signed();
        let begin = self.newest.1 + i64::from(distance);
        let end = begin + i64::from(length);
        if distance > 0 {
            self.newest = (sequence, begin);
        }
        if begin == end || self.holds(begin, end) {
            return false;
        }
        self.merge(begin, end);
        true
    }

    fn holds(&self, begin: i64, end: i64) -> bool {
        self.ranges.range(..=begin).next_back().is_some_and(|(_, known_end)| *known_end >= end)
    }

    fn merge(&mut self, mut begin: i64, mut end: i64) {
        while let Some((&known_begin, &known_end)) = self.ranges.range(..=end).next_back() {
            if known_end < begin {
                break;
            }
            self.ranges.remove(&known_begin);
            begin = begin.min(known_begin);
            end = end.max(known_end);
        }
        self.ranges.insert(begin, end);
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::TcpPart;
    use super::super::frame::tests::segment;
    use super::*;
    use proptest::prelude::*;

    fn tcp(sequence: u32, payload: u32) -> Segment {
        segment(payload, Some(TcpPart { sequence, syn: false }))
    }

    #[test]
    fn a_poll_counts_once_however_often_it_is_sent() {
        let mut streams = Streams::default();
        assert!(!streams.is_new(&segment(0, Some(TcpPart { sequence: 99, syn: true }))));
        assert!(!streams.is_new(&tcp(99, 1)), "a keep-alive before any data");
        assert!(streams.is_new(&tcp(100, 12)));
        assert!(!streams.is_new(&tcp(100, 12)), "a retransmission");
        assert!(!streams.is_new(&tcp(111, 1)), "a keep-alive");
        assert!(!streams.is_new(&tcp(112, 0)), "an acknowledgement");
        assert!(streams.is_new(&tcp(106, 12)), "old and new bytes in one segment");
        assert!(streams.is_new(&segment(3, None)) && streams.is_new(&segment(3, None)));
    }

    #[test]
    fn a_hole_filled_late_is_new_and_numbers_wrap() {
        let mut streams = Streams::default();
        assert!(streams.is_new(&tcp(u32::MAX - 9, 10)));
        assert!(streams.is_new(&tcp(10, 10)));
        assert!(streams.is_new(&tcp(0, 10)), "the lost one in between");
        assert!(!streams.is_new(&tcp(u32::MAX - 9, 30)));
    }

    #[test]
    fn a_new_connection_on_old_ports_starts_afresh() {
        let mut streams = Streams::default();
        assert!(streams.is_new(&tcp(5000, 10)));
        streams.is_new(&segment(0, Some(TcpPart { sequence: 4999, syn: true })));
        assert!(streams.is_new(&tcp(5000, 10)));
    }

    proptest! {
        /// Against a set of bytes, which is slow and obvious.
        #[test]
        fn new_is_what_was_not_there(
            start in any::<u32>(),
            segments in proptest::collection::vec((0u32..200, 0u32..30), 1..40),
        ) {
            let mut streams = Streams::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (offset, length) in segments {
                let news = (offset..offset + length).filter(|byte| bytes.insert(*byte)).count();
                prop_assert_eq!(streams.is_new(&tcp(start.wrapping_add(offset), length)), news > 0);
            }
        }
    }
}
