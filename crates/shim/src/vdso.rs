//! The functions that the kernel's vDSO gives to programs, in virtual time. Semantics as in
//! vdso(7) and clock_gettime(2), names as in `arch/x86/entry/vdso/vdso.lds.S` and
//! `arch/arm64/kernel/vdso/vdso.lds.S` of the kernel; the files `.ver` in `arch` list the same.
//!
//! On AArch64 the kernel returns from signal handlers through its own vDSO, by an address of its own:
//! so that one stays where it is, beside the image.

use vtime::page::Epoch;

use crate::arch::{self, nr};
use crate::clock;
use crate::pages;
use crate::processor;
use crate::timespec::{Timespec, Timeval};

const ENOSYS: isize = 38;
const CLOCK_REALTIME: i32 = 0;

/// # Safety
/// `time` must point to a timespec, as clock_gettime(2) demands.
#[cfg_attr(target_arch = "x86_64", unsafe(export_name = "__vdso_clock_gettime"))]
#[cfg_attr(target_arch = "aarch64", unsafe(export_name = "__kernel_clock_gettime"))]
pub(crate) unsafe extern "C" fn clock_gettime(clockid: i32, time: *mut Timespec) -> i32 {
    if let Some(epoch) = Epoch::of_clockid(clockid)
        && let Some((shift, page)) = pages::own().shift(pages::page(), epoch)
        && let Some(host) = clock::host_timespec()
        && page.is_unchanged(&shift)
        && let Some((seconds, nanoseconds)) = shift.apply(host.seconds, host.nanoseconds)
    {
        // SAFETY: the caller vouches for the pointer; a wrong one faults, as in the kernel's vDSO.
        unsafe { time.write(Timespec { seconds, nanoseconds }) };
        return 0;
    }
    // SAFETY: as above.
    unsafe { long_way(clockid, time) }
}

/// While the clock is held, or it or the program dilated, near the horizon, and for clocks of CPU time.
///
/// # Safety
/// As [`clock_gettime`].
#[cold]
#[inline(never)]
unsafe fn long_way(clockid: i32, time: *mut Timespec) -> i32 {
    let ns = match Epoch::of_clockid(clockid) {
        Some(epoch) => clock::clock_ns(epoch),
        None if processor::is_processor_clock(clockid) => match processor::clock_ns(clockid) {
            Ok(ns) => ns,
            Err(error) => return error as i32,
        },
        None => {
            let args = [clockid as usize, time as usize, 0, 0, 0, 0];
            // SAFETY: the kernel checks the pointer itself.
            let answer = unsafe { arch::syscall(nr::CLOCK_GETTIME, args) } as i32;
            match Epoch::of_alarm_clock(clockid) {
                Some(epoch) if answer == 0 => clock::clock_ns(epoch),
                _ => return answer,
            }
        }
    };
    // SAFETY: the caller vouches for the pointer.
    unsafe { time.write(Timespec::from_ns(ns)) };
    0
}

/// # Safety
/// `time` must be null or point to a timeval, `zone` null or to a timezone.
#[cfg_attr(target_arch = "x86_64", unsafe(export_name = "__vdso_gettimeofday"))]
#[cfg_attr(target_arch = "aarch64", unsafe(export_name = "__kernel_gettimeofday"))]
unsafe extern "C" fn gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    if !time.is_null() {
        let mut now = Timespec::default();
        // SAFETY: `now` is a valid timespec.
        unsafe { clock_gettime(CLOCK_REALTIME, &raw mut now) };
        // SAFETY: the caller vouches for the pointer.
        unsafe { time.write(now.into()) };
    }
    if !zone.is_null() {
        // SAFETY: null and a pointer that the kernel checks.
        return unsafe { arch::syscall(nr::GETTIMEOFDAY, [0, zone as usize, 0, 0, 0, 0]) } as i32;
    }
    0
}

/// # Safety
/// `time` must be null or point to a `time_t`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
unsafe extern "C" fn __vdso_time(time: *mut i64) -> i64 {
    let mut now = Timespec::default();
    // SAFETY: `now` is a valid timespec.
    unsafe { clock_gettime(CLOCK_REALTIME, &raw mut now) };
    if !time.is_null() {
        // SAFETY: the caller vouches for the pointer.
        unsafe { time.write(now.seconds) };
    }
    now.seconds
}

/// The resolution is that of the host: virtual time is no coarser than what it is computed from.
///
/// # Safety
/// `resolution` must be null or point to a timespec.
#[cfg_attr(target_arch = "x86_64", unsafe(export_name = "__vdso_clock_getres"))]
#[cfg_attr(target_arch = "aarch64", unsafe(export_name = "__kernel_clock_getres"))]
unsafe extern "C" fn clock_getres(clockid: i32, resolution: *mut Timespec) -> i32 {
    let args = [clockid as usize, resolution as usize, 0, 0, 0, 0];
    // SAFETY: the kernel checks the pointer itself.
    (unsafe { arch::syscall(nr::CLOCK_GETRES, args) }) as i32
}

/// Programs call this only where the kernel's own vDSO has it, which they learn by calling it.
///
/// # Safety
/// As the kernel's `getrandom`.
#[cfg_attr(target_arch = "x86_64", unsafe(export_name = "__vdso_getrandom"))]
#[cfg_attr(target_arch = "aarch64", unsafe(export_name = "__kernel_getrandom"))]
unsafe extern "C" fn getrandom(
    buffer: usize,
    length: usize,
    flags: u32,
    state: usize,
    state_length: usize,
) -> isize {
    let native = pages::process().vdso_getrandom;
    // By a system call the program gets what follows from its seed.
    if native == 0 || pages::own().random_seed().is_some() {
        return -ENOSYS;
    }
    // SAFETY: the launcher took this address from the kernel's vDSO in this very program.
    let native: unsafe extern "C" fn(usize, usize, u32, usize, usize) -> isize =
        unsafe { core::mem::transmute(native as usize) };
    // SAFETY: the caller's arguments, handed through.
    unsafe { native(buffer, length, flags, state, state_length) }
}

/// # Safety
/// As getcpu(2).
#[cfg(target_arch = "x86_64")]
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
