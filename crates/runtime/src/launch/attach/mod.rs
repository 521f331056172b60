//! Attaching to a program that runs already, with all its threads and children, without a jump in
//! its time.
//!
//! The whole tree is stopped by ptrace, then the domain begins: its clocks go on from where the
//! host's are at that moment, which is later than anything that the program has seen, and stand
//! until everybody is detached. Each process gets what a program gets at its exec; its vDSO is
//! pointed at the image where it lies; and threads that were waiting go on waiting, in virtual
//! time ([`waits`]).
//!
//! Until the first filter is installed, whatever fails is undone, and the program goes on as if
//! nothing had been. If this process is killed meanwhile, the program is in danger for as long as
//! one of its threads is led, some milliseconds; so this process is none that users kill: it is
//! not the command that they started, but a servant of it.
//!
//! - [`tree`]: a program with all its threads and children, stopped
//! - [`facts`]: what `/proc` reports, and why a process cannot be attached
//! - [`insertion`]: one process, step by step
//! - [`vdso`]: pointing the vDSO at the image
//! - [`waits`]: how a thread goes on that was stopped in a call
//! - [`sched`]: since when a thread sleeps
//! - [`timers`]: timers that were set before

mod facts;
mod insertion;
mod reaper;
mod sched;
mod timers;
mod tree;
mod vdso;
mod waits;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use libc::pid_t;
use vtime::image::{IMAGE, OWN, OWN_SIZE};
use vtime::masks;
use vtime::page::Epoch;
use vtime::resumed;
use vtime::{HostTime, ProgramTime};

use super::arch::ATTACHES;
use super::equip::Equipment;
use super::follow::Follower;
use super::tracee;
use domain::Domain;
use facts::ImageSlot;
use insertion::Insertion;
use os::process::{live_thread_of, signal_set, status_of};
use sched::Clocks;
use tree::{Thread, Threads, Tree, refusal};
use vdso::Patch;
use waits::{Interrupted, Next, Times};

/// Most instructions of the vDSO that a thread is led through to its end.
const STEPS_MAX: u32 = 20_000;

/// A program that is stopped, to be put into virtual time.
#[derive(Debug)]
pub struct StoppedProgram {
    tree: Tree,
    vdso: BTreeMap<pid_t, u64>,
}

/// Size of the program, and how long it was stopped.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    pub processes: usize,
    pub threads: usize,
    /// Host time for which they stood, in nanoseconds.
    pub stood_ns: i64,
}

/// Whether the image of a domain is mapped into a process; also `true` where that cannot be read.
#[must_use]
pub fn may_be_in_a_domain(process: pid_t) -> bool {
    maps_of(process).map_or_else(
        |error| error.kind() != io::ErrorKind::NotFound,
        |maps| facts::image_slot(&maps) == ImageSlot::InADomain,
    )
}

/// Stops a process and all that comes from it, but for those kept out. Only the thread that does
/// this may go on with it.
///
/// # Errors
/// When one of them cannot be attached; says which and why. The program goes on.
pub fn stop(process: pid_t, keep_out: &[pid_t]) -> io::Result<StoppedProgram> {
    if !ATTACHES {
        return Err(refusal(process, "attaching to running programs is supported only on x86-64"));
    }
    let mut tree = Tree::stop(process, keep_out)?;
    let (root, length) = (process, super::image::own_vdso().map_or(0, |vdso| vdso.len() as u64));
    let mut vdso = BTreeMap::new();
    for (process, threads) in &mut tree.processes {
        match make_ready(*process, threads, length) {
            Ok(at) => drop(vdso.insert(*process, at)),
            // Killed since.
            Err(_) if *process != root && !all_stand(threads) => {}
            Err(error) => return Err(error),
        }
    }
    tree.processes.retain(|process, _| vdso.contains_key(process));
    Ok(StoppedProgram { tree, vdso })
}

fn maps_of(process: pid_t) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{}/maps", live_thread_of(process)))
}

fn all_stand(threads: &Threads) -> bool {
    threads.keys().all(|thread| tracee::stands(*thread))
}

/// Leads its threads out of the vDSO. Returns where that lies.
fn make_ready(process: pid_t, threads: &mut Threads, length: u64) -> io::Result<u64> {
    let refused = |reason: String| refusal(process, &reason);
    let maps = maps_of(process).map_err(|error| refused(error.to_string()))?;
    let at = match facts::image_slot(&maps) {
        ImageSlot::Free { vdso } => vdso,
        ImageSlot::InADomain => return Err(refused("it is already in a domain".to_owned())),
        ImageSlot::NoVdso => return Err(refused("it has no vDSO".to_owned())),
        ImageSlot::Occupied => {
            return Err(refused(format!(
                "it uses the addresses needed for the image ({IMAGE:#x} to {:#x})",
                OWN + OWN_SIZE
            )));
        }
    };
    for thread in threads.values_mut() {
        leave_vdso(thread, at..at + length).map_err(|error| refused(error.to_string()))?;
    }
    Ok(at)
}

