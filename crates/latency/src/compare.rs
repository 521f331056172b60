//! Two runs beside each other: what changed, by how much, and how surely.
//!
//! Cells are compared by their names; two runs of one cell each are compared whatever the names.
//! With millions of samples each difference is significant, so what is called a change is judged by
//! its size: how often a sample of the second run is later than one of the first.

use std::path::Path;

use anyhow::{Result, bail};
use serde::Serialize;

use super::cell::Cell;
use super::digest::{Demands, Digest};
use super::run_folder::{CELLS, cell_names, no_cells};
use super::table::columns;
use report_kit::statistics::{Comparison, Distribution};

/// A sample of the second run is later than one of the first with a probability that is further
/// than this from a half: a difference that is worth a word. Vargha and Delaney (2000) call 0.56
/// small, 0.64 medium and 0.71 large.
const SMALL: f64 = 0.06;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Pair {
    pub first: Digest,
    pub second: Digest,
    /// What differs; none: one of them has no samples.
    pub comparison: Option<Comparison>,
    pub change: Change,
}

/// What became of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    Alike,
    Earlier,
    Later,
    NotMeasured,
}

impl Change {
    /// As tables write it.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Alike => "alike",
            Self::Earlier => "second is earlier",
            Self::Later => "second is later",
            Self::NotMeasured => "not measured",
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Compared {
    pub first: String,
    pub second: String,
    pub pairs: Vec<Pair>,
    pub unmatched: Vec<String>,
}

impl Compared {
    /// Reads and compares two runs.
    pub(crate) fn read(first: &Path, second: &Path, demands: &Demands) -> Result<Self> {
        let (ours, theirs) = (cell_names(first)?, cell_names(second)?);
        let pairs = matched(&ours, &theirs);
        for (folder, names) in [(first, &ours), (second, &theirs)] {
            if names.is_empty() {
                bail!("{}", no_cells(folder));
            }
        }
        if pairs.is_empty() {
            bail!(
                "{} and {} have no cell in common: {} and {}",
                first.display(),
                second.display(),
                ours.join(", "),
                theirs.join(", ")
            );
        }
        let in_pairs =
            |name: &&String| !pairs.iter().any(|pair| pair.0 == **name || pair.1 == **name);
        let unmatched = ours.iter().chain(&theirs).filter(in_pairs).cloned().collect();
        let pair = |(a, b): &(String, String)| {
            let (first, all) = digested(first, a, demands)?;
            let (second, of_second) = digested(second, b, demands)?;
            let comparison = Comparison::of(&all, &of_second);
            Ok(Pair { change: change(comparison.as_ref()), first, second, comparison })
        };
        Ok(Self {
            first: first.display().to_string(),
            second: second.display().to_string(),
            pairs: pairs.iter().map(pair).collect::<Result<_>>()?,
            unmatched,
        })
    }

