//! One direction of a link: a queue, a transmitter of a given rate, and a wire.
//!
//! A frame waits until those before it have left, occupies the transmitter for its length at the
//! link's rate, and then travels for the link's delay. The length is what Ethernet puts on the
//! wire: at least 60 octets, and 24 more for preamble and start delimiter (8), check sequence (4)
//! and the gap to the next frame (12); the gap counts to the frame that it follows. So a link of
//! 10 Mbit/s carries 812.7 full frames a second, as a real one does.
//!
//! A frame that is lost on the wire (`losing`) occupies the transmitter as all do, and never arrives.
//!
//! The queue counts frames that wait or are being sent; frames on the wire have left it. A link
//! that goes down loses what is in the queue and on the wire.
//!
//! Arithmetic is exact: the transmitter keeps the fraction of a nanosecond at which it becomes
//! free, so a saturated link neither gains nor loses over any number of frames; only the arrival
//! handed out is rounded, up, because a frame must never be early.

use std::collections::VecDeque;

use random::Random;
use vtime::time::NS_PER_S;
use vtime::{VirtualSpan, VirtualTime};

use super::Frame;
use super::stats::DirectionStats;
use crate::wire::ethernet::FRAME_OCTETS_MIN;

/// Octets that Ethernet adds to each frame: preamble and start delimiter 8, check sequence 4,
/// gap 12 (IEEE 802.3, clauses 3 and 4.4.2).
pub const OVERHEAD_OCTETS: usize = 24;

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Direction {
    delay: VirtualSpan,
    rate_bps: Option<u64>,
    queue: usize,
    up: bool,
    transmitter: Transmitter,
    /// When each frame that waits or is being sent will have left.
    leaving: VecDeque<VirtualTime>,
    /// All frames that have not arrived, in order, with their arrival.
    travelling: VecDeque<(VirtualTime, Frame)>,
    losses: Option<Losses>,
    /// The host that it leads to is lost.
    is_end_lost: bool,
    stats: DirectionStats,
}

/// Which frames are lost on the wire.
#[derive(Clone, Debug)]
struct Losses {
    per_million: u64,
    random: Random,
}

impl Direction {
    /// A direction that is up and empty. `rate_bps` of `None` means that sending takes no time.
    pub fn new(delay: VirtualSpan, rate_bps: Option<u64>, queue: usize) -> Self {
        Self {
            delay,
            rate_bps,
            queue,
            up: true,
            transmitter: Transmitter::default(),
            leaving: VecDeque::new(),
            travelling: VecDeque::new(),
            losses: None,
            is_end_lost: false,
            stats: DirectionStats::default(),
        }
    }

    /// The same, which loses so many of a million frames on the wire; which ones follows from the seed, and
    /// does not depend on what the others are.
    #[must_use]
    pub fn losing(self, per_million: u32, seed: u64) -> Self {
        let losses = Losses { per_million: per_million.into(), random: Random::new(seed) };
        Self { losses: (per_million > 0).then_some(losses), ..self }
    }

    /// A frame to be sent from `now` on. Returns when it will arrive, unless the link goes down
    /// before; `None` if it was dropped or will be lost, and counted.
    pub fn offer(&mut self, now: VirtualTime, frame: Frame) -> Option<VirtualTime> {
        self.stats.offered += 1;
        if !self.up {
            self.stats.dropped_link_down += 1;
            return None;
        }
        if self.is_end_lost {
            self.stats.dropped_host_lost += 1;
            return None;
        }
        while self.leaving.front().is_some_and(|&left| left <= now) {
            self.leaving.pop_front();
        }
        if self.leaving.len() >= self.queue {
            self.stats.dropped_queue_full += 1;
            return None;
        }
        let left = match self.rate_bps {
            Some(rate_bps) => self.transmitter.send(now, bits_on_wire(frame.len()), rate_bps),
            None => now,
        };
        let arrival = left + self.delay;
        self.leaving.push_back(left);
        if let Some(Losses { per_million, random }) = &mut self.losses
            && random.below(1_000_000) < *per_million
        {
            self.stats.dropped_loss += 1;
            return None;
        }
        self.travelling.push_back((arrival, frame));
        Some(arrival)
    }

    /// When the next frame arrives.
    pub fn next(&self) -> Option<VirtualTime> {
        self.travelling.front().map(|&(arrival, _)| arrival)
    }

    /// The next frame, if it has arrived by `now`, with its arrival.
    pub fn take_due(&mut self, now: VirtualTime) -> Option<(VirtualTime, Frame)> {
        let due = self.travelling.pop_front_if(|(arrival, _)| *arrival <= now)?;
        self.stats.delivered += 1;
        self.stats.delivered_octets += due.1.len() as u64;
        Some(due)
    }

