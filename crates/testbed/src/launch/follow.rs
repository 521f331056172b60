//! From the notification of an exec to a program that stands at its first instruction.
//!
//! One thread receives the listener of each program tree through a socket, the [`Gate`], and then
//! every exec in it. A worker of the [`Desk`] attaches to the program, lets the exec go on, and
//! if it succeeds finds the program stopped before its first instruction. There it puts it into
//! virtual time ([`super::equip`]) and detaches: about a quarter of a millisecond after the exec
//! the program runs, and nobody traces it.
//!
//! A program that cannot be put into virtual time is not let into the domain: it would be
//! silently wrong. It is killed, or its exec fails, and a [`Refusal`] says why.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::desk::{Desk, Job};
use super::equip::Equipment;
use super::freeze::Freezer;
use super::members;
use super::privileges;
use super::program::{Gate, Listener};
use super::seccomp;
use super::timers;
use super::tracee::{Stop, Tracee};
use crate::domain::{self, Domain};

/// A program that was not let into the domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The program, by its file or its number.
    pub program: String,
    /// Why, and the way out.
    pub reason: String,
}

/// The threads that put programs into a domain.
pub struct Follower {
    gate: Gate,
    refusals: Receiver<Refusal>,
    equipment: Arc<Equipment>,
    timers: Arc<timers::Service>,
}

impl Follower {
    /// Starts following, for programs of one domain.
    ///
    /// # Errors
    /// When the kernel has no vDSO, no memory or no descriptors left.
    pub fn start(domain: Arc<Domain>, freezer: Arc<Freezer>) -> io::Result<Self> {
        let (gate, arrivals) = Gate::new()?;
        let (sender, refusals) = mpsc::channel();
        let timers = timers::Service::start(Arc::clone(&domain))?;
        let equipment = Arc::new(Equipment::new(&domain)?);
        let work = Arc::new(Work {
            desk: Desk::default(),
            timers: Arc::clone(&timers),
            equipment: Arc::clone(&equipment),
            domain,
            waits_killably: seccomp::waits_killably(),
            freezer,
            refusals: sender,
        });
        hire(&work)?;
        thread::Builder::new().name("follow".into()).spawn(move || {
            receive(&work, &arrivals);
            work.desk.close();
        })?;
        Ok(Self { gate, refusals, equipment, timers })
    }

    /// Through which new programs report to this follower.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Lets no more programs report. Answers those that are refused from now on, until all that
    /// are followed have ended.
    #[must_use]
    pub fn close(self) -> Receiver<Refusal> {
        self.refusals
    }

    pub(super) fn equipment(&self) -> &Equipment {
        &self.equipment
    }

    pub(super) fn timers(&self) -> &timers::Service {
        &self.timers
    }

    /// The programs refused since the last call.
    pub fn refusals(&self) -> impl Iterator<Item = Refusal> + '_ {
        self.refusals.try_iter()
    }
}

/// What all workers share.
struct Work {
    domain: Arc<Domain>,
    desk: Desk,
    equipment: Arc<Equipment>,
    timers: Arc<timers::Service>,
    /// Whether a program that has reported an exec stays where it is until it is answered.
    waits_killably: bool,
    freezer: Arc<Freezer>,
    refusals: Sender<Refusal>,
}

/// What an exec takes on a host that has nothing else to do, and more: the rest is lateness.
const EXEC_TAKES_NS: i64 = 2_000_000;

/// What became of an exec.
enum Outcome {
    /// The program is in virtual time, or there was none after all.
    Done,
    /// It is not, and must not run.
    Refused(Refusal),
}

/// Starts one more worker.
fn hire(work: &Arc<Work>) -> io::Result<()> {
    let own = Arc::clone(work);
    thread::Builder::new().name("follow-exec".into()).spawn(move || {
        while let Some(job) = own.desk.next() {
            let begun = own.domain.now();
            own.exec(&job);
            let took = (own.domain.now() - begun).as_ns();
            own.domain.lateness().note_exec(&job.listener.name, took - EXEC_TAKES_NS);
        }
    })?;
    work.desk.hired();
    Ok(())
}

/// Hands in what listeners report, until every gate and every program is gone.
fn receive(work: &Arc<Work>, arrivals: &OwnedFd) {
    let mut listeners: Vec<Arc<Listener>> = Vec::new();
    // Listeners whose tree of programs has not begun yet.
    let mut fresh: BTreeSet<RawFd> = BTreeSet::new();
    let mut open = true;
    while open || !listeners.is_empty() {
        let mut fds = vec![domain::readable(arrivals.as_fd())];
        if !open {
            fds[0].fd = -1;
        }
        fds.extend(listeners.iter().map(|listener| domain::readable(listener.as_fd())));
        if domain::poll_until(&mut fds, None).is_err() {
            return;
        }
        for (listener, _) in
            listeners.iter().zip(&fds[1..]).filter(|(_, fd)| fd.revents & libc::POLLIN != 0)
        {
            // Killed between its report and now, if not.
            if let Ok(notification) = seccomp::receive(listener.as_fd()) {
                if fresh.remove(&listener.as_fd().as_raw_fd()) {
                    work.freezer.started(notification.thread.cast_signed());
                }
                let job = Job { listener: Arc::clone(listener), notification };
                if timers::is_timer_call(job.notification.call()) {
                    work.timers.call(&job);
                } else if work.desk.hand_in(job) {
                    // Without a thread to spare the workers that there are do it one by one.
                    let _ = hire(work);
                }
            }
        }
        let over = |fd: &libc::pollfd| fd.revents & (libc::POLLHUP | libc::POLLIN) == libc::POLLHUP;
        let gone: Vec<i32> = fds[1..].iter().filter(|fd| over(fd)).map(|fd| fd.fd).collect();
        listeners.retain(|listener| !gone.contains(&listener.as_fd().as_raw_fd()));
        fresh.retain(|listener| !gone.contains(listener));
        if fds[0].revents != 0 {
            match Gate::arrival(arrivals) {
                Ok(Some(listener)) => {
                    fresh.insert(listener.as_fd().as_raw_fd());
                    listeners.push(Arc::new(listener));
                }
                Ok(None) => open = false,
                Err(_) => {}
            }
        }
    }
}

