//! Taking a program in that runs already, with all its threads and children, without a jump in
//! its time.
//!
//! The whole tree is stopped by ptrace, then the domain begins: its clocks go on from where the
//! host's are at that moment, which is later than anything that the program has seen, and stand
//! until everybody is let go. Each process gets what a program gets at its exec; its vDSO is
//! pointed at the image where it lies; and threads that were waiting go on waiting, in virtual
//! time ([`waits`]).
//!
//! Until the first filter is installed, whatever fails is undone, and the program goes on as if
//! nothing had been. If this process is killed meanwhile, the program is in danger for as long as
//! one of its threads is led, some milliseconds; so this process is none that users kill: it is
//! not the command that they started, but a servant of it.
//!
//! - [`tree`]: a program with all its threads and children, stopped
//! - [`facts`]: what `/proc` tells, and why a process cannot be taken in
//! - [`put`]: one process, step by step
//! - [`vdso`]: pointing the vDSO at the image
//! - [`waits`]: how a thread goes on that was stopped in a call
//! - [`sched`]: since when a thread sleeps
//! - [`timers`]: timers that were set before

mod facts;
mod put;
mod reaper;
mod sched;
mod timers;
mod tree;
mod vdso;
mod waits;

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libc::pid_t;
use vtime::image::{IMAGE, OWN, PAGE_SIZE};
use vtime::masks;
use vtime::page::Epoch;
use vtime::resumed;
use vtime::{HostTime, ProgramTime};

use super::arch::ATTACHES;
use super::equip::Equipment;
use super::follow::Follower;
use crate::domain::Domain;
use facts::Room;
use put::Put;
use sched::Clocks;
use tree::{Thread, Threads, Tree, refusal};
use vdso::Patch;
use waits::{Interrupted, Next, Times};

/// Most instructions of the vDSO that a thread is led through to its end.
const STEPS_MAX: u32 = 20_000;

/// A program that stands still, to be put into virtual time.
#[derive(Debug)]
pub struct Standing {
    tree: Tree,
    vdso: std::collections::BTreeMap<pid_t, u64>,
}

/// What was taken in.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Processes.
    pub processes: usize,
    /// Threads of all of them.
    pub threads: usize,
    /// Host time for which they stood, in nanoseconds.
    pub stood_ns: i64,
}

/// Whether a process has an image already.
#[must_use]
pub fn is_in_a_domain(process: pid_t) -> bool {
    fs::read_to_string(format!("/proc/{process}/maps"))
        .is_ok_and(|maps| facts::room(&maps) == Room::InADomain)
}

/// Stops a process and all that comes from it, but for those kept out. Only the thread that does
/// this may go on with it.
///
/// # Errors
/// When one of them cannot be taken in; says which and why. The program goes on.
pub fn stop(process: pid_t, keep_out: &[pid_t]) -> io::Result<Standing> {
    if !ATTACHES {
        return Err(refusal(process, "attaching to running programs is supported only on x86-64"));
    }
    let tree = Tree::stop(process, keep_out)?;
    let mut vdso = std::collections::BTreeMap::new();
    let mut standing = Standing { tree, vdso: std::collections::BTreeMap::new() };
    for (process, threads) in &mut standing.tree.processes {
        let maps = fs::read_to_string(format!("/proc/{process}/maps"))
            .map_err(|error| refusal(*process, &error.to_string()))?;
        let at = match facts::room(&maps) {
            Room::Free { vdso } => vdso,
            Room::InADomain => return Err(refusal(*process, "it is already in a domain")),
            Room::NoVdso => return Err(refusal(*process, "it has no vDSO")),
            Room::Taken => {
                return Err(refusal(
                    *process,
                    &format!(
                        "it uses the addresses needed for the image ({IMAGE:#x} to {:#x})",
                        OWN + PAGE_SIZE
                    ),
                ));
            }
        };
        vdso.insert(*process, at);
        let length = vdso_length();
        for thread in threads.values_mut() {
            leave_vdso(thread, at..at + length)
                .map_err(|error| refusal(*process, &error.to_string()))?;
        }
    }
    standing.vdso = vdso;
    Ok(standing)
}

