//! Time namespaces, time_namespaces(7): a process in one of its own sees `CLOCK_MONOTONIC` and
//! `CLOCK_BOOTTIME` shifted by constants. So it does in virtual time; `CLOCK_REALTIME` is never
//! shifted.
//!
//! The kernel's functions show the shifted times, and host time must not be. The shifts cannot be
//! worked out from clocks, so the agent reports them. A child enters by fork the namespace that its
//! parent has made for it, and nobody is notified; but it has another number than the process that the
//! shifts are known of. All that is paid only where there is such a namespace: then the pointer to
//! the kernel's function is not there, which every reading looks at anyway.

use core::mem::offset_of;

use vtime::image::{Namespace, PROCESS, Process};
use vtime::page::Epoch;
use vtime::timer_call::{self, Query};

use crate::agent;
use crate::arch::{self, nr};
use crate::pages;
use crate::timespec::Timespec;

const CLONE_NEWTIME: usize = 0x80;

/// unshare(2) and setns(2), after which the process or its children may be in another namespace.
pub(crate) fn enter(number: i32, args: [usize; 6]) -> isize {
    // Those of now are known before the kernel has others for the children.
    let before = shifts();
    // SAFETY: the program's own call.
    let result = unsafe { arch::syscall(number, args) };
    if result != 0 {
        return result;
    }
    if number == nr::UNSHARE {
        if args[0] & CLONE_NEWTIME != 0 {
            look_from_now_on(before);
        }
    } else if let Some(shifts) = query_shifts()
        && (is_own() || shifts != before)
    {
        look_from_now_on(shifts);
    }
    0
}

/// Whether this process has, or may have, a time namespace of its own.
pub(crate) fn is_own() -> bool {
    // SAFETY: the page of the process, which is there for as long as it.
    unsafe { (&raw const (*page()).is_own).read_volatile() != 0 }
}

pub(crate) fn shift_ns(epoch: Epoch) -> i64 {
    match epoch {
        Epoch::Monotonic | Epoch::MonotonicRaw => shifts()[0],
        Epoch::Boottime => shifts()[1],
        Epoch::Realtime | Epoch::Tai => 0,
    }
}

/// The kernel's function that shows the times of the namespace; 0 if there is none.
pub(crate) fn native_clock_gettime() -> u64 {
    // SAFETY: as above.
    unsafe { (&raw const (*page()).vdso_clock_gettime).read_volatile() }
}

#[inline(never)]
fn shifts() -> [i64; 2] {
    if !is_own() {
        return [0, 0];
    }
    // SAFETY: as above; another thread that writes at the same time writes the same.
    let known = unsafe { page().read_volatile() };
    let own = number();
    if known.process == own {
        return known.shifts_ns;
    }
    // A child of vfork, and who finds no agent any more, is where its parent was.
    let Some(shifts) = query_shifts() else { return known.shifts_ns };
    // SAFETY: as above.
    unsafe {
        (&raw mut (*page()).shifts_ns).write_volatile(shifts);
        (&raw mut (*page()).process).write_volatile(own);
    }
    shifts
}

/// What the agent says of the namespace that this process is in.
#[inline(never)]
fn query_shifts() -> Option<[i64; 2]> {
    agent::quietly(|| {
        let of = |query: Query| {
            let answer = agent::request(nr::TIMER_GETOVERRUN, [0, query as usize, 0, 0]);
            timer_call::shift(answer as i64)
        };
        Some([of(Query::Monotonic)?, of(Query::Boottime)?])
    })
}

#[inline(never)]
fn look_from_now_on(shifts_ns: [i64; 2]) {
    let native = match native_clock_gettime() {
        0 => pages::process().vdso_clock_gettime,
        known => known,
    };
    let namespace =
        Namespace { is_own: 1, vdso_clock_gettime: native, process: number(), shifts_ns };
    // SAFETY: as above. A thread that still has the pointer reads the clocks of this process,
    // whose namespace only setns(2) changes, which it makes with one thread.
    unsafe {
        page().write_volatile(namespace);
        let short_way = PROCESS + offset_of!(Process, vdso_clock_gettime);
        (short_way as *mut u64).write_volatile(0);
    }
}

fn number() -> u64 {
    // SAFETY: takes nothing.
    unsafe { arch::syscall(nr::GETPID, [0; 6]) as u64 }
}

fn page() -> *mut Namespace {
    (PROCESS + offset_of!(Process, namespace)) as *mut Namespace
}

/// A host time as the kernel takes it from this process.
#[inline(never)]
pub(crate) fn native_timespec(host_ns: i64) -> Timespec {
    let shift = if is_own() { shifts()[0] } else { 0 };
    Timespec::from_ns(host_ns.saturating_add(shift))
}
