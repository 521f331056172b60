//! The process that starts the programs of a node when it is told to, and tells how they end. It
//! is in all namespaces of the node but that of processes, so no program sees it, whatever its
//! privileges: nobody can take the socket to the agent from it, or make it say what is not so.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::super::signals;
use super::first;
use super::talk::{self, FromNode, Make, Start, ToNode};
use crate::devices;
use crate::domain::{poll_until, readable};
use crate::launch::namespaces;
use crate::launch::program::{self, Gate};
use crate::network::tap;
use crate::wire::MacAddress;

/// Largest payload of an Ethernet frame.
const MTU: u16 = 1500;
const INTERFACE: &str = "eth0";

/// The process of a node, from its start to its end, with a socket and a gate that the agent hands
/// over.
pub fn main([socket, gate]: [OwnedFd; 2]) -> ! {
    // Ctrl-C reaches the whole group; what it means is for the runner to decide.
    signals::Signals::block(&signals::FOR_THE_PROGRAM);
    keep_from_programs();
    let gate = Gate::from_fd(gate);
    // What `ps` shows; without it, the last part of `/proc/self/exe`.
    let _ = std::fs::write("/proc/self/comm", "qcycle-node");
    let make = match talk::receive(socket.as_fd()) {
        Ok(Some((ToNode::Make(make), _))) => make,
        _ => std::process::exit(0),
    };
    let made = enter().and_then(|first| Ok((first, self::make(&make)?)));
    match made {
        Ok((first, devices)) => {
            let devices: Vec<BorrowedFd<'_>> = devices.iter().map(AsFd::as_fd).collect();
            if talk::send(socket.as_fd(), &FromNode::Made, &devices).is_err() {
                std::process::exit(0);
            }
            Node { socket, gate, first, programs: BTreeMap::new() }
        }
        Err(error) => fail(&socket, &error),
    }
    .run()
}

/// Makes the namespaces and their first process. Answers its number.
fn enter() -> anyhow::Result<i32> {
    let (mut said, report) = std::io::pipe().context("cannot make a pipe")?;
    let first = namespaces::enter()?;
    if first == 0 {
        first::main(File::from(OwnedFd::from(report)));
    }
    drop(report);
    let mut report = String::new();
    said.read_to_string(&mut report)?;
    match report.as_str() {
        first::MADE => {
            // The old root goes when nobody stands in it any more.
            std::env::set_current_dir("/").context("cannot enter the file system of the node")?;
            Ok(first)
        }
        "" => anyhow::bail!("the first process of the node died"),
        error => anyhow::bail!("{error}"),
    }
}

/// Programs inherit no descriptor of this process: neither the two that it was given, nor those
/// that whoever started the run had left open. close_range(2)
fn keep_from_programs() {
    const FIRST: libc::c_uint = 3;
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: takes numbers; descriptors stay open here.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flags) };
}

fn fail(socket: &OwnedFd, error: &anyhow::Error) -> ! {
    let failed = FromNode::Failed { reason: format!("{error:#}") };
    // If the agent is gone, nobody is left to hear it.
    let _ = talk::send(socket.as_fd(), &failed, &[]);
    std::process::exit(1)
}

/// Makes what the node needs and answers the devices that the agent serves.
fn make(make: &Make) -> anyhow::Result<Vec<OwnedFd>> {
    namespaces::set_host_name(&make.name).context("cannot name the node")?;
    let mut made = Vec::new();
    if let Some(interface) = &make.interface {
        let mac = MacAddress(interface.mac);
        made.push(tap::create_here(INTERFACE, mac, interface.address, interface.prefix, MTU)?);
    } else {
        tap::loopback_up_here()?;
    }
    if make.plant {
        made.push(devices::mount_here(devices::FOLDER.as_ref())?);
    }
    Ok(made)
}

struct Node {
    socket: OwnedFd,
    gate: Gate,
    /// The first process in the namespace of processes, with which all others there end.
    first: i32,
    /// Name by process number.
    programs: BTreeMap<i32, String>,
}

