//! The ways between an agent and the runner that owns it, from the agent's side: a socket for
//! orders and reports, and a pipe for what programs write.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use parking_lot::{Condvar, Mutex};
use serde::Serialize;

use super::orders::{Order, Output, Report};

/// Where reports and outputs go. Threads of the agent share it.
///
/// The two have queues of their own: what a program floods the runner with keeps no report.
#[derive(Debug)]
pub(super) struct Owner {
    reports: Queue<UnixStream>,
    outputs: Queue<File>,
    socket: UnixStream,
}

/// Something to write to for one after the other, in the order in which they have come. A lock
/// alone is not fair: a thread that writes without a pause would keep all others from it, and the lines of
/// a program would be stamped late because of another one.
#[derive(Debug)]
pub(super) struct Queue<W> {
    turns: Mutex<Turns>,
    changed: Condvar,
    to: Mutex<W>,
}

#[derive(Debug, Default)]
struct Turns {
    next: u64,
    serving: u64,
}

impl<W: Write> Queue<W> {
    pub(super) fn new(to: W) -> Self {
        Self { turns: Mutex::default(), changed: Condvar::new(), to: Mutex::new(to) }
    }

    /// Writes all of it in turn.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub(super) fn write(&self, octets: &[u8]) -> std::io::Result<()> {
        let mut turns = self.turns.lock();
        let own = turns.next;
        turns.next += 1;
        let waiting = |turns: &mut Turns| turns.serving != own;
        self.changed.wait_while(&mut turns, waiting);
        drop(turns);
        let written = self.to.lock().write_all(octets);
        self.turns.lock().serving += 1;
        self.changed.notify_all();
        written
    }
}

#[cfg(test)]
impl<W> Queue<W> {
    /// What all was written to.
    pub(super) fn into_inner(self) -> W {
        self.to.into_inner()
    }
}

impl Owner {
    pub(super) fn new(stream: &UnixStream, outputs: OwnedFd) -> std::io::Result<Self> {
        let reports = Queue::new(stream.try_clone()?);
        let socket = stream.try_clone()?;
        Ok(Self { reports, outputs: Queue::new(outputs.into()), socket })
    }

    pub(super) fn report(&self, report: &Report) {
        send(&self.reports, report);
    }

    /// Ends the way to the runner: there are no more orders, which is the end of the agent.
    pub(super) fn hang_up(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
    }

    pub(super) fn warn(&self, text: String) {
        self.report(&Report::Warning { text });
    }

    /// Hands on what a program wrote; waits while the runner cannot take it.
    pub(super) fn output(&self, output: &Output) {
        send(&self.outputs, output);
    }
}

/// Sends a line. If the runner is gone, the reader of its orders finds out and ends the agent.
fn send(to: &Queue<impl Write>, message: &impl Serialize) {
    let mut line = serde_json::to_string(message).expect("a message is plain data");
    line.push('\n');
    let _ = to.write(line.as_bytes());
}

/// The orders of the runner, in sequence, until it is gone.
pub(super) fn orders(stream: UnixStream) -> impl Iterator<Item = Order> {
    BufReader::new(stream).lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Clone, Default)]
    struct Slow(std::sync::Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            std::thread::sleep(std::time::Duration::from_millis(1));
            self.0.lock().extend_from_slice(octets);
            Ok(octets.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_floods_is_served_once_between_two_lines_of_another() {
        let (written, done) = (Slow::default(), AtomicBool::new(false));
        let queue = Queue::new(written.clone());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    queue.write(b"f").unwrap();
                }
            });
            while !written.0.lock().contains(&b'f') {
                std::thread::yield_now();
            }
            for _ in 0..50 {
                let before = written.0.lock().len();
                queue.write(b"o").unwrap();
                let written = written.0.lock();
                let place = before + written[before..].iter().position(|o| *o == b'o').unwrap();
                // What is being written when it comes, and what came first.
                assert!(place - before <= 2, "waited for {} others", place - before);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
