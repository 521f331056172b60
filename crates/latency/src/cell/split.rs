//! How the latency of a cell divides into its parts: sending, the stack, receiving.
//!
//! Some kinds of probes know when the kernel passed on what they sent. Of each part there remains its
//! distribution in a few figures: it is looked at beside the whole, and judged by nothing. The last
//! line is the whole of exactly those samples whose parts are all known, so that nothing is
//! compared with others; percentiles of parts do not add up to those of the whole.

use probe::Kind;
use probe::stream::Sample;
use serde::{Deserialize, Serialize};

use super::folder::stored;
use report_kit::statistics::Distribution;
use report_kit::statistics::summary::quantile;

/// What the whole is called among the parts.
pub(crate) const WHOLE: &str = "whole";

/// One part of a latency, over all samples of a cell in which it is known, ns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// As [`Kind::parts`] calls it, or [`WHOLE`].
    pub name: String,
    pub count: u64,
    pub minimum: f64,
    pub median: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub maximum: f64,
}

/// Parts while a stream is read.
#[derive(Debug, Default)]
pub(super) struct Parting {
    names: &'static [&'static str],
    /// Of each part, and of the whole.
    lengths_ns: Vec<Vec<u32>>,
}

impl Parting {
    pub(super) fn of(kind: Kind) -> Self {
        let names = kind.parts();
        Self { names, lengths_ns: vec![Vec::new(); names.len() + 1] }
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        if self.names.is_empty() {
            return;
        }
        // One that is too long to store is so as a whole, and marked there.
        let mut long = 0;
        let mut is_whole = true;
        let parts = sample.stamps.parts(sample.latency_ns, self.names.len());
        for (lengths_ns, part) in self.lengths_ns.iter_mut().zip(parts) {
            is_whole &= part.is_some();
            lengths_ns.extend(part.map(|ns| stored(ns, &mut long)));
        }
        if let Some(lengths_ns) = self.lengths_ns.last_mut().filter(|_| is_whole) {
            lengths_ns.push(stored(sample.latency_ns, &mut long));
        }
    }

    /// What is known of each part; nothing if no part is known.
    pub(super) fn finish(self) -> Vec<Part> {
        let names = self.names.iter().copied().chain([WHOLE]);
        let part = |(name, lengths_ns): (&str, Vec<u32>)| Part::of(name, &lengths_ns);
        names.zip(self.lengths_ns).filter_map(part).collect()
    }
}

impl Part {
    fn of(name: &str, lengths_ns: &[u32]) -> Option<Self> {
        let all = Distribution::of(lengths_ns);
        let (minimum, maximum) = (f64::from(all.min()?), f64::from(all.max()?));
        let [median, p99, p99_9] = [0.5, 0.99, 0.999].map(|share| quantile(&all, share));
        let (name, count) = (name.to_owned(), all.count());
        Some(Self { name, count, minimum, median, p99, p99_9, maximum })
    }
}

#[cfg(test)]
mod tests {
    use probe::stream::Stamps;

    use super::*;

    fn of(kind: Kind, samples: &[(i64, [Option<i64>; 2])]) -> Vec<(String, u64, f64, f64)> {
        let mut parting = Parting::of(kind);
        for (latency_ns, moments) in samples {
            let stamps = Stamps::within(*latency_ns, *moments);
            parting.add(&Sample { at_ns: 0, latency_ns: *latency_ns, stamps });
        }
        let parts = parting.finish().into_iter();
        parts.map(|part| (part.name, part.count, part.median, part.maximum)).collect()
    }

    #[test]
    fn the_whole_is_that_of_the_samples_whose_parts_are_known() {
        let samples = [
            (10, [Some(2), Some(5)]),
            (20, [Some(4), Some(5)]),
            (900, [None, None]),
            (70, [None, Some(30)]),
        ];
        let expected = [("send", 2, 3.0, 4.0), ("pass", 2, 2.0, 3.0), ("receive", 3, 15.0, 40.0)];
        let expected = expected.map(|(name, count, p50, max)| (name.to_owned(), count, p50, max));
        let found = of(Kind::Udp, &samples);
        assert_eq!(found[..3], expected);
        assert_eq!(found[3..], [(WHOLE.to_owned(), 2, 15.0, 20.0)]);
    }

    #[test]
    fn kinds_and_streams_without_moments_have_no_parts() {
        assert_eq!(of(Kind::Timer, &[(10, [None, None])]), []);
        assert_eq!(of(Kind::Udp, &[(10, [None, None])]), []);
        let found = of(Kind::Gpio, &[(10, [Some(4), None])]);
        let names: Vec<_> = found.iter().map(|part| (part.0.as_str(), part.2)).collect();
        assert_eq!(names, [("raise", 4.0), ("receive", 6.0), (WHOLE, 10.0)]);
    }
}
