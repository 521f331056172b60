//! Signals: waiting for one, and keeping SIGSYS for the image.
//!
//! A call that the filter stops while SIGSYS is blocked or has its default action kills the
//! program. So in every mask that a program sets another signal stands for that one
//! ([`vtime::masks`]), and what a program wants done with SIGSYS is written down instead of passed to
//! the kernel.

use core::mem::MaybeUninit;

use vtime::masks::{self, SIGSYS, SIGSYS_BIT, STAND_IN, STAND_IN_BIT};

use super::{Mask, relative};
use crate::arch::{self, SignalFrame, nr};
use crate::further::{self, Further};
use crate::memory;
use crate::pending;
use crate::signal::{
    self, Action, SA_NODEFER, SIG_BLOCK, SIG_IGN, SIG_SETMASK, SIG_UNBLOCK, SignalInfo,
};
use crate::timespec::Timespec;
use crate::told;
use crate::wait::{self, Deadline, EAGAIN, EINVAL};
use crate::word::FROZEN;

const SA_RESTART: u64 = 0x1000_0000;
/// SIGKILL and SIGSTOP cannot be blocked.
const UNBLOCKABLE: u64 = 1 << (9 - 1) | 1 << (19 - 1);
/// Where the mask of an action lies, in octets.
const MASK_OF_ACTION: usize = 24;

pub(crate) fn rt_sigtimedwait(args: [usize; 6]) -> Result<isize, isize> {
    let [set, info, timeout, size, ..] = args;
    if timeout == 0 {
        loop {
            match take(set, info, 0, size) {
                FROZEN => {}
                result => return Ok(result),
            }
        }
    }
    relative(timeout).map(|deadline| sigwait_until(args, deadline))
}

/// As rt_sigtimedwait(2) with a timeout.
pub(crate) fn sigwait_until([set, info, _, size, ..]: [usize; 6], deadline: Deadline) -> isize {
    wait::until(deadline, |host_ns| {
        let timeout = Timespec::from_ns(host_ns);
        let result = take(set, info, &raw const timeout as usize, size);
        (result != EAGAIN).then_some(result)
    })
    .unwrap_or(EAGAIN)
}

/// A `siginfo_t` as long as the kernel makes it.
#[repr(C)]
#[derive(Clone, Copy)]
struct LongSignalInfo {
    info: SignalInfo,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<LongSignalInfo>() == 128);

/// Waits natively for one of a set of signals. Who waits for SIGSYS waits for its stand-in too.
#[inline(never)]
fn take(set: usize, info: usize, timeout: usize, size: usize) -> isize {
    let natively = |set, info| {
        // SAFETY: the kernel checks what is the program's, and the rest is ours.
        unsafe { arch::syscall(nr::RT_SIGTIMEDWAIT, [set, info, timeout, size, 0, 0]) }
    };
    // SAFETY: a number, which may have any value.
    let asked = if size == 8 { unsafe { memory::read::<u64>(set) } } else { Err(EINVAL) };
    let asked = match asked {
        Ok(asked) if asked & SIGSYS_BIT != 0 => asked | STAND_IN_BIT,
        _ => return natively(set, info),
    };
    let mut info_buffer = MaybeUninit::<LongSignalInfo>::uninit();
    let signal = natively(&raw const asked as usize, info_buffer.as_mut_ptr() as usize);
    if signal < 0 {
        return signal;
    }
    // SAFETY: the kernel has filled it, and any octets are valid.
    let mut info_buffer = unsafe { info_buffer.assume_init() };
    if signal == SIGSYS as isize && told::is_wake(&info_buffer.info) {
        told::signal_was_awaited();
        return FROZEN;
    }
    let signal = if signal == STAND_IN as isize {
        pending::restore(&mut info_buffer.info) as isize
    } else {
        signal
    };
    match if info == 0 { Ok(()) } else { memory::write(info, &info_buffer) } {
        Ok(()) => signal,
        Err(error) => error,
    }
}

pub(crate) fn rt_sigpending(args: [usize; 6]) -> isize {
    let [place, size, ..] = args;
    let mut set = 0u64;
    let ours = if size == size_of::<u64>() { &raw mut set as usize } else { place };
    // SAFETY: as long as the kernel assumes; else the program's own, which the kernel checks.
    let answer = unsafe { arch::syscall(nr::RT_SIGPENDING, [ours, size, 0, 0, 0, 0]) };
    if answer != 0 || ours == place {
        return answer;
    }
    if set & STAND_IN_BIT != 0 && pending::has_stand_in() {
        set = masks::shown(set) & !STAND_IN_BIT;
    }
    memory::write(place, &set).map_or_else(|error| error, |()| 0)
}

