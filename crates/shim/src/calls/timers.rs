//! Calls of timers, which the agent answers: seccomp_unotify(2).
//!
//! What their arguments point to is read and written here, and the agent is asked with numbers
//! alone ([`vtime::timer_call`]): nobody else can be kept waiting by the program's memory.
//!
//! None of them ever ends with `EINTR`. The kernel ends a notified call with it when a signal comes
//! before the agent has seen the call, so no signal may come.

use vtime::time::NS_PER_S;
use vtime::timer_call::{KERNEL, Left, NAMESPACE, NO_EVENT, Query};

use super::result;
use crate::agent::{self, quietly};
use crate::arch::{self, nr};
use crate::memory::{self, EFAULT};
use crate::namespace;
use crate::timespec::Timespec;
use crate::wait::EINVAL;

const TIMER_ABSTIME: usize = 1;
const ITIMER_REAL: usize = 0;
const NS_PER_US: i64 = 1000;
const EPERM: isize = -1;
/// How often it is asked for a timerfd of a process that other threads open and close.
const TRIES: u32 = 8;

/// `struct itimerspec`: the period comes first.
type Setting = [Timespec; 2];

/// What the agent answers to a call of the program.
#[inline(never)]
pub(crate) fn request(number: i32, args: [usize; 6]) -> isize {
    let outcome = match number {
        nr::TIMERFD_SETTIME | nr::TIMER_SETTIME => set(number, args),
        nr::TIMERFD_GETTIME | nr::TIMER_GETTIME => get(number, args),
        nr::SETITIMER if args[0] as u32 as usize == ITIMER_REAL => set_interval(args),
        nr::GETITIMER if args[0] as u32 as usize == ITIMER_REAL => get(number, args),
        nr::ALARM => alarm(args),
        nr::TIMER_CREATE => create(args),
        nr::TIMER_GETOVERRUN => plain(number, args, [args[0], Query::Overrun as usize]),
        nr::TIMER_DELETE => plain(number, args, [args[0], 0]),
        _ => Ok(kernel(number, args)),
    };
    result(outcome)
}

fn plain(number: i32, args: [usize; 6], [which, query]: [usize; 2]) -> Result<isize, isize> {
    let answer = quietly(|| agent::request(number, [which, query, 0, 0]));
    Ok(if is_kernels(answer) { kernel(number, args) } else { answer })
}

fn set(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    let [which, flags, new, old, ..] = args;
    if new == 0 && number == nr::TIMER_SETTIME {
        return Err(EINVAL);
    }
    // SAFETY: numbers, which may have any value.
    let [period, left]: Setting = unsafe { memory::read(new)? };
    if !period.is_valid() || !left.is_valid() {
        return Err(EINVAL);
    }
    let mut flags = flags as u32 as usize;
    if flags & TIMER_ABSTIME != 0 && namespace::is_own() {
        flags |= NAMESPACE as usize;
    }
    let words = [which, flags, left.saturating_ns() as usize, period.saturating_ns() as usize];
    let (answer, before) = setting(number, words, old != 0);
    if is_kernels(answer) {
        return Ok(kernel(number, args));
    }
    finish(answer, old, before)
}

fn get(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    let [which, place, ..] = args;
    let (answer, before) = setting(number, [which, 0, 0, 0], true);
    if is_kernels(answer) {
        return Ok(kernel(number, args));
    }
    if answer >= 0 && place == 0 {
        return Err(EFAULT);
    }
    finish(answer, place, if number == nr::GETITIMER { before.map(in_micro) } else { before })
}

/// Asks, and where the answer has a period, for that too. No handler may come between the two, as
/// it might ask as well.
#[inline(never)]
fn setting(number: i32, words: [usize; 4], wants_period: bool) -> (isize, Setting) {
    quietly(|| {
        let answer = match number {
            nr::TIMERFD_SETTIME | nr::TIMERFD_GETTIME => of_descriptor(number, words),
            _ => agent::request(number, words),
        };
        let left = if answer < 0 { Left::of(0) } else { Left::of(answer as i64) };
        let period = if left.has_period && wants_period {
            agent::request(nr::TIMER_GETOVERRUN, [0, Query::Period as usize, 0, 0]).max(0)
        } else {
            0
        };
        (answer, [Timespec::from_ns(period as i64), Timespec::from_ns(left.ns)])
    })
}

/// Asks about a timerfd, which the agent takes from this process. It may not where the program has made
/// itself not dumpable (prctl(2) `PR_SET_DUMPABLE`) and is not root's; then the process is opened for
/// as long as that takes. Another thread may do the same, and close it too early.
#[inline(never)]
fn of_descriptor(number: i32, words: [usize; 4]) -> isize {
    let mut answer = agent::request(number, words);
    for _ in 0..TRIES {
        if answer != EPERM {
            break;
        }
        let closed = !agent::is_dumpable();
        if closed {
            agent::set_dumpable(true);
        }
        answer = agent::request(number, words);
        if closed {
            agent::set_dumpable(false);
        }
    }
    answer
}

