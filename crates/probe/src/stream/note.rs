//! What is rare in a stream: its head and its end, stalls with their evidence, and counts. Once a
//! second or less each, and so as JSON, which may grow without a new version.

use serde::{Deserialize, Serialize};
use strum::{EnumIter, EnumString, IntoStaticStr};

use crate::{Facts, Plan};

/// The head of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    pub plan: Plan,
    pub facts: Facts,
    /// When it began: `CLOCK_REALTIME`, ns since 1970. All other times are since then.
    pub began_realtime_ns: i64,
    /// The same moment on `CLOCK_MONOTONIC` of the measured machine, ns.
    pub began_monotonic_ns: i64,
    pub version: String,
}

/// Anything else but samples.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "note")]
pub enum Note {
    /// A time in which a core did not do what it should.
    Stall(Stall),
    /// What each thread counted up to now.
    Counts {
        /// When, ns since the stream began.
        at_ns: i64,
        threads: Vec<Counts>,
    },
    /// What each core did up to now.
    Cores {
        /// When, ns since the stream began.
        at_ns: i64,
        /// One for each core of the plan.
        cores: Vec<CoreTime>,
    },
    /// Gaps that a busy thread saw since the last such note.
    Gaps(Gaps),
    /// Look before you trust the result.
    Warning {
        /// What it is about, in a sentence.
        text: String,
    },
}

/// A time in which a core did not do what it should: a wake-up was far too late, or the stall meter
/// saw a gap.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stall {
    pub core: usize,
    /// When it began, ns since the stream began. For a late wake-up, the intended time.
    pub at_ns: i64,
    pub length_ns: i64,
    pub seen_by: Detector,
    pub cause: Cause,
    /// Whom exactly, as far as it is known, in a few words.
    pub who: String,
    /// What that rests on.
    pub evidence: Evidence,
}

/// Who noticed a stall.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Detector {
    /// The thread that woke up late.
    Wakeup,
    /// The thread that spins on the core.
    Meter,
}

/// Who is to blame for a stall.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Cause {
    /// The whole core was gone, nobody ran: a hypervisor, firmware.
    Host,
    /// The kernel: interrupts, their threads, or code that cannot be preempted.
    Kernel,
    /// Another program ran on the core instead.
    Load,
    /// The probe itself was stopped (SIGSTOP, a frozen control group, a debugger).
    Stopped,
    /// The evidence does not say.
    Unknown,
}

impl Cause {
    /// As reports call it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What was seen during a stall. What the platform does not report is `None`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// How much longer than usual the thread was ready to run and did not, since the collector looked
    /// last (`/proc/PID/schedstat`), ns.
    pub run_delay_ns: Option<i64>,
    /// What a hypervisor took of the core, as far as it reports that (`steal` of `/proc/stat`), ns. Counted
    /// in ticks of 10 ms, since half a second before or less.
    pub steal_ns: Option<i64>,
    /// When the probe was continued after a stop (SIGCONT) during the stall, ns since the stream
    /// began.
    pub continued_at_ns: Option<i64>,
    /// How long the core idled during it, ns (context switches of the kernel).
    pub idle_ns: Option<i64>,
    /// Who ran on the core during it, longest first.
    pub ran: Vec<Ran>,
}

/// One task that ran on a core during a stall.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ran {
    /// Of the thread, as the probe sees it.
    pub tid: i32,
    /// Its name; empty if it was gone before it could be asked.
    pub name: String,
    /// Its class and priority, such as `FIFO 99`; empty likewise.
    pub policy: String,
    /// Whether it is one of the kernel's.
    pub kernel: bool,
    /// For how long, ns.
    pub ran_ns: i64,
}

/// What a thread counted since the stream began.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Which thread of the plan.
    pub thread: usize,
    pub taken: u64,
    /// Of those, such as were lost between the thread and the stream.
    pub lost: u64,
    /// Periods that were over before there could be a sample.
    pub missed: u64,
    pub cpu_ns: i64,
    /// Switches away from the thread because it waited.
    pub voluntary_switches: u64,
    /// Switches away from the thread because another one was put first.
    pub involuntary_switches: u64,
    /// Page faults of the thread; with locked memory there should be none.
    pub page_faults: u64,
}

/// What a core did since the stream began, in ticks of 10 ms (`/proc/stat`, proc_stat(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreTime {
    pub core: usize,
    pub user_ms: u64,
    /// In the kernel for programs, ms.
    pub system_ms: u64,
    /// Idle or waiting for input, ms.
    pub idle_ms: u64,
    /// In interrupts and what they leave to be done, ms.
    pub interrupts_ms: u64,
    /// Taken away by a hypervisor, as far as it reports that, ms.
    pub steal_ms: u64,
}

/// Gaps between two looks at the clock of a thread that does nothing else.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Gaps {
    /// Which thread of the plan.
    pub thread: usize,
    pub bin_ns: u64,
    /// Bins that are not empty: index, count. The last bin of the histogram holds all above it.
    pub bins: Vec<(u32, u64)>,
    pub max_ns: u64,
}

/// The end of a stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct End {
    /// When, ns since the stream began.
    pub at_ns: i64,
    pub outcome: Outcome,
}

/// How a measurement ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Finished,
    /// By Ctrl-C or SIGTERM; what there is, is whole.
    Interrupted,
    /// The platform lacks what the probe needs: the reason, and the way out.
    NotMeasured(String),
    /// Something went wrong: what.
    Failed(String),
}
