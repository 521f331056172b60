//! Times in which a thread that looks at the clock all the time could not: how often each length
//! occurred, handed from the thread to the collector.

/// Width of a bin of the histogram, ns.
pub(crate) const BIN_NS: u64 = 1_000;
/// Bins of the histogram, the last of which holds all above.
pub(crate) const BINS: usize = 1_000;

/// Gaps of one thread since they were last handed over.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    pub(crate) bins: Box<[u64]>,
    pub(crate) max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; BINS].into(), max_ns: 0 }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, gap_ns: i64) {
        let gap_ns = gap_ns.max(0).cast_unsigned();
        let bin = (gap_ns / BIN_NS).min(BINS as u64 - 1);
        self.bins[bin as usize] += 1;
        self.max_ns = self.max_ns.max(gap_ns);
    }

    /// Takes all of another's gaps, which has none then.
    pub(crate) fn take_from(&mut self, other: &mut Self) {
        for (own, others) in self.bins.iter_mut().zip(&mut other.bins) {
            *own += std::mem::take(others);
        }
        self.max_ns = self.max_ns.max(std::mem::take(&mut other.max_ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_once_wherever_they_are() {
        let mut gaps = Histogram::default();
        for gap_ns in [-5, 0, 999, 1_000, 998_999, 999_000, i64::MAX] {
            gaps.add(gap_ns);
        }
        assert_eq!((gaps.bins[0], gaps.bins[1], gaps.bins[998], gaps.bins[999]), (3, 1, 1, 2));
        let mut all = Histogram::default();
        all.take_from(&mut gaps);
        all.take_from(&mut gaps);
        assert_eq!(all.bins.iter().sum::<u64>(), 7);
        assert_eq!((all.max_ns, gaps.max_ns), (i64::MAX as u64, 0));
    }
}
