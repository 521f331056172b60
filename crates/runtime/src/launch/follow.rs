//! From the notification of an exec to a program that stands at its first instruction.
//!
//! One thread receives the listener of each program tree through a socket, the [`Gate`], and gives
//! it to a thread of its own, which receives every exec in the tree. A worker of the tree's
//! [`ExecQueue`] attaches to the program, lets the exec continue, and if it succeeds finds the program
//! stopped before its first instruction. There it puts it into virtual time ([`super::equip`]) and
//! detaches: about a quarter of a millisecond after the exec the program runs, and nobody traces
//! it.
//!
//! No tree shares a thread with another one. What a program does to those who follow it (memory
//! that answers when it likes, a file system that hangs, execs without end) keeps its own tree.
//!
//! A program that cannot be put into virtual time is not let into the domain: it would be
//! silently wrong. It is killed, or its exec fails, and a refusal reports why, before the program or
//! its parent can learn of it: what they say of it themselves follows, and does not cut it in two.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Weak, mpsc};
use std::thread;
use std::time::Duration;

use libc::c_int;
use parking_lot::Mutex;
use rustix::event::PollFlags;
use vtime::HostSpan;

use super::dumpable;
use super::equip::Equipment;
use super::exec_queue::{ExecQueue, NotifiedCall};
use super::freeze::Freezer;
use super::inspect::{self, Tracer};
use super::members::{self, Sweeper};
use super::privileges;
use super::program::{Gate, Listener};
use super::timers;
use super::tracee::{Stop, Tracee};
use domain::{Domain, MISSES, Program, Serving, host_now, readable};
use os::seccomp;

/// Most different refusals that are reported: a program may try again and again.
const REFUSALS_MAX: usize = 100;

/// The threads that put programs into a domain.
pub struct Follower {
    gate: Gate,
    pub(super) equipment: Arc<Equipment>,
    pub(super) timers: Arc<timers::Service>,
}

impl Follower {
    /// Starts following, for programs of one domain. `report` is told of programs that were refused,
    /// with reason and fix, each once; until it returns, the program and others that are refused wait.
    ///
    /// # Errors
    /// When the kernel has no vDSO, no memory or no descriptors left, and in a program that is in
    /// a domain itself.
    pub fn start(
        domain: Arc<Domain>,
        freezer: Arc<Freezer>,
        report: impl Fn(String) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        if members::is_in_a_domain() {
            return Err(io::Error::other(
                "this is started by a program in a time domain, and a program can be in only one; \
                 run the command without qcycle, or run qcycle outside the domain",
            ));
        }
        let (gate, arrivals) = Gate::new(domain.is_seeded())?;
        let timers = Arc::new(timers::Service::new(Arc::clone(&domain)));
        let equipment = Arc::new(Equipment::new(&domain)?);
        let shared = Arc::new(Shared {
            timers: Arc::clone(&timers),
            equipment: Arc::clone(&equipment),
            sweeper: Sweeper::new(Arc::clone(&domain)),
            domain,
            waits_killably: seccomp::waits_killably(),
            freezer,
            reported: Mutex::default(),
            report: Box::new(report),
        });
        let spare = attend(&shared)?;
        thread::Builder::new()
            .name("follow".into())
            .spawn(move || receive(&shared, &arrivals, spare))?;
        Ok(Self { gate, equipment, timers })
    }

    /// Through which new programs report to this follower.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }
}

struct Shared {
    domain: Arc<Domain>,
    equipment: Arc<Equipment>,
    timers: Arc<timers::Service>,
    sweeper: Sweeper,
    /// Whether a program that has reported an exec stays where it is until it is answered.
    waits_killably: bool,
    freezer: Arc<Freezer>,
    reported: Mutex<BTreeSet<String>>,
    report: Box<dyn Fn(String) + Send + Sync>,
}

/// What an exec takes on a host that has nothing else to do, and more: the rest is lateness.
const EXEC_TAKES_NS: i64 = 2_000_000;

/// A tree of programs: what comes from one that reported through the gate.
struct Tree {
    shared: Arc<Shared>,
    queue: ExecQueue,
    /// Threads whose processes were opened so that their next exec can be followed.
    opened: Mutex<BTreeSet<libc::pid_t>>,
    /// Its programs, as far as they are not known to be gone.
    programs: Mutex<Vec<Weak<Program>>>,
}