impl Node {
    fn run(mut self) -> ! {
        let children = signals::descriptor(&[libc::SIGCHLD]).expect("a signal descriptor");
        loop {
            let mut fds = [readable(self.socket.as_fd()), readable(children.as_fd())];
            poll_until(&mut fds, None).expect("polling two open descriptors");
            if fds[1].revents != 0 {
                signals::drain(&children);
                self.collect();
            }
            if fds[0].revents != 0 {
                match talk::receive(self.socket.as_fd()) {
                    Ok(Some((ToNode::Start(start), pipes))) => self.start(&start, pipes),
                    Ok(Some((ToNode::Stop { kill }, _))) => self.stop(kill),
                    _ => self.end(),
                }
            }
        }
    }

    fn start(&mut self, start: &Start, pipes: Vec<OwnedFd>) {
        let name = start.name.clone();
        let said = match spawn(start, pipes, &self.gate, self.socket.as_raw_fd()) {
            Ok(process) => {
                self.programs.insert(process, name.clone());
                FromNode::Started { name }
            }
            Err(error) => FromNode::NotStarted { name, reason: error.to_string() },
        };
        self.say(&said);
    }

    fn stop(&self, kill: bool) {
        signals::send(self.first.unsigned_abs(), if kill { first::KILL } else { first::ASK });
    }

    /// Ends everything in the node, and this process when nothing of it is left.
    fn end(&self) -> ! {
        signals::send(self.first.unsigned_abs(), libc::SIGKILL);
        // The first process ends when all others have been collected.
        // SAFETY: no status is asked for.
        while unsafe { libc::wait4(-1, std::ptr::null_mut(), 0, std::ptr::null_mut()) } > 0 {}
        std::process::exit(0)
    }

    fn collect(&mut self) {
        loop {
            let mut status = 0;
            // SAFETY: a structure of integers, which the kernel fills.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: both point to live values of the right kind.
            let process =
                unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
            if process <= 0 {
                return;
            }
            if process == self.first {
                self.end();
            }
            let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
            if killed && is_ending() {
                self.end();
            }
            let Some(name) = self.programs.remove(&process) else { continue };
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            self.say(&FromNode::Exited {
                name,
                code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
                signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
                cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            });
        }
    }

    fn say(&self, message: &FromNode) {
        // If the agent is gone, the next receive ends this process.
        let _ = talk::send(self.socket.as_fd(), message, &[]);
    }
}

/// Whether the first process is at its end, which comes when it has killed all others and they are
/// collected: it has no memory any more.
fn is_ending() -> bool {
    let first = std::path::Path::new("/proc/1");
    first.exists() && std::fs::read_link(first.join("exe")).is_err()
}

/// Starts a program and answers its process number.
fn spawn(start: &Start, pipes: Vec<OwnedFd>, gate: &Gate, socket: RawFd) -> std::io::Result<i32> {
    let [out, err] = <[OwnedFd; 2]>::try_from(pipes)
        .map_err(|_| std::io::Error::other("no pipes came with the order to start it"))?;
    let (program, arguments) =
        start.command.split_first().ok_or_else(|| std::io::Error::other("no program is named"))?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&start.directory);
    command.env_clear().envs(&start.environment);
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    let begin = move || {
        // Programs that run already see this process from here on.
        // SAFETY: takes a number; the copy of this process, which is about to be a program.
        unsafe { libc::close(socket) };
        stand_alone()
    };
    // SAFETY: a few system calls between fork and exec.
    unsafe { command.pre_exec(begin) };
    let child = program::in_domain(&mut command, gate, &start.name).spawn()?;
    Ok(child.id().cast_signed())
}

/// Parts a program from the process that starts it: it gets a session of its own, so that it has
/// no terminal and signals to its group stay with it, and it hears the signals that are blocked
/// in this process.
fn stand_alone() -> std::io::Result<()> {
    // SAFETY: takes nothing, then a number, then a set of signals that lives on the stack.
    unsafe {
        if libc::setsid() < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // As of most shells, whatever that of the runner is: files of programs are part of a run.
        libc::umask(0o022);
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) {
            0 => Ok(()),
            error => Err(std::io::Error::from_raw_os_error(error)),
        }
    }
}