/// Writes what a timer was, if that is wanted.
#[inline(never)]
fn finish(answer: isize, place: usize, before: Setting) -> Result<isize, isize> {
    if answer < 0 {
        return Err(answer);
    }
    if place != 0 {
        memory::write(place, &before)?;
    }
    Ok(0)
}

fn set_interval(args: [usize; 6]) -> Result<isize, isize> {
    let [which, new, old, ..] = args;
    // As the kernel: without a setting it is disarmed.
    let [period, left] = if new == 0 { [0, 0] } else { micro(new)? };
    let words = [which, 0, left as usize, period as usize];
    let (answer, before) = setting(nr::SETITIMER, words, old != 0);
    finish(answer, old, before.map(in_micro))
}

/// Reads a `struct itimerval`, in nanoseconds.
fn micro(address: usize) -> Result<[i64; 2], isize> {
    // SAFETY: numbers, which may have any value.
    let parts: Setting = unsafe { memory::read(address)? };
    let is_valid = |time: &Timespec| {
        time.seconds >= 0 && (0..NS_PER_S / NS_PER_US).contains(&time.nanoseconds)
    };
    if !parts.iter().all(is_valid) {
        return Err(EINVAL);
    }
    Ok(parts.map(|time| {
        time.seconds.saturating_mul(NS_PER_S).saturating_add(time.nanoseconds * NS_PER_US)
    }))
}

fn in_micro(time: Timespec) -> Timespec {
    Timespec { seconds: time.seconds, nanoseconds: time.nanoseconds / NS_PER_US }
}

fn alarm(args: [usize; 6]) -> Result<isize, isize> {
    let left = i64::from(args[0] as u32) * NS_PER_S;
    let (answer, [_, before]) = setting(nr::ALARM, [ITIMER_REAL, 0, left as usize, 0], false);
    if answer < 0 {
        // It has no way to say so.
        return Ok(0);
    }
    // As the kernel: to the nearest second, but never to none while there is some left.
    let rounds_up = before.nanoseconds >= NS_PER_S / 2;
    let none = before.seconds == 0 && before.nanoseconds > 0;
    Ok(before.seconds as isize + isize::from(rounds_up || none))
}

/// `struct sigevent`, the kernel's size.
#[repr(C)]
#[derive(Clone, Copy)]
struct Event {
    value: usize,
    signal: u32,
    kind: u32,
    thread: u32,
    rest: [u32; 11],
}

const _: () = assert!(size_of::<Event>() == 64);
const SIGEV_NONE: u32 = 1;

fn create(args: [usize; 6]) -> Result<isize, isize> {
    let [clockid, event, place, ..] = args;
    let words = if event == 0 {
        [clockid, 0, 0, NO_EVENT as usize]
    } else {
        // SAFETY: numbers, which may have any value.
        let event: Event = unsafe { memory::read(event)? };
        let kind = (event.kind as usize) << 32 | event.signal as usize;
        [clockid, kind, event.value, event.thread as usize]
    };
    if matches!(clockid as i32, 8 | 9) {
        may_wake_the_machine(clockid)?;
    }
    let answer = quietly(|| agent::request(nr::TIMER_CREATE, words));
    if is_kernels(answer) {
        return Ok(kernel(nr::TIMER_CREATE, args));
    }
    if answer < 0 {
        return Err(answer);
    }
    memory::write(place, &(answer as i32)).inspect_err(|_| {
        quietly(|| agent::request(nr::TIMER_DELETE, [answer as usize, 0, 0, 0]));
    })?;
    Ok(0)
}

/// Whether the kernel would make a timer on an alarm clock, for which it wants a clock that runs
/// while the machine sleeps, and a privilege.
fn may_wake_the_machine(clockid: usize) -> Result<(), isize> {
    let event = Event { value: 0, signal: 0, kind: SIGEV_NONE, thread: 0, rest: [0; 11] };
    let mut made = 0i32;
    let args = [clockid, &raw const event as usize, &raw mut made as usize, 0, 0, 0];
    match kernel(nr::TIMER_CREATE, args) {
        error if error < 0 => Err(error),
        _ => {
            kernel(nr::TIMER_DELETE, [made as usize, 0, 0, 0, 0, 0]);
            Ok(())
        }
    }
}

fn is_kernels(answer: isize) -> bool {
    answer as i64 == KERNEL
}

/// As the kernel does it, which the filter lets through for the image.
#[inline(never)]
fn kernel(number: i32, mut args: [usize; 6]) -> isize {
    args[5] = 0;
    // SAFETY: the program's own arguments, or ours, which the kernel checks.
    unsafe { arch::syscall(number, args) }
}
