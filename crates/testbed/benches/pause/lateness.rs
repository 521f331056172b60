//! How late each waiting call ends when it was held for 300 ms meanwhile, in virtual time, beside
//! how late the same call ends natively. All calls of the guest wait at once, each in a thread of
//! its own, so lateness is that of a process with many sleepers, both ways.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use domain::Freeze;
use runtime::launch::freeze::FreezeConfig;

use crate::figures::{Figure, of_samples};
use crate::guest::{Guest, natively};

/// How long each call waits, ms: long enough for the hold to fall into it.
const WAIT_MS: u64 = 100;
const HOLD: Duration = Duration::from_millis(300);

/// Lateness of each call, µs.
type Lateness = BTreeMap<String, Vec<f64>>;

/// A row for each call natively and one held, and one for all calls together.
pub(crate) fn figures(program: &Path, times: usize) -> Result<Vec<Figure>> {
    let arguments = ["plain".to_owned(), WAIT_MS.to_string()];
    let (mut native, mut held) = (Lateness::new(), Lateness::new());
    for _ in 0..times {
        add(&mut native, &natively(program, &arguments)?)?;
        let not_frozen = FreezeConfig { freeze: Freeze::Off, method: None };
        let guest = Guest::start(not_frozen, program, &arguments)?;
        add(&mut held, &guest.held(Duration::from_millis(WAIT_MS / 4), HOLD)?.0)?;
    }
    let early = held.values().flatten().filter(|late_us| **late_us < 0.0).count();
    ensure!(early == 0, "{early} waits ended before their time");
    let mut figures = Vec::new();
    for (what, lateness) in [("native", &native), ("held 300 ms", &held)] {
        for (call, late_us) in lateness {
            figures.extend(of_samples(format!("late, {call}, {what}"), "µs", late_us));
        }
        let all: Vec<f64> = lateness.values().flatten().copied().collect();
        figures.extend(of_samples(format!("late, all calls, {what}"), "µs", &all));
    }
    Ok(figures)
}

/// Reads lines of name, outcome, ns waited, ns asked for, ns left.
fn add(lateness: &mut Lateness, printed: &str) -> Result<()> {
    for line in printed.lines().filter(|line| line.contains('\t')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, "timeout", waited, asked, _] = fields[..] else {
            anyhow::bail!("not a wait in vain: {line:?}")
        };
        let ns = |text: &str| text.parse::<f64>().with_context(|| format!("{line:?}"));
        let late_us = (ns(waited)? - ns(asked)?) / 1000.0;
        lateness.entry(name.to_owned()).or_default().push(late_us);
    }
    Ok(())
}
