//! Who a task is (`/proc/TID/stat`, proc_pid_stat(5)).

/// `PF_KTHREAD` of the kernel's `sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) policy: Policy,
    pub(crate) kernel: bool,
    /// Where it ran last.
    pub(crate) core: usize,
}

/// Class of a task, and its priority where the class has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    Ordinary,
    Batch,
    Idle,
    Fifo(i32),
    RoundRobin(i32),
    Deadline,
}

impl Policy {
    /// The more, the sooner a task of this class is put before others.
    pub(crate) fn urgency(self) -> i32 {
        match self {
            Self::Deadline => 100,
            Self::Fifo(priority) | Self::RoundRobin(priority) => priority,
            Self::Ordinary | Self::Batch | Self::Idle => 0,
        }
    }

    /// Whether a task of this class is put before one of SCHED_FIFO with the priority given, or at
    /// least has not to give way to it; everything may delay an ordinary task.
    pub(crate) fn may_delay(self, priority: Option<i32>) -> bool {
        let Some(priority) = priority else { return true };
        self.urgency() >= priority
    }
}

impl std::fmt::Display for Policy {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ordinary => to.write_str("OTHER"),
            Self::Batch => to.write_str("BATCH"),
            Self::Idle => to.write_str("IDLE"),
            Self::Fifo(priority) => write!(to, "FIFO {priority}"),
            Self::RoundRobin(priority) => write!(to, "RR {priority}"),
            Self::Deadline => to.write_str("DEADLINE"),
        }
    }
}

impl Identity {
    /// That of a task; `None` if it is gone.
    pub(crate) fn of(tid: i32) -> Option<Self> {
        Self::parse(&os::process::text_of(tid, tid, "stat")?)
    }

    /// The name stands in brackets and may hold anything; field 3 comes after the last one.
    fn parse(stat: &str) -> Option<Self> {
        let (before, rest) = stat.rsplit_once(')')?;
        let (_, name) = before.split_once('(')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        let priority = i32::try_from(number(40)?).ok()?;
        let policy = match number(41)? {
            1 => Policy::Fifo(priority),
            2 => Policy::RoundRobin(priority),
            3 => Policy::Batch,
            5 => Policy::Idle,
            6 => Policy::Deadline,
            _ => Policy::Ordinary,
        };
        let kernel = number(9)? & KERNEL_THREAD != 0;
        Some(Self { name: name.to_owned(), policy, kernel, core: number(39)? as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, flags: u64, core: u64, priority: u64, policy: u64) -> String {
        let mut fields = vec![0; 50];
        for (field, value) in [(9, flags), (39, core), (40, priority), (41, policy)] {
            fields[field - 3] = value;
        }
        let fields: Vec<String> = fields.iter().map(u64::to_string).collect();
        format!("71 ({name}) {}", fields.join(" "))
    }

    #[test]
    fn a_task_is_known_by_name_class_and_core() {
        let spinner = Identity::parse(&stat("a) (b", 0x40, 3, 99, 1)).unwrap();
        assert_eq!((spinner.name.as_str(), spinner.policy), ("a) (b", Policy::Fifo(99)));
        assert_eq!((spinner.kernel, spinner.core), (false, 3));
        let worker = Identity::parse(&stat("kworker/0:1", 0x0020_0040, 0, 0, 0)).unwrap();
        assert!(worker.kernel && worker.policy == Policy::Ordinary);
        assert_eq!(Identity::parse("71 (x) S 1"), None);
        assert_eq!(Identity::parse(""), None);
    }

    #[test]
    fn more_urgent_tasks_may_delay() {
        for (policy, may) in [
            (Policy::Fifo(90), true),
            (Policy::RoundRobin(91), true),
            (Policy::Deadline, true),
            (Policy::Fifo(89), false),
            (Policy::Ordinary, false),
        ] {
            assert_eq!(policy.may_delay(Some(90)), may, "{policy}");
            assert!(policy.may_delay(None));
        }
    }
}