impl Work {
    fn exec(&self, job: &Job) {
        let (listener, id) = (job.listener.as_fd(), job.notification.id);
        let thread = job.notification.thread.cast_signed();
        let mut tries = 0;
        let outcome = loop {
            tries += 1;
            if !seccomp::stands(listener, id) {
                return;
            }
            let error = match Tracee::seize(thread) {
                Ok(mut tracee) => break self.follow(job, &mut tracee),
                Err(error) => error,
            };
            match tracer_of(thread) {
                // On kernels where a program is interrupted while it waits for an answer, it may
                // report an exec anew before another worker has let go of it.
                Some(Tracer::Ourselves) if seccomp::stands(listener, id) => {
                    if self.desk.pass_on(&job.notification) {
                        return;
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                Some(Tracer::Nobody) if tries < 3 => {}
                // The answer fails only if the program is gone.
                _ => match seccomp::fail(listener, id, libc::EPERM) {
                    Ok(()) => break refused(thread, cannot_attach(&error)),
                    Err(_) => break Outcome::Done,
                },
            }
        };
        if let Outcome::Refused(refusal) = outcome {
            // Nobody hears it if the owner is gone.
            let _ = self.refusals.send(refusal);
        }
    }

    fn follow(&self, job: &Job, tracee: &mut Tracee) -> Outcome {
        let (listener, id) = (job.listener.as_fd(), job.notification.id);
        // Once it is known that the notification stands, the tracee is who made it and not
        // another one that was given its number. What follows fails if it was killed meanwhile.
        if !seccomp::stands(listener, id) {
            return Outcome::Done;
        }
        // Whose time it goes on with; afterwards nothing is left of the one before.
        let before = members::program_of(&self.domain, tracee.thread());
        let going = if self.waits_killably {
            // Asked before it goes on, it stops before it does anything else if the exec fails.
            seccomp::settle(listener, id);
            tracee.interrupt().and_then(|()| seccomp::go_on(listener, id))
        } else {
            // Asked before it goes on, it would stop instead. It cannot be asked any more if the
            // exec has given it another number already; then its next stop is that of the exec.
            seccomp::go_on(listener, id).map(|()| drop(tracee.interrupt()))
        };
        if going.is_err() {
            return Outcome::Done;
        }
        match run_to_first_instruction(tracee) {
            Ok(true) => {}
            // The exec has failed, or the program is gone.
            Ok(false) | Err(_) => return Outcome::Done,
        }
        let reason = match privileges::missing(tracee.thread()) {
            Some(missing) => missing,
            None => match self.equip(job, tracee, before) {
                Ok(()) => return Outcome::Done,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tracee.kill();
                    return Outcome::Done;
                }
                Err(error) => error.to_string(),
            },
        };
        // Named as long as it is there.
        let outcome = refused(tracee.thread(), reason);
        tracee.kill();
        outcome
    }

    /// Puts a program that stands at its first instruction into virtual time, where the one with
    /// the number `before` has left off.
    fn equip(&self, job: &Job, tracee: &mut Tracee, before: Option<u64>) -> io::Result<()> {
        members::sweep_if_wanted(&self.domain);
        let (program, own) =
            self.domain.add_program(&job.listener.name, tracee.thread(), before)?;
        self.timers.exec(tracee.thread(), program.number);
        self.equipment.equip(&self.desk, job.listener.as_fd(), tracee, own.as_fd())?;
        program.runs();
        Ok(())
    }
}

/// From an exec that goes on to the first instruction of the new program. `false` if there is
/// none.
fn run_to_first_instruction(tracee: &mut Tracee) -> io::Result<bool> {
    let mut exec = false;
    loop {
        let signal = match tracee.wait()? {
            Stop::Gone => return Ok(false),
            Stop::Interrupted => return Ok(exec),
            Stop::Exec => {
                exec = true;
                0
            }
            Stop::Signal(signal) => signal,
        };
        // Any stop takes back what was asked for before.
        tracee.interrupt()?;
        tracee.cont(signal)?;
    }
}

fn cannot_attach(error: &io::Error) -> String {
    format!("cannot attach to it ({error}); is it traced already, by a debugger or strace?")
}

/// Who traces a thread.
enum Tracer {
    Nobody,
    Ourselves,
    Another,
}

/// `None` if the thread is gone.
fn tracer_of(thread: libc::pid_t) -> Option<Tracer> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    match status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?.trim() {
        "0" => Some(Tracer::Nobody),
        tracer if Path::new("/proc/self/task").join(tracer).exists() => Some(Tracer::Ourselves),
        _ => Some(Tracer::Another),
    }
}

fn refused(thread: libc::pid_t, reason: String) -> Outcome {
    Outcome::Refused(Refusal { program: name_of(thread), reason })
}

/// The file that it runs: before its exec that of the program which wanted to become another.
fn name_of(thread: libc::pid_t) -> String {
    std::fs::read_link(format!("/proc/{thread}/exe"))
        .map_or_else(|_| thread.to_string(), |path| path.display().to_string())
}
