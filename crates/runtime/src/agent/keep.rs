//! The process between an agent and a program: it starts the program and waits for its end.
//!
//! The agent traces the program for a moment at each exec, and a process that both waits for a
//! child and traces it also gets the stops of the trace. So another one does the
//! waiting: this. It outlives a killed agent for as long as it takes to end all that the agent
//! has started, and the program dies with it.
//!
//! It declares itself the parent of what a program leaves behind, processes whose parent ended before
//! they did. So all processes of a domain stay its descendants, however often they fork and whatever
//! session they move to: it can collect them when they end, and end them when the domain does, as
//! nobody would follow what they start then, or own their clock.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};

use crate::launch::program::{self, Gate};
use os::process::{self, Identity};
use os::signals::{self, FOR_THE_PROGRAM, Signals};

/// Exit codes that shells give to programs that cannot be started.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;
/// How long what is on its way to its end anyway, such as the rest of a pipeline, is given.
const GRACE: Duration = Duration::from_millis(100);
/// Between two looks whether they have ended.
const NAP: Duration = Duration::from_millis(2);

/// Informs a keeper that its agent is gone; nobody else uses it.
pub(super) fn agent_is_gone() -> i32 {
    libc::SIGRTMIN() + 7
}

/// Starts a program in the domain behind a gate, and ends as it ends.
pub fn keep(gate: Gate, command: &[String]) -> ! {
    let agent = signals::parent();
    let mut numbers = FOR_THE_PROGRAM.to_vec();
    numbers.extend([libc::SIGCHLD, agent_is_gone()]);
    let arrivals = Signals::block(&numbers);
    if let Err(error) = adopt() {
        terminal::err!(
            "qcycle: processes that the program leaves behind will not be ended with it: {error}"
        );
    }
    let (program, arguments) = command.split_first().expect("the command line demands a program");
    let mut starting = Command::new(program);
    starting.args(arguments);
    let enter = move || {
        arrivals.restore();
        signals::die_with_parent()
    };
    // SAFETY: two system calls between fork and exec.
    unsafe { starting.pre_exec(enter) };
    let child = match program::in_domain(&mut starting, &gate, name_of(program)).spawn() {
        Ok(child) => child.id().cast_signed(),
        Err(error) => {
            terminal::err!("qcycle: cannot start {program}: {error}");
            let missing = error.kind() == io::ErrorKind::NotFound;
            std::process::exit(if missing { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    drop(gate);
    drop(starting);
    loop {
        let arrived = arrivals.next();
        if arrived.number == agent_is_gone() {
            signals::send(child.unsigned_abs(), libc::SIGKILL);
            end_descendants();
            std::process::exit(1);
        } else if arrived.number == libc::SIGCHLD {
            if let Some(status) = collect(child) {
                end(status);
            }
        } else if arrived.sender == agent {
            // A signal of anybody else was meant for the whole group, the program included.
            signals::send(child.unsigned_abs(), arrived.number);
        }
    }
}

/// What a program is called in its domain: the last part of its file.
fn name_of(program: &str) -> &str {
    program.rsplit('/').find(|part| !part.is_empty()).unwrap_or(program)
}

/// Collects what has ended. Returns how the program ended if it is among that.
fn collect(program: i32) -> Option<ExitStatus> {
    let mut end = None;
    while let Some((process, status)) = ended() {
        if process == program {
            end = Some(status);
        }
    }
    end
}

fn end(status: ExitStatus) -> ! {
    let killed = end_descendants();
    if killed > 0 {
        terminal::err!(
            "qcycle: ended {killed} process(es) that the program left behind; a domain ends with \
             its program"
        );
    }
    signals::end_as(status)
}

/// Makes this process the parent of those of its descendants that lose theirs.
fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// A child of this process that has ended, if there is one.
fn ended() -> Option<(i32, ExitStatus)> {
    let mut status = 0;
    // SAFETY: `status` is a valid int. No other part of this process waits for its children.
    let process = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    (process > 0).then(|| (process, ExitStatus::from_raw(status)))
}

/// Ends all descendants of this process. Returns how many did not end by themselves.
///
/// All at once: one may be unable to die before another one below it has, whose file system, say, or
/// whose answer as its debugger the kernel waits for on its behalf.
fn end_descendants() -> usize {
    let begun = Instant::now();
    let mut killed = BTreeSet::new();
    while has_children() {
        if begun.elapsed() >= GRACE {
            for process in descendants().into_iter().filter(|process| process.runs()) {
                if let Ok(handle) = process.open() {
                    handle.kill();
                    killed.insert(process);
                }
            }
        }
        std::thread::sleep(NAP);
    }
    killed.len()
}

/// Collects children that have ended. Returns whether there are others.
fn has_children() -> bool {
    while ended().is_some() {}
    // SAFETY: no status is asked for, and nothing is collected.
    let result = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &raw mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    result == 0
}

fn descendants() -> BTreeSet<Identity> {
    let own = Identity::of_process(std::process::id().cast_signed());
    process::descendants(&own.into_iter().collect())
}
