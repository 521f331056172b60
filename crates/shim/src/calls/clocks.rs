//! Clocks read by a system call instead of the vDSO.

use crate::vdso;

/// clock_gettime(2)
///
/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn clock_gettime([clockid, time, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointer.
    (unsafe { vdso::__vdso_clock_gettime(clockid as i32, time as *mut _) }) as isize
}

/// gettimeofday(2)
///
/// # Safety
/// As the system call, with pointers that are valid.
pub(crate) unsafe fn gettimeofday([time, zone, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointers.
    (unsafe { vdso::__vdso_gettimeofday(time as *mut _, zone as *mut _) }) as isize
}

/// time(2)
///
/// # Safety
/// As the system call, with a pointer that is null or valid.
pub(crate) unsafe fn time([time, ..]: [usize; 6]) -> isize {
    // SAFETY: the caller vouches for the pointer.
    (unsafe { vdso::__vdso_time(time as *mut _) }) as isize
}
