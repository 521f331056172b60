//! What programs write, each into a file of its own, with the time of the scenario.
//!
//! What cannot be recorded, because the disk is full or fails, is not forgotten when it can again:
//! the log says in a line of its own from when to when it lacks something, and so does the record.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use parking_lot::Mutex;
use vtime::VirtualSpan;

use crate::nodes::orders::Output;
use os::files;
use results::RunFolder;
use results::doubt::Loss;
use results::output::{Channel, OutputLine};
use scenario::model::Node;

/// Octets of output recorded for each program. A program that writes without a pause would
/// fill the disk of a long run.
const LOG_OCTETS_MAX: usize = 1 << 30;

#[derive(Debug)]
pub(super) struct Outputs {
    files: BTreeMap<String, Log>,
    settle: VirtualSpan,
    last: LastLines,
}

/// Scenario time of the last line of each program that was recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct LastLines(Arc<Mutex<BTreeMap<String, i64>>>);

impl LastLines {
    /// That all programs, or these, may have written more since.
    pub(super) fn losses(&self, programs: Option<&[String]>, reason: &str) -> Vec<Loss> {
        let last = self.0.lock();
        let wanted = last.iter().filter(|(name, _)| programs.is_none_or(|of| of.contains(name)));
        wanted.map(|(name, at)| loss(name, *at, reason)).collect()
    }

    fn note(&self, program: &str, at_ns: i64) {
        let mut last = self.0.lock();
        last.insert(program.to_owned(), at_ns);
    }
}

fn loss(program: &str, from_ns: i64, reason: &str) -> Loss {
    let file = RunFolder::log_name(program);
    Loss { reason: format!("{file} lacks lines: {reason}"), file, from_ns }
}

#[derive(Debug)]
struct Log<F = File> {
    path: PathBuf,
    file: F,
    left: usize,
    /// Octets that were taken whole.
    length: u64,
    /// What it lacks and does not say yet.
    hole: Option<Hole>,
    /// Its first loss, until it was reported.
    first: Option<(i64, String)>,
    is_holed: bool,
}

#[derive(Debug)]
struct Hole {
    from_ns: i64,
    lines: usize,
    reason: String,
}

/// A file that only grows, and that can be cut back to what is whole in it.
trait Growing: Write {
    fn cut_back(&mut self, length: u64) -> io::Result<()>;
}

impl Growing for File {
    fn cut_back(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

impl Outputs {
    /// Files for the programs of some nodes.
    pub(super) fn create<'n>(
        folder: &RunFolder,
        nodes: impl Iterator<Item = &'n Node>,
        settle: VirtualSpan,
    ) -> anyhow::Result<Self> {
        let (mut files, last) = (BTreeMap::new(), LastLines::default());
        for program in nodes.flat_map(|node| &node.programs) {
            let path = folder.program_log(&program.name);
            let context = || format!("cannot write {}", path.display());
            File::create(&path).with_context(context)?;
            // What is cut back leaves no gap behind.
            let file = File::options().append(true).open(&path).with_context(context)?;
            files.insert(program.name.clone(), Log::new(path, file, LOG_OCTETS_MAX));
            last.note(&program.name, -settle.as_ns());
        }
        Ok(Self { files, settle, last })
    }

    pub(super) fn last_lines(&self) -> LastLines {
        self.last.clone()
    }

    pub(super) fn changed(&self) -> Vec<Loss> {
        let changed = self.files.iter().filter(|(_, log)| !log.is_as_written());
        let begin_ns = -self.settle.as_ns();
        changed.map(|(name, _)| loss(name, begin_ns, "another process changed it")).collect()
    }

    /// Writes lines down. Returns the first loss of a log.
    pub(super) fn write(&mut self, output: &Output) -> Option<Loss> {
        let log = self.files.get_mut(&output.program)?;
        let at_ns = (VirtualSpan::from_ns(output.at_ns) - self.settle).as_ns();
        log.write(at_ns, output);
        self.last.note(&output.program, at_ns);
        let (from_ns, reason) = log.first.take()?;
        Some(loss(&output.program, from_ns, &reason))
    }
}

impl Log {
    /// Whether it has all that was written. One that could not be cut back may have more.
    fn is_as_written(&self) -> bool {
        let length = self.file.metadata().map_or(0, |file| file.len());
        let octets = if self.is_holed { length.max(self.length) } else { self.length };
        files::is_as_written(&self.file, &self.path, octets)
    }
}

impl<F: Growing> Log<F> {
    fn new(path: PathBuf, file: F, left: usize) -> Self {
        Self { path, file, left, length: 0, hole: None, first: None, is_holed: false }
    }

