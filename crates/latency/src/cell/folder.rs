//! A cell as files that other tools open: `cell.json`, `samples.parquet`, `stalls.parquet`, and
//! `histogram.parquet` where only a histogram is known.
//!
//! `cell.json` is written last, so a folder with one is complete.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{Cell, Mark, MarkKind, Samples, Stall, Thread};
use report_kit::parquet_table::{self, GROUP_ROWS, Kind, Values, Writer};
use report_kit::statistics::Distribution;

/// What a cell is, but for its samples and stalls.
pub const RECORD: &str = "cell.json";
pub(crate) const SAMPLES: &str = "samples.parquet";
/// How often each latency occurred, where no single samples are known.
pub(crate) const HISTOGRAM: &str = "histogram.parquet";
/// When the processor was not to be had.
pub(crate) const STALLS: &str = "stalls.parquet";

/// Of `cell.json`; a reader refuses another one.
const FORMAT: u32 = 1;
/// In a column of cores: none in particular.
const NO_CORE: i32 = -1;

const SAMPLES_SCHEMA: [(&str, Kind); 4] = [
    ("core", Kind::Int32),
    ("thread", Kind::Int32),
    ("at_ns", Kind::Int64),
    ("latency_ns", Kind::Int64),
];
const HISTOGRAM_SCHEMA: [(&str, Kind); 4] = [
    ("core", Kind::Int32),
    ("thread", Kind::Int32),
    ("latency_ns", Kind::Int64),
    ("count", Kind::Int64),
];
const STALLS_SCHEMA: [(&str, Kind); 7] = [
    ("core", Kind::Int32),
    ("at_ns", Kind::Int64),
    ("length_ns", Kind::Int64),
    ("kind", Kind::Text),
    ("who", Kind::Text),
    ("seen_by", Kind::Text),
    ("evidence", Kind::Text),
];

/// `cell.json`: what a cell is, but for its samples and stalls, and how many of these there are.
#[derive(Serialize, Deserialize)]
struct Record<'c> {
    format: u32,
    #[serde(flatten)]
    cell: Cow<'c, Cell>,
    threads: Vec<ThreadRecord<'c>>,
    stalls: usize,
}

#[derive(Serialize, Deserialize)]
struct ThreadRecord<'c> {
    #[serde(flatten)]
    thread: Cow<'c, Thread>,
    /// Whether the samples are in the histogram.
    counted: bool,
    samples: u64,
}

impl Cell {
    /// Writes it into a folder, which is made if it is not there.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        self.write_samples(&folder.join(SAMPLES))?;
        if self.threads.iter().any(|thread| matches!(thread.samples, Samples::Counted(_))) {
            self.write_histogram(&folder.join(HISTOGRAM))?;
        }
        self.write_stalls(&folder.join(STALLS))?;
        let text = serde_json::to_string_pretty(&self.record())? + "\n";
        os::files::replace(&folder.join(RECORD), |to| to.write_all(text.as_bytes()))
    }

    fn record(&self) -> Record<'_> {
        let thread = |thread| ThreadRecord {
            thread: Cow::Borrowed(thread),
            counted: matches!(thread.samples, Samples::Counted(_)),
            samples: thread.samples.count(),
        };
        Record {
            format: FORMAT,
            cell: Cow::Borrowed(self),
            threads: self.threads.iter().map(thread).collect(),
            stalls: self.stalls.len(),
        }
    }

    fn write_samples(&self, path: &Path) -> Result<()> {
        let mut writer = Writer::create(path, "samples", &SAMPLES_SCHEMA, &[])?;
        for thread in &self.threads {
            let Samples::Kept { at, latency_ns } = &thread.samples else { continue };
            let mut times = at.iter();
            for chunk in latency_ns.chunks(GROUP_ROWS) {
                writer.group(&[
                    Values::Int32(vec![thread.core.unwrap_or(NO_CORE); chunk.len()]),
                    Values::Int32(vec![thread.number; chunk.len()]),
                    Values::Int64(times.by_ref().take(chunk.len()).collect()),
                    Values::Int64(chunk.iter().map(|latency| i64::from(*latency)).collect()),
                ])?;
            }
        }
        writer.finish()
    }

    fn write_histogram(&self, path: &Path) -> Result<()> {
        let mut writer = Writer::create(path, "histogram", &HISTOGRAM_SCHEMA, &[])?;
        for thread in &self.threads {
            let Samples::Counted(distribution) = &thread.samples else { continue };
            let (values, counts): (Vec<i64>, Vec<i64>) = distribution
                .counts()
                .map(|(value, count)| (i64::from(value), i64::try_from(count).unwrap_or(i64::MAX)))
                .unzip();
            writer.group(&[
                Values::Int32(vec![thread.core.unwrap_or(NO_CORE); values.len()]),
                Values::Int32(vec![thread.number; values.len()]),
                Values::Int64(values),
                Values::Int64(counts),
            ])?;
        }
        writer.finish()
    }

    fn write_stalls(&self, path: &Path) -> Result<()> {
        let mut writer = Writer::create(path, "stalls", &STALLS_SCHEMA, &[])?;
        for chunk in self.stalls.chunks(GROUP_ROWS) {
            let texts = |text: fn(&Stall) -> &str| {
                Values::Text(chunk.iter().map(|stall| text(stall).to_owned()).collect())
            };
            writer.group(&[
                Values::Int32(chunk.iter().map(|stall| stall.core).collect()),
                Values::Int64(chunk.iter().map(|stall| stall.at_ns).collect()),
                Values::Int64(chunk.iter().map(|stall| stall.length_ns).collect()),
                texts(|stall| stall.cause.name()),
                texts(|stall| &stall.who),
                texts(|stall| stall.seen_by.into()),
                texts(|stall| &stall.evidence),
            ])?;
        }
        writer.finish()
    }

    /// Reads it from its folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(RECORD);
        let record = || -> Result<Record<'_>> {
            let record: Record = serde_json::from_str(&fs::read_to_string(&path)?)?;
            if record.format != FORMAT {
                bail!("its format is {}, but this program reads {FORMAT}", record.format);
            }
            Ok(record)
        };
        let record = record().with_context(|| {
            format!("reading {} (every cell measured by `qcycle latency` has one)", path.display())
        })?;
        let mut cell = record.cell.into_owned();
        cell.threads = record.threads.iter().map(ThreadRecord::empty).collect();
        read_samples(&mut cell, &folder.join(SAMPLES))?;
        if record.threads.iter().any(|thread| thread.counted) {
            read_histogram(&mut cell, &folder.join(HISTOGRAM))?;
        }
        cell.stalls = read_stalls(&folder.join(STALLS))?;
        for (thread, promised) in cell.threads.iter().zip(&record.threads) {
            let found = thread.samples.count();
            if found != promised.samples {
                bail!(
                    "{}: thread {} has {found} of {} samples",
                    folder.display(),
                    thread.number,
                    promised.samples
                );
            }
        }
        Ok(cell)
    }
}

