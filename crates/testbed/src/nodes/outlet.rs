//! The way from a relay to its runner. It takes no more once the runner is silent: what a machine that was cut off
//! has to send fills the pipe to its ssh server, which does not know yet that nobody reads, and whoever waits there removes
//! nothing that lies on the machine.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Octets that a pipe or socket takes without waiting once it takes any.
const TAKEN_MAX: usize = 4096;
/// How often it is looked whether the runner is silent, while nothing more is taken.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Whether the runner is heard.
#[derive(Clone, Debug)]
pub(super) struct Runner {
    heard: Arc<Mutex<Instant>>,
    silence_longest: Duration,
}

impl Runner {
    /// One that is silent once nothing is heard for so long from now on.
    pub(super) fn new(silence_longest: Duration) -> Self {
        Self { heard: Arc::new(Mutex::new(Instant::now())), silence_longest }
    }

    pub(super) fn heard(&self) {
        *self.heard.lock() = Instant::now();
    }

    pub(super) fn is_silent(&self) -> bool {
        self.heard.lock().elapsed() >= self.silence_longest
    }
}

/// What goes to the runner, for as long as that is heard.
#[derive(Debug)]
pub(super) struct Outlet {
    to: File,
    runner: Runner,
    /// Something was cut off, behind which nothing would be understood.
    is_over: bool,
}

impl Outlet {
    pub(super) const fn new(to: File, runner: Runner) -> Self {
        Self { to, runner, is_over: false }
    }
}

impl Write for Outlet {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        while !self.is_over && !self.runner.is_silent() {
            match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.to.write(&octets[..octets.len().min(TAKEN_MAX)]),
                Err(error) => return Err(error.into()),
            }
        }
        self.is_over = true;
        Err(io::Error::new(io::ErrorKind::TimedOut, "nothing more is heard of the runner"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::os::fd::OwnedFd;
    use std::thread;

    #[test]
    fn who_reads_slowly_gets_all_and_nobody_waits_for_who_is_silent() {
        let (mut reader, writer) = io::pipe().unwrap();
        let runner = Runner::new(Duration::from_millis(500));
        let mut outlet = Outlet::new(File::from(OwnedFd::from(writer)), runner.clone());
        let octets: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut read = vec![0; octets.len()];
                for part in read.chunks_mut(1 << 16) {
                    thread::sleep(Duration::from_millis(60));
                    runner.heard();
                    reader.read_exact(part).unwrap();
                }
                assert!(read == octets);
            });
            outlet.write_all(&octets).unwrap();
        });
        let begun = Instant::now();
        assert_eq!(outlet.write_all(&octets).unwrap_err().kind(), io::ErrorKind::TimedOut);
        runner.heard();
        assert_eq!(outlet.write_all(b"x").unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        drop(reader);
    }
}
