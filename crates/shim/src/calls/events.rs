//! Waiting for events of asynchronous input and output: io_getevents(2) and io_pgetevents(2).

use vtime::time::NS_PER_S;

use crate::arch;
use crate::memory;
use crate::timespec::Timespec;
use crate::wait::{self, Deadline};

/// Octets of a `struct io_event`.
const EVENT: usize = 32;

/// Both with a timeout.
pub(crate) fn collect(number: i32, args: [usize; 6]) -> Result<isize, isize> {
    span(args[4]).map(|deadline| collect_until(number, args, deadline))
}

/// The kernel takes any time here, without regard to overflows, and one that is negative for one
/// that never comes.
fn span(address: usize) -> Result<Deadline, isize> {
    // SAFETY: two numbers, which may have any value.
    let time: Timespec = unsafe { memory::read(address)? };
    let ns = match time.seconds.wrapping_mul(NS_PER_S).wrapping_add(time.nanoseconds) {
        _ if time.seconds >= i64::MAX / NS_PER_S => i64::MAX,
        ..0 => i64::MAX,
        ns => ns,
    };
    Ok(Deadline::after_ns(ns))
}

/// At least `least` events are waited for; those that came before the clock was held count too.
pub(crate) fn collect_until(
    number: i32,
    [context, least, most, events, _, mask]: [usize; 6],
    deadline: Deadline,
) -> isize {
    let mut got = 0usize;
    let last = wait::until(deadline, |host_ns| {
        let time = Timespec::from_ns(host_ns);
        let time = &raw const time as usize;
        let left = [least.saturating_sub(got), most.saturating_sub(got)];
        let args = [context, left[0], left[1], events + got * EVENT, time, mask];
        // SAFETY: the kernel checks the program's array; the time is ours.
        let result = unsafe { arch::syscall(number, args) };
        if result < 0 {
            return Some(result);
        }
        got += result as usize;
        (got >= least).then_some(0)
    });
    match last {
        Some(error) if error < 0 && got == 0 => error,
        _ => got as isize,
    }
}