/// What no program in virtual time can have, as kernels without it say: EINVAL. prctl(2)
pub(super) const DISPATCH: &str = "signals instead of its system calls \
                                   (PR_SET_SYSCALL_USER_DISPATCH), which would affect each call \
                                   of the image as well";

/// Most programs of a tree at a time. Each takes memory and a mapping of the agent, of which a
/// kernel allows some 65,000.
const PROGRAMS_MAX: usize = 8192;

/// How long nobody has come when the next spare thread is made: most domains have one program, and
/// while that begins it needs the processors.
const QUIET: HostSpan = HostSpan::from_ns(10_000_000);

/// Gives each listener that arrives to a thread of its own, until every gate is closed. As a rule one
/// such thread is there before it is needed, so that a program need not wait until it is made.
fn receive(shared: &Arc<Shared>, arrivals: &OwnedFd, spare: Sender<Listener>) {
    let mut spare = Some(spare);
    loop {
        let until = host_now() + QUIET;
        if spare.is_none()
            && matches!(domain::poll_until(&mut [readable(arrivals.as_fd())], Some(until)), Ok(0))
        {
            spare = attend(shared).ok();
        }
        let listener = match Gate::arrival(arrivals) {
            Ok(Some(listener)) => listener,
            Ok(None) => return,
            // Out of descriptors, say: the program that came with it finds nobody to report to.
            Err(error) => {
                shared.refuse("a program", &cannot_follow(&error));
                continue;
            }
        };
        match spare.take().map_or_else(|| attend(shared), Ok) {
            // It waits for one until this end is gone.
            Ok(attends) => drop(attends.send(listener)),
            // Closed with this, its listener lets the exec of the program fail.
            Err(error) => shared.refuse(&listener.name, &cannot_follow(&error)),
        }
    }
}

fn cannot_follow(error: &io::Error) -> String {
    format!(
        "it cannot be followed ({error}); allow more threads (`ulimit -u`) and descriptors \
         (`ulimit -n`)"
    )
}

/// Starts a thread that attends the tree of programs whose listener it is sent, with its first
/// worker.
fn attend(shared: &Arc<Shared>) -> io::Result<Sender<Listener>> {
    let (sender, listeners) = mpsc::channel::<Listener>();
    let tree = Arc::new(Tree {
        shared: Arc::clone(shared),
        queue: ExecQueue::default(),
        opened: Mutex::default(),
        programs: Mutex::default(),
    });
    tree.start_worker()?;
    let own = Arc::clone(&tree);
    let attending = thread::Builder::new().name("follow-tree".into()).spawn(move || {
        if let Ok(listener) = listeners.recv() {
            let _serving = Serving::begin(&own.shared.domain, &listener.name);
            own.shared.timers.begin(&listener.name);
            let listener = Arc::new(listener);
            own.attend(&listener);
            own.shared.timers.end(&listener.name);
        }
        own.queue.close();
    });
    match attending {
        Ok(_) => Ok(sender),
        Err(error) => {
            tree.queue.close();
            Err(error)
        }
    }
}

impl Tree {
    fn start_worker(self: &Arc<Self>) -> io::Result<()> {
        let own = Arc::clone(self);
        thread::Builder::new().name("follow-exec".into()).spawn(move || {
            while let Some(call) = own.queue.pop() {
                let domain = &own.shared.domain;
                let begun = domain.now();
                own.exec(&call);
                let took = (domain.now() - begun).as_ns();
                domain.lateness().note_served(&call.listener.name, took - EXEC_TAKES_NS);
            }
        })?;
        self.queue.worker_started();
        Ok(())
    }

    /// Dispatches the calls that the listener reports, until all of the tree is gone.
    fn attend(self: &Arc<Self>, listener: &Arc<Listener>) {
        let mut begun = false;
        loop {
            let mut fd = [readable(listener.as_fd())];
            if domain::poll_until(&mut fd, None).is_err() {
                return;
            }
            let ready = fd[0].revents();
            if ready.contains(PollFlags::IN) {
                // From before it is taken from the kernel, which says no more of it then.
                let work = self.shared.domain.works().begin();
                let notification = match seccomp::receive(listener.as_fd()) {
                    Ok(notification) => notification,
                    // Killed between its report and now.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    // No listener at all.
                    Err(_) => return,
                };
                if !std::mem::replace(&mut begun, true) {
                    self.shared.freezer.started(notification.thread.cast_signed());
                }
                self.dispatch(NotifiedCall {
                    listener: Arc::clone(listener),
                    notification,
                    _work: work,
                });
            } else if ready.contains(PollFlags::HUP) {
                return;
            }
        }
    }

