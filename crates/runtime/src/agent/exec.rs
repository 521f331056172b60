//! `qcycle exec`: an agent with one program in the foreground.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;

use anyhow::Context;
use vtime::HostSpan;

use super::control::Control;
use super::keep;
use super::query::counted;
use super::registry::{Registration, name_for};
use crate::launch::freeze::{FreezeConfig, Freezer};
use crate::launch::{Follower, Jumper};
use domain::{Domain, Guard, KernelTimers, Pace, Stalls, Start};
use os::fds;
use os::process::Process;
use os::signals::{self, FOR_THE_PROGRAM, Signals};

/// What to run, and in which time.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Name of the domain; made from program and process number if `None`.
    pub name: Option<String>,
    pub start: Start,
    pub freeze: FreezeConfig,
    /// How long a processor of the host may be silent before the clock is stopped; for ever if
    /// `None`.
    pub stall_guard: Option<HostSpan>,
    /// Program and arguments, at least one.
    pub command: Vec<String>,
}

/// Runs a program in a domain of its own and ends as it ends.
///
/// # Errors
/// When the domain cannot be made. Once the program runs, this does not return.
pub fn exec(exec: &Exec) -> anyhow::Result<std::convert::Infallible> {
    let arrivals = Signals::block(&FOR_THE_PROGRAM);
    let name = exec.name.clone().unwrap_or_else(|| {
        let program = exec.command[0].rsplit('/').next().unwrap_or_default();
        name_for(program, std::process::id().cast_signed())
    });
    let registration = Registration::new(&name)?;
    let domain = Domain::new(exec.start).context("cannot make a clock")?;
    if let Some(warning) = exec.start.fix_addresses() {
        terminal::err!("qcycle: {warning}");
    }
    let freezer = Freezer::start(exec.freeze).context("cannot freeze programs")?;
    domain.set_backstop(freezer.clone());
    let title = exec.command.join(" ");
    let control = Control::new(&name, &title, Arc::clone(&domain), Arc::clone(&freezer), false);
    let warned = Arc::clone(&control);
    let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer), move |refusal| {
        terminal::err!("qcycle: {refusal}");
        warned.warn(refusal);
    });
    let follower = follower.context("cannot follow programs")?;
    control.serve(&registration)?;
    // Where the clock stands no stall takes virtual time.
    let allowed = exec.stall_guard.filter(|_| domain.pace() != Pace::Events);
    let guard = allowed.map(|allowed| domain.guard(allowed)).transpose();
    let guard = guard.context("cannot guard the clock against stalls of the host")?;
    if let Some(warning) = guard.as_ref().and_then(Guard::warning) {
        terminal::err!("qcycle: {warning}");
    }
    let jumper =
        Jumper::start(&domain, Vec::new(), KernelTimers::Wait).context("cannot skip idle time")?;
    let mut keeper = start_keeper(&follower, arrivals, &exec.command)?;
    fds::raise_limit();
    let process = Process::open(keeper.id().cast_signed()).context("cannot hold the keeper")?;
    let thaws = Arc::clone(&freezer);
    thread::Builder::new().name("signals".into()).spawn(move || {
        loop {
            let arrived = arrivals.next();
            // The program is to learn of it, held or not.
            thaws.thaw_until_next_hold();
            if arrived.by_process {
                // Fails if it has ended already.
                let _ = process.signal(arrived.number, None);
            }
        }
    })?;
    let status = keeper.wait().context("cannot wait for the program")?;
    if guard.is_some() {
        report_stalls(domain.stalls());
    }
    for warning in counted(&domain.counters()).1 {
        terminal::err!("qcycle: {warning}");
    }
    drop(jumper);
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

fn start_keeper(
    follower: &Follower,
    arrivals: Signals,
    command: &[String],
) -> anyhow::Result<Child> {
    let gate = follower.gate().fd();
    let mut keeper = Command::new("/proc/self/exe");
    keeper.args(["keep", "--gate", &gate.as_raw_fd().to_string()]);
    keeper.args(follower.gate().is_seeded().then_some("--seeded")).arg("--").args(command);
    fds::inherit(&mut keeper, gate.as_fd());
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
