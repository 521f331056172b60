//! One cell of a matrix: what one profile measured on one platform.
//!
//! A cell holds each sample, because a verdict may ask for any statistic later, and what is needed
//! to doubt it: how the samples were made, on what, what took the processor away meanwhile, and the
//! [marks](Mark) under which every figure of it stands. Eight hours at 10 ms are 2.9 million samples
//! a core, so a sample takes four octets and the times, which mostly follow a period, nearly none.

mod folder;
mod mark;
mod split;
pub mod stream;
mod times;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use folder::RECORD;
pub use mark::{Mark, MarkKind};
pub use probe::stream::{Cause, CoreTime, Counts, Detector, Gaps, Outcome};
pub use split::Part;
pub use stream::Measured;
pub use times::Times;

use report_kit::statistics::Distribution;

/// What one profile measured on one platform.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cell {
    /// Where: `native`, `container`, `vm-rt` ...
    pub platform: String,
    /// Under which conditions: `tp1`, `cyclictest-hackbench` ...
    pub profile: String,
    /// When it began, UTC, RFC 3339; empty if nobody knows.
    pub began: String,
    pub method: Method,
    /// The plan of the probe, in its own words; null for what others measured.
    pub plan: Value,
    /// What the probe found about its host, in its own words.
    pub facts: Value,
    /// What one must know before trusting it.
    pub marks: Vec<Mark>,
    /// One for each thread of the probe.
    #[serde(skip)]
    pub threads: Vec<Thread>,
    /// How the latency divides, where the kernel noted it, and the whole beside it. Cells of before
    /// there were parts have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// When the processor was not to be had, in the order of their beginnings.
    #[serde(skip)]
    pub stalls: Vec<Stall>,
    /// What each core did in all, as far as it is known.
    pub cores: Vec<CoreTime>,
    /// Gaps that busy threads saw: one for each thread that was busy.
    pub gaps: Vec<Gaps>,
    /// What the probe warned of, in sentences.
    pub warnings: Vec<String>,
}

/// A stretch of time in which a core was not to be had: a wake-up was far too late, or the stall
/// meter saw a gap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stall {
    pub core: i32,
    /// When it began, ns since the cell began.
    pub at_ns: i64,
    pub length_ns: i64,
    pub seen_by: Detector,
    pub cause: Cause,
    /// Whom exactly, as far as it is known, in a few words.
    pub who: String,
    /// What that rests on, as JSON.
    pub evidence: String,
}

impl Stall {
    /// When it ended, ns since the cell began.
    pub fn end_ns(&self) -> i64 {
        self.at_ns.saturating_add(self.length_ns)
    }
}

/// How the samples of a cell were made, as far as it is known.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Method {
    /// What was waited for, as plans call it (`timer`, `udp` ...), or the program that measured.
    pub probe: String,
    /// Of SCHED_FIFO; none: an ordinary thread, or unknown.
    pub priority: Option<i32>,
    /// Between two samples of a thread, ns.
    pub period_ns: Option<i64>,
    /// How long it was to take, ns.
    pub duration_ns: Option<i64>,
    pub pinned: bool,
}

/// What one thread of the probe measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    pub number: i32,
    /// Which core it was bound to; none: to no single one.
    pub core: Option<i32>,
    #[serde(skip)]
    pub samples: Samples,
    /// Periods without a sample, samples that did not arrive, and what the thread itself used.
    pub counts: Counts,
}

/// Latencies, ns. One of more than 4.29 s (2³² ns) counts as that, and the cell is marked.
#[derive(Clone, PartialEq, Debug)]
pub enum Samples {
    /// Each of them, with the time at which it was due, ns since the cell began.
    Kept { at: Times, latency_ns: Vec<u32> },
    /// How often each latency occurred, in no known order: what a histogram says.
    Counted(Distribution),
}

impl From<Samples> for Thread {
    fn from(samples: Samples) -> Self {
        Self { samples, ..Self::default() }
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self::Kept { at: Times::default(), latency_ns: Vec::new() }
    }
}

impl Samples {
    /// Such as were due at each multiple of a period.
    pub fn periodic(period_ns: i64, latency_ns: Vec<u32>) -> Self {
        let at = (1..=latency_ns.len() as i64).map(|number| number.saturating_mul(period_ns));
        Self::Kept { at: at.collect(), latency_ns }
    }

    /// How many latencies there are.
    pub fn count(&self) -> u64 {
        match self {
            Self::Kept { latency_ns, .. } => latency_ns.len() as u64,
            Self::Counted(distribution) => distribution.count(),
        }
    }

    /// All of them by size.
    pub fn distribution(&self) -> Distribution {
        match self {
            Self::Kept { latency_ns, .. } => Distribution::of(latency_ns),
            Self::Counted(distribution) => distribution.clone(),
        }
    }
}

impl Cell {
    /// Its name: `native.tp1`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.platform, self.profile)
    }

    /// How many samples all threads have.
    pub fn count(&self) -> u64 {
        self.threads.iter().map(|thread| thread.samples.count()).sum()
    }

    /// Marks it, unless it bears this very mark.
    pub fn mark(&mut self, mark: Mark) {
        if !self.marks.contains(&mark) {
            self.marks.push(mark);
        }
    }

    /// Whether it bears a mark of this kind.
    pub fn is_marked(&self, kind: MarkKind) -> bool {
        self.marks.iter().any(|mark| mark.kind == kind)
    }
}
