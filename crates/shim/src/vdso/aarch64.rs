//! AArch64: the functions of the vDSO, those of the kernel's `arch/arm64/kernel/vdso/vdso.lds.S`.
//! `arch/aarch64.ver` here lists the same names.
//!
//! The kernel returns from signal handlers through its own vDSO, by an address of its own: so that
//! one stays where it is, beside the image.

use crate::timespec::{Timespec, Timeval};

/// # Safety
/// As [`super::clock_gettime`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __kernel_clock_gettime(clockid: i32, time: *mut Timespec) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::clock_gettime(clockid, time) }
}

/// # Safety
/// As [`super::gettimeofday`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __kernel_gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::gettimeofday(time, zone) }
}

/// # Safety
/// As [`super::clock_getres`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __kernel_clock_getres(clockid: i32, resolution: *mut Timespec) -> i32 {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::clock_getres(clockid, resolution) }
}

/// # Safety
/// As [`super::getrandom`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __kernel_getrandom(
    buffer: usize,
    length: usize,
    flags: u32,
    state: usize,
    state_length: usize,
) -> isize {
    // SAFETY: the caller's arguments, handed through.
    unsafe { super::getrandom(buffer, length, flags, state, state_length) }
}