    /// Frames that have not arrived, in order.
    pub fn under_way(&self) -> impl Iterator<Item = &Frame> {
        self.travelling.iter().map(|(_, frame)| frame)
    }

    /// Lets frames pass from now on, or loses those under way and all that follow.
    pub fn set_up(&mut self, up: bool) {
        if !up {
            self.stats.dropped_cut += self.travelling.len() as u64;
            self.travelling.clear();
            self.leaving.clear();
            self.transmitter = Transmitter::default();
        }
        self.up = up;
    }

    /// The host that it leads to is lost, and with it all frames that have not arrived and all that follow.
    pub fn lose_end(&mut self) {
        self.is_end_lost = true;
        self.stats.dropped_host_lost += self.travelling.len() as u64;
        self.travelling.clear();
    }

    /// What was counted so far.
    pub fn stats(&self) -> DirectionStats {
        DirectionStats { in_flight: self.travelling.len() as u64, ..self.stats }
    }
}

/// Bits for which a frame of `octets` occupies the transmitter.
fn bits_on_wire(octets: usize) -> u64 {
    (octets.max(FRAME_OCTETS_MIN) + OVERHEAD_OCTETS) as u64 * 8
}

/// How long the shortest frame occupies a transmitter, rounded up.
pub fn shortest_frame(rate_bps: u64) -> VirtualSpan {
    let sent = Transmitter::default().send(VirtualTime::ZERO, bits_on_wire(0), rate_bps);
    sent - VirtualTime::ZERO
}

/// When the transmitter is free again: at `free_at` and `fraction / rate` nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Transmitter {
    free_at: VirtualTime,
    fraction: u64,
}

