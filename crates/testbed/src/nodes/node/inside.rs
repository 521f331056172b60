//! The process that starts the programs of a node when it is ordered to, and reports how they end. It
//! is in all namespaces of the node but that of processes, so no program sees it, whatever its
//! privileges: nobody can take the socket to the agent from it, or make it say what is not so.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use anyhow::Context;
use vtime::{HostSpan, HostTime};

use super::begin::{self, Beginning};
use super::first;
use super::messages::{self, FromNode, Make, Start, ToNode};
use crate::devices;
use domain::{host_now, poll_until, readable};
use network::tap;
use network::tcp_settings;
use network::wire::MacAddress;
use os::fds;
use os::namespaces;
use os::process::Process;
use os::signals;
use runtime::launch::program::Gate;

/// Largest payload of an Ethernet frame.
const MTU: u16 = 1500;
const INTERFACE: &str = "eth0";
/// How long the next program waits for one that does not come to its exec: others in the node may have
/// stopped it.
const EXEC_LONGEST: HostSpan = HostSpan::from_ns(1_000_000_000);

/// The process of a node, from its start to its end, with a socket and a gate that the agent hands
/// over.
pub fn main(socket: OwnedFd, gate: Gate) -> ! {
    // Ctrl-C reaches the whole group; what it means is for the runner to decide.
    signals::Signals::block(&signals::FOR_THE_PROGRAM);
    keep_from_programs();
    // What `ps` shows; without it, the last part of `/proc/self/exe`.
    let _ = std::fs::write("/proc/self/comm", "qcycle-node");
    let make = match messages::receive(socket.as_fd()) {
        Ok(Some((ToNode::Make(make), _))) => make,
        _ => std::process::exit(0),
    };
    let made = (|| {
        // That of the host, which nobody in the node can mount anything over.
        let processes = File::open("/proc").context("cannot open /proc")?;
        Ok((enter(&processes)?, processes, self::make(&make)?, open_null()?))
    })();
    match made {
        Ok((first, processes, devices, null)) => {
            let devices: Vec<BorrowedFd<'_>> = devices.iter().map(AsFd::as_fd).collect();
            if messages::send(socket.as_fd(), &FromNode::Made, &devices).is_err() {
                std::process::exit(0);
            }
            Node {
                socket,
                gate,
                null,
                processes,
                first,
                waiting: VecDeque::new(),
                beginnings: Vec::new(),
                started: HostTime::ZERO,
                programs: BTreeMap::new(),
            }
        }
        Err(error) => fail(&socket, &error),
    }
    .run()
}

fn enter(processes: &File) -> anyhow::Result<First> {
    let (mut reader, report) = std::io::pipe().context("cannot make a pipe")?;
    let first = namespaces::enter()?;
    if first == 0 {
        first::main(File::from(OwnedFd::from(report)));
    }
    drop(report);
    let folder = fds::open_below(processes, &first.to_string())?;
    let first = First { number: first, process: Process::open(first)?, folder };
    let mut report = String::new();
    reader.read_to_string(&mut report)?;
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
/// that the process which started the run had left open. close_range(2)
fn keep_from_programs() {
    const FIRST: libc::c_uint = 3;
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: takes numbers; descriptors stay open here.
    unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, flags) };
}

/// No input, as long as no program runs that could put something else in its place.
fn open_null() -> anyhow::Result<File> {
    File::open("/dev/null").context("cannot open /dev/null")
}

fn fail(socket: &OwnedFd, error: &anyhow::Error) -> ! {
    let failed = FromNode::Failed { reason: format!("{error:#}") };
    // If the agent is gone, nobody is left to hear it.
    let _ = messages::send(socket.as_fd(), &failed, &[]);
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
    if make.avoids_timers {
        tcp_settings::avoid_timers_here(make.interface.as_ref().map(|_| INTERFACE))?;
    }
    if make.plant {
        made.push(devices::mount_here(devices::FOLDER.as_ref())?);
    }
    if make.random {
        made.push(devices::mount_random_here()?);
    }
    Ok(made)
}

