//! A cell from what a probe says, whole or cut off anywhere.
//!
//! The stream is believed in nothing: times that do not rise are no samples, numbers that jump are
//! lost ones. What the stream itself justifies is marked here, so that no cell can be without it,
//! wherever it was measured; what only the orchestration knows (a load that died) is marked there.

use std::io::Read;

use probe::stream::{Header, Item, NotAStream, Note, Outcome, Reader, Samples as Block};
use probe::{Facts, Plan};
use serde_json::Value;

use super::folder::{mark_long, stored};
use super::split::Parting;
use super::{Cell, Gaps, Mark, MarkKind, Method, Samples, Stall, Thread};
use report_kit::machine::utc;

/// What came of a measurement.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    pub cell: Cell,
    /// What the probe said of its end; or how the stream ended without saying so, or was damaged.
    pub ended: Result<Outcome, String>,
}

impl Cell {
    /// What a probe says, read to its end. What it reads from should be buffered.
    pub fn from_stream(
        from: impl Read,
        platform: &str,
        profile: &str,
    ) -> Result<Measured, NotAStream> {
        let reader = Reader::new(from)?;
        let mut taking = Taking::new(reader.header(), platform, profile);
        let mut ended = Ok(Outcome::Finished);
        for item in reader {
            match item {
                Item::Samples(block) => taking.samples(&block),
                Item::Note(note) => taking.note(*note),
                Item::Cut(how) => ended = Err(how),
                Item::End(end) => ended = Ok(end.outcome),
            }
        }
        Ok(Measured { cell: taking.finish(&ended), ended })
    }
}

/// A cell while its stream is read.
struct Taking {
    cell: Cell,
    /// Samples of each thread up to now, with those that were lost.
    next: Vec<u64>,
    /// Samples of each thread that did not arrive or made no sense.
    lost: Vec<u64>,
    long: u64,
    parting: Parting,
}

impl Taking {
    fn new(header: &Header, platform: &str, profile: &str) -> Self {
        let plan = &header.plan;
        let core = |core: &usize| i32::try_from(*core).ok().filter(|_| plan.pinned);
        let threads: Vec<Thread> = (0..)
            .zip(&plan.cores)
            .map(|(number, on)| Thread { number, core: core(on), ..Thread::default() })
            .collect();
        let counted = vec![0; threads.len()];
        let mut cell = Cell {
            platform: platform.to_owned(),
            profile: profile.to_owned(),
            began: utc(header.began_realtime_ns),
            method: method(plan),
            plan: serde_json::to_value(plan).unwrap_or(Value::Null),
            facts: serde_json::to_value(&header.facts).unwrap_or(Value::Null),
            threads,
            ..Cell::default()
        };
        marks_of(plan, &header.facts).into_iter().for_each(|mark| cell.mark(mark));
        let parting = Parting::of(plan.probe);
        Self { cell, next: counted.clone(), lost: counted, long: 0, parting }
    }

    fn samples(&mut self, block: &Block) {
        let Some(thread) = self.cell.threads.get_mut(block.thread) else { return };
        let Samples::Kept { at, latency_ns } = &mut thread.samples else { return };
        let (next, lost) = (&mut self.next[block.thread], &mut self.lost[block.thread]);
        *lost = lost.saturating_add(block.first.saturating_sub(*next));
        *next = block.first.saturating_add(block.samples.len() as u64);
        for sample in &block.samples {
            if at.push(sample.at_ns) {
                latency_ns.push(stored(sample.latency_ns, &mut self.long));
                self.parting.add(sample);
            } else {
                *lost = lost.saturating_add(1);
            }
        }
    }

