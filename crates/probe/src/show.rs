//! A stream for people: what was measured, how late it was, and who is to blame for the worst.

use std::fmt;
use std::io::Read;

use crate::stream::{Counts, Header, Item, Note, Outcome, Reader, Stall};

/// Stalls that are shown, longest first.
const STALLS_SHOWN: usize = 10;

#[derive(Debug)]
pub(crate) struct Shown {
    header: Header,
    /// Of each thread, in order of size.
    latency_ns: Vec<Vec<i64>>,
    /// Of each part of a latency, over all threads, in order of size.
    parts_ns: Vec<Vec<i64>>,
    counts: Vec<Counts>,
    stalls: Vec<Stall>,
    warnings: Vec<String>,
    end: String,
}

impl Shown {
    /// Reads a stream to its end.
    pub(crate) fn of<R: Read>(reader: Reader<R>) -> Self {
        let header = reader.header().clone();
        let mut shown = Self {
            latency_ns: vec![Vec::new(); header.plan.cores.len()],
            parts_ns: vec![Vec::new(); header.plan.probe.parts().len()],
            header,
            counts: Vec::new(),
            stalls: Vec::new(),
            warnings: Vec::new(),
            end: String::new(),
        };
        for item in reader {
            shown.add(item);
        }
        shown.latency_ns.iter_mut().for_each(|latency_ns| latency_ns.sort_unstable());
        shown.parts_ns.iter_mut().for_each(|part_ns| part_ns.sort_unstable());
        shown.stalls.sort_by_key(|stall| -stall.length_ns);
        shown
    }

    fn add(&mut self, item: Item) {
        match item {
            Item::Samples(block) => {
                for sample in &block.samples {
                    let parts = sample.stamps.parts(sample.latency_ns, self.parts_ns.len());
                    for (all_ns, part_ns) in self.parts_ns.iter_mut().zip(parts) {
                        all_ns.extend(part_ns);
                    }
                }
                if let Some(thread) = self.latency_ns.get_mut(block.thread) {
                    thread.extend(block.samples.iter().map(|sample| sample.latency_ns));
                }
            }
            Item::Note(note) => match *note {
                Note::Stall(stall) => self.stalls.push(stall),
                Note::Counts { threads, .. } => self.counts = threads,
                Note::Warning { text } => self.warnings.push(text),
                Note::Cores { .. } | Note::Gaps(_) => {}
            },
            Item::End(end) => {
                self.end = match end.outcome {
                    Outcome::Finished => "finished".to_owned(),
                    Outcome::Interrupted => "interrupted".to_owned(),
                    Outcome::NotMeasured(reason) => format!("not measured: {reason}"),
                    Outcome::Failed(reason) => format!("failed: {reason}"),
                };
            }
            Item::Cut(reason) => self.end = format!("cut off: {reason}"),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (plan, facts) = (&self.header.plan, &self.header.facts);
        let urgency = match plan.priority {
            Some(priority) => format!("SCHED_FIFO {priority}"),
            None => "ordinary threads".to_owned(),
        };
        let period_us = plan.period_ns as f64 / 1e3;
        writeln!(to, "{} every {period_us} µs, {urgency}", plan.probe)?;
        writeln!(to, "{} {} {}", facts.host, facts.kernel_release, facts.kernel_version)?;
        writeln!(to, "core    samples  lost  missed    min µs    p50 µs    p99 µs    max µs")?;
        for (thread, (core, sorted)) in plan.cores.iter().zip(&self.latency_ns).enumerate() {
            let counts = self.counts.get(thread).cloned().unwrap_or_default();
            write!(to, "{core:>4} {:>10} {:>5} {:>7}", sorted.len(), counts.lost, counts.missed)?;
            write_figures(to, sorted)?;
        }
        let names = plan.probe.parts().iter().zip(&self.parts_ns);
        for (name, sorted) in names.filter(|(_, sorted)| !sorted.is_empty()) {
            write!(to, "  {name:<12} {:<13} ", format!("{} parts", sorted.len()))?;
            write_figures(to, sorted)?;
        }
        for stall in self.stalls.iter().take(STALLS_SHOWN) {
            let (at_s, us) = (stall.at_ns as f64 / 1e9, stall.length_ns as f64 / 1e3);
            let (core, cause) = (stall.core, stall.cause.name());
            writeln!(to, "stall at {at_s:.3} s, core {core}, {us:.1} µs: {cause}: {}", stall.who)?;
        }
        if self.stalls.len() > STALLS_SHOWN {
            writeln!(to, "and {} shorter ones", self.stalls.len() - STALLS_SHOWN)?;
        }
        for warning in &self.warnings {
            writeln!(to, "warning: {warning}")?;
        }
        writeln!(to, "{}", self.end)
    }
}

/// The least, the median, p99 and the greatest of what is in order of size, µs.
fn write_figures(to: &mut fmt::Formatter<'_>, sorted: &[i64]) -> fmt::Result {
    for share in [0.0, 0.5, 0.99, 1.0] {
        match sorted.get((sorted.len().saturating_sub(1) as f64 * share) as usize) {
            Some(ns) => write!(to, " {:>9.1}", *ns as f64 / 1e3)?,
            None => write!(to, " {:>9}", "-")?,
        }
    }
    writeln!(to)
}
