//! A measurement within a program that wants the figures, not the stream: the check of a host.

use std::io;
use std::sync::Arc;

use crate::control::Control;
use crate::plan::Plan;
use crate::run::run;
use crate::stream::{Item, Note, Outcome, Reader};

/// What one thread measured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CoreLatency {
    /// Which core of the plan.
    pub core: usize,
    /// Latency of each sample, ns, in their order.
    pub latency_ns: Vec<i64>,
    /// Periods that were over before there could be a sample.
    pub missed: u64,
}

impl CoreLatency {
    /// The greatest latency, ns.
    pub fn max_ns(&self) -> i64 {
        self.latency_ns.iter().copied().max().unwrap_or(0)
    }
}

/// What was measured, and what to know before trusting it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// One for each core of the plan.
    pub cores: Vec<CoreLatency>,
    /// What the platform refused, in sentences.
    pub warnings: Vec<String>,
}

/// Measures by a plan and keeps all samples in memory: for short measurements.
///
/// # Errors
/// If the plan cannot be, or the platform lacks what it asks for.
pub fn measure(plan: &Plan) -> io::Result<Measured> {
    plan.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let (octets, outcome) = run(plan, Vec::new(), &Arc::new(Control::default()))?;
    if let Outcome::NotMeasured(reason) | Outcome::Failed(reason) = outcome {
        return Err(io::Error::other(reason));
    }
    let core = |&core| CoreLatency { core, ..CoreLatency::default() };
    let mut measured =
        Measured { cores: plan.cores.iter().map(core).collect(), warnings: Vec::new() };
    for item in Reader::new(octets.as_slice()).map_err(io::Error::other)? {
        match item {
            Item::Samples(block) => {
                let latency_ns = block.samples.iter().map(|sample| sample.latency_ns);
                measured.cores[block.thread].latency_ns.extend(latency_ns);
            }
            Item::Note(note) => match *note {
                Note::Counts { threads, .. } => {
                    for (core, counts) in measured.cores.iter_mut().zip(threads) {
                        core.missed = counts.missed;
                    }
                }
                Note::Warning { text } => measured.warnings.push(text),
                Note::Stall(_) | Note::Cores { .. } | Note::Gaps(_) => {}
            },
            Item::End(_) | Item::Cut(_) => {}
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            priority: None,
            period_ns: 2_000_000,
            duration_ns: 100_000_000,
            lock_memory: false,
            ..Plan::default()
        }
    }

    #[test]
    fn each_period_is_a_sample_or_a_miss() {
        let measured = measure(&plan()).unwrap();
        let core = &measured.cores[0];
        assert_eq!(core.latency_ns.len() as u64 + core.missed, 50);
        assert!(core.max_ns() > 0);
    }

    #[test]
    fn a_core_that_is_not_there_is_named_with_a_fix() {
        let error = measure(&Plan { cores: vec![0, 1000], ..plan() }).unwrap_err().to_string();
        assert!(error.starts_with("core 1000: ") && error.contains("taskset"), "{error}");
    }
}