    fn note(&mut self, note: Note) {
        match note {
            Note::Stall(stall) => self.cell.stalls.push(Stall {
                core: i32::try_from(stall.core).unwrap_or(i32::MAX),
                at_ns: stall.at_ns,
                length_ns: stall.length_ns,
                seen_by: stall.seen_by,
                cause: stall.cause,
                who: stall.who,
                evidence: serde_json::to_string(&stall.evidence).unwrap_or_default(),
            }),
            // Both count from the beginning, so the last one says it all.
            Note::Counts { threads, .. } => {
                for counts in threads {
                    if let Some(thread) = self.cell.threads.get_mut(counts.thread) {
                        thread.counts = counts;
                    }
                }
            }
            Note::Cores { cores, .. } => self.cell.cores = cores,
            Note::Gaps(gaps) => add_gaps(&mut self.cell.gaps, gaps),
            Note::Warning { text } => {
                if !self.cell.warnings.contains(&text) {
                    self.cell.warnings.push(text);
                }
            }
        }
    }

    fn finish(self, ended: &Result<Outcome, String>) -> Cell {
        let mut cell = self.cell;
        cell.parts = self.parting.finish();
        for (thread, lost) in cell.threads.iter_mut().zip(self.lost) {
            // The probe knows what it dropped; the numbers tell what the way lost as well.
            thread.counts.lost = thread.counts.lost.max(lost);
        }
        cell.stalls.sort_by_key(|stall| stall.at_ns);
        let lost: u64 = cell.threads.iter().map(|thread| thread.counts.lost).sum();
        if lost > 0 {
            cell.mark(Mark::new(MarkKind::LostSamples, format!("{lost}")));
        }
        mark_long(&mut cell, self.long);
        let stolen_ms: u64 = cell.cores.iter().map(|core| core.steal_ms).sum();
        if stolen_ms > 0 {
            cell.mark(Mark::new(MarkKind::Stolen, format!("{stolen_ms} ms")));
        }
        match ended {
            Ok(Outcome::Finished | Outcome::NotMeasured(_)) => {}
            Ok(Outcome::Interrupted) => cell.mark(Mark::new(MarkKind::Cut, "interrupted")),
            Ok(Outcome::Failed(how)) | Err(how) => {
                cell.mark(Mark::new(MarkKind::Cut, how));
            }
        }
        cell
    }
}

fn method(plan: &Plan) -> Method {
    Method {
        probe: plan.probe.name().to_owned(),
        priority: plan.priority,
        period_ns: i64::try_from(plan.period_ns).ok(),
        duration_ns: i64::try_from(plan.duration_ns).ok(),
        pinned: plan.pinned,
    }
}

/// What plan and facts say that one must know before trusting the figures.
fn marks_of(plan: &Plan, facts: &Facts) -> Vec<Mark> {
    let mut marks = Vec::new();
    let scaled: Vec<String> = facts
        .governors
        .iter()
        .filter(|(_, governor)| *governor != "performance")
        .map(|(core, governor)| format!("core {core}: {governor}"))
        .collect();
    if !scaled.is_empty() {
        marks.push(Mark::new(MarkKind::Scaling, scaled.join(", ")));
    }
    if facts.smt == Some(true) {
        marks.push(MarkKind::Smt.into());
    }
    if let Some((runtime_us, period_us)) = facts.rt_throttling_us.filter(|(us, _)| *us >= 0) {
        let detail = format!("{runtime_us} of {period_us} µs");
        marks.push(Mark::new(MarkKind::RtThrottling, detail));
    }
    if facts.on_battery == Some(true) {
        marks.push(MarkKind::Battery.into());
    }
    if !plan.hold_awake {
        marks.push(MarkKind::IdleStates.into());
    }
    marks
}

