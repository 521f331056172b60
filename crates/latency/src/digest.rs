//! All that is said of a cell, small enough to keep for a hundred of them.
//!
//! A cell of eight hours has millions of samples, a report of a matrix dozens of cells. So cells are
//! read one after the other, and of each there remains this: figures, verdicts, causes, and what the
//! pictures are drawn from. Tables, pages and JSON are made of digests and of nothing else.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::attribution::Attribution;
use super::cell::{Cell, Counts, Mark, MarkKind, Method, Part, Samples, Stall, Thread};
use super::over_time::{Portion, portions};
use super::verdict::{self, Limit, Verdict, percent};
use report_kit::page::distinct;
use report_kit::statistics::percentile::{SHARES, samples_needed};
use report_kit::statistics::{Distribution, Percentile, ReturnLevel, Summary};

/// Stretches of time of a picture over time; with more, columns of pixels would run together.
const STRETCHES: usize = 600;
/// Bins of a histogram for each power of ten.
const BINS_PER_DECADE: f64 = 20.0;
/// Points of a line from one end of a distribution to the other.
const TAIL_POINTS: usize = 400;
/// Stalls that a picture shows: the longest ones.
const STALLS_SHOWN: usize = 200;
/// The maximum is estimated for a time so many times as long as the cell.
const RETURN_TIMES: f64 = 10.0;

/// By what cells are judged.
#[derive(Clone, PartialEq, Debug)]
pub struct Demands {
    pub limits: Vec<Limit>,
    /// The share of activations that must be in time.
    pub share: f64,
}

impl Default for Demands {
    fn default() -> Self {
        Self { limits: verdict::limits(), share: verdict::SHARE }
    }
}

/// All that is said of a cell.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Digest {
    /// `native.tp1`.
    pub name: String,
    pub platform: String,
    pub profile: String,
    pub began: String,
    /// From its beginning to its last sample, ns; 0: unknown.
    pub length_ns: i64,
    pub marks: Vec<Mark>,
    pub warnings: Vec<String>,
    pub method: Method,
    pub summary: Option<Summary>,
    pub percentiles: Vec<Percentile>,
    pub parts: Vec<Part>,
    pub threads: Vec<ThreadDigest>,
    /// After an eighth, a quarter, a half and all of it.
    pub over_time: Vec<Portion>,
    /// The maximum to be expected in a longer time; none: too few samples.
    pub return_level: Option<ReturnLevel>,
    /// For so long, ns.
    pub return_period_ns: i64,
    pub attribution: Attribution,
    pub verdicts: Vec<Verdict>,
    pub facts: Value,
    #[serde(skip)]
    pub pictures: Pictures,
}

/// What is said of a thread.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadDigest {
    pub thread: i32,
    pub core: Option<i32>,
    pub summary: Option<Summary>,
    pub counts: Counts,
    /// The longest gap that it saw while it was busy, ns.
    pub longest_gap_ns: Option<u64>,
}

impl ThreadDigest {
    /// What the page calls it: by its core, if it is bound to one.
    pub fn name(&self) -> String {
        self.core.map_or_else(|| format!("thread {}", self.thread), |core| format!("core {core}"))
    }
}

/// What the pictures of a cell are drawn from.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pictures {
    pub bins: Vec<Bin>,
    /// Which share of samples took longer than a latency, ns; both monotone.
    pub tail: Vec<(f64, f64)>,
    /// Each thread over time; empty for histograms.
    pub series: Vec<Vec<Stretch>>,
    /// The longest stalls, by their beginning.
    pub stalls: Vec<Stall>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bin {
    pub from_ns: f64,
    pub to_ns: f64,
    pub count: u64,
}

/// The samples of a thread in a stretch of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stretch {
    /// When the latest one was due, ns since the cell began.
    pub at_ns: i64,
    pub mean_ns: f64,
    /// The latest one, ns.
    pub max_ns: u32,
}