    fn dispatch(self: &Arc<Self>, call: NotifiedCall) {
        match call.notification.call() {
            number if timers::is_timer_call(number) => self.shared.timers.call(&call),
            libc::SYS_ptrace | libc::SYS_seccomp | libc::SYS_prctl => self.refuse_call(&call),
            _ if self.queue.push(call) => {
                // Without a thread to spare the workers that there are do it one by one.
                let _ = self.start_worker();
            }
            _ => {}
        }
    }

    /// What no program in virtual time can do, other than an exec that fails.
    fn refuse_call(&self, call: &NotifiedCall) {
        let thread = call.notification.thread.cast_signed();
        let (error, reason) = match call.notification.call() {
            // `PTRACE_TRACEME`. Each call of the image is a signal, at which one that is traced stops
            // until its parent continues it; and a parent that waits in `vfork` never would.
            libc::SYS_ptrace if inspect::parent_with_same_memory(thread).is_none() => {
                // Fails if it is gone.
                let _ = seccomp::let_continue(call.listener.as_fd(), call.notification.id);
                return;
            }
            libc::SYS_ptrace => (
                libc::EPERM,
                "it starts a program to trace it from its first instruction, which in virtual time \
                 nobody can; start the program by itself and attach to it when it runs (`gdb -p`, \
                 with `handle SIGSYS nostop noprint pass`)"
                    .to_owned(),
            ),
            libc::SYS_seccomp => (
                libc::EBUSY,
                "it requests notifications of the system calls of others \
                 (SECCOMP_FILTER_FLAG_NEW_LISTENER), which only one can be for a program, and here \
                 that is qcycle; run it outside the domain, or without that sandbox"
                    .to_owned(),
            ),
            _ => (
                libc::EINVAL,
                format!("it requests {DISPATCH}; run it outside the domain, or without that"),
            ),
        };
        self.refuse(call, error, inspect::running(thread), reason);
    }

    /// Says why a call is to fail, and lets it fail, if there is still somebody who made it.
    fn refuse(&self, call: &NotifiedCall, error: c_int, program: String, reason: String) {
        let (listener, id) = (call.listener.as_fd(), call.notification.id);
        if seccomp::is_valid(listener, id) {
            self.shared.refuse(&program, &reason);
            // Fails if it is gone.
            let _ = seccomp::fail(listener, id, error);
        }
    }

