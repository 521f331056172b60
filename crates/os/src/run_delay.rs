//! How long a thread was ready to run and did not, because another one had its core: what distinguishes a
//! core that others have from one that is gone.
//!
//! The kernel counts it from when a thread is woken, so what delays the waking itself (a hypervisor
//! that holds the timer's interrupt back) is none of it. `Documentation/scheduler/sched-stats.rst`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The run delay of one thread: the second number of its `schedstat`.
#[derive(Debug)]
pub struct RunDelay {
    file: File,
}

impl RunDelay {
    /// That of the calling thread; `None` if the kernel does not count it.
    pub fn of_this_thread() -> Option<Self> {
        Self::in_folder("/proc/thread-self")
    }

    /// That of a thread of this process, by its number.
    pub fn of_own_thread(thread: i32) -> Option<Self> {
        Self::in_folder(&format!("/proc/self/task/{thread}"))
    }

    fn in_folder(folder: &str) -> Option<Self> {
        let delay = Self { file: File::open(format!("{folder}/schedstat")).ok()? };
        // Where nothing is counted, even the thread's own turns are none.
        delay.numbers().filter(|numbers| numbers[2] > 0).map(|_| delay)
    }

    /// In all, in ns; it only grows.
    pub fn ns(&self) -> i64 {
        self.ns_if_there().unwrap_or(0)
    }

    /// As [`Self::ns`], of another thread; `None` once it has ended.
    pub fn ns_if_there(&self) -> Option<i64> {
        self.numbers().map(|numbers| numbers[1])
    }

    fn numbers(&self) -> Option<[i64; 3]> {
        // No memory is asked for: this is read where it matters how long that takes.
        let mut octets = [0; 64];
        let count = self.file.read_at(&mut octets, 0).ok()?;
        let text = std::str::from_utf8(&octets[..count]).ok()?;
        let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
        Some([numbers.next()?, numbers.next()?, numbers.next()?])
    }
}
