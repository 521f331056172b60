//! Threads that wait for a time and then take a sample: sleeping until absolute times
//! (clock_nanosleep(2)), as cyclictest does; reading a timer (timerfd_create(2)); and touching a
//! page of memory that is not there.

use std::io;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::each;
use crate::clock::{self, HostTime};
use crate::plan::Plan;
use crate::sink::Sink;
use crate::stage::Stage;
use crate::sys::memory::Page;
use crate::threads::Task;

/// From the time asked for to the moment that the thread runs.
pub(super) fn sleeping(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    waiting(plan, sinks, |_, _| {
        Ok(|at| {
            clock::sleep_until(at);
            Ok(at)
        })
    })
}

/// From the expiry of a timer to the return of read(2).
pub(super) fn reading(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    waiting(plan, sinks, |stage, first| {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        let span = |ns: i64| Timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        let period_ns = stage.plan.period_ns.cast_signed();
        let times = Itimerspec { it_interval: span(period_ns), it_value: span(first.as_ns()) };
        timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &times)?;
        Ok(move |at| {
            rustix::io::read(&timer, &mut [0; 8])?;
            Ok(at)
        })
    })
}

/// How long the first touch of a page takes.
pub(super) fn touching(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    waiting(plan, sinks, |_, _| {
        let mut page = Page::map()?;
        Ok(move |at| {
            page.give_back()?;
            clock::sleep_until(at);
            let before = clock::now();
            page.touch();
            Ok(before)
        })
    })
}

/// Threads that each `start` a way to wait, with their first time: it waits for a time, and returns
/// from when on the latency counts.
fn waiting<W: FnMut(HostTime) -> io::Result<HostTime>>(
    plan: &Plan,
    sinks: Vec<Sink>,
    start: impl Fn(&Stage, HostTime) -> io::Result<W> + Send + Sync + 'static,
) -> Vec<Task> {
    let take = move |stage: &Stage, thread, sink: &mut Sink| {
        let mut schedule = stage.schedule(thread, &sink.shared);
        let Some(first) = schedule.next() else { return Ok(()) };
        let mut wait = start(stage, first)?;
        while let Some(at) = schedule.next()
            && stage.approach(at)
        {
            let begin = wait(at)?;
            let now = clock::now();
            sink.take(begin, now - begin);
            sink.shared.miss(schedule.woke(now));
        }
        io::Result::Ok(())
    };
    each(plan, sinks, move |stage: &Stage, thread, mut sink| {
        if let Err(error) = take(stage, thread, &mut sink) {
            stage.control.fail(format!("{}: {error}", stage.plan.probe));
        }
    })
}
