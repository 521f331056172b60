//! When shared memory, semaphores and queues were last used: shmctl(2), semctl(2), msgctl(2).
//!
//! The kernel keeps whole seconds of the host's time of day. The middle of such a second is put
//! into virtual time, so that a time is off by a second at most at a time dilation factor of 1.

use vtime::time::NS_PER_S;

use crate::arch::{self, nr};
use crate::clock;
use crate::memory;

/// Octets of a structure at which its times lie, behind its `struct ipc64_perm`; on x86-64 and
/// AArch64 alike, but that semaphores of x86-64 have a gap behind the first.
const SHARED_MEMORY: &[usize] = &[56, 64, 72];
const SEMAPHORES: &[usize] = if cfg!(target_arch = "aarch64") { &[48, 56] } else { &[48, 64] };
const QUEUE: &[usize] = &[48, 56, 64];

pub(crate) fn shift_times(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    let (place, times) = match number {
        nr::SHMCTL => (args[2], SHARED_MEMORY),
        nr::SEMCTL => (args[3], SEMAPHORES),
        _ => (args[2], QUEUE),
    };
    // SAFETY: the program's own call, which the kernel checks.
    let answer = unsafe { arch::syscall(number, args) };
    if answer < 0 {
        return Err(answer);
    }
    for at in times {
        // SAFETY: a number, which may have any value.
        let seconds: i64 = unsafe { memory::read(place + at)? };
        // 0: never.
        if seconds != 0 {
            let middle = seconds.saturating_mul(NS_PER_S).saturating_add(NS_PER_S / 2);
            let shown = clock::realtime_of_stamp(middle).div_euclid(NS_PER_S);
            memory::write(place + at, &shown)?;
        }
    }
    Ok(answer)
}
