//! Measurements of others as cells: cyclictest, oslat, jitterdebugger, Xenomai's latency, lists of
//! samples, and histograms.
//!
//! People have years of results in the formats of these tools. Read as cells they get the same
//! tables, verdicts and reports. What a tool leaves out is marked: a histogram that ends below the
//! maximum hides how late the rest was, so the rest counts as late as the maximum.

mod json;
mod text;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::cell::{Cell, Mark, MarkKind, Method, Samples, Thread};
use super::run_folder::CELLS;
use os::files;
use report_kit::statistics::Distribution;

/// What times in a file are counted in, where the file itself does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Unit {
    Ns,
    #[default]
    Us,
    Ms,
}

impl Unit {
    fn ns(self) -> f64 {
        match self {
            Self::Ns => 1.0,
            Self::Us => 1e3,
            Self::Ms => 1e6,
        }
    }
}

/// A file that cannot be imported: what is wrong, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadImport(String);

impl fmt::Display for BadImport {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for BadImport {}

/// What a file itself does not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Hints {
    /// Of times in tables of numbers.
    pub unit: Unit,
    /// Between two samples of a list; without it their times are not known.
    pub period_ns: Option<i64>,
}

fn bad<T>(what: impl Into<String>) -> Result<T, BadImport> {
    Err(BadImport(what.into()))
}

/// How a tool measured whose files say no more.
fn by(tool: &str) -> Method {
    Method { probe: tool.to_owned(), ..Method::default() }
}

/// Reads what a program measured. Names of platform and profile are the caller's; hints are asked
/// only where the file does not tell.
///
/// # Errors
/// If the text is in no known format, or has no samples; with what to do about it.
pub fn read(text: &str, hints: Hints) -> Result<Cell, BadImport> {
    let is_json = text.trim_start().starts_with('{');
    let mut cell = if is_json { json::read(text)? } else { text::read(text, hints)? };
    let tool = &cell.method.probe;
    if cell.threads.iter().all(|thread| thread.samples.count() == 0) {
        return bad(format!(
            "{tool} wrote only a summary here, no samples; have it write a histogram or every sample \
             (cyclictest: --histogram=1000, with --json as well; or --verbose)"
        ));
    }
    if cell.facts.is_null() {
        cell.facts = json!({ "imported_from": tool });
    }
    cell.mark(MarkKind::NoMeter.into());
    Ok(cell)
}

/// Imports files into the folder of a run, each as the cell `platform.<name of the file>`, and
/// returns the names of the cells.
pub fn import(
    files: &[impl AsRef<Path>],
    platform: &str,
    hints: Hints,
    folder: &Path,
) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    let mut cells = Vec::new();
    for file in files {
        let file = file.as_ref();
        let text = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        let text = String::from_utf8_lossy(&text);
        let mut cell =
            read(&text, hints).with_context(|| format!("importing {}", file.display()))?;
        platform.clone_into(&mut cell.platform);
        cell.profile = label(&file.file_stem().unwrap_or_default().to_string_lossy());
        if !names.insert(cell.name()) || folder.join(CELLS).join(cell.name()).exists() {
            bail!(
                "the cell {} already exists; use a different platform name (--platform) or file \
                 name",
                cell.name()
            );
        }
        cells.push(cell);
    }
    files::refuse_file(folder)?;
    files::make_private_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for cell in &cells {
        cell.write(&folder.join(CELLS).join(cell.name()))?;
    }
    Ok(names.into_iter().collect())
}

/// A name that can be that of a folder.
fn label(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let label: String = name.chars().map(plain).collect();
    if label.is_empty() { "samples".to_owned() } else { label }
}

/// A latency in ns, as a cell stores it.
fn ns(value: f64) -> u32 {
    // The conversion saturates at both ends; a latency below zero is a clock that was corrected.
    value.round() as u32
}

