//! Time namespaces of programs, time_namespaces(7): how far `CLOCK_MONOTONIC` and `CLOCK_BOOTTIME`
//! are ahead in them. A program that is in one of its own looks its clocks up there, so the image
//! must know.

use std::fs;
use std::io;

use libc::pid_t;
use vtime::page::Epoch;

/// Whether a process, or what it will fork, has another time namespace than the agent.
pub(super) fn is_own(process: pid_t) -> bool {
    let ours = fs::read_link("/proc/self/ns/time");
    let Ok(ours) = ours else { return false };
    ["time", "time_for_children"].iter().any(|kind| {
        fs::read_link(format!("/proc/{process}/ns/{kind}")).is_ok_and(|own| own != ours)
    })
}

/// How far a clock of a thread is ahead of the agent's.
///
/// # Errors
/// EAGAIN where that is not known: the shifts that the kernel reports are those of children to be.
pub(super) fn shift_ns(thread: pid_t, epoch: Epoch) -> io::Result<i64> {
    let clock = match epoch {
        Epoch::Monotonic | Epoch::MonotonicRaw => "monotonic",
        Epoch::Boottime => "boottime",
        Epoch::Realtime | Epoch::Tai => return Ok(0),
    };
    let namespace = |who: &str, kind: &str| fs::read_link(format!("/proc/{who}/ns/{kind}"));
    let who = thread.to_string();
    let own = namespace(&who, "time")?;
    if own == namespace("self", "time")? {
        return Ok(0);
    }
    if own != namespace(&who, "time_for_children")? {
        return Err(io::Error::from_raw_os_error(libc::EAGAIN));
    }
    let ahead = |who: &str| {
        let offsets = fs::read_to_string(format!("/proc/{who}/timens_offsets"))?;
        offset_ns(&offsets, clock).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    };
    Ok(ahead(&who)?.saturating_sub(ahead("self")?))
}

/// One line of /proc/PID/timens_offsets: a clock, seconds and nanoseconds.
fn offset_ns(offsets: &str, clock: &str) -> Option<i64> {
    let line = offsets.lines().find_map(|line| line.trim().strip_prefix(clock))?;
    let mut numbers = line.split_ascii_whitespace().map(str::parse::<i64>);
    let (seconds, ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_as_the_kernel_tells_them() {
        let offsets = "monotonic         86400         5\nboottime          -60    999999999\n";
        assert_eq!(offset_ns(offsets, "monotonic"), Some(86_400_000_000_005));
        assert_eq!(offset_ns(offsets, "boottime"), Some(-59_000_000_001));
        assert_eq!(
            (offset_ns(offsets, "tai"), offset_ns("monotonic x y", "monotonic")),
            (None, None)
        );
    }
}
