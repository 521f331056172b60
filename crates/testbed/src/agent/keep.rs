//! The process between an agent and a program: it starts the program and waits for its end.
//!
//! The agent traces the program for a moment at each exec, and a process that both waits for a
//! child and traces it is told of the stops of the trace as well. So another one does the
//! waiting: this. It dies with its agent, and the program with it.

use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::signals::{self, FOR_THE_PROGRAM, Signals};
use crate::launch::program::{self, Gate};

/// Exit codes that shells give to programs that cannot be started.
const NOT_FOUND: i32 = 127;
const NOT_EXECUTABLE: i32 = 126;

/// Starts a program in the domain behind the gate with this number, and ends as it ends.
pub fn keep(gate: i32, command: &[String]) -> ! {
    // SAFETY: the agent that started this process hands the descriptor over to it. The program
    // must not inherit it.
    let gate = unsafe {
        libc::fcntl(gate, libc::F_SETFD, libc::FD_CLOEXEC);
        Gate::from_fd(OwnedFd::from_raw_fd(gate))
    };
    let mut wanted = FOR_THE_PROGRAM.to_vec();
    wanted.push(libc::SIGCHLD);
    let arrivals = Signals::block(&wanted);
    let (program, arguments) = command.split_first().expect("the command line demands a program");
    let mut starting = Command::new(program);
    starting.args(arguments);
    // SAFETY: one system call between fork and exec.
    unsafe { starting.pre_exec(signals::die_with_parent) };
    let mut child = match program::in_domain(&mut starting, &gate).spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("qcycle: cannot start {program}: {error}");
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            std::process::exit(if missing { NOT_FOUND } else { NOT_EXECUTABLE });
        }
    };
    drop(gate);
    drop(starting);
    loop {
        let arrived = arrivals.next();
        if arrived.number == libc::SIGCHLD {
            match child.try_wait() {
                Ok(Some(status)) => signals::end_as(status),
                Ok(None) => {}
                Err(error) => panic!("a child can be waited for: {error}"),
            }
        } else if arrived.by_process {
            signals::send(child.id(), arrived.number);
        }
    }
}
