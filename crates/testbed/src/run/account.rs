//! Keeps `run.json` true while the run goes on: a run that is killed at any moment leaves a record of
//! how it stood a moment before.
//!
//! It is written when programs begin and end, when something is lost, and else every second. How far
//! the run came is reported a second late: by then what programs wrote until that time is in its files,
//! or its loss is in the record.

use std::time::{Duration, Instant};

use results::{RunFolder, RunRecord};

/// How often it is written when nothing happens.
const EVERY: Duration = Duration::from_secs(1);
/// Changes that come together are written together.
const CHANGES_EVERY: Duration = Duration::from_millis(20);

/// When the record was written, and what it says of time.
#[derive(Debug)]
pub(super) struct Account {
    written: Instant,
    changed: bool,
    /// When it was last recorded how far the run came, and the scenario time then.
    seen: (Instant, i64),
    failed: bool,
}

impl Account {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { written: now, changed: false, seen: (now, 0), failed: false }
    }

    /// Something has happened that a record must not be without.
    pub(super) fn change(&mut self) {
        self.changed = true;
    }

    /// When it should be kept again, at the latest.
    pub(super) fn due(&self) -> Instant {
        self.written + if self.changed { CHANGES_EVERY } else { EVERY }
    }

    /// Writes the record if it is time to, `seen_ns` being the scenario time that was reached.
    /// Returns a warning the first time that it cannot.
    pub(super) fn keep(
        &mut self,
        record: &mut RunRecord,
        folder: &RunFolder,
        seen_ns: i64,
    ) -> Option<String> {
        let now = Instant::now();
        if now < self.due() {
            return None;
        }
        if now - self.seen.0 >= EVERY {
            record.covered_ns = record.covered_ns.max(self.seen.1);
            self.seen = (now, seen_ns);
        }
        self.written = now;
        self.changed = false;
        // Not forced onto the disk: it must survive a kill, and a run must not wait for disks.
        let error = folder.replace_record(record).err()?;
        let first = !std::mem::replace(&mut self.failed, true);
        first.then(|| format!("the record could not be kept: {error:#}"))
    }
}