impl Transmitter {
    /// Sends `bits` as soon as it is free, at `now` at the earliest. Returns when they have left,
    /// rounded up.
    fn send(&mut self, now: VirtualTime, bits: u64, rate_bps: u64) -> VirtualTime {
        if self.free_at < now {
            *self = Self { free_at: now, fraction: 0 };
        }
        let rate = u128::from(rate_bps.max(1));
        let work =
            u128::from(bits) * u128::from(NS_PER_S.unsigned_abs()) + u128::from(self.fraction);
        let whole_ns = i64::try_from(work / rate).unwrap_or(i64::MAX);
        self.free_at = self.free_at + VirtualSpan::from_ns(whole_ns);
        self.fraction = u64::try_from(work % rate).expect("a rest is less than the rate, a u64");
        self.free_at + VirtualSpan::from_ns(i64::from(self.fraction > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn at(ns: i64) -> VirtualTime {
        VirtualTime::from_ns(ns)
    }

    fn frame(octets: usize) -> Frame {
        Frame::from(vec![0xa5; octets])
    }

    #[test]
    fn a_frame_takes_its_length_at_the_rate_and_then_the_delay() {
        // (1476 + 24) octets at 12 Mbit/s take 1 ms.
        let mut link = Direction::new(VirtualSpan::from_ms(5), Some(12_000_000), 10);
        assert_eq!(link.offer(at(0), frame(1476)), Some(at(6 * MS)));
        assert_eq!(link.offer(at(0), frame(1476)), Some(at(7 * MS)));
        assert_eq!(link.next(), Some(at(6 * MS)));
        assert!(link.take_due(at(6 * MS - 1)).is_none());
        assert_eq!(link.take_due(at(6 * MS)).unwrap().0, at(6 * MS));
        assert!(link.take_due(at(6 * MS)).is_none());
        assert_eq!(link.take_due(at(9 * MS)).unwrap().0, at(7 * MS));
        assert_eq!(link.next(), None);
    }

    #[test]
    fn short_frames_are_padded_on_the_wire() {
        // (60 + 24) octets at 672 kbit/s take 1 ms, also for a frame of 42 octets.
        let mut link = Direction::new(VirtualSpan::ZERO, Some(672_000), 1);
        assert_eq!(link.offer(at(0), frame(42)), Some(at(MS)));
    }

    #[test]
    fn the_queue_counts_what_has_not_left_the_sender() {
        let mut link = Direction::new(VirtualSpan::from_s(1), Some(12_000_000), 2);
        assert_ne!(link.offer(at(0), frame(1476)), None);
        assert_ne!(link.offer(at(0), frame(1476)), None);
        assert_eq!(link.offer(at(MS - 1), frame(1476)), None);
        // The first frame has left, and is on the wire for a second more.
        assert_ne!(link.offer(at(MS), frame(1476)), None);
        let stats = link.stats();
        assert_eq!((stats.offered, stats.dropped_queue_full, stats.in_flight), (4, 1, 3));
    }

    #[test]
    fn an_unlimited_link_never_fills_its_queue() {
        let mut link = Direction::new(VirtualSpan::from_ms(1), None, 1);
        for _ in 0..100 {
            assert_eq!(link.offer(at(0), frame(1514)), Some(at(MS)));
        }
    }

    #[test]
    fn a_cut_loses_what_is_under_way() {
        let mut link = Direction::new(VirtualSpan::from_ms(1), Some(1_000_000), 10);
        let _ = link.offer(at(0), frame(100));
        let _ = link.offer(at(0), frame(100));
        link.set_up(false);
        assert_eq!(link.next(), None);
        assert_eq!(link.offer(at(1), frame(100)), None);
        link.set_up(true);
        // The transmitter does not go on with what was lost.
        assert_eq!(link.offer(at(2), frame(101)), Some(at(2 * MS + 2)));
        let stats = link.stats();
        assert_eq!((stats.dropped_cut, stats.dropped_link_down, stats.in_flight), (2, 1, 1));
    }

    /// A share of 1 % of 10^6 frames: within four standard deviations, and the gaps between losses as those of
    /// independent ones (mean 100, as many longer than 100 as e^-1).
    #[test]
    fn a_share_of_frames_is_lost_each_for_itself_and_takes_its_time() {
        let lost = |seed| {
            let mut link = Direction::new(VirtualSpan::ZERO, Some(672_000_000), usize::MAX)
                .losing(10_000, seed);
            let lost = (0..1_000_000).filter(|_| link.offer(at(0), frame(60)).is_none());
            let lost: Vec<usize> = lost.collect();
            // The last one leaves when all have been sent.
            assert_eq!(link.transmitter.free_at, at(1_000_000 * 1000));
            let stats = link.stats();
            assert_eq!(stats.dropped_loss, lost.len() as u64);
            assert_eq!(stats.offered, stats.dropped() + stats.in_flight);
            lost
        };
        let one = lost(1);
        assert!((9_600..10_400).contains(&one.len()), "{}", one.len());
        let longer = one.windows(2).filter(|pair| pair[1] - pair[0] > 100).count();
        assert!((0.35..0.39).contains(&(longer as f64 / one.len() as f64)), "{longer}");
        assert_eq!(one, lost(1));
        assert_ne!(one, lost(2));
    }

    #[test]
    fn a_saturated_link_does_not_drift() {
        // 84 octets at 7 bit/s take 96 s; at 900,000,007 bit/s they take 746.6660… ns.
        let rate = 900_000_007;
        let mut link = Direction::new(VirtualSpan::ZERO, Some(rate), usize::MAX);
        let count = 100_000;
        for _ in 0..count {
            let _ = link.offer(at(0), frame(60));
        }
        let last = link.travelling.back().unwrap().0;
        let exact = (u128::from(count as u64) * 672 * 1_000_000_000).div_ceil(u128::from(rate));
        assert_eq!(u128::try_from(last.as_ns()).unwrap(), exact);
    }

    proptest! {
        #[test]
        fn frames_keep_their_order_are_never_early_and_add_up(
            delay in 0..10 * MS,
            rate in proptest::option::of(1_000u64..10_000_000_000),
            queue in 1usize..5,
            loss in 0u32..1_000_000,
            steps in proptest::collection::vec((0..MS, 14usize..1600, 0..20u8), 1..60),
        ) {
            let mut link =
                Direction::new(VirtualSpan::from_ns(delay), rate, queue).losing(loss, 5);
            let (mut now, mut last) = (at(0), at(0));
            for (pause, octets, what) in steps {
                now = now + VirtualSpan::from_ns(pause);
                match what {
                    0 => link.set_up(false),
                    1 => link.set_up(true),
                    _ => {}
                }
                let lost = link.stats().dropped_loss;
                let arrival = link.offer(now, frame(octets));
                prop_assert!(arrival.is_none() || link.stats().dropped_loss == lost);
                if let Some(arrival) = arrival {
                    let bits = u128::from(bits_on_wire(octets)) * 1_000_000_000;
                    let sending = rate.map_or(0, |rate| bits.div_ceil(u128::from(rate)));
                    let earliest = i64::try_from(sending).unwrap() + delay;
                    prop_assert!(arrival - now >= VirtualSpan::from_ns(earliest));
                }
                while let Some((arrival, _)) = link.take_due(now) {
                    prop_assert!(arrival >= last && arrival <= now);
                    last = arrival;
                }
                let stats = link.stats();
                prop_assert_eq!(stats.offered, stats.delivered + stats.dropped() + stats.in_flight);
            }
        }
    }
}
