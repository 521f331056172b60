//! x86-64: the functions of the vDSO, those of the kernel's `arch/x86/entry/vdso/vdso.lds.S`.
//! `arch/x86_64.ver` here lists the same names.

use super::ENOSYS;
use crate::pages;
use crate::timespec::{Timespec, Timeval};

/// # Safety
/// As [`super::clock_gettime`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_clock_gettime(clockid: i32, time: *mut Timespec) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::clock_gettime(clockid, time) }
}

/// # Safety
/// As [`super::gettimeofday`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::gettimeofday(time, zone) }
}

/// # Safety
/// As [`super::time`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_time(time: *mut i64) -> i64 {
    // SAFETY: the caller's argument, handed through.
    unsafe { super::time(time) }
}

/// # Safety
/// As [`super::clock_getres`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_clock_getres(clockid: i32, resolution: *mut Timespec) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::clock_getres(clockid, resolution) }
}

/// # Safety
/// As [`super::getrandom`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_getrandom(
    buffer: usize,
    length: usize,
    flags: u32,
    state: usize,
    state_length: usize,
) -> isize {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::getrandom(buffer, length, flags, state, state_length) }
}

/// # Safety
/// As getcpu(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_getcpu(cpu: *mut u32, node: *mut u32, cache: usize) -> i32 {
    let native = pages::process().vdso_getcpu;
    if native == 0 {
        return -(ENOSYS as i32);
    }
    // SAFETY: the launcher took this address from the kernel's vDSO in this very program.
    let native: unsafe extern "C" fn(*mut u32, *mut u32, usize) -> i32 =
        unsafe { core::mem::transmute(native as usize) };
    // SAFETY: the caller's arguments, handed through.
    unsafe { native(cpu, node, cache) }
}