pub(crate) fn rt_sigaction(args: [usize; 6]) -> Result<isize, isize> {
    let [signal, action, old, size, ..] = args;
    if size != 8 {
        return Err(EINVAL);
    }
    let action: Option<Action> = match action {
        0 => None,
        // SAFETY: numbers, which may have any value.
        action => Some(unsafe { memory::read(action)? }),
    };
    if let Some([.., mask]) = action
        && masks::may_be_looked_for(mask)
    {
        further::stop(Further::Signals);
    }
    if signal == SIGSYS || signal == STAND_IN && pending::has_stand_in() {
        return of_the_image(signal, action, old);
    }
    let [handler, flags, restorer, mask] = action.unwrap_or_default();
    let copy: Action = [handler, flags, restorer, masks::kept(mask)];
    let copy = if action.is_some() { copy.as_ptr() as usize } else { 0 };
    // SAFETY: the program's own call, with another mask.
    let result = unsafe { arch::syscall(nr::RT_SIGACTION, [signal, copy, old, size, 0, 0]) };
    if result == 0 && old != 0 {
        // SAFETY: the kernel has just written there.
        unsafe {
            let mask = (old + MASK_OF_ACTION) as *mut u64;
            let before = mask.read_unaligned();
            if before & STAND_IN_BIT != 0 {
                mask.write_unaligned(masks::shown(before));
            }
        }
    }
    Ok(result)
}

/// Of SIGSYS, and of its stand-in once the image has that.
#[inline(never)]
fn of_the_image(signal: usize, action: Option<Action>, old: usize) -> Result<isize, isize> {
    let place = signal::program_action(signal);
    // SAFETY: the page of the program is mapped; others may change the action meanwhile, as they
    // may change that of any signal.
    let before = unsafe { place.read() };
    if let Some([handler, flags, restorer, mask]) = action {
        // SAFETY: as above.
        unsafe { place.write([handler, flags, restorer, mask & !UNBLOCKABLE]) };
        if handler == SIG_IGN {
            pending::forget();
        }
        let is_own = handler > SIG_IGN;
        restart_as(signal, is_own && flags & SA_RESTART == 0);
        if is_own && flags & SA_NODEFER == 0 {
            // It blocks the signal while it runs.
            further::stop(Further::Signals);
        }
    }
    if old != 0 {
        memory::write(old, &before)?;
    }
    Ok(0)
}

/// Has the kernel end calls that the signal interrupts, or make them again, as the program asked.
fn restart_as(signal: usize, ends: bool) {
    let [handler, flags, restorer, mask] = signal::action_of(signal);
    let flags = if ends { flags & !SA_RESTART } else { flags | SA_RESTART };
    signal::set_action(signal, &[handler, flags, restorer, mask]);
}

/// rt_sigprocmask(2). The mask of a thread that returns from a signal handler is the one in its
/// frame: so that is the one to change. `is_looked_for`: it is known already that the program looks
/// for SIGSYS in masks, as the further filter for that has stopped the call.
pub(crate) fn rt_sigprocmask(
    [how, set, old, size, ..]: [usize; 6],
    frame: &mut SignalFrame,
    is_looked_for: bool,
) -> Result<isize, isize> {
    if size != 8 {
        return Err(EINVAL);
    }
    let before = frame.mask;
    if set != 0 {
        // SAFETY: a number, which may have any value.
        let set: u64 = unsafe { memory::read(set)? };
        if !is_looked_for && masks::may_be_looked_for(set) {
            further::stop(Further::Signals);
        }
        let set = masks::kept(set);
        // An int.
        let wanted = match how & 0xffff_ffff {
            SIG_BLOCK => before | set,
            SIG_UNBLOCK => before & !set,
            SIG_SETMASK => set,
            _ => return Err(EINVAL),
        };
        frame.mask = wanted & !UNBLOCKABLE;
    }
    if old != 0 {
        memory::write(old, &masks::shown(before))?;
    }
    Ok(0)
}

pub(crate) fn rt_sigsuspend([mask, size, ..]: [usize; 6]) -> Result<isize, isize> {
    Mask::read(mask, size).map(|mask| {
        // SAFETY: the program's own call, with another mask.
        unsafe { arch::syscall(nr::RT_SIGSUSPEND, [Mask::address(&mask), size, 0, 0, 0, 0]) }
    })
}
