//! A `qcprobe attend` that runs somewhere, and the process of this host that stands for it.
//!
//! The process may be the probe itself, or `runc`, `docker`, `ssh` or QEMU in front of it: it hands
//! on standard input and output. Its input is the lifeline: whatever happens to this process, the
//! pipe closes, and the far side ends.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use probe::attend::Order;

/// How long a far side may take to end by itself once its stream has ended or its input is closed:
/// a guest that is turned off takes two seconds of processor time, ten times as long on a busy host.
const END_MAX: Duration = Duration::from_secs(60);
/// Lines of what it says that are kept, the last of them.
const LINES_MAX: usize = 200;
/// Longest of them; the rest of a longer one counts as the next.
const LINE_MAX: u64 = 4096;
/// How long its last words may be on their way once it has ended.
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);

/// An order that is being carried out. Dropping it ends it.
pub struct Attended {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    said: Said,
    ended: bool,
}

/// How a `qcprobe attend` ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Of the process of this host.
    pub status: Option<ExitStatus>,
    /// What it said on its standard error, line by line.
    pub said: Vec<String>,
}

impl Attended {
    /// Starts `command`, which leads to a `qcprobe attend`, and gives it the order.
    pub fn start(command: Command, order: &Order) -> Result<Self> {
        Self::start_after(command, order, |_, _| Ok(()))
    }

    /// As [`Self::start`], with words between this side and the far one before the order.
    pub fn start_after(
        command: Command,
        order: &Order,
        greet: impl FnOnce(&mut ChildStdin, &mut ChildStdout) -> Result<()>,
    ) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut attended = Self::start_ordered(command, greet)?;
        let mut line = serde_json::to_string(order).context("cannot write the order")?;
        line.push('\n');
        // One that ended at once says why on its standard error, which is reported at its end.
        if let Err(error) = attended.say(line.as_bytes())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(error).context(format!("cannot give {name} its order"));
        }
        Ok(attended)
    }

    /// As [`Self::start_after`], where the far side has found its order in another way.
    pub fn start_ordered(
        mut command: Command,
        greet: impl FnOnce(&mut ChildStdin, &mut ChildStdout) -> Result<()>,
    ) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        // A Ctrl-C in the terminal is for this process, which ends the others in order.
        command.process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let errors = child.stderr.take().expect("it was piped");
        let said = Said::default();
        let keep = said.clone();
        std::thread::Builder::new()
            .name("latency-said".to_owned())
            .spawn(move || keep.read(errors))
            .context("cannot start a thread")?;
        let (mut input, mut output) = (child.stdin.take(), child.stdout.take());
        let pipes = input.as_mut().zip(output.as_mut());
        let greeted = pipes.map_or(Ok(()), |(input, output)| greet(input, output));
        let mut attended = Self { child, input, output, said, ended: false };
        if let Err(error) = greeted {
            return Err(error.context(attended.end().last_words()));
        }
        Ok(attended)
    }

    /// The stream, once.
    ///
    /// # Panics
    /// If it was taken before.
    pub fn stream(&mut self) -> impl Read + Send + use<> {
        self.output.take().expect("a stream is taken once")
    }

    /// Asks it to end: a probe closes its stream in order. The stream must be read on until then.
    pub fn stop(&mut self) {
        // One that is gone has ended already.
        let _ = self.say(b"stop\n");
    }

    /// Waits for its end, which is near: the stream has ended, or there was none.
    pub fn finish(mut self) -> Ending {
        self.end()
    }

    fn say(&mut self, octets: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(octets)?;
        input.flush()
    }

    fn end(&mut self) -> Ending {
        drop(self.input.take());
        drop(self.output.take());
        let began = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if began.elapsed() < END_MAX => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                // It hangs, or is no child any more: no harm is done to one that is gone.
                Ok(None) | Err(_) => {
                    let _ = self.child.kill();
                    break self.child.wait().ok();
                }
            }
        };
        self.ended = true;
        Ending { status, said: self.said.lines() }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        if !self.ended {
            self.end();
        }
    }
}

impl Ending {
    /// Loads that did not run, or not all the time, in the words of the far side.
    pub fn loads_missing(&self) -> Vec<&str> {
        let said = self.said.iter();
        said.filter_map(|line| line.strip_prefix(probe::attend::LOAD_MISSING)).collect()
    }

    /// Its last words, for an error.
    pub fn last_words(&self) -> String {
        match (self.said.last(), self.status) {
            (Some(line), _) => line.clone(),
            (None, Some(status)) => format!("it sent nothing and ended with {status}"),
            (None, None) => "it sent nothing and did not end".to_owned(),
        }
    }
}

/// The last lines that it said, recorded by a thread of their own. Nobody waits for that thread:
/// a program that escaped may keep the pipe open.
#[derive(Clone, Default)]
struct Said {
    lines: Arc<Mutex<VecDeque<String>>>,
    over: Arc<AtomicBool>,
}

impl Said {
    fn read(&self, from: impl Read) {
        let mut reader = BufReader::new(from);
        let mut line = Vec::new();
        // The words of others: a line may be as long as it likes, and no text.
        while reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if !text.is_empty() {
                lines.push_back(text);
            }
            if lines.len() > LINES_MAX {
                lines.pop_front();
            }
            line.clear();
        }
        self.over.store(true, Ordering::Release);
    }

    /// All lines so far; the last of one that has just ended may be on their way.
    fn lines(&self) -> Vec<String> {
        let began = Instant::now();
        while !self.over.load(Ordering::Acquire) && began.elapsed() < LAST_WORDS_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().cloned().collect()
    }
}
