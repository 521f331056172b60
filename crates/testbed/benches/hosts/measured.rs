//! What was measured, as the file has it, from which the page is drawn: rows with their bar and what became of it.

use std::path::Path;

use anyhow::{Context as _, Result};
use report_kit::machine::Machine;
use report_kit::outcome::Outcome;
use serde::{Deserialize, Serialize};

use crate::published::Published;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// When it was begun, UTC.
    pub(crate) begun: String,
    pub(crate) machine: Machine,
    /// How many threads wanted a processor in the minute before it.
    pub(crate) load_before: f64,
    /// Whether it is a short one, which says nothing of speed.
    pub(crate) is_tiny: bool,
    pub(crate) rows: Vec<Row>,
}

/// A row: one value, or the median of many.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) part: String,
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) hosts: Option<usize>,
    pub(crate) programs: Option<usize>,
    pub(crate) value: Option<f64>,
    pub(crate) spread: Option<Spread>,
    /// What the value may be at most.
    pub(crate) bar: Option<f64>,
    /// Whether the bar holds on any machine, so that also a short measurement judges it.
    pub(crate) is_exact: bool,
    pub(crate) outcome: Option<Outcome>,
    /// Why it was not measured, or what belongs to the value.
    pub(crate) note: String,
    pub(crate) published: Option<Published>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Spread {
    pub(crate) p95: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    pub(crate) count: usize,
}

impl Row {
    pub(crate) fn of(part: &str, name: impl Into<String>, unit: &str, value: f64) -> Self {
        let (part, unit) = (part.to_owned(), unit.to_owned());
        Self { part, name: name.into(), unit, value: Some(value), ..Self::default() }
    }

    /// One of many samples: nearest rank, the median between two.
    pub(crate) fn of_samples(
        part: &str,
        name: impl Into<String>,
        unit: &str,
        samples: &[f64],
    ) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let Some(max) = sorted.last().copied() else {
            return Self { value: None, ..Self::of(part, name, unit, 0.0) }
                .not_measured("no sample");
        };
        let at = |percent: usize| sorted[(percent * count).div_ceil(100) - 1];
        let median = f64::midpoint(sorted[count / 2], sorted[(count - 1) / 2]);
        let spread = Some(Spread { p95: at(95), p99: at(99), max, count });
        Self { spread, ..Self::of(part, name, unit, median) }
    }

    pub(crate) fn sized(self, hosts: usize, programs: usize) -> Self {
        Self { hosts: Some(hosts), programs: Some(programs), ..self }
    }

    pub(crate) fn beside(self, published: Option<Published>) -> Self {
        Self { published, ..self }
    }

    pub(crate) fn noted(self, note: impl Into<String>) -> Self {
        Self { note: note.into(), ..self }
    }

    /// Judges the value.
    pub(crate) fn at_most(self, bar: f64) -> Self {
        let judged = |value| if value <= bar { Outcome::Met } else { Outcome::Missed };
        let outcome = Some(self.value.map_or(Outcome::NotMeasured, judged));
        Self { bar: Some(bar), outcome, ..self }
    }

    /// As [`Self::at_most`], of what no machine may change.
    pub(crate) fn exactly_none(self) -> Self {
        Self { is_exact: true, ..self.at_most(0.0) }
    }

    pub(crate) fn not_measured(self, why: impl Into<String>) -> Self {
        let outcome = Some(Outcome::NotMeasured);
        Self { value: None, spread: None, outcome, note: why.into(), ..self }
    }

    /// Value, bar and outcome as people read them.
    pub(crate) fn line(&self) -> String {
        let value =
            self.value.map_or_else(String::new, |value| format!("{value:.2} {}", self.unit));
        let spread = self.spread.map_or_else(String::new, |spread| {
            let Spread { p95, p99, max, count } = spread;
            format!(", p95 {p95:.1}, p99 {p99:.1}, max {max:.1} of {count}")
        });
        let judged =
            self.outcome.map_or_else(String::new, |outcome| format!(" [{}]", outcome.words()));
        format!("{}: {value}{spread}{judged} {}", self.name, self.note)
    }
}

impl Results {
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}; measure first", file.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    pub(crate) fn has_measured_all(&self) -> bool {
        self.rows.iter().all(|row| row.value.is_some())
    }

    /// Names of rows that are not what they are on any machine.
    pub(crate) fn wrong(&self) -> Vec<&str> {
        let wrong = |row: &&Row| row.is_exact && row.outcome == Some(Outcome::Missed);
        self.rows.iter().filter(wrong).map(|row| row.name.as_str()).collect()
    }
}
