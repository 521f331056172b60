//! What the kernel noted between the begin and the end of a sample, so that a latency can be split.
//!
//! A kind of probe has at most two such moments. They are kept as distances from the begin of the
//! sample, in four octets each: that is all that a thread which may not wait hands on, and as further
//! columns of a block of samples they take an octet or two. A moment that is not known stays
//! unknown: no part is ever guessed.

/// Moments that a kind of probe may have between begin and end.
pub(super) const STAMPS_MAX: usize = 2;

/// Moments between the begin and the end of a sample, in the order in which they come.
///
/// Each is kept as nanoseconds since the begin of the sample and one more; 0: not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Stamps([u32; STAMPS_MAX]);

impl Stamps {
    /// Moments as nanoseconds since the begin of a sample that took `latency_ns`.
    ///
    /// What the kernel noted is not believed blindly: moments that do not lie within the sample, or
    /// not in their order, belong to another one, and then none of them is known.
    pub fn within(latency_ns: i64, since_begin_ns: [Option<i64>; STAMPS_MAX]) -> Self {
        let known = since_begin_ns.iter().flatten();
        let rises = known.clone().is_sorted();
        if !rises || !known.clone().all(|ns| (0..=latency_ns).contains(ns)) {
            return Self::default();
        }
        let kept = |ns: i64| u32::try_from(ns).ok()?.checked_add(1);
        Self(since_begin_ns.map(|ns| ns.and_then(kept).unwrap_or(0)))
    }

    /// How long each part of a sample took that consists of `count` parts, ns; none where a moment
    /// at one of its ends is not known.
    pub fn parts(self, latency_ns: i64, count: usize) -> impl Iterator<Item = Option<i64>> {
        let moment = move |index: usize| match index {
            0 => Some(0),
            _ if index == count => Some(latency_ns),
            _ => self.get(index - 1),
        };
        (0..count).map(move |part| moment(part + 1)?.checked_sub(moment(part)?))
    }

    /// One of the moments, ns since the begin of the sample.
    pub fn get(self, index: usize) -> Option<i64> {
        Some(i64::from(self.0.get(index)?.checked_sub(1)?))
    }

    /// As a column of a block has it.
    pub(super) fn column(self, index: usize) -> i64 {
        i64::from(self.0[index])
    }

    /// Sets a moment to what a column has; `None` if no moment is like that.
    pub(super) fn set_column(&mut self, index: usize, value: i64) -> Option<()> {
        self.0[index] = u32::try_from(value).ok()?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(stamps: Stamps, latency_ns: i64, count: usize) -> Vec<Option<i64>> {
        stamps.parts(latency_ns, count).collect()
    }

    #[test]
    fn parts_of_a_sample_make_its_whole() {
        let stamps = Stamps::within(1_000, [Some(0), Some(300)]);
        assert_eq!(parts(stamps, 1_000, 3), [Some(0), Some(300), Some(700)]);
        assert_eq!(parts(Stamps::within(9, [Some(4), None]), 9, 2), [Some(4), Some(5)]);
    }

    #[test]
    fn a_part_whose_end_is_not_known_is_not_known() {
        let stamps = Stamps::within(1_000, [None, Some(300)]);
        assert_eq!(parts(stamps, 1_000, 3), [None, None, Some(700)]);
        assert_eq!(parts(Stamps::default(), 1_000, 3), [None; 3]);
        assert_eq!(parts(Stamps::default(), 1_000, 0), []);
        // Longer than is kept: 4.29 s.
        let long = Stamps::within(1 << 40, [Some(5), Some(1 << 33)]);
        assert_eq!(parts(long, 1 << 40, 3), [Some(5), None, None]);
    }

    #[test]
    fn moments_of_another_sample_are_none_of_this_one() {
        for wrong in
            [[Some(-1), Some(5)], [Some(5), Some(11)], [Some(6), Some(5)], [None, Some(i64::MIN)]]
        {
            assert_eq!(Stamps::within(10, wrong), Stamps::default(), "{wrong:?}");
        }
    }
}
