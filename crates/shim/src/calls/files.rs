//! Setting the times of a file to now: utimensat(2) and its predecessors.
//!
//! Now is that of the program. A file of another owner, to which the program may only write, can
//! be given the present of the host alone: then that is what it gets. What the kernel writes when
//! a file is read or written is host time too, out of reach.

use vtime::page::Epoch;

use super::result;
use crate::arch::{self, nr};
use crate::clock;
use crate::memory;
use crate::timespec::Timespec;

const EPERM: isize = -1;
const EACCES: isize = -13;
/// In place of the nanoseconds.
const UTIME_NOW: i64 = 0x3fff_ffff;
const AT_FDCWD: usize = -100isize as usize;

pub(crate) fn utimensat([folder, path, times, flags, ..]: [usize; 6]) -> isize {
    if times == 0 {
        return touch([folder, path, 0, flags, 0, 0]);
    }
    // SAFETY: numbers, which may have any value.
    result(unsafe { memory::read::<[Timespec; 2]>(times) }.map(|mut asked| {
        let args = [folder, path, times, flags, 0, 0];
        if asked.iter().all(|time| time.nanoseconds == UTIME_NOW) {
            return touch(args);
        }
        let now = now();
        for time in asked.iter_mut().filter(|time| time.nanoseconds == UTIME_NOW) {
            *time = now;
        }
        set(args, &asked)
    }))
}

/// utime(2), utimes(2) and futimesat(2) without times.
pub(crate) fn utimes(number: i32, [first, second, ..]: [usize; 6]) -> isize {
    let (folder, path) = if number == nr::FUTIMESAT { (first, second) } else { (AT_FDCWD, first) };
    touch([folder, path, 0, 0, 0, 0])
}

/// Sets both times to now; `args` says it to the kernel in its own way.
fn touch(args: [usize; 6]) -> isize {
    match set(args, &[now(); 2]) {
        // SAFETY: the program's own call, which the kernel checks.
        EPERM | EACCES => unsafe { arch::syscall(nr::UTIMENSAT, args) },
        answer => answer,
    }
}

fn now() -> Timespec {
    Timespec::from_ns(clock::clock_ns(Epoch::Realtime))
}

fn set([folder, path, _, flags, ..]: [usize; 6], times: &[Timespec; 2]) -> isize {
    let args = [folder, path, times.as_ptr() as usize, flags, 0, 0];
    // SAFETY: the kernel checks the program's path; the times are ours.
    unsafe { arch::syscall(nr::UTIMENSAT, args) }
}
