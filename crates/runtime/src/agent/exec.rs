//! `qcycle exec`: an agent with one program in the foreground.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use parking_lot::Mutex;
use vtime::HostSpan;

use super::control::Control;
use super::keep;
use super::query::counted;
use super::registry::Registration;
use crate::domain::{Domain, Guard, Stalls, Start};
use crate::launch::Follower;
use crate::launch::freeze::{Freezer, Wanted};
use os::fds;
use os::process::Process;
use os::signals::{self, FOR_THE_PROGRAM, Signals};

/// Different refusals that are told; a program may try as many as it likes.
const REFUSALS_MAX: usize = 100;

/// What to run, and in which time.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Name of the domain; made from program and process number if `None`.
    pub name: Option<String>,
    /// How its time starts.
    pub start: Start,
    /// How its programs are frozen.
    pub freeze: Wanted,
    /// How long a processor of the host may be silent before the clock stands still; for ever if
    /// `None`.
    pub stall_guard: Option<HostSpan>,
    /// Program and arguments.
    pub command: Vec<String>,
}

/// Runs a program in a domain of its own and ends as it ends.
///
/// # Errors
/// When the domain cannot be made. Once the program runs, this does not return.
pub fn exec(exec: &Exec) -> anyhow::Result<std::convert::Infallible> {
    let arrivals = Signals::block(&FOR_THE_PROGRAM);
    let name = exec.name.clone().unwrap_or_else(|| default_name(&exec.command[0]));
    let registration = Registration::new(&name)?;
    let domain = Domain::new(exec.start).context("cannot make a clock")?;
    let freezer = Freezer::start(exec.freeze).context("cannot freeze programs")?;
    domain.set_backstop(freezer.clone());
    let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer))
        .context("cannot follow programs")?;
    let title = exec.command.join(" ");
    let control = Control::new(&name, &title, Arc::clone(&domain), Arc::clone(&freezer));
    control.serve(&registration)?;
    let guard = exec.stall_guard.map(|allowed| domain.guard(allowed)).transpose();
    let guard = guard.context("cannot guard the clock against stalls of the host")?;
    if let Some(warning) = guard.as_ref().and_then(Guard::warning) {
        terminal::err!("qcycle: {warning}");
    }
    let mut keeper = start_keeper(&follower, arrivals, &exec.command)?;
    fds::raise_limit();
    let process = Process::open(keeper.id().cast_signed()).context("cannot hold the keeper")?;
    let thaws = Arc::clone(&freezer);
    thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            let arrived = arrivals.next();
            // The program is to hear of it, held or not.
            thaws.let_go();
            if arrived.by_process {
                // It has ended already, if not.
                let _ = process.signal(arrived.number, None);
            }
        }
    })?;
    let refused = Arc::new(Mutex::new(Refused { follower, control, told: BTreeSet::new() }));
    let tells = Arc::clone(&refused);
    thread::Builder::new().name("refusals".into()).spawn(move || {
        loop {
            tell_refused(&tells);
            thread::sleep(Duration::from_millis(20));
        }
    })?;
    let status = keeper.wait().context("cannot wait for the program")?;
    // What was refused last may have ended the program.
    tell_refused(&refused);
    if guard.is_some() {
        report_stalls(domain.stalls());
    }
    for warning in counted(&domain.counters()).1 {
        terminal::err!("qcycle: {warning}");
    }
    freezer.close();
    drop(registration);
    signals::end_as(status)
}

/// Says what the guard has kept out of the program's time: a figure of a run without any is another
/// than that of a run with many.
fn report_stalls(Stalls { count, total_ns, longest_ns }: Stalls) {
    if total_ns > 0 {
        let [total, longest] = [total_ns, longest_ns].map(|ns| ns as f64 / 1e6);
        terminal::err!(
            "qcycle: {count} stalls of the host excluded from virtual time: {total:.1} ms in \
             total, the longest {longest:.1} ms"
        );
    }
}

/// What was refused so far.
struct Refused {
    follower: Follower,
    control: Arc<Control>,
    told: BTreeSet<String>,
}

/// Tells what was refused and was not told before.
fn tell_refused(refused: &Mutex<Refused>) {
    let mut refused = refused.lock();
    let Refused { follower, control, told } = &mut *refused;
    for refusal in follower.refusals() {
        let line = format!("refused {}: {}", refusal.program, refusal.reason);
        if told.len() < REFUSALS_MAX && told.insert(line.clone()) {
            terminal::err!("qcycle: {line}");
            control.warn(line);
        }
    }
}

fn start_keeper(
    follower: &Follower,
    arrivals: Signals,
    command: &[String],
) -> anyhow::Result<Child> {
    let gate = follower.gate().fd();
    let mut keeper = Command::new("/proc/self/exe");
    keeper.args(["keep", "--gate", &gate.as_raw_fd().to_string(), "--"]).args(command);
    fds::hand_down(&mut keeper, gate.as_fd());
    let agent = std::process::id().cast_signed();
    let inherit = move || {
        arrivals.restore();
        signals::signal_when_parent_dies(keep::agent_is_gone())?;
        if signals::parent() == agent { Ok(()) } else { Err(std::io::ErrorKind::NotFound.into()) }
    };
    // SAFETY: system calls only between fork and exec.
    unsafe { keeper.pre_exec(inherit) };
    keeper.spawn().context("cannot start the keeper of the program")
}

fn default_name(program: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let base: String = program.rsplit('/').next().unwrap_or(program).chars().filter(fits).collect();
    let base: String = base.chars().take(24).collect();
    format!("{}-{}", if base.is_empty() { "program" } else { &base }, std::process::id())
}
