//! The ways to freeze programs, and what that has done so far, for `qcycle ps` and the results of a
//! run.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Durations that a median is taken of.
const RECENT: usize = 1000;

/// How programs are frozen, in the order of preference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// `cgroup.freeze` of a control group of version 2.
    CgroupV2,
    /// The freezer of control groups of version 1.
    CgroupV1,
    /// Threads that run are stopped one by one with ptrace(2).
    Ptrace,
}

impl Method {
    /// All methods, best one first.
    pub const ALL: [Self; 3] = [Self::CgroupV2, Self::CgroupV1, Self::Ptrace];

    /// As a user writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CgroupV2 => "cgroup-v2",
            Self::CgroupV1 => "cgroup-v1",
            Self::Ptrace => "ptrace",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|method| method.name() == text).ok_or_else(|| {
            format!("`{text}` is not a way to freeze programs: use cgroup-v2, cgroup-v1 or ptrace")
        })
    }
}

/// How programs are frozen, and how that went.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FreezeStatus {
    /// Which holds freeze programs: `off`, `strict`, or those longer than this.
    pub mode: String,
    /// How; `None` if never, or if there is no program yet.
    pub method: Option<Method>,
    /// Why not in a better way; empty if in the best.
    pub reason: String,
    pub freezes: u64,
    /// Those of them in which some thread could not be stopped in time.
    pub incomplete: u64,
    /// Waits of programs that were cut short and made again.
    #[serde(rename = "mended")]
    pub restarted: u64,
    /// From the decision until all were stopped.
    pub freeze: Durations,
    /// From the release until the clock might run.
    pub thaw: Durations,
}

/// Summary of durations, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Durations {
    /// Of the last thousand.
    pub median_us: f64,
    pub max_us: f64,
}

#[derive(Debug, Default)]
pub(super) struct DurationStats {
    recent: VecDeque<Duration>,
    max: Duration,
}

impl DurationStats {
    pub(super) fn count(&mut self, took: Duration) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(took);
        self.max = self.max.max(took);
    }

    pub(super) fn summary(&self) -> Durations {
        let mut sorted: Vec<Duration> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        Durations { median_us: us(median), max_us: us(self.max) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_is_kept_when_it_is_no_longer_recent() {
        let mut counted = DurationStats::default();
        assert_eq!(counted.summary(), Durations::default());
        counted.count(Duration::from_millis(7));
        (0..RECENT).for_each(|_| counted.count(Duration::from_micros(3)));
        assert_eq!(counted.summary(), Durations { median_us: 3.0, max_us: 7000.0 });
    }
}