/// A thread of which only a histogram is known: bins (latency in ns, count), how many samples it
/// took in all, and the greatest one. What the bins do not reach counts as the greatest.
fn counted(
    number: usize,
    core: Option<i32>,
    bins: Vec<(u32, u64)>,
    total: Option<u64>,
    max_ns: Option<u32>,
    marks: &mut Vec<Mark>,
) -> Thread {
    let in_bins = bins.iter().fold(0_u64, |sum, bin| sum.saturating_add(bin.1));
    let beyond = if in_bins == 0 { 0 } else { total.unwrap_or(in_bins).saturating_sub(in_bins) };
    let mut counts = bins;
    if beyond > 0 {
        let last = counts.iter().filter(|bin| bin.1 > 0).map(|bin| bin.0).max().unwrap_or(0);
        let as_late_as = max_ns.map_or(u32::MAX, |max_ns| max_ns.max(last));
        counts.push((as_late_as, beyond));
        marks.push(Mark::new(
            MarkKind::Overflow,
            format!(
                "thread {number}: {beyond} samples beyond the histogram count as {} µs",
                f64::from(as_late_as) / 1e3
            ),
        ));
    }
    // Sums of counts that nobody can have are cut off rather than wrapped round.
    let mut room = u64::MAX / 4096;
    for count in &mut counts {
        count.1 = count.1.min(room);
        room -= count.1;
    }
    let samples = Samples::Counted(Distribution::of_counts(counts));
    Thread { number: i32::try_from(number).unwrap_or(i32::MAX), core, samples, ..Thread::default() }
}

