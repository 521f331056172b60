//! Carries out an order, here and now.

use std::io::{self, BufRead, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::{LOAD_MISSING, Load, Order};
use crate::control::Control;
use crate::cores::Cores;
use crate::run;
use crate::stream::Outcome;

/// Between two looks at the loads while they settle, and while there is nothing to measure.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How an order ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tended {
    /// The stream says how.
    Measured(Outcome),
    /// There was nothing to measure, and the loads ran until the input ended.
    Kept,
    /// A load did not run, so nothing was measured; it was said on standard error.
    LoadMissing,
}

/// Reads an order and carries it out, until it is done, or the input ends, or `control` ends it. All
/// that was started ends before this does.
pub fn tend(
    mut input: impl BufRead + Send + 'static,
    output: impl Write,
    control: &Arc<Control>,
) -> Result<Tended> {
    let mut line = String::new();
    input.read_line(&mut line).context("reading the order")?;
    let order: Order = serde_json::from_str(&line).context("the order")?;
    if let Some(plan) = &order.plan {
        plan.check()?;
    }
    watch(input, control)?;
    let mut loads = Loads::start(&order.loads)?;
    let settled = Instant::now() + Duration::from_nanos(order.settle_ns);
    let waits = |now: Instant| order.plan.is_none() || now < settled;
    while waits(Instant::now()) && !control.is_stopped() {
        if loads.has_ended() {
            return Ok(Tended::LoadMissing);
        }
        thread::sleep(LOOK_EVERY);
    }
    let Some(plan) = &order.plan else { return Ok(Tended::Kept) };
    if loads.has_ended() {
        return Ok(Tended::LoadMissing);
    }
    let (_, outcome) = run(plan, output, control).context("writing the stream")?;
    Ok(Tended::Measured(outcome))
}

/// Ends the measurement with the input, or when a further line says so.
fn watch(mut input: impl BufRead + Send + 'static, control: &Arc<Control>) -> Result<()> {
    let control = Arc::clone(control);
    let watch = move || {
        // Whether it is a word, the end or an error: nobody wants more.
        let _ = input.read_line(&mut String::new());
        control.stop();
    };
    thread::Builder::new().name("lifeline".to_owned()).spawn(watch).context("a thread")?;
    Ok(())
}

/// Loads that run, each with a keeper: a process of this program. A further process of this one, which
/// measures, could not start them again without copying its own memory.
#[derive(Debug)]
struct Loads {
    keepers: Vec<Child>,
}

impl Loads {
    fn start(loads: &[Load]) -> Result<Self> {
        let mut started = Self { keepers: Vec::new() };
        for load in loads {
            ensure!(!load.words.is_empty(), "a load without a program");
            let cores: Cores = load.cores.iter().copied().collect();
            let mut command = Command::new("/proc/self/exe");
            command.args(["keep", "--parent", &std::process::id().to_string()]);
            if !cores.is_empty() {
                command.args(["--cores", &cores.to_string()]);
            }
            command.arg("--").args(&load.words);
            // The standard output is the stream's.
            command.stdin(Stdio::null()).stdout(Stdio::null());
            started.keepers.push(command.spawn().context("starting the keeper of a load")?);
        }
        Ok(started)
    }

    /// Whether the keeper of one has given up; it said why.
    fn has_ended(&mut self) -> bool {
        self.keepers.iter_mut().any(|keeper| !matches!(keeper.try_wait(), Ok(None)))
    }
}

impl Drop for Loads {
    fn drop(&mut self) {
        for keeper in &self.keepers {
            let _ = kill_process(Pid::from_child(keeper), Signal::TERM);
        }
        for keeper in &mut self.keepers {
            // A keeper ends what it keeps, and then itself.
            let _ = keeper.wait();
        }
    }
}

/// Says which load did not run, on standard error.
pub(super) fn say_missing(program: &str, why: &io::Error) {
    terminal::err!("{LOAD_MISSING}{program}: {why}");
}
