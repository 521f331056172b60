//! Threads that wait for a time and then take a sample: sleeping until absolute times
//! (clock_nanosleep(2)), as cyclictest does; reading a timer (timerfd_create(2)); and touching a
//! page of memory that is not there.

use super::each;
use crate::plan::Plan;
use crate::sink::Sink;
use crate::stage::Stage;
use crate::sys::page::Page;
use crate::sys::timerfd::Timerfd;
use crate::threads::Task;

/// From the time asked for to the moment that the thread runs.
pub(super) fn sleeping(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    each(plan, sinks, |stage: &Stage, thread, mut sink: Sink| {
        let mut schedule = stage.schedule(thread, &sink.misses());
        while let Some(at_ns) = schedule.next_ns() {
            if !stage.approach(at_ns) {
                break;
            }
            os::realtime::sleep_until(at_ns);
            let now_ns = os::realtime::now_ns();
            sink.take(at_ns, now_ns - at_ns);
            sink.miss(schedule.woke(now_ns));
        }
    })
}

/// From the expiry of a timer to the return of read(2).
pub(super) fn reading(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    each(plan, sinks, |stage: &Stage, thread, sink| {
        if let Err(error) = read_timer(stage, thread, sink) {
            stage.control.fail(format!("timerfd: {error}"));
        }
    })
}

fn read_timer(stage: &Stage, thread: usize, mut sink: Sink) -> std::io::Result<()> {
    let mut schedule = stage.schedule(thread, &sink.misses());
    let timer = Timerfd::open()?;
    let Some(first_ns) = schedule.next_ns() else { return Ok(()) };
    timer.set(first_ns, stage.plan.period_ns.cast_signed())?;
    while let Some(at_ns) = schedule.next_ns() {
        if !stage.approach(at_ns) {
            break;
        }
        timer.expired()?;
        let now_ns = os::realtime::now_ns();
        sink.take(at_ns, now_ns - at_ns);
        sink.miss(schedule.woke(now_ns));
    }
    Ok(())
}

/// How long the first touch of a page takes.
pub(super) fn touching(plan: &Plan, sinks: Vec<Sink>) -> Vec<Task> {
    each(plan, sinks, |stage: &Stage, thread, sink| {
        if let Err(error) = touch_pages(stage, thread, sink) {
            stage.control.fail(format!("page-fault: {error}"));
        }
    })
}

fn touch_pages(stage: &Stage, thread: usize, mut sink: Sink) -> std::io::Result<()> {
    let mut schedule = stage.schedule(thread, &sink.misses());
    let mut page = Page::map()?;
    while let Some(at_ns) = schedule.next_ns() {
        if !stage.approach(at_ns) {
            break;
        }
        page.give_back()?;
        os::realtime::sleep_until(at_ns);
        let before_ns = os::realtime::now_ns();
        page.touch();
        let now_ns = os::realtime::now_ns();
        sink.take(before_ns, now_ns - before_ns);
        sink.miss(schedule.woke(now_ns));
    }
    Ok(())
}
