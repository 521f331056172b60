//! Timers that a program has set before it is attached: the agent takes them over from the kernel,
//! which keeps none armed that counts on a virtual clock.

use std::fs;
use std::io;

use libc::{c_long, pid_t};

use super::insertion::Insertion;
use crate::launch::timers::{KernelTimer, Service, timerfds_of};

const ITIMER_REAL: u64 = 0;

/// Takes over all timers of a process. One that cannot be taken over goes on in host time.
pub(super) fn take_over(
    service: &Service,
    tree: &str,
    process: pid_t,
    insertion: &mut Insertion<'_>,
) {
    for fd in timerfds_of(process) {
        // Fails only if there are no descriptors or memory left.
        let _ = service.take_over(tree, |timers| timers.take_over_descriptor(process, fd));
    }
    let _ = interval(service, tree, process, insertion);
    let listed = fs::read_to_string(format!("/proc/{process}/timers")).unwrap_or_default();
    for timer in kernel_timers(&listed).filter(KernelTimer::is_virtual) {
        let _ = posix(service, tree, process, &timer, insertion);
    }
}

fn interval(
    service: &Service,
    tree: &str,
    process: pid_t,
    insertion: &mut Insertion<'_>,
) -> io::Result<()> {
    let args = |at| [ITIMER_REAL, at, at + OLD, 0, 0, 0];
    match disarm(insertion, libc::SYS_setitimer, args, 1000)? {
        [0, _] => Ok(()),
        setting => service.take_over(tree, |timers| timers.take_over_interval(process, setting)),
    }
}

fn posix(
    service: &Service,
    tree: &str,
    process: pid_t,
    timer: &KernelTimer,
    insertion: &mut Insertion<'_>,
) -> io::Result<()> {
    let args = |at| [timer.number as u64, 0, at, at + OLD, 0, 0];
    let setting = disarm(insertion, libc::SYS_timer_settime, args, 1)?;
    service.take_over(tree, |timers| timers.take_over_posix(process, timer, setting))
}

/// Where the kernel writes what a timer was, behind a new setting of zeros.
const OLD: u64 = 32;

/// Disarms a timer of the kernel. Returns the nanoseconds that were left, and its period.
fn disarm(
    insertion: &mut Insertion<'_>,
    number: c_long,
    args: impl FnOnce(u64) -> [u64; 6],
    ns_per_part: i64,
) -> io::Result<[i64; 2]> {
    let words = insertion.call_with(number, args, [0; 8])?;
    let [.., period_s, period, left_s, left] = words.map(u64::cast_signed);
    let ns = |s: i64, part: i64| s.saturating_mul(1_000_000_000) + part * ns_per_part;
    Ok([ns(left_s, left), ns(period_s, period)])
}

/// The timers in `/proc/PID/timers`, proc(5).
fn kernel_timers(listed: &str) -> impl Iterator<Item = KernelTimer> + '_ {
    listed
        .split("ID: ")
        .filter_map(|entry| {
            // "ClockID: " splits as well: its number ends the timer before it.
            let mut lines = entry.lines();
            let number = lines.next()?.trim().parse().ok()?;
            let (signal, value) = lines.next()?.strip_prefix("signal: ")?.split_once('/')?;
            let notify = lines.next()?.strip_prefix("notify: ")?;
            let value = u64::from_str_radix(value.trim().trim_start_matches("0x"), 16).unwrap_or(0);
            let signal = (!notify.starts_with("none"))
                .then_some((signal.parse().ok()?, value.cast_signed()));
            let thread = notify.split_once("/tid.").and_then(|(_, tid)| tid.trim().parse().ok());
            Some((number, signal, thread))
        })
        .zip(listed.lines().filter_map(|line| line.strip_prefix("ClockID: ")?.trim().parse().ok()))
        .map(|((number, signal, thread), clock)| KernelTimer { number, signal, thread, clock })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_the_kernel_are_read_as_it_lists_them() {
        let listed = "ID: 0\nsignal: 10/0000000000000007\nnotify: signal/pid.55\nClockID: 1\n\
                      ID: 3\nsignal: 34/00007ffc00000001\nnotify: signal/tid.57\nClockID: 0\n\
                      ID: 4\nsignal: 0/0\nnotify: none/pid.55\nClockID: 2\n";
        let timers: Vec<KernelTimer> = kernel_timers(listed).collect();
        assert_eq!(timers.len(), 3);
        assert_eq!(
            timers[1],
            KernelTimer {
                number: 3,
                signal: Some((34, 0x7ffc_0000_0001)),
                thread: Some(57),
                clock: 0
            }
        );
        assert_eq!((timers[0].signal, timers[0].thread), (Some((10, 7)), None));
        assert_eq!((timers[2].signal, timers[2].is_virtual()), (None, false));
    }
}
