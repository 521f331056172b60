//! Clocks read by a system call instead of the vDSO: clock_gettime(2), gettimeofday(2), time(2),
//! and the two calls that tell the time since the start of the system beside other things.

use vtime::page::Epoch;
use vtime::time::NS_PER_S;

use super::result;
use crate::arch::{self, nr};
use crate::clock::{self, Timespec};
use crate::memory;
use crate::vdso::{self, Timeval};

/// Ticks a second in the results of times(2), the same on every Linux.
const TICKS_PER_S: i64 = 100;

/// clock_gettime(2)
pub(crate) fn clock_gettime([clockid, address, ..]: [usize; 6]) -> isize {
    let mut time = Timespec::default();
    // SAFETY: `time` is a valid timespec.
    match unsafe { vdso::clock_gettime(clockid as i32, &raw mut time) } {
        0 => result(memory::write(address, &time).map(|()| 0)),
        error => error as isize,
    }
}

/// gettimeofday(2)
pub(crate) fn gettimeofday([address, zone, ..]: [usize; 6]) -> isize {
    let write_time = || {
        if address == 0 {
            return Ok(0);
        }
        let mut time = Timeval { seconds: 0, microseconds: 0 };
        // SAFETY: `time` is a valid timeval.
        unsafe { vdso::gettimeofday(&raw mut time, core::ptr::null_mut()) };
        memory::write(address, &time).map(|()| 0)
    };
    match result(write_time()) {
        // SAFETY: null and an address that the kernel checks.
        0 if zone != 0 => unsafe { arch::syscall(nr::GETTIMEOFDAY, [0, zone, 0, 0, 0, 0]) },
        result => result,
    }
}

/// time(2)
pub(crate) fn time([address, ..]: [usize; 6]) -> isize {
    // SAFETY: null is allowed.
    let seconds = unsafe { vdso::time(core::ptr::null_mut()) };
    if address != 0
        && let Err(error) = memory::write(address, &seconds)
    {
        return error;
    }
    seconds as isize
}

/// sysinfo(2), whose first field is the time since the start of the system.
pub(crate) fn sysinfo([address, ..]: [usize; 6]) -> isize {
    // SAFETY: the program's own arguments, which the kernel checks.
    match unsafe { arch::syscall(nr::SYSINFO, [address, 0, 0, 0, 0, 0]) } {
        0 => {
            // As the kernel, which rounds a begun second up.
            let seconds = (clock::clock_ns(Epoch::Boottime) + 999_999_999) / 1_000_000_000;
            result(memory::write(address, &seconds).map(|()| 0))
        }
        error => error,
    }
}

/// times(2), whose result counts from an arbitrary point: here from that of `CLOCK_MONOTONIC`.
/// The host's count corrected by ours would go back and forth, as each is rounded to ticks.
/// Processor times stay the host's.
pub(crate) fn times([address, ..]: [usize; 6]) -> isize {
    // SAFETY: the program's own arguments, which the kernel checks.
    let native = unsafe { arch::syscall(nr::TIMES, [address, 0, 0, 0, 0, 0]) };
    if native == memory::EFAULT {
        return native;
    }
    (clock::clock_ns(Epoch::Monotonic) / (NS_PER_S / TICKS_PER_S)) as isize
}
