//! The kinds of probes: what a thread waits for, and from when to when its latency counts.

mod gpio;
mod handover;
pub(crate) mod noise;
mod time_of_day;
mod timer;
mod ways;

use std::sync::Arc;

use crate::plan::{Kind, Plan};
use crate::sink::Sink;
use crate::stage::Stage;
use crate::sys::signal::Signal;
use crate::threads::{Role, Task};

/// All tasks of a plan, given a sink for each of its threads.
///
/// # Errors
/// What the platform lacks for it, and the way out.
pub(crate) fn tasks(plan: &Plan, sinks: Vec<Sink>) -> Result<Vec<Task>, String> {
    match plan.probe {
        Kind::Timer => Ok(timer::sleeping(plan, sinks)),
        Kind::Timerfd => Ok(timer::reading(plan, sinks)),
        Kind::PageFault => Ok(timer::touching(plan, sinks)),
        Kind::Noise => noise::tasks(plan, sinks),
        Kind::Eventfd => handover::tasks(plan, sinks, ways::Eventfd::open),
        Kind::Futex => handover::tasks(plan, sinks, || Ok(ways::Futex::default())),
        Kind::Signal => handover::tasks(plan, sinks, || Ok(Signal::default())),
        Kind::Pipe => handover::tasks(plan, sinks, ways::Pipe::open),
        Kind::Udp => handover::tasks(plan, sinks, || ways::Udp::open(plan.split)),
        Kind::Ethernet => handover::tasks(plan, sinks, || ways::Ethernet::open(plan.split)),
        Kind::Gpio => gpio::tasks(plan, sinks),
    }
}

/// The same work for each thread of a plan.
fn each(
    plan: &Plan,
    sinks: Vec<Sink>,
    work: impl Fn(&Stage, usize, Sink) + Send + Sync + 'static,
) -> Vec<Task> {
    let work = Arc::new(work);
    let task = |(thread, (sink, &core)): (usize, (Sink, &usize))| {
        let work = Arc::clone(&work);
        Task {
            name: format!("{}-{core}", plan.probe),
            core,
            role: Role::Measures(thread),
            work: Box::new(move |stage| work(&stage, thread, sink)),
        }
    };
    sinks.into_iter().zip(&plan.cores).enumerate().map(task).collect()
}