struct Node {
    socket: OwnedFd,
    gate: Gate,
    null: File,
    processes: File,
    first: First,
    /// Programs to start, in this order, each when the one before has come to its exec.
    waiting: VecDeque<(Start, Vec<OwnedFd>)>,
    beginnings: Vec<Starting>,
    started: HostTime,
    programs: BTreeMap<i32, String>,
}

/// The first process in the namespace of processes, with which all others there end.
struct First {
    number: i32,
    process: Process,
    /// What the host's `/proc` says of it.
    folder: OwnedFd,
}

impl First {
    /// Whether it is at its end, which comes when it has killed all others and they are collected: it
    /// has no memory any more.
    fn is_ending(&self) -> bool {
        fds::link_below(self.folder.as_fd(), c"exe").is_err()
    }
}

struct Starting {
    name: String,
    beginning: Beginning,
    /// How its process ended, if that was seen before its maker's end.
    ended: Option<ChildExit>,
}

struct ChildExit {
    process: i32,
    code: Option<i32>,
    signal: Option<i32>,
    cpu_s: f64,
}

impl Node {
    fn run(mut self) -> ! {
        let children = signals::descriptor(&[libc::SIGCHLD]).expect("a signal descriptor");
        loop {
            let mut fds = [readable(self.socket.as_fd()), readable(children.as_fd())];
            let until = (!self.waiting.is_empty()).then(|| self.started + EXEC_LONGEST);
            poll_until(&mut fds, until).expect("polling two open descriptors");
            let [has_order, has_children] = fds.map(|fd| !fd.revents().is_empty());
            if has_children {
                signals::drain(&children);
                self.collect();
            }
            if has_order {
                match messages::receive(self.socket.as_fd()) {
                    Ok(Some((ToNode::Start(start), pipes))) => {
                        self.waiting.push_back((start, pipes));
                    }
                    Ok(Some((ToNode::Stop { kill }, _))) => self.stop(kill),
                    _ => self.end(),
                }
            }
            self.start_next();
        }
    }

    /// Starts what is next, if nothing is on its way, or only what somebody keeps from getting on.
    fn start_next(&mut self) {
        while self.beginnings.is_empty() || host_now() >= self.started + EXEC_LONGEST {
            let Some((start, pipes)) = self.waiting.pop_front() else { return };
            self.started = host_now();
            self.start(&start, pipes);
        }
    }

    fn start(&mut self, start: &Start, pipes: Vec<OwnedFd>) {
        let name = start.name.clone();
        let fds = [self.null.as_fd(), self.first.process.as_fd()];
        match Beginning::new(start, fds, pipes, &self.gate) {
            Ok(beginning) => self.beginnings.push(Starting { name, beginning, ended: None }),
            Err(error) => self.send(&FromNode::NotStarted { name, reason: error.to_string() }),
        }
    }

    fn stop(&self, kill: bool) {
        signals::send(
            self.first.number.unsigned_abs(),
            if kill { first::KILL } else { first::ASK },
        );
    }

    /// Ends everything in the node, and this process when nothing of it is left.
    fn end(&self) -> ! {
        signals::send(self.first.number.unsigned_abs(), libc::SIGKILL);
        // The first process ends when all others have been collected.
        // SAFETY: no status is asked for.
        while unsafe { libc::wait4(-1, std::ptr::null_mut(), 0, std::ptr::null_mut()) } > 0 {}
        std::process::exit(0)
    }

    fn collect(&mut self) {
        while let Some(ended) = ChildExit::next() {
            let killed = ended.signal == Some(libc::SIGKILL);
            if ended.process == self.first.number || killed && self.first.is_ending() {
                self.end();
            }
            self.collected(ended);
        }
    }

    fn collected(&mut self, ended: ChildExit) {
        let made = |begun: &Starting| begun.beginning.maker == ended.process;
        let becomes = |begun: &&mut Starting| begun.beginning.process() == Some(ended.process);
        if let Some(place) = self.beginnings.iter().position(made) {
            let begun = self.beginnings.swap_remove(place);
            self.exec_done(begun);
        } else if let Some(begun) = self.beginnings.iter_mut().find(becomes) {
            begun.ended = Some(ended);
        } else if let Some(name) = self.programs.remove(&ended.process) {
            self.send(&ended.of(name));
        }
    }

