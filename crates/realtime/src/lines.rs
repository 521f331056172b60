//! Lines for a file, written by a thread of their own.
//!
//! A disk may be full, slow, read-only or gone, and whoever reads a pipe may stop. None of that may
//! keep a relay from its work, and the thread that looks at links, answers who asks for metrics and
//! ends the program is a part of that: so it only hands lines over. What waits is bounded; lines
//! beyond the bound are lost and counted, and a line in their place says how many. Who hands over
//! says so once when writing fails, and once when it goes on.
//!
//! All lines that came together are one call of the kernel. A call for each would be many a
//! millisecond where somebody attacks, and a kernel that does not preempt itself keeps real-time
//! threads waiting for the end of each.

mod store;

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::time;
use store::Store;

/// Octets that may wait: what all queues of a relay hold fits in at once.
const WAITING_OCTETS_MAX: usize = 4 << 20;
/// How long one call of the kernel may take before the file counts as not written.
const SLOW: Duration = Duration::from_secs(1);
/// Until the first next attempt, and between attempts at most: soon after a short disturbance, and
/// rarely enough to be no load in a long one.
const RETRY_MIN: Duration = Duration::from_millis(100);
const RETRY_MAX: Duration = Duration::from_secs(5);
/// How long the end of a program waits for its last lines.
const LAST_LINES_MAX: Duration = Duration::from_secs(2);

/// When a file is put aside and a new one begun, and how many of them are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rotation {
    /// Before a file is larger.
    pub size_octets_max: u64,
    /// Once its first line is so old.
    pub age_max: Duration,
    /// The oldest beyond this number are removed.
    pub keep: u64,
}

/// What became of the lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Account {
    /// Lines that will never be in the file.
    pub lost: u64,
    /// Attempts to write that failed.
    pub write_errors: u64,
    /// Whether what comes now is written.
    pub is_writing: bool,
    /// Why writing failed first, if it did.
    pub warning: Option<String>,
}

/// A file that goes on with the lines that it had, and those that are not handed over yet. Without a
/// file, lines go nowhere.
#[derive(Debug)]
pub struct Lines {
    text: String,
    shared: Option<Arc<Shared>>,
}