impl Digest {
    /// Of a cell, judged by what is asked.
    pub fn of(cell: &Cell, demands: &Demands) -> Self {
        let length_ns = length_ns(cell);
        let (over_time, all) = portions(cell, length_ns);
        let kept = cell.threads.iter().map(|thread| match &thread.samples {
            Samples::Kept { latency_ns, .. } => Some(latency_ns.as_slice()),
            Samples::Counted(_) => None,
        });
        let kept: Option<Vec<&[u32]>> = kept.collect();
        let summary = Summary::of(&all);
        let percentiles = SHARES.iter().filter_map(|share| Percentile::of(&all, *share)).collect();
        let mut marks = cell.marks.clone();
        marks.extend(too_short(&all, demands.share));
        Self {
            name: cell.name(),
            platform: cell.platform.clone(),
            profile: cell.profile.clone(),
            began: cell.began.clone(),
            length_ns,
            marks,
            warnings: cell.warnings.clone(),
            method: cell.method.clone(),
            summary,
            percentiles,
            parts: cell.parts.clone(),
            threads: threads(cell, &all),
            over_time,
            return_level: kept.and_then(|threads| ReturnLevel::of(&threads, RETURN_TIMES)),
            return_period_ns: (length_ns as f64 * RETURN_TIMES) as i64,
            attribution: Attribution::of(cell, late_ns(&demands.limits)),
            verdicts: verdict::judge(cell, &all, &demands.limits, demands.share),
            facts: cell.facts.clone(),
            pictures: Pictures {
                bins: bins(&all),
                tail: tail(&all),
                series: series(cell, length_ns),
                stalls: longest(&cell.stalls),
            },
        }
    }

    /// Its marks in a line; empty if there are none.
    pub fn marks_text(&self) -> String {
        self.marks.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The kinds of its marks in a line, each once.
    pub fn marks_words(&self) -> String {
        distinct(self.marks.iter().map(|mark| mark.kind.words())).join(", ")
    }

    /// A percentile that the samples are enough for.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        let found = self.percentiles.iter().find(|of| of.share == share && of.upper.is_some());
        found.map(|of| of.value)
    }
}

fn length_ns(cell: &Cell) -> i64 {
    let last = |samples: &Samples| match samples {
        Samples::Kept { at, .. } => at.last(),
        Samples::Counted(_) => None,
    };
    cell.threads.iter().filter_map(|thread| last(&thread.samples)).max().unwrap_or(0).max(0)
}

/// A cell from which what is asked cannot be said bears a mark.
fn too_short(all: &Distribution, share: f64) -> Option<Mark> {
    let needed = samples_needed(share);
    let detail = format!("{} of {needed} samples for p{}", all.count(), percent(share));
    (all.count() < needed).then(|| Mark::new(MarkKind::TooShort, detail))
}

/// What counts as late where causes are asked: the strictest limit on latency.
fn late_ns(limits: &[Limit]) -> u32 {
    let latencies = limits.iter().filter(|limit| limit.quantity == verdict::Quantity::Latency);
    let least = latencies.map(|limit| limit.budget_ns).min().unwrap_or(u64::MAX);
    u32::try_from(least).unwrap_or(u32::MAX)
}

fn threads(cell: &Cell, all: &Distribution) -> Vec<ThreadDigest> {
    let longest_gap_ns = |number: i32| {
        let own = cell.gaps.iter().filter(|gaps| i32::try_from(gaps.thread) == Ok(number));
        own.map(|gaps| gaps.max_ns).max()
    };
    let summary = |samples: &Samples| match cell.threads.len() {
        1 => Summary::of(all),
        _ => Summary::of(&samples.distribution()),
    };
    let digest = |thread: &Thread| ThreadDigest {
        thread: thread.number,
        core: thread.core,
        summary: summary(&thread.samples),
        counts: thread.counts.clone(),
        longest_gap_ns: longest_gap_ns(thread.number),
    };
    cell.threads.iter().map(digest).collect()
}

/// Bins of equal width on a logarithmic scale. Zero lies in the first one.
fn bins(all: &Distribution) -> Vec<Bin> {
    let edge = |index: i32| 10f64.powf(f64::from(index) / BINS_PER_DECADE);
    // The index of the bin whose lower edge is the last one that is not above the value.
    let index_of = |ns: u32| {
        let ns = f64::from(ns.max(1));
        let near = (ns.log10() * BINS_PER_DECADE).floor() as i32;
        (near - 1..=near + 1).rev().find(|index| edge(*index) <= ns).unwrap_or(near)
    };
    let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
    for (ns, count) in all.counts() {
        *bins.entry(index_of(ns)).or_default() += count;
    }
    bins.into_iter()
        .map(|(index, count)| Bin { from_ns: edge(index), to_ns: edge(index + 1), count })
        .collect()
}

