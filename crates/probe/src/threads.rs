//! The threads of a measurement: each gets its core and its class first, says so, and begins when
//! all have. What one is refused, it reports, and none begins.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use crate::plan::Plan;
use crate::stage::Stage;
use crate::sys::thread::{self as own, Usage};

/// Stack of a thread: all of it is locked, and little of it is used.
const STACK_OCTETS: usize = 128 << 10;

/// What one thread does, once all are ready.
pub(crate) struct Task {
    pub(crate) name: String,
    /// Where it belongs, if the plan wants threads pinned.
    pub(crate) core: usize,
    pub(crate) role: Role,
    /// Runs until the end of the stage.
    pub(crate) work: Box<dyn FnOnce(Stage) + Send>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// It takes the samples of this thread of the plan.
    Measures(usize),
    /// It wakes one that does.
    Helps,
    /// It spins in the lowest class.
    Meter,
}

/// What a thread used, as it says itself at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    pub(crate) role: Role,
    pub(crate) cpu_ns: i64,
    pub(crate) usage: Usage,
}

/// Threads that are ready to begin.
pub(crate) struct Threads {
    waiting: Vec<Waiting>,
    ready: Vec<(Role, i32)>,
}

struct Waiting {
    role: Role,
    begin: Sender<Stage>,
    handle: JoinHandle<Used>,
}

impl Threads {
    /// Starts a thread for each task and has it get its core and class.
    ///
    /// # Errors
    /// What one was refused, and the way out.
    pub(crate) fn ready(plan: &Plan, tasks: Vec<Task>) -> Result<Self, String> {
        let (says, hears) = channel();
        let mut waiting = Vec::new();
        for task in tasks {
            let (begin, begins) = channel();
            let (says, plan, role) = (says.clone(), plan.clone(), task.role);
            let handle = thread::Builder::new()
                .name(task.name.clone())
                .stack_size(STACK_OCTETS)
                .spawn(move || one(&plan, task, &says, &begins))
                .map_err(|error| format!("cannot start another thread: {error}"))?;
            waiting.push(Waiting { role, begin, handle });
        }
        drop(says);
        // Each says one thing; a thread that waits for a begin that never comes, ends.
        let ready = hears.iter().take(waiting.len()).collect::<Result<_, String>>()?;
        Ok(Self { waiting, ready })
    }

    /// Numbers of the threads that measure, in the order of the plan.
    pub(crate) fn measuring(&self) -> Vec<i32> {
        let measuring = |(role, tid): &(Role, i32)| match role {
            Role::Measures(thread) => Some((*thread, *tid)),
            Role::Helps | Role::Meter => None,
        };
        let found: BTreeMap<usize, i32> = self.ready.iter().filter_map(measuring).collect();
        found.into_values().collect()
    }

    /// Numbers of the stall meters.
    pub(crate) fn meters(&self) -> Vec<i32> {
        let meters = self.ready.iter().filter(|(role, _)| *role == Role::Meter);
        meters.map(|(_, tid)| *tid).collect()
    }

    pub(crate) fn begin(self, stage: &Stage) -> Running {
        let mut running = Vec::new();
        for Waiting { role, begin, handle } in self.waiting {
            begin.send(stage.clone()).expect("a thread that is ready waits");
            // Nobody waits for a meter: among busy tasks it might not run for long.
            if role != Role::Meter {
                running.push(handle);
            }
        }
        Running { running }
    }
}

/// Threads that run until the end of their stage.
pub(crate) struct Running {
    running: Vec<JoinHandle<Used>>,
}

impl Running {
    pub(crate) fn are_finished(&self) -> bool {
        self.running.iter().all(JoinHandle::is_finished)
    }

    /// What each used; waits for their end.
    pub(crate) fn used(self) -> Vec<Used> {
        let used = |thread: JoinHandle<Used>| thread.join().expect("a probe does not panic");
        self.running.into_iter().map(used).collect()
    }
}

fn one(
    plan: &Plan,
    task: Task,
    says: &Sender<Result<(Role, i32), String>>,
    begins: &Receiver<Stage>,
) -> Used {
    own::block_signals();
    let role = task.role;
    let ready = get_ready(plan, &task).map(|()| (role, own::id()));
    let is_ready = ready.is_ok();
    // If nobody hears it, nobody begins either.
    let _ = says.send(ready);
    if is_ready && let Ok(stage) = begins.recv() {
        (task.work)(stage);
    }
    Used { role, cpu_ns: os::realtime::thread_cpu_ns(), usage: own::usage() }
}

fn get_ready(plan: &Plan, task: &Task) -> Result<(), String> {
    if plan.pinned || task.role == Role::Meter {
        let core = task.core;
        os::realtime::pin(core).map_err(|error| {
            format!("core {core}: {error}; use one of those listed by `taskset -cp $$`")
        })?;
    }
    if task.role == Role::Meter {
        return own::lowest_priority().map_err(|error| format!("SCHED_IDLE: {error}"));
    }
    let Some(priority) = plan.priority else { return Ok(()) };
    os::realtime::fifo(priority).map_err(|error| {
        format!(
            "SCHED_FIFO {priority}: {error}; it needs CAP_SYS_NICE or a higher RLIMIT_RTPRIO, and \
             in a control group of version 1 a share of cpu.rt_runtime_us"
        )
    })
}
