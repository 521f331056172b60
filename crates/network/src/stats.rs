//! What the network counted during a run, as it is written into the results.
//!
//! Counts of a direction add up: `offered = delivered + dropped + in_flight`. A test of the
//! fabric holds it to that.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::owed::Reason;

/// Counts of a whole run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct NetworkStats {
    /// Links in the order of the scenario.
    pub links: Vec<LinkStats>,
    pub switches: BTreeMap<String, SwitchStats>,
    pub attackers: BTreeMap<String, AttackerStats>,
    /// Interfaces `eth0` by node.
    pub nodes: BTreeMap<String, InterfaceStats>,
    /// How much later than its arrival a frame was handed to its node, in virtual ns; of one that came from another host too
    /// late ([`FreeClock::late_frames`]), how much later than that.
    pub lateness: Lateness,
    /// What went wrong beside the network itself: look before you trust the results.
    pub warnings: Vec<String>,
    /// Captures that lack frames.
    #[serde(default)]
    pub losses: Vec<LostFrames>,
    /// For what virtual time ran at the rate of the host instead of jumping.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran_for: Vec<RanFor>,
    /// Of each host, where clocks run by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_clocks: Vec<FreeClock>,
}

/// What the clock of a host, which runs by itself, was found to be beside that of the first host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FreeClock {
    pub host: String,
    /// By how much faster the host clock of the first host runs, in parts per billion.
    pub rate_ppb: i64,
    /// What the virtual clock differed by each time they were compared, in virtual ns, before it was put right.
    pub differed: Lateness,
    /// How often that was more than a little, so that it was put right.
    pub put_right: u64,
    /// What a comparison may have been wrong by, at most, in host ns: half of what words took both ways at best.
    #[serde(default)]
    pub within_ns: i64,
    /// Frames from other hosts that came after their time on the clock of this one, and by how much, in virtual ns.
    pub late_frames: Lateness,
}

/// Host time for which the clock ran only because a kernel may have had something to send.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RanFor {
    /// The node whose kernel it is.
    pub node: String,
    pub reason: Reason,
    pub host_ns: i64,
}

/// Frames that a capture lacks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LostFrames {
    /// The capture, in the folder of the run.
    pub file: String,
    /// Virtual `CLOCK_REALTIME` of the first of them.
    pub realtime_ns: i64,
    /// Why they are missing.
    pub reason: String,
}

/// Both directions of one link.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LinkStats {
    pub from: String,
    pub to: String,
    /// Frames from `from` to `to`.
    pub forward: DirectionStats,
    /// Frames from `to` to `from`.
    pub backward: DirectionStats,
}

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DirectionStats {
    /// Frames that were to be sent.
    pub offered: u64,
    /// Frames that arrived at the other end.
    pub delivered: u64,
    /// Octets of the frames that arrived, without preamble, check sequence and gap.
    pub delivered_octets: u64,
    /// Frames dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Frames dropped because the link was down.
    pub dropped_link_down: u64,
    /// Frames lost in the queue or on the wire when the link went down.
    pub dropped_cut: u64,
    /// Frames lost on the wire, as the link loses some.
    #[serde(default)]
    pub dropped_loss: u64,
    /// Frames to a host that was lost.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropped_host_lost: u64,
    /// Frames in the queue or on the wire at the end.
    pub in_flight: u64,
}

impl DirectionStats {
    /// Frames dropped for any reason.
    pub const fn dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_link_down
            + self.dropped_cut
            + self.dropped_loss
            + self.dropped_host_lost
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what is skipped so")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Frames that one switch has handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SwitchStats {
    /// Frames sent to the one port where their receiver is.
    pub forwarded: u64,
    /// Frames sent to all other ports.
    pub flooded: u64,
    /// Frames kept: no frame at all, for this link only, or their receiver is where they came from.
    pub filtered: u64,
}

