//! The calls that set and read timers, and the thread that lets timers expire.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use libc::{c_int, c_long, pid_t};
use vtime::image::Kind;
use vtime::page::Epoch;
use vtime::time::NS_PER_S;
use vtime::{HostTime, ProgramSpan, ProgramTime, VirtualTime};

use super::program::{self, Process, TimerFd, TimerSignal};
use super::table::{Lane, Setting, Table};
use crate::domain::{self, Domain, Watch};
use crate::launch::arch::nr;
use crate::launch::desk::Job;
use crate::launch::members;
use crate::launch::seccomp;

/// Numbers of POSIX timers of ours begin here: the kernel's own, for CPU time, count from 0.
const FIRST_TIMER: c_int = 0x4000_0000;
const TIMER_ABSTIME: u64 = 1;
/// `TFD_TIMER_CANCEL_ON_SET`; nobody sets a clock of a domain, so it never cancels anything.
const CANCEL_ON_SET: u64 = 2;

/// The number of no program: timers of a process that is in none count in the time of the domain.
const NO_PROGRAM: Lane = 0;

/// Whether a reported call belongs here.
pub(in crate::launch) fn is_timer_call(number: c_long) -> bool {
    CALLS.contains(&number)
}

const CALLS: [c_long; 10] = [
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_setitimer,
    libc::SYS_getitimer,
    nr::ALARM,
];

/// Names a timer of the domain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Key {
    /// A timerfd, by its number in the service.
    Descriptor(u64),
    /// A POSIX timer of a process.
    Posix(pid_t, c_int),
    /// The interval timer of a process.
    Interval(pid_t),
}

/// The timers of all programs of a domain.
pub(in crate::launch) struct Service {
    domain: Arc<Domain>,
    state: Mutex<State>,
    /// Tells the thread that the next deadline may be another one.
    changed: OwnedFd,
}

#[derive(Default)]
struct State {
    table: Table<Key>,
    descriptors: BTreeMap<u64, Descriptor>,
    /// Their numbers in the order of [`TimerFd::order`], to find one among thousands.
    order: Vec<u64>,
    /// How many there are when those of ended processes are looked for.
    sweep_at: usize,
    posix: BTreeMap<(pid_t, c_int), Posix>,
    intervals: BTreeMap<pid_t, Process>,
    made: u64,
}

/// A timerfd, and the process that set it.
struct Descriptor {
    timer: TimerFd,
    owner: Process,
}

/// A POSIX timer.
struct Posix {
    owner: Process,
    epoch: Epoch,
    /// The signal and its value; `None` for a timer that only counts.
    signal: Option<(c_int, i64)>,
    /// The thread that gets it, in our numbers.
    thread: Option<pid_t>,
    overrun: c_int,
}

/// A POSIX timer that the kernel keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::launch) struct KernelTimer {
    /// Its number.
    pub(in crate::launch) number: c_int,
    /// The signal and its value; `None` for a timer that only counts.
    pub(in crate::launch) signal: Option<(c_int, i64)>,
    /// The thread that gets it.
    pub(in crate::launch) thread: Option<pid_t>,
    /// The clock that it counts on.
    pub(in crate::launch) clock: c_int,
}

impl KernelTimer {
    /// Whether it counts on a clock that is virtual.
    pub(in crate::launch) fn is_virtual(&self) -> bool {
        epoch_of(self.clock).is_some()
    }
}

/// What the program gets: a result, or that the kernel shall do it.
enum Answer {
    Value(i64),
    Kernel,
}

impl Service {
    /// Starts the thread that waits for deadlines.
    pub(in crate::launch) fn start(domain: Arc<Domain>) -> io::Result<Arc<Self>> {
        let watch = domain.watch()?;
        // SAFETY: takes numbers; the result is checked and owned by nobody else.
        let changed = unsafe {
            let fd = libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK);
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        let service = Arc::new(Self { domain, state: Mutex::default(), changed });
        let own = Arc::downgrade(&service);
        let changed = service.changed.try_clone()?;
        thread::Builder::new().name("timers".into()).spawn(move || {
            let mut due: Option<VirtualTime> = None;
            while let Some(service) = own.upgrade() {
                let next = service.expire();
                let domain = &service.domain;
                if let Some(due) = due {
                    domain.lateness().timers.note((domain.now() - due).as_ns());
                }
                due = next.map(|host| domain.virtual_time_at(host));
                drop(service);
                if wait(&watch, &changed, next).is_err() {
                    return;
                }
            }
        })?;
        Ok(service)
    }

