//! What is typical for a thread, and so from when on a latency asks for an explanation.

/// A latency below this needs none, ns.
const LATE_NS_MIN: i64 = 50_000;
/// So many times the median is far too late.
const LATE_MEDIANS: i64 = 4;
/// Until there are this many samples, only a late one in absolute terms is noticed.
const SAMPLES_MIN: u64 = 32;

/// Latencies by the power of two below them.
#[derive(Clone, Debug)]
pub(crate) struct Typical {
    bins: [u64; 64],
    count: u64,
    max_ns: i64,
}

impl Default for Typical {
    fn default() -> Self {
        Self { bins: [0; 64], count: 0, max_ns: 0 }
    }
}

impl Typical {
    /// Adds a latency; returns whether it asks for an explanation: it is far from the others, or
    /// the greatest so far and not small.
    pub(crate) fn is_late(&mut self, latency_ns: i64) -> bool {
        let late = latency_ns >= self.late_ns();
        let is_max = latency_ns > self.max_ns && latency_ns >= LATE_NS_MIN;
        self.max_ns = self.max_ns.max(latency_ns);
        self.bins[latency_ns.max(1).ilog2() as usize] += 1;
        self.count += 1;
        late || is_max
    }

    /// From this latency on a sample is far from the others, ns.
    pub(crate) fn late_ns(&self) -> i64 {
        if self.count < SAMPLES_MIN {
            return LATE_NS_MIN * LATE_MEDIANS;
        }
        let mut below = 0;
        let median = self.bins.iter().position(|bin| {
            below += bin;
            2 * below >= self.count
        });
        let median_ns_max = median.map_or(0, |bin| 2i64.saturating_pow(bin as u32 + 1));
        LATE_NS_MIN.max(median_ns_max.saturating_mul(LATE_MEDIANS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_what_is_far_from_the_others_or_the_greatest() {
        let mut quiet = Typical::default();
        assert!((0..100).all(|_| !quiet.is_late(3_000)));
        assert!(!quiet.is_late(49_000));
        assert!(quiet.is_late(50_000));
        assert!(quiet.is_late(50_000), "far from 3 µs");
        let mut slow = Typical::default();
        let late = (0..100).filter(|_| slow.is_late(100_000)).count();
        assert_eq!(late, 1, "the first is the greatest");
        assert!(!slow.is_late(100_000) && slow.is_late(200_000) && !slow.is_late(150_000));
        assert_eq!(slow.late_ns(), 4 * 131_072);
        assert!(slow.is_late(i64::MAX) && !slow.is_late(-5));
    }
}