    /// All of it for the terminal.
    pub(crate) fn text(&self) -> String {
        let head = [
            "µs",
            "median",
            "second",
            "p99.9",
            "second",
            "max",
            "second",
            "P(second later)",
            "rank test p",
            "distance",
            "change",
            "marks",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.pairs.iter().map(row));
        let mut out = format!("first: {}\nsecond: {}\n{}", self.first, self.second, columns(&rows));
        for name in &self.unmatched {
            out += &format!("only in one of them: {name}\n");
        }
        out
    }
}

/// The cells of a run, and all samples of one.
fn digested(run: &Path, name: &str, demands: &Demands) -> Result<(Digest, Distribution)> {
    let cell = Cell::read(&run.join(CELLS).join(name))?;
    let all = cell
        .threads
        .iter()
        .fold(Distribution::default(), |all, thread| all.merged(&thread.samples.distribution()));
    Ok((Digest::of(&cell, demands), all))
}

/// Which cell belongs to which: those of the same name, or the only ones.
fn matched(ours: &[String], theirs: &[String]) -> Vec<(String, String)> {
    if let ([first], [second]) = (ours, theirs) {
        return vec![(first.clone(), second.clone())];
    }
    ours.iter()
        .filter(|name| theirs.contains(name))
        .map(|name| (name.clone(), name.clone()))
        .collect()
}

fn change(comparison: Option<&Comparison>) -> Change {
    match comparison.map(|of| of.greater - 0.5) {
        None => Change::NotMeasured,
        Some(more) if more > SMALL => Change::Later,
        Some(more) if more < -SMALL => Change::Earlier,
        Some(_) => Change::Alike,
    }
}

/// A pair as fields of a table.
pub(super) fn row(pair: &Pair) -> Vec<String> {
    let name = if pair.first.name == pair.second.name {
        pair.first.name.clone()
    } else {
        format!("{} / {}", pair.first.name, pair.second.name)
    };
    let both = [&pair.first, &pair.second];
    let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
    let mut row = vec![name];
    row.extend(both.map(|of| us(of.summary.map(|s| s.median))));
    row.extend(both.map(|of| us(of.percentile(0.999))));
    row.extend(both.map(|of| us(of.summary.map(|s| s.maximum))));
    match &pair.comparison {
        Some(of) => row.extend([
            format!("{:.3}", of.greater),
            format!("{:.2e}", of.rank_p),
            format!("{:.3}", of.distance),
        ]),
        None => row.extend(["-", "-", "-"].map(str::to_owned)),
    }
    row.push(pair.change.words().to_owned());
    let marks = match both.map(Digest::marks_words) {
        [first, second] if first == second => first,
        [first, second] => {
            let or_none = |words: String| if words.is_empty() { "none".to_owned() } else { words };
            format!("first: {}; second: {}", or_none(first), or_none(second))
        }
    };
    row.push(marks);
    row
}

#[cfg(test)]
mod tests {
    use super::super::cell::{MarkKind, Samples};
    use super::*;

    fn write(run: &Path, name: &str, from_ns: u32) {
        let latency_ns: Vec<u32> = (0..4_000).map(|index| from_ns + index % 1_000).collect();
        let mut cell = Cell {
            platform: name.into(),
            profile: "tp1".into(),
            threads: vec![Samples::periodic(1_000_000, latency_ns).into()],
            ..Cell::default()
        };
        if name == "vm" {
            cell.mark(MarkKind::Emulated.into());
        }
        cell.write(&run.join(CELLS).join(cell.name())).unwrap();
    }

    #[test]
    fn cells_of_the_same_name_are_compared_by_the_size_of_what_changed() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, before, after) in
            [("native", 2_000, 2_010), ("vm", 2_000, 2_600), ("container", 3_000, 2_000)]
        {
            write(first.path(), name, before);
            write(second.path(), name, after);
        }
        write(second.path(), "remote", 1);
        let compared = Compared::read(first.path(), second.path(), &Demands::default()).unwrap();
        let changes: Vec<(&str, Change)> =
            compared.pairs.iter().map(|pair| (pair.first.platform.as_str(), pair.change)).collect();
        assert_eq!(
            changes,
            [("container", Change::Earlier), ("native", Change::Alike), ("vm", Change::Later)]
        );
        assert_eq!(compared.unmatched, ["remote.tp1"]);
        let text = compared.text();
        for said in ["second is later", "emulated", "only in one of them: remote.tp1"] {
            assert!(text.contains(said), "{text}");
        }
        let page = first.path().join("compare.html");
        compared.write_page(&page).unwrap();
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains("second is later") && page.contains("⚠ emulated"));
    }

    #[test]
    fn single_cells_are_compared_whatever_their_names_and_strangers_are_not() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(first.path(), "a", 2_000);
        write(second.path(), "b", 2_000);
        let compared = Compared::read(first.path(), second.path(), &Demands::default()).unwrap();
        assert_eq!(compared.pairs.len(), 1);
        assert!(compared.text().contains("a.tp1 / b.tp1"));
        write(first.path(), "c", 2_000);
        let refused = Compared::read(first.path(), second.path(), &Demands::default()).unwrap_err();
        assert!(refused.to_string().contains("no cell in common"), "{refused}");
        let nowhere = first.path().join("nope");
        let refused = Compared::read(second.path(), &nowhere, &Demands::default()).unwrap_err();
        assert!(refused.to_string().contains("nope has no cells"), "{refused}");
    }
}