    /// Answers a call.
    pub(in crate::launch) fn call(&self, job: &Job) {
        let (listener, id) = (job.listener.as_fd(), job.notification.id);
        let thread = job.notification.thread.cast_signed();
        if let Some(program) = self.domain.program(self.lane_of(thread)) {
            program.counters().count(Kind::Timer);
        }
        let outcome = self.answer(job.notification.call(), thread, job.notification.args);
        // An answer fails only if the program is gone.
        let _ = match outcome {
            Ok(Answer::Value(value)) => seccomp::answer(listener, id, value),
            Ok(Answer::Kernel) => seccomp::go_on(listener, id),
            Err(error) => seccomp::fail(listener, id, error.raw_os_error().unwrap_or(libc::EINVAL)),
        };
        ring(&self.changed);
    }

    /// Takes over a timerfd of a process from the kernel. What is no timerfd stays.
    pub(in crate::launch) fn take_over_descriptor(
        &self,
        process: pid_t,
        fd: c_int,
    ) -> io::Result<()> {
        let owner = Process::open(process)?;
        let timer = owner.timer(fd)?;
        if timer.clock().and_then(epoch_of).is_none() {
            return Ok(());
        }
        let mut state = self.lock();
        if state.number_of(&timer, Process::open(process)?, None).is_some() {
            // Shared with a process that came before.
            return Ok(());
        }
        let number = state.number_of(&timer, owner, Some(())).expect("made if it is new");
        let setting = self.continued(timer.take_over()?);
        let lane = self.lane_of(process);
        let wanted = (Epoch::Monotonic, 0, setting);
        self.set(&mut state, Key::Descriptor(number), lane, wanted);
        drop(state);
        ring(&self.changed);
        Ok(())
    }

    /// Takes over the interval timer of a process, with nanoseconds left and period.
    pub(in crate::launch) fn take_over_interval(
        &self,
        process: pid_t,
        setting: [i64; 2],
    ) -> io::Result<()> {
        let setting = self.continued(setting);
        self.set_interval(process, process, setting)?;
        ring(&self.changed);
        Ok(())
    }

    /// Takes over a POSIX timer of a process, which keeps its number.
    pub(in crate::launch) fn take_over_posix(
        &self,
        process: pid_t,
        timer: &KernelTimer,
        setting: [i64; 2],
    ) -> io::Result<()> {
        let Some(epoch) = epoch_of(timer.clock) else { return Ok(()) };
        let setting = self.continued(setting);
        let owner = Process::open(process)?;
        let mut state = self.lock();
        let KernelTimer { number, signal, thread, .. } = *timer;
        state.posix.insert((process, number), Posix { owner, epoch, signal, thread, overrun: 0 });
        let lane = self.lane_of(process);
        self.set(&mut state, Key::Posix(process, number), lane, (epoch, 0, setting));
        drop(state);
        ring(&self.changed);
        Ok(())
    }

    /// What the kernel would have let expire after this time, from virtual now on: the clocks of
    /// the domain went on from those of the host.
    fn continued(&self, [left, period]: [i64; 2]) -> Setting {
        if left == 0 {
            return Setting::default();
        }
        let shown = self.domain.now().as_ns() + self.domain.page().epoch(Epoch::Monotonic);
        let left = (domain::host_now().as_ns().saturating_add(left) - shown).max(1);
        Setting { left: ProgramSpan::from_ns(left), period: ProgramSpan::from_ns(period) }
    }

    /// A process runs another program, whose time goes on as that of the one before: its POSIX
    /// timers are gone, all others stay.
    pub(in crate::launch) fn exec(&self, process: pid_t, program: u64) {
        let mut state = self.lock();
        let State { table, descriptors, .. } = &mut *state;
        table.change_lane(Key::Interval(process), program);
        for (number, _) in descriptors.iter().filter(|(_, known)| known.owner.number == process) {
            table.change_lane(Key::Descriptor(*number), program);
        }
        let timers: Vec<_> =
            state.posix.range((process, 0)..=(process, c_int::MAX)).map(|(key, _)| *key).collect();
        for (process, number) in timers {
            state.posix.remove(&(process, number));
            state.table.remove(Key::Posix(process, number));
        }
    }

    fn answer(&self, number: c_long, thread: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        let process = program::process_of(thread)?;
        match number {
            libc::SYS_timerfd_settime => self.timerfd_settime(thread, process, args),
            libc::SYS_timerfd_gettime => self.timerfd_gettime(thread, process, args),
            libc::SYS_timer_create => self.timer_create(thread, process, args),
            libc::SYS_setitimer if args[0] == 0 => self.setitimer(thread, process, args),
            libc::SYS_getitimer if args[0] == 0 => self.getitimer(thread, process, args),
            nr::ALARM => self.alarm(thread, process, args),
            libc::SYS_setitimer | libc::SYS_getitimer => Ok(Answer::Kernel),
            _ => self.posix(number, thread, process, args),
        }
    }

