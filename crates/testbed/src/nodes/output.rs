//! Lines that programs write, stamped with the virtual time at which they arrived.
//!
//! A program may write faster than its lines are recorded. Then the pipe fills and it waits,
//! as it would before a slow terminal: neither end keeps more than one read in memory. Lines
//! that arrive together are reported together, so that many short ones cost little more than
//! few long ones.

use std::io::{ErrorKind, PipeReader, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

use os::run_delay::RunDelay;
use vtime::HostTime;

use super::orders::Output;
use super::owner::Owner;
use domain::{Domain, NodeTime, poll_until, readable};

/// Octets taken from a pipe at once: as much as a pipe holds.
const READ_LENGTH: usize = 64 * 1024;
/// Longest line in octets; a longer one is cut into several.
const LINE_LENGTH_MAX: usize = 16 * 1024;

/// Below that of the network: where computing takes virtual time, a line that is read later than it was written is
/// stamped later by what its program has computed meanwhile.
const PRIORITY: i32 = 90;

/// Where lines come from.
pub(super) struct Place {
    pub(super) program: String,
    /// On its standard error.
    pub(super) error: bool,
    pub(super) domain: Arc<Domain>,
    pub(super) node: Arc<NodeTime>,
}

impl Place {
    /// When what is read now was written: where computing takes virtual time, when that is over.
    fn now_ns(&self) -> i64 {
        let (wakes, _) = self.domain.look_at(&self.node);
        wakes.leaves(self.domain.now()).as_ns()
    }
}

/// Reports what a program writes until everybody has closed the pipe.
pub(super) fn report(mut pipe: PipeReader, place: &Place, owner: &Owner) {
    let Place { program, error, domain, node } = place;
    if node.takes_processor_time() {
        let _ = os::realtime::fifo(PRIORITY);
    }
    let error = *error;
    let report = |text: String, lost: Option<String>, at_ns: i64| {
        if !text.is_empty() || lost.is_some() {
            let program = program.clone();
            owner.output(&Output { program, error, at_ns, text, lost });
        }
    };
    // Numbers that requirements look at are reported on standard output alone.
    let cut = |lines: &mut Lines| {
        let is_cut = std::mem::take(&mut lines.cut_object) && !error;
        is_cut.then(|| format!("a line of more than {LINE_LENGTH_MAX} octets was cut"))
    };
    let delay = RunDelay::of_this_thread();
    let waited_ns = || delay.as_ref().map_or(0, RunDelay::ns);
    let mut lines = Lines::default();
    let mut octets = vec![0; READ_LENGTH];
    // What no line end came for came then, however long its program stays.
    let mut last_ns = place.now_ns();
    loop {
        let (has_waited, before_ns) = (is_readable(&pipe), waited_ns());
        match pipe.read(&mut octets) {
            Ok(0) => break,
            Ok(length) => {
                let now_ns = place.now_ns();
                if !error {
                    // It came when the lines before it were handed on, or woke this thread.
                    let since_ns = match has_waited {
                        true => now_ns - last_ns,
                        false => domain.virtual_ns_of(waited_ns() - before_ns),
                    };
                    domain.lateness().note_stamped(program, since_ns);
                }
                last_ns = now_ns;
                let text = lines.take(&octets[..length]);
                report(text, cut(&mut lines), last_ns);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                report(lines.rest(), Some(error.to_string()), last_ns);
                break;
            }
        }
    }
    let rest = lines.rest();
    report(rest, cut(&mut lines), last_ns);
}

fn is_readable(pipe: &PipeReader) -> bool {
    matches!(poll_until(&mut [readable(pipe.as_fd())], Some(HostTime::ZERO)), Ok(1))
}

/// Makes lines of octets that arrive in pieces.
#[derive(Debug, Default)]
struct Lines {
    begun: Vec<u8>,
    /// A line that may have an object in it was cut: who reads objects finds none.
    cut_object: bool,
}

impl Lines {
    /// The lines that are whole with these octets, each with its end.
    fn take(&mut self, octets: &[u8]) -> String {
        let mut whole = String::new();
        for piece in octets.split_inclusive(|octet| *octet == b'\n') {
            self.add(piece, &mut whole);
        }
        whole
    }

    fn rest(&mut self) -> String {
        let mut whole = String::new();
        if !self.begun.is_empty() {
            self.end_line(&mut whole);
        }
        whole
    }

    fn add(&mut self, mut piece: &[u8], whole: &mut String) {
        while self.begun.len() + piece.len() > LINE_LENGTH_MAX {
            let (fits, left) = piece.split_at(LINE_LENGTH_MAX - self.begun.len());
            self.begun.extend_from_slice(fits);
            self.cut_object |= self.begun.contains(&b'{');
            self.end_line(whole);
            piece = left;
        }
        self.begun.extend_from_slice(piece);
        if self.begun.last() == Some(&b'\n') {
            self.begun.pop();
            self.end_line(whole);
        }
    }

    fn end_line(&mut self, whole: &mut String) {
        whole.push_str(&String::from_utf8_lossy(&self.begun));
        whole.push('\n');
        self.begun.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_reported_when_it_is_whole() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"one\ntw"), "one\n");
        assert_eq!(lines.take(b"o"), "");
        assert_eq!(lines.take(b"\n\n\xff\nth"), "two\n\n\u{fffd}\n");
        assert_eq!((lines.rest().as_str(), lines.rest().as_str()), ("th\n", ""));
    }

    #[test]
    fn a_line_without_end_takes_no_memory_without_end() {
        let mut lines = Lines::default();
        let piece = [b'x'; 10_000];
        let text: String = (0..10).map(|_| lines.take(&piece)).collect();
        let lengths: Vec<usize> = text.lines().map(str::len).collect();
        assert_eq!(lengths, [LINE_LENGTH_MAX; 6]);
        assert_eq!(lines.rest().len() + text.len(), 100_000 + 7);
    }
}
