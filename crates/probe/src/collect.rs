//! Takes what the threads took out of their queues, and writes it down in order.

use std::io::{self, Write};
use std::sync::atomic::Ordering;

use crate::blame::{Late, Witness};
use crate::clock::{self, HostSpan, HostTime};
use crate::core_time::CoreTimes;
use crate::gaps;
use crate::meter::Gap;
use crate::sink::{Source, Taken};
use crate::stage::Stage;
use crate::stream::{Counts, Gaps, Note, Outcome, Sample, Writer};
use crate::threads::{Role, Used};

/// Samples are written, counted and flushed at least this often.
const WRITE_EVERY: HostSpan = HostSpan::from_ms(500);
/// Samples of one thread that are kept before they are written.
const KEPT_MAX: usize = 8192;

#[derive(Debug)]
pub(crate) struct Collector {
    stage: Stage,
    threads: Vec<Thread>,
    /// Gaps that the meter of each core saw, if there are meters.
    gaps: Vec<rtrb::Consumer<Gap>>,
    core_times: CoreTimes,
    witness: Witness,
    written: HostTime,
}

#[derive(Debug)]
struct Thread {
    source: Source,
    first: u64,
    kept: Vec<Sample>,
}

impl Collector {
    pub(crate) fn new(
        stage: &Stage,
        sources: Vec<Source>,
        gaps: Vec<rtrb::Consumer<Gap>>,
        witness: Witness,
    ) -> Self {
        let thread = |source| Thread { source, first: 0, kept: Vec::new() };
        Self {
            stage: stage.clone(),
            threads: sources.into_iter().map(thread).collect(),
            gaps,
            core_times: CoreTimes::begin(&stage.plan.cores),
            witness,
            written: stage.began,
        }
    }

    /// Takes what is there; writes it if it is time.
    pub(crate) fn collect<W: Write>(&mut self, writer: &mut Writer<W>) -> io::Result<()> {
        for index in 0..self.threads.len() {
            while let Ok(taken) = self.threads[index].source.queue.pop() {
                self.keep(writer, index, taken)?;
            }
        }
        let now = clock::now();
        let gaps = self.gaps();
        for stall in self.witness.explain(now, &self.core_times, gaps) {
            writer.note(&Note::Stall(stall))?;
        }
        if now - self.written < WRITE_EVERY {
            return Ok(());
        }
        self.written = now;
        self.write(writer, now, &[])
    }

    /// Takes and writes the rest, once all threads have ended.
    pub(crate) fn finish<W: Write>(
        mut self,
        writer: &mut Writer<W>,
        used: &[Used],
    ) -> io::Result<Outcome> {
        self.collect(writer)?;
        self.write(writer, clock::now(), used)?;
        let control = &self.stage.control;
        Ok(match control.failed() {
            Some(what) => Outcome::Failed(what.to_owned()),
            None if control.is_stopped() => Outcome::Interrupted,
            None => Outcome::Finished,
        })
    }

    fn keep<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        index: usize,
        taken: Taken,
    ) -> io::Result<()> {
        let thread = &mut self.threads[index];
        let Taken { core, at, latency_ns, stamps, .. } = taken;
        let late = Late { thread: index, core, at, length_ns: latency_ns };
        thread.source.shared.urgent_ns.store(self.witness.see(late), Ordering::Relaxed);
        let expected = thread.first + thread.kept.len() as u64;
        if taken.index != expected || thread.kept.len() >= KEPT_MAX {
            thread.write(index, writer)?;
            thread.first = taken.index;
        }
        thread.kept.push(Sample { at_ns: self.stage.since_began_ns(at), latency_ns, stamps });
        Ok(())
    }

    fn gaps(&mut self) -> Vec<(usize, Gap)> {
        let mut seen = Vec::new();
        for (gaps, core) in self.gaps.iter_mut().zip(&self.stage.plan.cores) {
            seen.extend(std::iter::from_fn(|| gaps.pop().ok()).map(|gap| (*core, gap)));
        }
        seen
    }

    fn write<W: Write>(
        &mut self,
        writer: &mut Writer<W>,
        now: HostTime,
        used: &[Used],
    ) -> io::Result<()> {
        for (index, thread) in self.threads.iter_mut().enumerate() {
            thread.write(index, writer)?;
            if let Some(gaps) = thread.gaps(index) {
                writer.note(&Note::Gaps(gaps))?;
            }
        }
        let at_ns = self.stage.since_began_ns(now);
        let counts = |(index, thread): (usize, &Thread)| thread.counts(index, used);
        let threads = self.threads.iter().enumerate().map(counts).collect();
        writer.note(&Note::Counts { at_ns, threads })?;
        let cores = self.core_times.since_begin();
        if !cores.is_empty() {
            writer.note(&Note::Cores { at_ns, cores })?;
        }
        writer.flush()
    }
}

impl Thread {
    fn write<W: Write>(&mut self, index: usize, writer: &mut Writer<W>) -> io::Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        writer.samples(index, self.first, &self.kept)?;
        self.first += self.kept.len() as u64;
        self.kept.clear();
        Ok(())
    }

    /// The gaps it saw since it was last asked, if it looks for gaps.
    fn gaps(&self, index: usize) -> Option<Gaps> {
        let gaps = self.source.shared.gaps.lock().expect("nobody panics with it").take()?;
        let bins = (0..).zip(gaps.bins).filter(|(_, count)| *count > 0).collect();
        Some(Gaps { thread: index, bin_ns: gaps::BIN_NS, bins, max_ns: gaps.max_ns })
    }

    /// What it counted; what it used is known only at its end.
    fn counts(&self, index: usize, used: &[Used]) -> Counts {
        let shared = &self.source.shared;
        let used = used.iter().find(|used| used.role == Role::Measures(index));
        let usage = used.map(|used| used.usage).unwrap_or_default();
        Counts {
            thread: index,
            taken: shared.taken.load(Ordering::Relaxed),
            lost: shared.lost.load(Ordering::Relaxed),
            missed: shared.missed.load(Ordering::Relaxed),
            cpu_ns: used.map_or(0, |used| used.cpu_ns),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            page_faults: usage.page_faults,
        }
    }
}