    /// The exec of a program has succeeded or failed.
    fn exec_done(&mut self, Starting { name, beginning, ended }: Starting) {
        let gives_up = |process| match &ended {
            Some(ended) => ended.code == Some(begin::FAILED),
            None => ends_as_it_began(&self.processes, process),
        };
        match beginning.end(gives_up) {
            Err(error) => self.send(&FromNode::NotStarted { name, reason: error.to_string() }),
            Ok(process) => {
                self.send(&FromNode::Started { name: name.clone() });
                match ended {
                    Some(ended) => self.send(&ended.of(name)),
                    None => drop(self.programs.insert(process, name)),
                }
            }
        }
    }

    fn send(&self, message: &FromNode) {
        // If the agent is gone, the next receive ends this process.
        let _ = messages::send(self.socket.as_fd(), message, &[]);
    }
}

impl ChildExit {
    /// Collects the next child that has ended. wait4(2)
    fn next() -> Option<Self> {
        let mut status = 0;
        // SAFETY: a structure of integers, which the kernel fills.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both point to live values of the right kind.
        let process = unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        (process > 0).then(|| Self {
            process,
            code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
            signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        })
    }

    fn of(&self, name: String) -> FromNode {
        FromNode::Exited { name, code: self.code, signal: self.signal, cpu_s: self.cpu_s }
    }
}

/// Whether a process ends that has never become a program: what it says of itself others in its node
/// may have written. A false answer for one that is not there any more. proc_pid_stat(5)
fn ends_as_it_began(processes: &File, process: i32) -> bool {
    let mut text = String::new();
    let read = fds::open_below(processes, &format!("{process}/stat"))
        .and_then(|stat| File::from(stat).read_to_string(&mut text));
    read.is_ok() && flags(&text).is_some_and(|flags| flags & ENDS_AS_IT_BEGAN == ENDS_AS_IT_BEGAN)
}

const ENDS_AS_IT_BEGAN: u32 = 0x4 | 0x40;

/// The flags of a process, from its line in `/proc`. A name may have anything in it, so counts from behind that.
fn flags(stat: &str) -> Option<u32> {
    const FLAGS_AFTER_NAME: usize = 6;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(FLAGS_AFTER_NAME)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_that_has_become_a_program_does_not_end_as_it_began() {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let process = child.id().cast_signed();
        let processes = File::open("/proc").unwrap();
        let stat = |process: i32| std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        // It answers: the exec is over.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(flags(&stat(process)).unwrap() & ENDS_AS_IT_BEGAN, 0);
        assert!(!ends_as_it_began(&processes, process));
        drop(child.stdin.take());
        let ended = |process: i32| stat(process).contains(") Z ");
        while !ended(process) {
            std::thread::yield_now();
        }
        assert!(!ends_as_it_began(&processes, process));
        child.wait().unwrap();
        assert!(!ends_as_it_began(&processes, process));
    }

    #[test]
    fn a_process_that_ends_without_an_exec_ends_as_it_began() {
        let processes = File::open("/proc").unwrap();
        // SAFETY: it ends at once, and calls nothing that needs more than its one thread.
        let process = unsafe { namespaces::fork(0, None) }.unwrap();
        if process == 0 {
            // SAFETY: takes a number.
            unsafe { libc::_exit(begin::FAILED) }
        }
        while !std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap().contains(") Z ") {
            std::thread::yield_now();
        }
        assert!(ends_as_it_began(&processes, process));
        // SAFETY: a child of this process; no status is asked for.
        unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) };
    }

    #[test]
    fn a_name_hides_no_flags() {
        let stat = "7 (a) 1 (b) S 1 7 7 0 -1 4194368 130 0 0 0";
        assert_eq!(flags(stat), Some(4_194_368));
        assert_eq!(flags("7 (a"), None);
        assert_eq!(flags("7 (a) S 1"), None);
    }
}