impl Lines {
    /// Opens the file, and starts the thread that writes it; what is said of it on standard error begins
    /// with the name of the program. A disk without room and a pipe that
    /// nobody reads are no errors: they may change. A thread inherits how it is scheduled, so this
    /// is called before anything becomes real-time.
    ///
    /// # Errors
    ///
    /// The file cannot be opened, or the thread not started; the error names the file.
    pub fn open(program: &'static str, path: Option<&Path>, rotation: Rotation) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { text: String::new(), shared: None }) };
        let (store, failure) = Store::open(program, path, rotation).with_context(|| {
            format!("records cannot be written to {}: use a different file", path.display())
        })?;
        let shared = Arc::new(Shared {
            program,
            path: path.to_owned(),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let writer = Writer { shared: Arc::clone(&shared), store, batch: String::new() };
        // Not joined: it may wait for a disk that never answers, and the end of a relay does not.
        Builder::new()
            .name("records".into())
            .spawn(move || writer.run(failure))
            .context("starting the thread that writes records")?;
        Ok(Self { text: String::new(), shared: Some(shared) })
    }

    /// Adds a line, which is not handed over yet.
    pub fn add(&mut self, line: impl Display) {
        if self.shared.is_some() {
            // A string takes whatever is written to it.
            let _always = writeln!(self.text, "{line}");
        }
    }

    /// Hands over all lines that were added; never waits for the file.
    pub fn write(&mut self) {
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        let mut said = None;
        if state.begun.is_some_and(|begun| begun.elapsed() > SLOW) {
            said = state.fail(&shared.path, "it takes longer than a second");
        }
        if !self.text.is_empty() && !state.take_in(&self.text) {
            said = said.or(state.fail(&shared.path, "lines come faster than they are written"));
        }
        self.text.clear();
        drop(state);
        shared.changed.notify_all();
        shared.tell(said);
    }

    /// Ends the thread that writes, after the last lines if the file takes them in time.
    pub fn finish(&mut self) {
        self.write();
        let Some(shared) = &self.shared else { return };
        let mut state = shared.lock();
        state.is_ending = true;
        shared.changed.notify_all();
        let waited = shared.changed.wait_timeout_while(state, LAST_LINES_MAX, |s| !s.has_ended);
        (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let said = if state.has_ended {
            None
        } else {
            state.end(0);
            state.fail(&shared.path, "its last lines take too long")
        };
        drop(state);
        shared.tell(said);
    }

    /// What became of the lines, if there is a file.
    #[must_use]
    pub fn account(&self) -> Option<Account> {
        let state = self.shared.as_ref()?.lock();
        Some(Account {
            lost: state.lost,
            write_errors: state.write_errors,
            is_writing: state.lost_before.is_none(),
            warning: state.warning.clone(),
        })
    }
}

/// What both threads see.
#[derive(Debug)]
struct Shared {
    program: &'static str,
    path: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// It is held for moments only: never while the file or standard error is written.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something on standard error, if there is something to say.
    fn tell(&self, said: Option<String>) {
        if let Some(said) = said {
            terminal::err!("{}: {said}", self.program);
        }
    }
}

#[derive(Debug, Default)]
struct State {
    /// What the writer takes next.
    text: String,
    /// Lines that the writer has taken, and since when the kernel has them.
    taken: u64,
    begun: Option<Instant>,
    lost: u64,
    write_errors: u64,
    /// Lost lines that no line says yet.
    unsaid: u64,
    /// How many were lost when writing failed; nothing while lines are written.
    lost_before: Option<u64>,
    warning: Option<String>,
    is_ending: bool,
    has_ended: bool,
}

impl State {
    /// Takes lines in, and before them how many are missing there; answers whether there was room.
    fn take_in(&mut self, lines: &str) -> bool {
        if self.text.len() + lines.len() > WAITING_OCTETS_MAX {
            self.lost += count(lines);
            self.unsaid += count(lines);
            return false;
        }
        if self.unsaid > 0 {
            let lost = std::mem::take(&mut self.unsaid);
            let now_ns = time::common().ns();
            let gap = json!({"event": "records_lost", "lost": lost, "realtime_ns": now_ns});
            // A string takes whatever is written to it.
            let _always = writeln!(self.text, "{gap}");
        }
        self.text.push_str(lines);
        true
    }

    /// Lines are not written for now; answers what is to be said of it, once.
    fn fail(&mut self, path: &Path, why: impl Display) -> Option<String> {
        if self.lost_before.is_some() {
            return None;
        }
        self.lost_before = Some(self.lost);
        let path = path.display();
        let warning = format!(
            "records cannot be written to {path} ({why}): free disk space, or use a different file; \
             all else goes on, and writing is tried again"
        );
        self.warning.get_or_insert_with(|| warning.clone());
        Some(format!("warning: {warning}"))
    }

    /// Lines are written; answers what is to be said of it if they were not.
    fn succeed(&mut self, path: &Path) -> Option<String> {
        let lost = self.lost - self.lost_before.take()?;
        Some(format!("records are written to {} again; {lost} were lost", path.display()))
    }

    /// What is still here will not be written, nor these lines.
    fn end(&mut self, lines: u64) {
        if !self.has_ended {
            self.has_ended = true;
            self.lost += self.taken.max(lines) + count(&self.text);
            self.text.clear();
        }
    }
}

/// The thread that waits for the file.
struct Writer {
    shared: Arc<Shared>,
    store: Store,
    /// Lines that it has taken and that are not in the file.
    batch: String,
}

impl Writer {
    fn run(mut self, failure: Option<std::io::Error>) {
        let mut retry = failure.map(|error| {
            let said = self.shared.lock().fail(&self.shared.path, error);
            self.shared.tell(said);
            RETRY_MIN
        });
        loop {
            let is_last = self.take(retry);
            let (kept, lost, failure) = self.store.append(&self.batch);
            self.batch.drain(..kept);
            let mut state = self.shared.lock();
            (state.begun, state.taken) = (None, count(&self.batch));
            state.lost += lost;
            let said = if let Some(error) = &failure {
                state.write_errors += 1;
                retry = Some(retry.map_or(RETRY_MIN, |pause| RETRY_MAX.min(2 * pause)));
                state.fail(&self.shared.path, error)
            } else {
                retry = None;
                state.succeed(&self.shared.path)
            };
            let is_over = is_last && (failure.is_some() || state.text.is_empty());
            drop(state);
            self.shared.tell(said);
            if is_over {
                self.shared.lock().end(count(&self.batch));
                self.shared.changed.notify_all();
                return;
            }
        }
    }

    /// Waits for lines, or after a failure until it is time for the next attempt; answers whether the
    /// program ends.
    fn take(&mut self, retry: Option<Duration>) -> bool {
        let (shared, state) = (&self.shared, self.shared.lock());
        let mut state = if let Some(pause) = retry {
            let waited = shared.changed.wait_timeout_while(state, pause, |s| !s.is_ending);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            let nothing = |s: &mut State| s.text.is_empty() && !s.is_ending;
            let waited = shared.changed.wait_while(state, nothing);
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        if self.batch.is_empty() {
            std::mem::swap(&mut self.batch, &mut state.text);
        }
        (state.begun, state.taken) = (Some(Instant::now()), count(&self.batch));
        state.is_ending
    }
}

fn count(lines: &str) -> u64 {
    lines.lines().count() as u64
}

#[cfg(test)]
mod tests;