    fn timerfd_settime(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        let [fd, flags, new, old, ..] = args;
        let wanted = read_setting(thread, new)?;
        // An int.
        let flags = flags & u64::from(u32::MAX);
        if flags & !(TIMER_ABSTIME | CANCEL_ON_SET) != 0 {
            return Err(invalid());
        }
        let owner = Process::open(process)?;
        let timer = owner.timer(fd as c_int)?;
        let epoch = timer.clock().and_then(epoch_of).ok_or_else(invalid)?;
        let mut state = self.lock();
        let number = state.number_of(&timer, owner, Some(()));
        let number = number.expect("made if it is new");
        timer.reset();
        let key = Key::Descriptor(number);
        let before = self.set(&mut state, key, self.lane_of(thread), (epoch, flags, wanted));
        drop(state);
        write_setting(thread, old, before)
    }

    fn timerfd_gettime(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        let owner = Process::open(process)?;
        let timer = owner.timer(args[0] as c_int)?;
        let mut state = self.lock();
        let number = state.number_of(&timer, owner, None);
        let left = number.map(|number| self.left(&state, Key::Descriptor(number)));
        drop(state);
        if args[1] == 0 {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        write_setting(thread, args[1], left.unwrap_or_default())
    }

    fn timer_create(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        const SIGEV_NONE: i64 = 1;
        const SIGEV_THREAD_ID: i64 = 4;
        let [clock, event, place, ..] = args;
        let Some(epoch) = epoch_of(clock as c_int) else { return Ok(Answer::Kernel) };
        let mut state = self.lock();
        let last = state.posix.range((process, 0)..=(process, c_int::MAX)).next_back();
        // Those that were taken over have numbers of the kernel.
        let number = last.map_or(FIRST_TIMER, |(key, _)| key.1.saturating_add(1).max(FIRST_TIMER));
        let (mut signal, mut known_as) = (Some((libc::SIGALRM, i64::from(number))), None);
        if event != 0 {
            // `struct sigevent`: value; signal and kind; thread.
            let [value, kind, to] = program::read::<3>(thread, event)?;
            let number = kind as c_int;
            let kind = kind >> 32;
            if kind != SIGEV_NONE && !(1..=64).contains(&number) {
                return Err(invalid());
            }
            signal = (kind != SIGEV_NONE).then_some((number, value));
            known_as = (kind & SIGEV_THREAD_ID != 0).then_some(to as pid_t);
        }
        let to = match known_as {
            Some(number) => Some(program::thread_known_as(process, number).ok_or_else(invalid)?),
            None => None,
        };
        program::write(thread, place, &number.to_ne_bytes())?;
        let owner = Process::open(process)?;
        let timer = Posix { owner, epoch, signal, thread: to, overrun: 0 };
        state.posix.insert((process, number), timer);
        Ok(Answer::Value(0))
    }

    fn posix(
        &self,
        call: c_long,
        thread: pid_t,
        process: pid_t,
        args: [u64; 6],
    ) -> io::Result<Answer> {
        let number = args[0] as c_int;
        let key = Key::Posix(process, number);
        let mut state = self.lock();
        let Some(timer) = state.posix.get_mut(&(process, number)) else {
            // One of the kernel's, or none at all.
            return Ok(Answer::Kernel);
        };
        match call {
            libc::SYS_timer_settime => {
                let (epoch, [_, flags, new, old, ..]) = (timer.epoch, args);
                let wanted = read_setting(thread, new)?;
                timer.overrun = 0;
                let lane = self.lane_of(thread);
                let before = self.set(&mut state, key, lane, (epoch, flags, wanted));
                drop(state);
                write_setting(thread, old, before)
            }
            libc::SYS_timer_gettime => {
                let left = self.left(&state, key);
                drop(state);
                write_setting(thread, args[1], left)
            }
            libc::SYS_timer_getoverrun => Ok(Answer::Value(timer.overrun.into())),
            _ => {
                state.posix.remove(&(process, number));
                state.table.remove(key);
                // One that was taken over, the kernel forgets too.
                Ok(if number < FIRST_TIMER { Answer::Kernel } else { Answer::Value(0) })
            }
        }
    }

    fn setitimer(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        let [_, new, old, ..] = args;
        let wanted = if new == 0 { Setting::default() } else { read_micro(thread, new)? };
        let before = self.set_interval(thread, process, wanted)?;
        write_micro(thread, old, before)
    }

    fn getitimer(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        if args[1] == 0 {
            return Err(io::Error::from_raw_os_error(libc::EFAULT));
        }
        let left = self.left(&self.lock(), Key::Interval(process));
        write_micro(thread, args[1], left)
    }

    fn alarm(&self, thread: pid_t, process: pid_t, args: [u64; 6]) -> io::Result<Answer> {
        let left = ProgramSpan::from_s(i64::from(args[0] as u32));
        let wanted = Setting { left, period: ProgramSpan::ZERO };
        let before = self.set_interval(thread, process, wanted)?;
        // As the kernel: to the nearest second, but never to none while there is some left.
        let ns = before.left.as_ns();
        let seconds = (ns + NS_PER_S / 2) / NS_PER_S;
        Ok(Answer::Value(if ns > 0 { seconds.max(1) } else { 0 }))
    }

    fn set_interval(&self, thread: pid_t, process: pid_t, wanted: Setting) -> io::Result<Setting> {
        let owner = Process::open(process)?;
        let mut state = self.lock();
        state.intervals.insert(process, owner);
        let lane = self.lane_of(thread);
        Ok(self.set(&mut state, Key::Interval(process), lane, (Epoch::Monotonic, 0, wanted)))
    }

    /// Sets a timer in the time of a program. Answers what it was.
    fn set(
        &self,
        state: &mut State,
        key: Key,
        lane: Lane,
        (epoch, flags, wanted): (Epoch, u64, Setting),
    ) -> Setting {
        let before = self.left(state, key);
        let next = if wanted.left == ProgramSpan::ZERO {
            None
        } else if flags & TIMER_ABSTIME != 0 {
            let epoch = self.domain.page().epoch(epoch);
            Some(ProgramTime::from_ns(wanted.left.as_ns().saturating_sub(epoch)))
        } else {
            Some(self.domain.now_of(lane) + wanted.left)
        };
        state.table.set(key, lane, next, wanted.period);
        before
    }

    fn left(&self, state: &State, key: Key) -> Setting {
        let now = state.table.lane(key).map_or(ProgramTime::ZERO, |lane| self.domain.now_of(lane));
        state.table.get(key, now)
    }

    /// The program in whose time the timers of a thread count.
    fn lane_of(&self, thread: pid_t) -> Lane {
        members::program_of(&self.domain, thread).unwrap_or(NO_PROGRAM)
    }

    /// Lets everything expire that is due. Answers when the next one is, if nothing changes.
    fn expire(&self) -> Option<HostTime> {
        let mut state = self.lock();
        let lanes: Vec<Lane> = state.table.next().map(|(lane, _)| lane).collect();
        for lane in lanes {
            let now = self.domain.now_of(lane);
            while let Some((key, times)) = state.table.take_due(lane, now) {
                if !state.fire(key, times) {
                    state.forget(key);
                }
            }
        }
        let next = state.table.next();
        next.filter_map(|(lane, when)| self.domain.host_time_of_program(lane, when)).min()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic aborts the process, so a poisoned lock cannot be seen; the state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The number of a timerfd, by whatever descriptor it was named; `None` if it is new and
    /// shall not be made.
    fn number_of(&mut self, timer: &TimerFd, owner: Process, make: Option<()>) -> Option<u64> {
        if let Ok(place) = self.place_of(timer) {
            return Some(self.order[place]);
        }
        make?;
        if self.descriptors.len() >= self.sweep_at {
            self.sweep();
        }
        let copy = timer.copy().ok()?;
        let place = self.place_of(timer).unwrap_or_else(|place| place);
        self.made += 1;
        self.descriptors.insert(self.made, Descriptor { timer: copy, owner });
        self.order.insert(place, self.made);
        Some(self.made)
    }

    /// Where a timerfd is in the order, or would be.
    fn place_of(&self, timer: &TimerFd) -> Result<usize, usize> {
        self.order.binary_search_by(|number| self.descriptors[number].timer.order(timer))
    }

    /// Forgets the timerfds of processes that have ended; done again when there are twice as
    /// many, so that it costs each of them a few looks.
    fn sweep(&mut self) {
        const LEAST: usize = 64;
        let ended = self.descriptors.iter().filter(|(_, known)| !known.owner.is_alive());
        let ended: Vec<u64> = ended.map(|(number, _)| *number).collect();
        ended.iter().for_each(|number| self.forget(Key::Descriptor(*number)));
        self.sweep_at = (2 * self.descriptors.len()).max(LEAST);
    }

    /// Lets a timer expire. Answers whether its program is still there.
    fn fire(&mut self, key: Key, times: u64) -> bool {
        match key {
            Key::Descriptor(number) => {
                let Some(descriptor) = self.descriptors.get(&number) else { return false };
                descriptor.owner.is_alive() && descriptor.timer.expire(times).is_ok()
            }
            Key::Posix(process, number) => {
                let Some(timer) = self.posix.get_mut(&(process, number)) else { return false };
                timer.fire(number, times);
                timer.owner.is_alive()
            }
            Key::Interval(process) => {
                let alive = self.intervals.get(&process).is_some_and(Process::is_alive);
                if alive {
                    program::send_alarm(process);
                }
                alive
            }
        }
    }

    fn forget(&mut self, key: Key) {
        self.table.remove(key);
        match key {
            Key::Descriptor(number) => {
                self.order.retain(|other| *other != number);
                self.descriptors.remove(&number);
            }
            Key::Posix(process, number) => drop(self.posix.remove(&(process, number))),
            Key::Interval(process) => drop(self.intervals.remove(&process)),
        }
    }
}

impl Posix {
    /// A signal that still waits to be delivered stands for further expirations too.
    fn fire(&mut self, number: c_int, times: u64) {
        let Some((signal, value)) = self.signal else { return };
        let times = c_int::try_from(times).unwrap_or(c_int::MAX);
        let to = self.thread.unwrap_or(self.owner.number);
        if program::is_pending(to, signal) {
            self.overrun = self.overrun.saturating_add(times);
            return;
        }
        self.overrun = times - 1;
        TimerSignal::new(signal, number, self.overrun, value).send(self.owner.number, self.thread);
    }
}

/// Waits until host time `next`, or until something has changed.
fn wait(watch: &Watch, changed: &OwnedFd, next: Option<HostTime>) -> io::Result<()> {
    let mut fds = [domain::readable(watch.fd()), domain::readable(changed.as_fd())];
    domain::poll_until(&mut fds, next)?;
    watch.clear();
    let mut count = [0u8; 8];
    // SAFETY: reads 8 octets into an array of 8; the descriptor does not block.
    unsafe { libc::read(changed.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    Ok(())
}

fn ring(event: &OwnedFd) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: writes 8 octets from an array of 8; a full counter (EAGAIN) is readable anyway.
    unsafe { libc::write(event.as_raw_fd(), one.as_ptr().cast(), one.len()) };
}

/// The epoch of the clocks that timers may count on; the alarm clocks are like those that they
/// wake a sleeping machine for.
fn epoch_of(clock: c_int) -> Option<Epoch> {
    match clock {
        0 | 8 => Some(Epoch::Realtime),
        1 => Some(Epoch::Monotonic),
        7 | 9 => Some(Epoch::Boottime),
        11 => Some(Epoch::Tai),
        _ => None,
    }
}

/// Reads a `struct itimerspec`.
fn read_setting(thread: pid_t, address: u64) -> io::Result<Setting> {
    let [period_s, period_ns, left_s, left_ns] = program::read(thread, address)?;
    Ok(Setting { left: span(left_s, left_ns, 1)?, period: span(period_s, period_ns, 1)? })
}

/// Reads a `struct itimerval`.
fn read_micro(thread: pid_t, address: u64) -> io::Result<Setting> {
    let [period_s, period_us, left_s, left_us] = program::read(thread, address)?;
    Ok(Setting { left: span(left_s, left_us, 1000)?, period: span(period_s, period_us, 1000)? })
}

fn span(seconds: i64, parts: i64, ns_per_part: i64) -> io::Result<ProgramSpan> {
    if seconds < 0 || !(0..NS_PER_S / ns_per_part).contains(&parts) {
        return Err(invalid());
    }
    Ok(ProgramSpan::from_s(seconds) + ProgramSpan::from_ns(parts * ns_per_part))
}

fn write_setting(thread: pid_t, address: u64, setting: Setting) -> io::Result<Answer> {
    write_parts(thread, address, setting, 1)
}

fn write_micro(thread: pid_t, address: u64, setting: Setting) -> io::Result<Answer> {
    write_parts(thread, address, setting, 1000)
}

fn write_parts(thread: pid_t, address: u64, setting: Setting, ns: i64) -> io::Result<Answer> {
    if address != 0 {
        let parts = |span: ProgramSpan| {
            [span.as_ns() / NS_PER_S, span.as_ns() % NS_PER_S / ns].map(i64::to_ne_bytes)
        };
        let octets = [parts(setting.period), parts(setting.left)].concat().concat();
        program::write(thread, address, &octets)?;
    }
    Ok(Answer::Value(0))
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}
