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
        let delay = Self { file: File::open("/proc/thread-self/schedstat").ok()? };
        // Where nothing is counted, even the thread's own turns are none.
        delay.numbers().filter(|numbers| numbers[2] > 0).map(|_| delay)
    }

    /// In all, in ns; it only grows.
    pub fn ns(&self) -> i64 {
        self.numbers().map_or(0, |numbers| numbers[1])
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