/// A thread whose last bin holds what lay beyond it as well.
fn with_last_bin(
    number: usize,
    core: Option<i32>,
    mut bins: Vec<(u32, u64)>,
    max_ns: Option<u32>,
    marks: &mut Vec<Mark>,
) -> Thread {
    let all = bins.iter().fold(0_u64, |sum, bin| sum.saturating_add(bin.1));
    bins.sort_unstable();
    let overflows = bins.last().is_some_and(|last| max_ns.is_some_and(|max_ns| max_ns > last.0));
    if overflows && bins.len() > 1 {
        bins.pop();
    }
    counted(number, core, bins, Some(all), max_ns, marks)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/imports");

    fn file(name: &str) -> Cell {
        let text = std::fs::read_to_string(format!("{FILES}/{name}")).unwrap();
        read(&text, Hints::default()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn counts(cell: &Cell) -> Vec<u64> {
        cell.threads.iter().map(|thread| thread.samples.count()).collect()
    }

    fn maxima(cell: &Cell) -> Vec<u32> {
        cell.threads.iter().filter_map(|thread| thread.samples.distribution().max()).collect()
    }

    #[test]
    fn a_histogram_of_cyclictest_counts_what_it_does_not_reach_as_the_maximum() {
        let cell = file("cyclictest-histogram.txt");
        // Totals 265 and 287, overflows 35 and 13, maxima 455 and 662 µs.
        assert_eq!((counts(&cell), maxima(&cell)), (vec![300, 300], vec![455_000, 662_000]));
        assert_eq!(cell.threads[0].samples.distribution().up_to(39_999), 265);
        assert!(cell.is_marked(MarkKind::Overflow), "{:?}", cell.marks);
    }

    #[test]
    fn cyclictest_writes_no_overflow_as_json_but_its_cycles_tell() {
        let cell = file("cyclictest.json");
        assert_eq!(cell.method.probe, "cyclictest");
        assert_eq!((cell.method.priority, cell.method.period_ns), (Some(80), Some(1_000_000)));
        let text = std::fs::read_to_string(format!("{FILES}/cyclictest.json")).unwrap();
        let said: Value = serde_json::from_str(&text).unwrap();
        for (thread, number) in cell.threads.iter().zip(["0", "1"]) {
            let said = &said["thread"][number];
            assert_eq!(Some(thread.samples.count()), said["cycles"].as_u64());
            let max = thread.samples.distribution().max().map(|ns| u64::from(ns) / 1_000);
            assert_eq!(max, said["max"].as_u64());
        }
        let short = text.replacen("\"cycles\": 300", "\"cycles\": 310", 1);
        let short = read(&short, Hints::default()).unwrap();
        assert_eq!(counts(&short)[0], 310);
        let mark = short.marks.iter().find(|mark| mark.detail.starts_with("thread 0: 10 samples"));
        assert_eq!(mark.map(|mark| mark.kind), Some(MarkKind::Overflow));
    }

    #[test]
    fn each_format_is_known_by_what_is_in_it() {
        let verbose = file("cyclictest-verbose.txt");
        assert!(matches!(verbose.threads[0].samples, Samples::Kept { .. }));
        assert_eq!(verbose.method.probe, "cyclictest");
        let oslat = file("oslat.txt");
        assert_eq!((&oslat, oslat.threads[0].core), (&file("oslat.txt"), Some(1)));
        assert_eq!(
            (counts(&oslat), maxima(&oslat)),
            (counts(&file("oslat.json")), vec![154_272_000])
        );
        assert!(oslat.is_marked(MarkKind::Overflow));
        let jitter = file("jitterdebugger.json");
        assert_eq!((counts(&jitter), maxima(&jitter)[1]), (vec![300, 300], 118_000));
        assert_eq!((jitter.threads[1].core, jitter.method.pinned), (Some(1), true));
        let raw = file("raw.txt");
        assert_eq!(
            raw.threads[0].samples.distribution(),
            Distribution::of(&[3_500, 4_000, 120_250])
        );
        let xenomai = file("xenomai-latency.txt");
        assert_eq!((counts(&xenomai), maxima(&xenomai)), (vec![2], vec![9_846]));
        assert!(xenomai.is_marked(MarkKind::MaximaOnly));
    }

    #[test]
    fn histograms_and_lists_need_no_tool() {
        let histogram = read("us count\n3 10\n4 20\n", Hints::default()).unwrap();
        let all: Vec<(u32, u64)> = histogram.threads[0].samples.distribution().counts().collect();
        assert_eq!(all, [(3_000, 10), (4_000, 20)]);
        let of_two = read("0,5,6\n1,7,8\n", Hints { unit: Unit::Ms, ..Hints::default() }).unwrap();
        assert_eq!((counts(&of_two), maxima(&of_two)), (vec![12, 14], vec![1_000_000, 1_000_000]));
        let hints = Hints { unit: Unit::Ns, period_ns: Some(1_000) };
        let Samples::Kept { at, latency_ns } = &read("7\n9\n", hints).unwrap().threads[0].samples
        else {
            panic!("with a period, times are known");
        };
        assert_eq!((at.at(1), latency_ns.as_slice()), (2_000, [7, 9].as_slice()));
    }

    #[test]
    fn a_summary_is_refused_with_the_fix_and_nonsense_by_its_line() {
        let text = std::fs::read_to_string(format!("{FILES}/cyclictest-summary.txt")).unwrap();
        let refused = read(&text, Hints::default()).unwrap_err().to_string();
        assert!(refused.contains("--histogram"), "{refused}");
        let refused = read("3\n4\nfour\n", Hints::default()).unwrap_err().to_string();
        assert!(refused.contains("line 3") && refused.contains("four"), "{refused}");
        for nonsense in ["", "{}", "{\"thread\": 7}", "{", "a b\n", "1 2\n3\n", "RTD|x"] {
            assert!(read(nonsense, Hints::default()).is_err(), "{nonsense}");
        }
        for (wrong, says) in [
            ("1 18446744073709551615\n2 18446744073709551615\n", "not a plausible number"),
            ("1 -3\n", "-3 is not a plausible number"),
            ("\0\0\0\n", "it contains no numbers"),
            (&"9".repeat(400), "it contains no numbers"),
        ] {
            let refused = read(wrong, Hints::default()).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_and_what_is_below_zero_marked() {
        let text = std::fs::read_to_string(format!("{FILES}/cyclictest-histogram.txt")).unwrap();
        let edited = text.replace("# Max Latencies: 00455", "# Max Latencies: 00012");
        assert_ne!(edited, text);
        let refused = read(&edited, Hints::default()).unwrap_err().to_string();
        assert!(refused.contains("thread 0 has 35 samples beyond"), "{refused}");
        let below = read("-5\n3\n", Hints::default()).unwrap();
        let mark = below.marks.iter().find(|mark| mark.kind == MarkKind::BelowZero).unwrap();
        assert_eq!((mark.detail.as_str(), maxima(&below)), ("1 of 2", vec![3_000]));
    }

    #[test]
    fn imported_cells_are_those_of_a_run_and_none_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let files = [format!("{FILES}/oslat.json"), format!("{FILES}/raw.txt")];
        let names = import(&files, "lab", Hints::default(), folder.path()).unwrap();
        assert_eq!(names, ["lab.oslat", "lab.raw"]);
        let read = Cell::read(&folder.path().join(CELLS).join("lab.raw")).unwrap();
        assert_eq!(read.count(), 3);
        let again = import(&files[..1], "lab", Hints::default(), folder.path()).unwrap_err();
        assert!(again.to_string().contains("lab.oslat"), "{again}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(RTD\\|[0-9.|]*\n|# Histogram\n|[0-9]{1,25}[ :,.0-9]*\n|# Max Latencies:[ 0-9]*\n|\\{\"thread\":\\{\"0\":\\{\"histogram\":\\{\"[0-9]{1,22}\":[0-9]{1,22}\\}\\}\\}\\}|Core:[ 0-9]*\n|[0-9]* \\(us\\):[0-9 ]*\n|.{0,9}\n){0,9}") {
            let _ = read(&text, Hints::default());
        }
    }
}