impl ThreadRecord<'_> {
    /// The thread, whose samples are to be read.
    fn empty(&self) -> Thread {
        let samples = if self.counted {
            Samples::Counted(Distribution::default())
        } else {
            Samples::default()
        };
        Thread { samples, ..(*self.thread).clone() }
    }
}

fn read_samples(cell: &mut Cell, path: &Path) -> Result<()> {
    let numbers: BTreeMap<i32, usize> =
        cell.threads.iter().enumerate().map(|(index, thread)| (thread.number, index)).collect();
    let mut long = 0_u64;
    parquet_table::read(path, &SAMPLES_SCHEMA, |group| {
        let [_, Values::Int32(threads), Values::Int64(times), Values::Int64(latencies)] = group
        else {
            bail!("the columns do not match the schema");
        };
        for ((number, at_ns), latency_ns) in threads.iter().zip(times).zip(latencies) {
            let index = numbers.get(number).with_context(|| no_thread(*number))?;
            let Samples::Kept { at, latency_ns: all } = &mut cell.threads[*index].samples else {
                bail!("thread {number} has single samples and a histogram");
            };
            if !at.push(*at_ns) {
                bail!("the times of thread {number} do not increase");
            }
            all.push(stored(*latency_ns, &mut long));
        }
        Ok(())
    })?;
    mark_long(cell, long);
    Ok(())
}

fn read_histogram(cell: &mut Cell, path: &Path) -> Result<()> {
    let mut found: BTreeMap<i32, Vec<(u32, u64)>> = BTreeMap::new();
    let mut long = 0;
    parquet_table::read(path, &HISTOGRAM_SCHEMA, |group| {
        let [_, Values::Int32(threads), Values::Int64(latencies), Values::Int64(counts)] = group
        else {
            bail!("the columns do not match the schema");
        };
        for ((number, latency_ns), count) in threads.iter().zip(latencies).zip(counts) {
            let count = u64::try_from(*count).context("a count is not negative")?;
            found.entry(*number).or_default().push((stored(*latency_ns, &mut long), count));
        }
        Ok(())
    })?;
    for (number, counts) in found {
        let mut threads = cell.threads.iter_mut();
        let thread = threads.find(|thread| thread.number == number);
        thread.with_context(|| no_thread(number))?.samples =
            Samples::Counted(Distribution::of_counts(counts));
    }
    Ok(())
}

/// Marks a cell with samples that were too long to store, once.
pub(super) fn mark_long(cell: &mut Cell, long: u64) {
    if long > 0 && !cell.is_marked(MarkKind::Overflow) {
        cell.mark(Mark::new(MarkKind::Overflow, format!("{long} samples over 4.29 s")));
    }
}

fn no_thread(number: i32) -> String {
    format!("thread {number} is not in {RECORD}")
}