/// Adds counts of gaps to those of the same thread.
fn add_gaps(all: &mut Vec<Gaps>, gaps: Gaps) {
    let same = |other: &&mut Gaps| (other.thread, other.bin_ns) == (gaps.thread, gaps.bin_ns);
    let Some(known) = all.iter_mut().find(same) else { return all.push(gaps) };
    known.max_ns = known.max_ns.max(gaps.max_ns);
    for (bin, count) in gaps.bins {
        match known.bins.binary_search_by_key(&bin, |(bin, _)| *bin) {
            Ok(index) => known.bins[index].1 = known.bins[index].1.saturating_add(count),
            Err(index) => known.bins.insert(index, (bin, count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use probe::stream::{
        Cause, CoreTime, Detector, End, Evidence, Sample, Stall as SeenStall, Writer,
    };

    use super::*;

    fn header() -> Header {
        Header {
            plan: Plan {
                cores: vec![3, 5],
                period_ns: 1_000,
                duration_ns: 4_000,
                ..Plan::default()
            },
            facts: Facts {
                smt: Some(true),
                rt_throttling_us: Some((950_000, 1_000_000)),
                ..Facts::default()
            },
            began_realtime_ns: 0,
            began_monotonic_ns: 0,
            version: "1".into(),
        }
    }

    fn sample(at_ns: i64, latency_ns: i64) -> Sample {
        Sample { at_ns, latency_ns, ..Sample::default() }
    }

    /// Two blocks of one thread with two samples lost between, a stall, and what the cores did.
    fn said(end: Option<Outcome>) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &header()).unwrap();
        writer.samples(1, 0, &[sample(1_000, 70), sample(2_000, -4)]).unwrap();
        writer.samples(1, 4, &[sample(5_000, 1 << 40), sample(4_000, 9)]).unwrap();
        let stall = SeenStall {
            core: 5,
            at_ns: 5_000,
            length_ns: 1 << 40,
            seen_by: Detector::Wakeup,
            cause: Cause::Host,
            who: "hypervisor".into(),
            evidence: Evidence::default(),
        };
        writer.note(&Note::Stall(stall)).unwrap();
        for bins in [vec![(4, 2)], vec![(2, 1), (4, 3)]] {
            let gaps = Gaps { thread: 1, bin_ns: 100, bins, max_ns: 450 };
            writer.note(&Note::Gaps(gaps)).unwrap();
        }
        let cores = vec![CoreTime { core: 5, steal_ms: 30, ..CoreTime::default() }];
        writer.note(&Note::Cores { at_ns: 6_000, cores }).unwrap();
        match end {
            Some(outcome) => writer.end(&End { at_ns: 7_000, outcome }).unwrap(),
            None => {
                let mut octets = writer.end(&End { at_ns: 0, outcome: Outcome::Finished }).unwrap();
                octets.truncate(octets.len() - 1);
                octets
            }
        }
    }

    fn measured(octets: &[u8]) -> Measured {
        Cell::from_stream(octets, "native", "tp1").unwrap()
    }

    #[test]
    fn samples_stalls_and_what_justifies_marks_come_out_of_the_stream() {
        let Measured { cell, ended } = measured(&said(Some(Outcome::Finished)));
        assert_eq!(ended, Ok(Outcome::Finished));
        assert_eq!(
            (cell.name().as_str(), cell.began.as_str()),
            ("native.tp1", "1970-01-01T00:00:00.000Z")
        );
        let thread = &cell.threads[1];
        let latency_ns = vec![70, 0, u32::MAX];
        let at = [1_000, 2_000, 5_000].into_iter().collect();
        assert_eq!((thread.core, &thread.samples), (Some(5), &Samples::Kept { at, latency_ns }));
        // Two between the blocks, and the one whose time does not rise.
        assert_eq!(thread.counts.lost, 3);
        assert_eq!(cell.gaps[0].bins, [(2, 1), (4, 5)]);
        assert_eq!(cell.stalls[0].who, "hypervisor");
        let marks: Vec<String> = cell.marks.iter().map(ToString::to_string).collect();
        assert_eq!(
            marks,
            [
                "SMT",
                "RT throttling (950000 of 1000000 µs)",
                "lost samples (3)",
                "overflow (1 samples over 4.29 s)",
                "stolen time (30 ms)"
            ]
        );
    }

    #[test]
    fn a_stream_that_was_cut_off_is_a_cell_with_a_mark() {
        let Measured { cell, ended } = measured(&said(None));
        assert!(ended.is_err() && cell.is_marked(MarkKind::Cut));
        assert_eq!(cell.count(), 3);
        let stopped = measured(&said(Some(Outcome::Interrupted)));
        assert!(stopped.cell.is_marked(MarkKind::Cut));
        assert!(Cell::from_stream(&b"nonsense"[..], "native", "tp1").is_err());
    }
}
