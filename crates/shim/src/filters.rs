//! Filters that a program gives itself: its sandbox.
//!
//! The image makes other calls than the program does, and a sandbox kills what it does not expect.
//! So each filter of the program's own gets a prefix that lets the image's calls pass. What it says
//! to the program's own calls must hold all the same, also where a filter of ours has stopped them
//! first. Of several filters the kernel takes the most severe answer (seccomp(2)): killing comes
//! before our SIGSYS, and so does a SIGSYS that the program's filter asks for, as the newest filter
//! leads among equals. An error number comes after it. Therefore the image asks, in programs that
//! have filters: it makes the program's call at an address ([`VERDICT`]) for which our filters
//! answer [`NO_OBJECTION`], so the call is never made and a more severe answer, or an error number
//! of a newer filter, shows.

use core::sync::atomic::{AtomicU64, Ordering};

use vtime::image::{FILTERS, NO_FILTERS, NO_OBJECTION, PROCESS, Process, STRICT, VERDICT};
use vtime::image::{IMAGE, IMAGE_SIZE_MAX};

use crate::arch::{self, nr};
use crate::bpf::{
    self, ADDRESS_HIGH, ADDRESS_LOW, ALLOW, FAIL, JUMP_EQUAL, JUMP_GREATER, LOAD, LOAD_CONSTANT,
    NUMBER, PROBE, RETURN, Step, THERE, TRAP, branch, step,
};

/// The call number that reports a filter of the program's own.
const OWN_PROBE: u32 = PROBE + 0x80;

/// What stands before each filter of the program's own. It leaves the accumulator as it was.
pub(crate) static PREFIX: [Step; 11] = [
    step(LOAD, NUMBER),
    branch(JUMP_EQUAL, OWN_PROBE, 0, 1),
    step(RETURN, FAIL | (-THERE) as u32),
    step(LOAD, ADDRESS_HIGH),
    branch(JUMP_EQUAL, 0, 0, 5),
    step(LOAD, ADDRESS_LOW),
    // As in the filter of the launcher: the address is that behind the instruction.
    branch(JUMP_GREATER, IMAGE as u32, 0, 3),
    branch(JUMP_GREATER, (IMAGE + IMAGE_SIZE_MAX) as u32, 2, 0),
    branch(JUMP_EQUAL, VERDICT as u32, 1, 0),
    step(RETURN, ALLOW),
    step(LOAD_CONSTANT, 0),
];

/// The filter that stands for strict mode, behind the prefix: what that mode forbids, the image
/// answers as the kernel would.
pub(crate) static STRICT_MODE: [Step; 18] = {
    const ALLOWED: [i32; 4] = [nr::READ, nr::WRITE, nr::EXIT, nr::RT_SIGRETURN];
    let mut steps = [step(RETURN, TRAP | STRICT as u32); 18];
    let at = bpf::put(&mut steps, 0, &PREFIX);
    steps[at] = step(LOAD, NUMBER);
    let at = bpf::put_calls(&mut steps, at + 1, &ALLOWED);
    steps[at + 1] = step(RETURN, ALLOW);
    steps
};

/// What the program's own filters say to a call of it.
pub(crate) enum Verdict {
    Allowed,
    Answered(isize),
    /// The program handles it as SIGSYS, with this number from its filter.
    Trapped(u16),
}

/// Asks the program's own filters about a call, if it has any.
#[inline]
pub(crate) fn verdict(number: i32, args: [usize; 6]) -> Verdict {
    match state().load(Ordering::Relaxed) {
        NO_FILTERS => Verdict::Allowed,
        _ => query(number, args),
    }
}

#[cold]
#[inline(never)]
fn query(number: i32, args: [usize; 6]) -> Verdict {
    if !are_there() {
        return Verdict::Allowed;
    }
    // SAFETY: filters keep it from being made.
    match unsafe { arch::verdict(number, args) } {
        result if result == -(NO_OBJECTION as isize) => Verdict::Allowed,
        result if result <= TRAPPED => Verdict::Trapped((TRAPPED - result) as u16),
        result => Verdict::Answered(result),
    }
}

/// Below all error numbers: from here downwards, [`timer_call`] learns of a SIGSYS and its number.
const TRAPPED: isize = -0x1_0000;

/// The result of a call by which the image asks, where a filter of the program's own wants SIGSYS.
pub(crate) fn trapped(data: u16) -> isize {
    TRAPPED - data as isize
}

/// Whether the program has filters of its own. An exec forgets what was known, not the filters.
pub(crate) fn are_there() -> bool {
    let known = state().load(Ordering::Relaxed);
    if known != 0 {
        return known == FILTERS;
    }
    let there = bpf::is_there(OWN_PROBE);
    let found = if there { FILTERS } else { NO_FILTERS };
    // Another thread may have given itself a filter since.
    let _ = state().compare_exchange(0, found, Ordering::Relaxed, Ordering::Relaxed);
    there
}

/// Notes that the program has given itself a filter.
pub(crate) fn note() {
    state().store(FILTERS, Ordering::Relaxed);
}

fn state() -> &'static AtomicU64 {
    let process = PROCESS as *mut Process;
    // SAFETY: mapped by the launcher; all of the image takes it as atomic.
    unsafe { AtomicU64::from_ptr(&raw mut (*process).filters) }
}