/// As a cell stores a latency; counts those that it cannot.
pub(super) fn stored(latency_ns: i64, long: &mut u64) -> u32 {
    u32::try_from(latency_ns.max(0)).unwrap_or_else(|_| {
        *long += 1;
        u32::MAX
    })
}

fn read_stalls(path: &Path) -> Result<Vec<Stall>> {
    let mut stalls = Vec::new();
    parquet_table::read(path, &STALLS_SCHEMA, |group| {
        let [
            Values::Int32(cores),
            Values::Int64(times),
            Values::Int64(lengths),
            Values::Text(causes),
            Values::Text(who),
            Values::Text(seen_by),
            Values::Text(evidence),
        ] = group
        else {
            bail!("the columns do not match the schema");
        };
        for row in 0..cores.len() {
            stalls.push(Stall {
                core: cores[row],
                at_ns: times[row],
                length_ns: lengths[row],
                seen_by: named("detected by", &seen_by[row])?,
                cause: named("of kind", &causes[row])?,
                who: who[row].clone(),
                evidence: evidence[row].clone(),
            });
        }
        Ok(())
    })?;
    Ok(stalls)
}

fn named<T: FromStr>(how: &str, word: &str) -> Result<T> {
    word.parse().ok().with_context(|| format!("a stall {how} `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::super::{Cause, CoreTime, Counts, Detector, Gaps, Method, Part};
    use serde_json::json;

    use super::*;

    fn cell() -> Cell {
        let kept = Samples::Kept {
            at: (1..=70_000).map(|index| index * 10_000_000).collect(),
            latency_ns: (0..70_000).map(|index| 2_000 + index % 977).collect(),
        };
        let counted = Samples::Counted(Distribution::of_counts([(3_000, 12), (4_000, 1 << 40)]));
        Cell {
            platform: "native".into(),
            profile: "tp1".into(),
            began: "2026-01-02T03:04:05Z".into(),
            method: Method {
                probe: "clock_nanosleep".into(),
                priority: Some(80),
                period_ns: Some(10_000_000),
                duration_ns: Some(700_000_000_000),
                pinned: true,
            },
            plan: json!({ "period_ns": 10_000_000 }),
            facts: json!({ "release": "6.1.0" }),
            marks: vec![Mark::new(MarkKind::Scaling, "core 0: schedutil"), MarkKind::Smt.into()],
            threads: vec![
                Thread {
                    number: 0,
                    core: Some(2),
                    samples: kept,
                    counts: Counts { missed: 3, ..Counts::default() },
                },
                Thread { number: 1, core: None, samples: counted, counts: Counts::default() },
            ],
            parts: vec![Part {
                name: "send".into(),
                count: 2,
                minimum: 1.0,
                median: 2.5,
                p99: 3.0,
                p99_9: 3.0,
                maximum: 4.0,
            }],
            stalls: vec![Stall {
                core: 2,
                at_ns: 5,
                length_ns: 1_000,
                seen_by: Detector::Meter,
                cause: Cause::Load,
                who: "stress-ng (FIFO 99)".into(),
                evidence: "{}".into(),
            }],
            cores: vec![CoreTime { core: 2, steal_ms: 10, ..CoreTime::default() }],
            gaps: vec![Gaps { thread: 0, bin_ns: 1_000, bins: vec![(3, 4)], max_ns: 3_400 }],
            warnings: vec!["Memory could not be locked.".into()],
        }
    }

    #[test]
    fn a_cell_comes_back_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("native.tp1");
        cell().write(&path).unwrap();
        assert_eq!(Cell::read(&path).unwrap(), cell());
        assert_eq!(cell().name(), "native.tp1");
        // 70,000 samples at a period: the times take nothing, the latencies ten bits each.
        let octets = fs::metadata(path.join(SAMPLES)).unwrap().len();
        assert!(octets < 70_000 * 2, "{octets} octets");
    }

    #[test]
    fn what_is_no_cell_is_refused_with_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let refused = || format!("{:#}", Cell::read(folder.path()).unwrap_err());
        assert!(refused().contains("cell.json") && refused().contains("qcycle latency"));
        cell().write(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(RECORD)).unwrap();
        for (from, to, said) in [
            ("\"format\": 1", "\"format\": 7", "format is 7"),
            ("\"samples\": 70000", "\"samples\": 70001", "70000 of 70001"),
            ("\"number\": 0", "\"number\": 4", "thread 0 is not"),
        ] {
            fs::write(folder.path().join(RECORD), text.replace(from, to)).unwrap();
            assert!(refused().contains(said), "{}", refused());
        }
    }

    #[test]
    fn a_latency_that_is_too_long_to_store_is_marked() {
        let mut long = 0;
        assert_eq!((stored(-3, &mut long), stored(7, &mut long), long), (0, 7, 0));
        assert_eq!((stored(1 << 40, &mut long), long), (u32::MAX, 1));
    }
}