/// Frames that one attacker has handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AttackerStats {
    /// Forged ARP replies sent without having been asked.
    pub sent: u64,
    /// ARP requests answered with a forged reply.
    pub answered: u64,
    /// Frames of victims for each other that reached the attacker and went no further.
    pub dropped: u64,
    pub dropped_octets: u64,
    /// Other frames that reached the attacker: broadcasts and floods, ARP.
    pub overheard: u64,
}

/// The interface of one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct InterfaceStats {
    pub sent: u64,
    pub received: u64,
    /// TCP segments that the node's kernel repeated because host time passed while the clock was
    /// stopped, and that the network needed no second copy of. They were not passed on.
    #[serde(default)]
    pub withheld_repeats: u64,
    /// Frames that a node sent though nothing was to happen there, as other hosts had been told: they left when
    /// something was to happen.
    #[serde(default, skip_serializing_if = "is_none")]
    pub put_off: u64,
    /// Frames that the node sent and its kernel dropped, because the network did not read them
    /// in time: a fault of the testbed, not of the network.
    pub dropped_unread: u64,
    /// Frames that arrived and could not be handed over because the device would have blocked.
    pub dropped_blocked: u64,
    /// Frames that arrived while the node's interface was down or gone.
    pub dropped_refused: u64,
}

/// A summary of latenesses in virtual nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lateness {
    /// How many were handed over.
    pub frames: u64,
    pub median_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// Counts latenesses in buckets: exact below 32 ns, within 1/32 (upwards) above, in constant
/// memory however long the run.
#[derive(Clone, Debug)]
pub struct LatenessCounter {
    buckets: Vec<u64>,
    frames: u64,
    max_ns: u64,
}

const FINENESS: u64 = 32;
const FINENESS_BITS: u32 = FINENESS.trailing_zeros();

impl LatenessCounter {
    /// Counts one frame that was so late.
    pub fn count(&mut self, late_ns: u64) {
        self.buckets[bucket_of(late_ns)] += 1;
        self.frames += 1;
        self.max_ns = self.max_ns.max(late_ns);
    }

    /// The summary so far.
    pub fn summary(&self) -> Lateness {
        Lateness {
            frames: self.frames,
            median_ns: self.percentile_ns(50),
            p99_ns: self.percentile_ns(99),
            max_ns: self.max_ns,
        }
    }

    fn percentile_ns(&self, percent: u64) -> u64 {
        let wanted = (u128::from(self.frames) * u128::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= wanted && seen > 0 {
                return largest_of(bucket).min(self.max_ns);
            }
        }
        0
    }
}

impl Default for LatenessCounter {
    fn default() -> Self {
        Self { buckets: vec![0; bucket_of(u64::MAX) + 1], frames: 0, max_ns: 0 }
    }
}

/// Values below [`FINENESS`] have a bucket each; above, each power of two has [`FINENESS`].
fn bucket_of(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(FINENESS_BITS + 1);
    (u64::from(shift) * FINENESS + (value >> shift)) as usize
}

fn largest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / FINENESS).saturating_sub(1);
    let step = bucket - shift * FINENESS;
    (step << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_latenesses_in_summary() {
        let mut counter = LatenessCounter::default();
        assert_eq!(counter.summary(), Lateness::default());
        (1..=100).for_each(|us| counter.count(us * 1000));
        let summary = counter.summary();
        assert_eq!((summary.frames, summary.max_ns), (100, 100_000));
        assert!((50_000..=50_000 + 50_000 / 32).contains(&summary.median_ns));
        assert!((99_000..=100_000).contains(&summary.p99_ns));
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values_within_a_thirty_second(bits in 0u32..64, value: u64) {
            let value = value >> bits;
            let largest = largest_of(bucket_of(value));
            prop_assert!(largest >= value);
            prop_assert!(largest - value <= value / FINENESS);
            prop_assert!(largest == u64::MAX || bucket_of(largest + 1) == bucket_of(value) + 1);
        }
    }
}
