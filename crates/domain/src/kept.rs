//! What kept the clock of a domain from jumping, and how much of its time that was.

use std::collections::BTreeMap;

use vtime::VirtualSpan;

/// Why the clock cannot jump at a moment.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// A program runs, or is about to.
    Program,
    /// A program was stopped by a signal or a debugger.
    Stopped,
    /// The agent does something.
    Agent,
    /// A kernel may be about to send something by its own timers.
    KernelTimers,
    /// Other hosts have granted no more.
    Hosts,
    /// Nobody waits for a time: only something from outside can go on.
    NoDeadline,
    /// More threads wait than can say so.
    Untold,
    /// The kernel does not let the agent look at a thread.
    Unseen,
    /// The agent has too few descriptors to look at all threads.
    Descriptors,
}

impl Keeping {
    /// What it is, behind a time.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Program => "while programs ran",
            Self::Stopped => "while a program was stopped by a signal or a debugger",
            Self::Agent => "while the agent worked",
            Self::KernelTimers => "for timers of the kernel",
            Self::Hosts => "until other hosts had come as far",
            Self::NoDeadline => "while nobody waited for a time",
            Self::Untold => "while more threads waited than can say so",
            Self::Unseen => "while the kernel did not show a thread",
            Self::Descriptors => {
                "with too few descriptors to look at all threads (raise `ulimit -n`)"
            }
        }
    }
}

/// Virtual time that passed at host rate, by what kept it from being jumped over.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Kept(BTreeMap<Keeping, i64>);

impl Kept {
    /// All of it in words, most first, each time as `shown` writes nanoseconds.
    pub fn words(&self, shown: impl Fn(i64) -> String) -> String {
        let mut all: Vec<_> = self.0.iter().filter(|(_, ns)| **ns > 0).collect();
        all.sort_by_key(|(_, ns)| std::cmp::Reverse(**ns));
        let words: Vec<_> =
            all.into_iter().map(|(why, ns)| format!("{} {}", shown(*ns), why.words())).collect();
        words.join(", ")
    }

    /// In nanoseconds of the domain, by reason.
    pub const fn ns(&self) -> &BTreeMap<Keeping, i64> {
        &self.0
    }

    /// So much time more passed for this reason.
    pub fn add(&mut self, why: Keeping, time: VirtualSpan) {
        *self.0.entry(why).or_default() += time.as_ns();
    }
}
