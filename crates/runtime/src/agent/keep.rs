//! The process between an agent and a program: it starts the program and waits for its end.
//!
//! The agent traces the program for a moment at each exec, and a process that both waits for a
//! child and traces it also gets the stops of the trace. So another one does the
//! waiting: this. It outlives a killed agent for as long as it takes to end all that the agent
//! has started, and the program dies with it.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus};

use super::orphans;
use crate::launch::program::{self, Gate};
use os::signals::{self, FOR_THE_PROGRAM, Signals};

/// Exit codes that shells give to programs that cannot be started.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// Informs a keeper that its agent is gone; nobody else uses it.
pub(super) fn agent_is_gone() -> i32 {
    libc::SIGRTMIN() + 7
}

/// Starts a program in the domain behind a gate, and ends as it ends.
pub fn keep(gate: OwnedFd, command: &[String]) -> ! {
    let gate = Gate::from_fd(gate);
    let agent = signals::parent();
    let mut numbers = FOR_THE_PROGRAM.to_vec();
    numbers.extend([libc::SIGCHLD, agent_is_gone()]);
    let arrivals = Signals::block(&numbers);
    if let Err(error) = orphans::adopt() {
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
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            std::process::exit(if missing { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    drop(gate);
    drop(starting);
    loop {
        let arrived = arrivals.next();
        if arrived.number == agent_is_gone() {
            signals::send(child.unsigned_abs(), libc::SIGKILL);
            orphans::end();
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
    while let Some((process, status)) = orphans::ended() {
        if process == program {
            end = Some(status);
        }
    }
    end
}

fn end(status: ExitStatus) -> ! {
    let killed = orphans::end();
    if killed > 0 {
        terminal::err!(
            "qcycle: ended {killed} process(es) that the program left behind; a domain ends with \
             its program"
        );
    }
    signals::end_as(status)
}