    fn write(&mut self, at_ns: i64, output: &Output) {
        let channel = if output.error { Channel::Err } else { Channel::Out };
        let lines = output.text.split_terminator('\n');
        let mut stamped = String::new();
        for line in lines.clone() {
            let line = OutputLine::new(at_ns, channel, line.as_bytes());
            writeln!(stamped, "{line}").expect("writing to a string cannot fail");
        }
        let full = self.left == 0;
        self.left = self.left.saturating_sub(stamped.len());
        let taken = match full {
            true => Err(format!("the program has written {LOG_OCTETS_MAX} octets")),
            false => self.report_hole().and_then(|()| self.append(stamped.as_bytes())),
        };
        if let Err(reason) = taken {
            self.lacks(at_ns, lines.count(), reason);
        }
        if let Some(reason) = &output.lost {
            self.lacks(at_ns, 0, reason.clone());
        }
        // What it lacks is best said at once: the runner may be killed any time. One that is full
        // says it once.
        if self.first.is_some() || !full {
            let _ = self.report_hole();
        }
    }

    fn lacks(&mut self, from_ns: i64, lines: usize, reason: String) {
        if !self.is_holed {
            self.is_holed = true;
            self.first = Some((from_ns, reason.clone()));
        }
        let hole = self.hole.get_or_insert(Hole { from_ns, lines: 0, reason });
        hole.lines += lines;
    }

    fn report_hole(&mut self) -> Result<(), String> {
        let Some(hole) = &self.hole else { return Ok(()) };
        let text = format!("{} lines are missing from here on: {}", hole.lines, hole.reason);
        let from_ns = hole.from_ns;
        let line = OutputLine::new(from_ns, Channel::Lost, text.as_bytes());
        self.append(format!("{line}\n").as_bytes())?;
        self.hole = None;
        Ok(())
    }

    /// All of it or none: what is cut off in the middle could be taken for something else.
    fn append(&mut self, octets: &[u8]) -> Result<(), String> {
        match self.file.write_all(octets) {
            Ok(()) => {
                self.length += octets.len() as u64;
                Ok(())
            }
            Err(error) => {
                // A file that cannot be cut back either is one with a torn line, which is skipped.
                let _ = self.file.cut_back(self.length);
                Err(error.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use results::told;

    fn output(at_ms: i64, text: &str) -> Output {
        let at_ns = at_ms * 1_000_000;
        Output { program: "p".into(), error: false, at_ns, text: text.into(), lost: None }
    }

    /// A disk of so many octets, of which some may be given back.
    struct Disk {
        octets: Vec<u8>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let fits = octets.len().min(self.room - self.octets.len());
            if fits == 0 {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            self.octets.extend_from_slice(&octets[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Growing for Disk {
        fn cut_back(&mut self, length: u64) -> io::Result<()> {
            self.octets.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    fn text(log: &Log<Disk>) -> String {
        String::from_utf8(log.file.octets.clone()).unwrap()
    }

    #[test]
    fn a_log_that_lost_lines_says_so_however_the_disk_fares_afterwards() {
        let mut log = Log::new(PathBuf::new(), Disk { octets: Vec::new(), room: 60 }, usize::MAX);
        log.write(1_000_000, &output(1, "{\"us\": 1}\n"));
        log.write(2_000_000, &output(2, "{\"us\": 2}\n{\"us\": 3}\n"));
        assert_eq!(log.first.take().unwrap().0, 2_000_000);
        // Nothing torn is left.
        assert_eq!(text(&log), "    0.001000000 out| {\"us\": 1}\n");
        log.write(3_000_000, &output(3, "{\"us\": 4}\n"));
        log.file.room = 10_000;
        log.write(4_000_000, &output(4, "{\"us\": 5}\n"));
        assert_eq!(log.first, None);
        let told = told::read("programs/p.log", text(&log).as_bytes(), "us").unwrap();
        assert_eq!(told.rows, [(1_000_000, 1.0), (4_000_000, 5.0)]);
        let lost = told.lost.unwrap();
        assert_eq!(lost.from_ns, 2_000_000);
        assert!(lost.reason.contains("3 lines are missing"), "{lost:?}");
        assert!(lost.reason.contains("No space left"), "{lost:?}");
    }

    #[test]
    fn what_the_agent_lost_is_in_the_log_too() {
        let mut log =
            Log::new(PathBuf::new(), Disk { octets: Vec::new(), room: 10_000 }, usize::MAX);
        let lost = Some("a line was cut".to_owned());
        log.write(5_000_000, &Output { lost, ..output(5, "{\"us\n") });
        let told = told::read("programs/p.log", text(&log).as_bytes(), "us").unwrap();
        assert_eq!((told.rows.len(), told.lost.unwrap().from_ns), (0, 5_000_000));
    }

    #[test]
    fn a_program_that_writes_too_much_is_reported_of_once() {
        let mut log = Log::new(PathBuf::new(), Disk { octets: Vec::new(), room: 10_000 }, 30);
        log.write(1_000_000, &output(1, "one\ntwo\n"));
        assert_eq!(log.first, None);
        log.write(2_000_000, &output(2, "three\n"));
        assert!(log.first.take().unwrap().1.contains("has written"));
        log.write(3_000_000, &output(3, "four\n"));
        assert_eq!(log.first, None);
        assert_eq!(text(&log).lines().count(), 3, "{}", text(&log));
        assert!(text(&log).ends_with("octets\n"), "{}", text(&log));
    }
}
