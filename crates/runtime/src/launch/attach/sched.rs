//! Since when a thread sleeps, from `/proc/PID/task/TID/sched`.
//!
//! The scheduler notes when a thread has last used its processor (`se.exec_start`). For one that
//! sleeps in a call, that is when the call began to wait, or later if it was woken in vain. The
//! scheduler's time is stopped while a hypervisor or interrupts have the processor, so what is
//! found by comparing the clocks afterwards is late by that: a wait that goes on from it may end
//! late, never early.

use std::fs;

use domain::host_now;
use libc::pid_t;
use os::realtime::{allowed_cores, pin, pin_thread};
use vtime::HostTime;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Asleep {
    /// Scheduler's time, in nanoseconds.
    since: i64,
    processor: usize,
    /// How often it has fallen asleep so far.
    times: u64,
}

/// Looks at a thread; `None` if it does not sleep, or this kernel does not report it.
pub(super) fn look(process: pid_t, thread: pid_t) -> Option<Asleep> {
    let folder = format!("/proc/{process}/task/{thread}");
    // In this order: a thread that falls asleep in between is counted once too often.
    let sched = fs::read_to_string(format!("{folder}/sched")).ok()?;
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    let (state, processor) = state_and_processor(&stat)?;
    let since = exec_start(&sched)?;
    (state == "S").then_some(Asleep { since, processor, times: sleeps(&sched)? })
}

impl Asleep {
    /// Whether a thread that was asked to stop did so out of the sleep that was seen: stopping is
    /// falling asleep once more.
    pub(super) fn until_stopped(&self, process: pid_t, thread: pid_t) -> bool {
        let sched = fs::read_to_string(format!("/proc/{process}/task/{thread}/sched"));
        sched.is_ok_and(|sched| sleeps(&sched) == Some(self.times + 1))
    }

    pub(super) fn since(&self, clocks: &mut Clocks) -> Option<HostTime> {
        Some(HostTime::from_ns(self.since + clocks.behind(self.processor)?))
    }
}

/// By how much the scheduler's times are behind host time, for each processor.
#[derive(Debug, Default)]
pub(super) struct Clocks(std::collections::BTreeMap<usize, Option<i64>>);

impl Clocks {
    fn behind(&mut self, processor: usize) -> Option<i64> {
        *self.0.entry(processor).or_insert_with(|| on(processor, measure))
    }
}

/// Reads a fresh time of the scheduler, that of the moment at which this thread gets its
/// processor back; a reading that was disturbed is too large.
fn measure() -> Option<i64> {
    const TRIES: u32 = 5;
    let once = || {
        std::thread::sleep(std::time::Duration::from_micros(50));
        let sched = fs::read_to_string("/proc/thread-self/sched").ok()?;
        Some(host_now().as_ns() - exec_start(&sched)?)
    };
    (0..TRIES).filter_map(|_| once()).min()
}

fn on<T>(processor: usize, what: impl FnOnce() -> Option<T>) -> Option<T> {
    let before = allowed_cores().ok()?;
    pin(processor).ok()?;
    let result = what();
    // It was allowed there before.
    let _ = pin_thread(0, before);
    result
}

fn exec_start(sched: &str) -> Option<i64> {
    let (whole, parts) = value(sched, "se.exec_start")?.split_once('.')?;
    // Milliseconds with six digits of nanoseconds.
    Some(whole.parse::<i64>().ok()?.checked_mul(1_000_000)? + parts.parse::<i64>().ok()?)
}

fn sleeps(sched: &str) -> Option<u64> {
    value(sched, "nr_voluntary_switches")?.parse().ok()
}

fn value<'s>(sched: &'s str, name: &str) -> Option<&'s str> {
    let line = sched.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim_start().strip_prefix(':')?.trim())
}

/// Fields 3 and 39 of `stat`; the second field, a name, may hold anything.
fn state_and_processor(stat: &str) -> Option<(&str, usize)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    Some((state, fields.nth(35)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_thread_that_sleeps_is_seen_to_sleep_since_then() {
        let (sender, numbers) = std::sync::mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            sender.send(rustix::thread::gettid().as_raw_pid()).unwrap();
            std::thread::sleep(Duration::from_millis(200));
        });
        let thread = numbers.recv().unwrap();
        let begun = host_now();
        std::thread::sleep(Duration::from_millis(100));
        let process = std::process::id().cast_signed();
        let Some(asleep) = look(process, thread) else {
            println!("not measured: this kernel does not report it, or the thread did not sleep");
            return;
        };
        let since = asleep.since(&mut Clocks::default()).unwrap();
        println!("asleep {} µs after it began", (since - begun).as_ns() / 1000);
        assert!(!asleep.until_stopped(process, thread), "nobody stopped it");
        sleeper.join().unwrap();
    }

    #[test]
    fn names_may_hold_anything() {
        let rest = (4..=45).map(|field| format!(" {field}")).collect::<String>();
        assert_eq!(state_and_processor(&format!("7 (a) b) S{rest}")), Some(("S", 39)));
    }
}