    fn exec(&self, call: &NotifiedCall) {
        let (listener, id) = (call.listener.as_fd(), call.notification.id);
        let thread = call.notification.thread.cast_signed();
        let mut tries = 0;
        loop {
            tries += 1;
            if !seccomp::is_valid(listener, id) {
                return;
            }
            let error = match Tracee::seize(thread) {
                Ok(mut tracee) => return self.follow(call, &mut tracee),
                Err(error) => error,
            };
            let closed = error.kind() == io::ErrorKind::PermissionDenied;
            let reason = match inspect::tracer_of(thread) {
                // On kernels where a program is interrupted while it waits for an answer, it may
                // report an exec again before another worker has detached from it.
                Some(Tracer::Ourselves) if seccomp::is_valid(listener, id) => {
                    if self.queue.deliver(&call.notification) {
                        return;
                    }
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Some(Tracer::Nobody) if tries < 3 => continue,
                Some(Tracer::Nobody) if closed && self.open(call) => return,
                Some(Tracer::Another(name)) => traced_by(&name),
                _ => cannot_attach(&error),
            };
            let program = inspect::program_of(&call.notification);
            let program = program.unwrap_or_else(|| inspect::running(thread));
            return self.refuse(call, libc::EPERM, program, reason);
        }
    }

    /// Opens a process that is closed to this user, so that it reports its exec once more. `false` if
    /// that was done already, or cannot be.
    fn open(&self, call: &NotifiedCall) -> bool {
        let thread = call.notification.thread.cast_signed();
        let opens = self.opened.lock().insert(thread)
            && dumpable::open(call.listener.as_fd(), call.notification.id, thread);
        if !opens {
            self.opened.lock().remove(&thread);
        }
        opens
    }

    fn has_room(&self) -> bool {
        let mut programs = self.programs.lock();
        if programs.len() < PROGRAMS_MAX {
            return true;
        }
        // It may be long since somebody has looked: as often as one must not be found to be gone.
        for _ in 0..MISSES {
            drop(members::programs(&self.shared.domain));
        }
        programs.retain(|program| program.strong_count() > 0);
        programs.len() < PROGRAMS_MAX
    }

    fn follow(&self, call: &NotifiedCall, tracee: &mut Tracee) {
        let (listener, id) = (call.listener.as_fd(), call.notification.id);
        // Once it is known that the notification stands, the tracee is who made it and not
        // another one that was given its number. What follows fails if it was killed meanwhile.
        if !seccomp::is_valid(listener, id) {
            return;
        }
        // Whose time it goes on with; afterwards nothing is left of the one before.
        let before = members::program_of(&self.shared.domain, tracee.thread());
        let thread = tracee.thread();
        let opened = self.opened.lock().remove(&thread);
        if opened {
            // What was done to the memory that they share concerns it too. It cannot get on before
            // the exec is over, and then finds the signal.
            if let Some(parent) = inspect::parent_with_same_memory(thread) {
                dumpable::close(parent);
            }
        }
        let going = if self.shared.waits_killably {
            // Asked before it goes on, it stops before it does anything else if the exec fails.
            seccomp::await_killable(listener, id);
            tracee.interrupt().and_then(|()| seccomp::let_continue(listener, id))
        } else {
            // Asked before it goes on, it would stop instead. It cannot be asked any more if the
            // exec has given it another number already; then its next stop is that of the exec.
            seccomp::let_continue(listener, id).map(|()| drop(tracee.interrupt()))
        };
        if going.is_err() {
            return;
        }
        match run_to_first_instruction(tracee) {
            Ok(true) => {}
            // The exec has failed, or the program is gone.
            Ok(false) | Err(_) => {
                if opened {
                    dumpable::close(thread);
                }
                return;
            }
        }
        let program = inspect::running(tracee.thread());
        let unsuited = inspect::unsuited(&program).map(str::to_owned);
        let reason = match unsuited.or_else(|| privileges::missing(tracee.thread())) {
            Some(reason) => reason,
            None => match self.equip(call, tracee, &program, before) {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    tracee.kill();
                    return;
                }
                Err(error) => error.to_string(),
            },
        };
        self.shared.refuse(&program, &reason);
        tracee.kill();
    }

    /// Puts a program that stands at its first instruction into virtual time, where the one with
    /// the number `before` has left off.
    fn equip(
        &self,
        call: &NotifiedCall,
        tracee: &mut Tracee,
        file: &str,
        before: Option<u64>,
    ) -> io::Result<()> {
        let shared = &self.shared;
        shared.sweeper.sweep_if_due();
        if !self.has_room() {
            return Err(io::Error::other(format!(
                "{PROGRAMS_MAX} programs started by `{}` are already running; start fewer at a \
                 time",
                call.listener.name
            )));
        }
        let (name, thread) = (&call.listener.name, tracee.thread());
        let (program, own) = shared.domain.add_program(name, file, thread, before)?;
        self.programs.lock().push(Arc::downgrade(&program));
        shared.timers.exec(name, thread, program.number);
        let random = program.begins_with();
        shared.equipment.equip(&self.queue, call.listener.as_fd(), tracee, own.as_fd(), random)?;
        program.runs();
        Ok(())
    }
}

impl Shared {
    fn refuse(&self, program: &str, reason: &str) {
        let refusal = format!("refused {program}: {reason}");
        let mut reported = self.reported.lock();
        if reported.len() < REFUSALS_MAX && reported.insert(refusal.clone()) {
            (self.report)(refusal);
        }
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
    format!(
        "qcycle cannot attach to it ({error}): this user has no access to it, or a security \
         module forbids it (kernel.yama.ptrace_scope); run qcycle as root"
    )
}

fn traced_by(name: &str) -> String {
    format!(
        "it is traced by `{name}`, and only one tracer can follow an exec, which in virtual time \
         is qcycle; start it untraced, and attach to it when it runs (`strace -p`, `gdb -p`)"
    )
}