impl StoppedProgram {
    /// Puts all of them into the domain of a follower, whose clock is stopped, and detaches from them with
    /// the release of the hold that it stands by.
    ///
    /// # Errors
    /// When one of them cannot be put there; says which and why. None of them is in the domain
    /// then, and all go on.
    pub fn insert_into(self, follower: &Follower, domain: &Domain) -> io::Result<Attached> {
        let Self { mut tree, vdso } = self;
        let root = tree.root();
        let patch = Patch::new()?;
        let equipment = &*follower.equipment;
        let waits = decide_waits(&mut tree)?;
        // What the clocks show went on from the host's, so a host time is a virtual one.
        let epoch_ns = domain.page().epoch(Epoch::Monotonic);
        let began = tree.processes.values().flat_map(Threads::values).map(|thread| thread.stopped);
        let began = began.min().unwrap_or(HostTime::ZERO);
        let name = tree.name();
        let mut own = Vec::new();
        for process in tree.processes.keys() {
            own.push(domain.add_program(&name, "", *process, None)?);
        }
        let mut insertions = Vec::new();
        for ((process, threads), (program, own)) in tree.processes.iter_mut().zip(&own) {
            let (number, thread) =
                threads.iter_mut().next().expect("a process without threads is gone");
            match prepare(equipment, &patch, *process, thread, vdso[process], own.as_fd()) {
                Ok(insertion) => {
                    program.runs();
                    insertions.push((*process, insertion));
                }
                Err(_) if *process != root && !tracee::stands(*number) => {}
                Err(error) => {
                    insertions
                        .into_iter()
                        .for_each(|(_, insertion): (_, Insertion<'_>)| insertion.undo());
                    return Err(refusal(*process, &error.to_string()));
                }
            }
        }
        let mut insertions = insertions.into_iter();
        while let Some((process, mut insertion)) = insertions.next() {
            let installed = insertion.install_filter();
            let listener = match installed {
                Ok(listener) => listener,
                // Killed, and for those that are in the domain by now there is no way back.
                Err(_) if !tracee::stands(insertion.thread()) => {
                    insertion.undo();
                    continue;
                }
                Err(error) => {
                    insertion.undo();
                    insertions.for_each(|(_, insertion)| insertion.undo());
                    return Err(refusal(
                        process,
                        &format!("cannot put the filter on it ({error})"),
                    ));
                }
            };
            follower
                .gate()
                .send_listener(&name, listener.as_fd())
                .expect("the follower receives until its gate is closed");
            timers::take_over(&follower.timers, &name, process, &mut insertion);
            insertion.end();
        }
        for thread in tree.processes.values_mut().flat_map(Threads::values_mut) {
            let next = waits.get(&thread.tracee.thread()).copied().unwrap_or(Next::AsItIs);
            // Fails only if it was killed meanwhile.
            let _ = go_on(thread, next, epoch_ns);
        }
        let (processes, threads) =
            (tree.processes.len(), tree.processes.values().map(Threads::len).sum());
        domain.release_hold();
        drop(tree);
        let stood_ns = (domain::host_now() - began).as_ns();
        Ok(Attached { processes, threads, stood_ns })
    }
}

fn prepare<'p>(
    equipment: &'p Equipment,
    patch: &'p Patch,
    process: pid_t,
    thread: &'p mut Thread,
    vdso: u64,
    own: BorrowedFd<'_>,
) -> io::Result<Insertion<'p>> {
    let mut insertion = Insertion::begin(equipment, patch, process, thread, vdso)?;
    let done = insertion
        .map(own)
        .and_then(|()| insertion.take_signal(insertion::caught(process)))
        .and_then(|()| insertion.point_vdso());
    match done {
        Ok(()) => Ok(insertion),
        Err(error) => {
            insertion.undo();
            Err(error)
        }
    }
}

fn decide_waits(tree: &mut Tree) -> io::Result<BTreeMap<pid_t, Next>> {
    let mut clocks = Clocks::default();
    let mut waits = BTreeMap::new();
    for thread in tree.processes.values_mut().flat_map(Threads::values_mut) {
        let registers = match thread.tracee.registers() {
            Ok(registers) => registers,
            Err(_) if !thread.tracee.stands() => continue,
            Err(error) => return Err(error),
        };
        let Some((number, args, result)) = registers.call() else { continue };
        let call = Interrupted { number, args, result };
        let asleep_since = thread.asleep.and_then(|asleep| asleep.since(&mut clocks));
        let times = Times { asleep_since, stopped: thread.stopped };
        let next = waits::next(&call, times, |address| read_pair(thread, address));
        waits.insert(thread.tracee.thread(), next);
    }
    Ok(waits)
}

fn read_pair(thread: &Thread, address: u64) -> Option<[i64; 2]> {
    let mut octets = [[0u8; 8]; 2];
    let count = thread.tracee.read(address, octets.as_flattened_mut()).ok()?;
    (count == 16).then(|| octets.map(i64::from_le_bytes))
}

/// Sets a thread up to go on as decided, with SIGSYS not blocked.
fn go_on(thread: &mut Thread, next: Next, epoch_ns: i64) -> io::Result<()> {
    let tracee = &mut thread.tracee;
    let blocked = tracee.blocked()?;
    if blocked & masks::SIGSYS_BIT != 0 {
        tracee.set_blocked(masks::kept(blocked))?;
    }
    let mut registers = tracee.registers()?;
    let Some((number, ..)) = registers.call() else { return Ok(()) };
    let number = number as u32;
    registers.call_again(match next {
        Next::AsItIs => return Ok(()),
        // A signal that has a handler is about to be delivered: that ends the call, as natively.
        _ if is_about_to_be_interrupted(tracee.thread()) => return Ok(()),
        Next::Again => number.into(),
        Next::Until(host) => {
            resumed::with_deadline(number, ProgramTime::from_ns(host.as_ns() - epoch_ns))
        }
    });
    tracee.set_registers(&registers)
}

fn is_about_to_be_interrupted(thread: pid_t) -> bool {
    let status = status_of(thread);
    let set = |name| signal_set(&status, name);
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
