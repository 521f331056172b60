//! What it costs that thousands of threads wait at once: how late they are natively and after a hold,
//! how long the release takes, and for how long the program computes while all of them are idle.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use runtime::launch::freeze::FreezeConfig;

use crate::figures::{Figure, of_samples};
use crate::guest::{Guest, natively};

/// How long the threads wait, ms: until all of them do, thousands need some hundred.
const WAIT_MS: u64 = 1000;
const HOLD: Duration = Duration::from_millis(1500);

/// Rows of so many threads, each measured so many times, natively and in virtual time in turn.
pub(crate) fn figures(program: &Path, (threads, times): (usize, usize)) -> Result<Vec<Figure>> {
    let arguments = [threads.to_string(), WAIT_MS.to_string()];
    let (mut native, mut held, mut idle) = (Found::default(), Found::default(), Found::default());
    let mut release_us = Vec::new();
    for _ in 0..times {
        native.add(&natively(program, &arguments)?)?;
        idle.add(&Guest::start(FreezeConfig::default(), program, &arguments)?.finish()?)?;
        let guest = Guest::start(FreezeConfig::default(), program, &arguments)?;
        let (printed, us) = guest.held(Duration::from_millis(WAIT_MS / 4), HOLD)?;
        held.add(&printed)?;
        release_us.push(us);
    }
    let row = |what: &str, samples: &[f64]| {
        of_samples(format!("{threads} waiting threads, {what}"), "µs", samples)
    };
    let rows = [
        row("late in the median, native", &native.late_us),
        row("late in the median, held 1.5 s", &held.late_us),
        row("release", &release_us),
        row("processor time of 1 s, native", &native.computed_us),
        row("processor time of 1 s, in virtual time", &idle.computed_us),
    ];
    Ok(rows.into_iter().flatten().collect())
}

/// What the guest prints of each run.
#[derive(Default)]
struct Found {
    late_us: Vec<f64>,
    computed_us: Vec<f64>,
}

impl Found {
    fn add(&mut self, printed: &str) -> Result<()> {
        let last = printed.lines().last().unwrap_or_default();
        let numbers: Vec<f64> =
            last.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [median_ns, _, earliest_ns, computed_ns, _] = numbers[..] else {
            anyhow::bail!("a crowd printed {printed:?}")
        };
        ensure!(earliest_ns >= 0.0, "a wait ended {} ns before its time", -earliest_ns);
        self.late_us.push(median_ns / 1000.0);
        self.computed_us.push(computed_ns / 1000.0);
        Ok(())
    }
}