/// The share of samples above latencies at equal distances on a logarithmic scale. The last one is
/// the greatest sample with its own share, as none is above it.
fn tail(all: &Distribution) -> Vec<(f64, f64)> {
    let (Some(min), Some(max)) = (all.min(), all.max()) else { return Vec::new() };
    let (low, high) = (f64::from(min.max(1)).ln(), f64::from(max.max(1)).ln());
    let count = all.count() as f64;
    let mut points: Vec<(f64, f64)> = vec![(f64::from(min.max(1)), 1.0)];
    for step in 0..TAIL_POINTS {
        let ns = (low + (high - low) * step as f64 / TAIL_POINTS as f64).exp();
        let above = (all.count() - all.up_to(ns as u32)) as f64 / count;
        if points.last().is_some_and(|last| above < last.1) {
            points.push((ns, above));
        }
    }
    points.push((f64::from(max.max(1)), 1.0 / count));
    points
}

/// Mean and maximum of each stretch of time that has samples.
fn series(cell: &Cell, length_ns: i64) -> Vec<Vec<Stretch>> {
    let stretch_ns = length_ns / STRETCHES as i64 + 1;
    let of = |samples: &Samples| {
        let Samples::Kept { at, latency_ns } = samples else { return Vec::new() };
        let bounds = (0..=STRETCHES as i64).map(|index| at.before(index * stretch_ns));
        let bounds: Vec<usize> = bounds.collect();
        let within =
            bounds.windows(2).map(|pair| pair[0]..pair[1]).filter(|range| !range.is_empty());
        let stretch = |range: std::ops::Range<usize>| {
            let begin = range.start;
            let part = &latency_ns[range];
            let worst = (0..part.len()).max_by_key(|index| part[*index]).unwrap_or(0);
            let sum: u64 = part.iter().map(|ns| u64::from(*ns)).sum();
            Stretch {
                at_ns: at.at(begin + worst),
                mean_ns: sum as f64 / part.len() as f64,
                max_ns: part[worst],
            }
        };
        within.map(stretch).collect()
    };
    cell.threads.iter().map(|thread| of(&thread.samples)).filter(|all| !all.is_empty()).collect()
}

fn longest(stalls: &[Stall]) -> Vec<Stall> {
    let mut longest: Vec<&Stall> = stalls.iter().collect();
    longest.sort_by_key(|stall| std::cmp::Reverse(stall.length_ns));
    longest.truncate(STALLS_SHOWN);
    longest.sort_by_key(|stall| stall.at_ns);
    longest.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(latency_ns: Vec<u32>) -> Cell {
        Cell {
            platform: "native".into(),
            profile: "tp1".into(),
            threads: vec![Samples::periodic(1_000_000, latency_ns).into()],
            ..Cell::default()
        }
    }

    #[test]
    fn nothing_is_lost_on_the_way_to_the_pictures() {
        let mut latency_ns: Vec<u32> = (0..50_000).map(|index| 2_000 + index % 700).collect();
        latency_ns[33_333] = 8_000_000;
        let digest = Digest::of(&cell(latency_ns), &Demands::default());
        let pictures = &digest.pictures;
        assert_eq!(pictures.bins.iter().map(|bin| bin.count).sum::<u64>(), 50_000);
        let worst = pictures.series[0].iter().max_by_key(|stretch| stretch.max_ns).unwrap();
        assert_eq!((worst.at_ns, worst.max_ns), (33_334_000_000, 8_000_000));
        assert!(pictures.series[0].len() <= STRETCHES);
        assert_eq!(pictures.tail.first(), Some(&(2_000.0, 1.0)));
        assert_eq!(pictures.tail.last(), Some(&(8_000_000.0, 1.0 / 50_000.0)));
        assert!(
            pictures.tail.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 >= pair[1].1)
        );
        assert_eq!(digest.attribution.late, 1);
        assert!(digest.return_level.is_some() && digest.marks.is_empty());
    }

    #[test]
    fn a_short_cell_is_marked_and_an_empty_one_is_said_to_be_so() {
        let digest = Digest::of(&cell(vec![5; 100]), &Demands::default());
        assert_eq!(digest.marks_text(), "too short (100 of 3688 samples for p99.9)");
        let empty = Digest::of(&Cell::default(), &Demands::default());
        assert!(empty.summary.is_none() && empty.pictures.tail.is_empty());
        assert!(
            empty.verdicts.iter().all(|v| v.outcome == report_kit::outcome::Outcome::NotMeasured)
        );
    }

    #[test]
    fn each_sample_lies_in_its_bin() {
        for ns in [0_u32, 1, 9, 10, 99, 100, 1_000, 1_122, 1_123, 999_999, 1_000_000, u32::MAX] {
            let bin = bins(&Distribution::of(&[ns]))[0];
            let ns = f64::from(ns.max(1));
            assert!(bin.from_ns <= ns && ns < bin.to_ns, "{ns} in {bin:?}");
        }
    }
}