impl Standing {
    /// Puts all of them into the domain of a follower, whose clock stands, and lets them go with
    /// the release of the hold that it stands by.
    ///
    /// # Errors
    /// When one of them cannot be put there; says which and why. None of them is in the domain
    /// then, and all go on.
    pub fn put_into(self, follower: &Follower, domain: &Domain) -> io::Result<Taken> {
        let Self { mut tree, vdso } = self;
        let patch = Patch::new()?;
        let equipment = follower.equipment();
        let waits = decide_waits(&mut tree, domain)?;
        let began = tree.processes.values().flat_map(Threads::values).map(|thread| thread.stopped);
        let began = began.min().unwrap_or(HostTime::ZERO);
        let name = tree.name();
        let mut own = Vec::new();
        for process in tree.processes.keys() {
            own.push(domain.add_program(&name, *process, None)?);
        }
        let mut puts = Vec::new();
        for ((process, threads), (program, own)) in tree.processes.iter_mut().zip(&own) {
            let thread = threads.values_mut().next().expect("a process without threads is gone");
            match prepare(equipment, &patch, *process, thread, vdso[process], own.as_fd()) {
                Ok(put) => {
                    program.runs();
                    puts.push((*process, put));
                }
                Err(error) => {
                    puts.into_iter().for_each(|(_, put): (_, Put<'_>)| put.undo());
                    return Err(refusal(*process, &error.to_string()));
                }
            }
        }
        let mut puts = puts.into_iter();
        while let Some((process, mut put)) = puts.next() {
            let installed = put.install_filter();
            let listener = match installed {
                Ok(listener) => listener,
                Err(error) => {
                    put.undo();
                    puts.for_each(|(_, put)| put.undo());
                    return Err(refusal(
                        process,
                        &format!("cannot put the filter on it ({error})"),
                    ));
                }
            };
            follower
                .gate()
                .hand_over(&name, listener.as_fd())
                .expect("the follower receives until its gate is closed");
            timers::take_over(follower.timers(), &name, process, &mut put);
            put.end();
        }
        for thread in tree.processes.values_mut().flat_map(Threads::values_mut) {
            let wait = waits.get(&thread.tracee.thread()).copied().unwrap_or(Wait::AsItIs);
            // Fails only if it was killed meanwhile.
            let _ = go_on(thread, wait);
        }
        let (processes, threads) =
            (tree.processes.len(), tree.processes.values().map(Threads::len).sum());
        domain.release_hold();
        drop(tree);
        let stood_ns = (crate::domain::host_now() - began).as_ns();
        Ok(Taken { processes, threads, stood_ns })
    }
}

/// Everything that can be undone.
fn prepare<'p>(
    equipment: &'p Equipment,
    patch: &'p Patch,
    process: pid_t,
    thread: &'p mut Thread,
    vdso: u64,
    own: BorrowedFd<'_>,
) -> io::Result<Put<'p>> {
    let mut put = Put::begin(equipment, patch, process, thread, vdso)?;
    let done = put
        .map(own)
        .and_then(|()| put.take_signal(put::caught(process)))
        .and_then(|()| put.point_vdso());
    match done {
        Ok(()) => Ok(put),
        Err(error) => {
            put.undo();
            Err(error)
        }
    }
}

/// How a thread goes on, in virtual time.
#[derive(Clone, Copy, Debug)]
enum Wait {
    AsItIs,
    Again,
    Until(ProgramTime),
}

/// Decides for all threads how they go on.
fn decide_waits(
    tree: &mut Tree,
    domain: &Domain,
) -> io::Result<std::collections::BTreeMap<pid_t, Wait>> {
    // What the clocks show went on from the host's, so a host time is a virtual one.
    let epoch = domain.page().epoch(Epoch::Monotonic);
    let mut clocks = Clocks::default();
    let mut waits = std::collections::BTreeMap::new();
    for thread in tree.processes.values_mut().flat_map(Threads::values_mut) {
        let registers = thread.tracee.registers()?;
        let Some((number, args, result)) = registers.call() else { continue };
        let call = Interrupted { number, args, result };
        let asleep_since = thread.asleep.and_then(|asleep| asleep.since(&mut clocks));
        let times = Times { asleep_since, stopped: thread.stopped };
        let wait = match waits::next(&call, times, |address| read_pair(thread, address)) {
            Next::AsItIs => Wait::AsItIs,
            Next::Again => Wait::Again,
            Next::Until(host) => Wait::Until(ProgramTime::from_ns(host.as_ns() - epoch)),
        };
        waits.insert(thread.tracee.thread(), wait);
    }
    Ok(waits)
}

fn read_pair(thread: &Thread, address: u64) -> Option<[i64; 2]> {
    let mut octets = [[0u8; 8]; 2];
    let count = thread.tracee.read(address, octets.as_flattened_mut()).ok()?;
    (count == 16).then(|| octets.map(i64::from_le_bytes))
}

/// Sets a thread up to go on as decided, with SIGSYS not blocked.
fn go_on(thread: &mut Thread, wait: Wait) -> io::Result<()> {
    let tracee = &mut thread.tracee;
    let blocked = tracee.blocked()?;
    if blocked & masks::SIGSYS_BIT != 0 {
        tracee.set_blocked(masks::kept(blocked))?;
    }
    let mut registers = tracee.registers()?;
    let Some((number, ..)) = registers.call() else { return Ok(()) };
    let number = number as u32;
    registers.call_again(match wait {
        Wait::AsItIs => return Ok(()),
        // A signal that has a handler is about to be delivered: that ends the call, as natively.
        _ if is_about_to_be_interrupted(tracee.thread()) => return Ok(()),
        Wait::Again => number.into(),
        Wait::Until(deadline) => resumed::with_deadline(number, deadline),
    });
    tracee.set_registers(&registers)
}

fn is_about_to_be_interrupted(thread: pid_t) -> bool {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let set = |name| facts::signals(&status, name);
    (set("SigPnd") | set("ShdPnd")) & set("SigCgt") & !set("SigBlk") != 0
}

/// A thread that is reading a clock at this moment would go on to read the host's: it is led to
/// the end of that.
fn leave_vdso(thread: &mut Thread, vdso: std::ops::Range<u64>) -> io::Result<()> {
    use super::tracee::Stop;
    let tracee = &mut thread.tracee;
    if !vdso.contains(&tracee.registers()?.next()) {
        return Ok(());
    }
    let blocked = tracee.blocked()?;
    tracee.set_blocked(!(1 << (libc::SIGTRAP - 1)))?;
    for _ in 0..STEPS_MAX {
        tracee.step(0)?;
        match tracee.wait()? {
            Stop::Gone => return Ok(()),
            Stop::Signal(libc::SIGTRAP) => tracee.forget_signal(),
            _ => {}
        }
        if !vdso.contains(&tracee.registers()?.next()) {
            break;
        }
    }
    tracee.set_blocked(blocked)
}

fn vdso_length() -> u64 {
    super::image::own_vdso().map_or(0, |vdso| vdso.len() as u64)
}
