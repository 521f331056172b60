//! The log of a run: what happened, in order, with virtual and wall time.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use vtime::VirtualSpan;

#[derive(Debug)]
pub(super) struct Log {
    file: File,
    begun: Instant,
    /// Lines that could not be written and are not reported yet.
    missing: u64,
    /// Scenario time of the first line that was lost, and why.
    lost: Option<(Option<VirtualSpan>, String)>,
}

impl Log {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, begun: Instant::now(), missing: 0, lost: None })
    }

    /// Writes a line; `at` is scenario time, where it is known.
    pub(super) fn line(&mut self, at: Option<VirtualSpan>, text: &str) {
        let shown = at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let wall = self.begun.elapsed().as_secs_f64();
        let missing = match self.missing {
            0 => String::new(),
            count => format!("{wall:>10.3} s wall {:>16}  {count} lines are missing here\n", "-"),
        };
        let lines = format!("{missing}{wall:>10.3} s wall {shown:>16}  {text}\n");
        // The log is not worth ending a run for; that it lacks something is reported.
        match self.file.write_all(lines.as_bytes()) {
            Ok(()) => self.missing = 0,
            Err(error) => {
                self.missing += 1;
                self.lost.get_or_insert((at, error.to_string()));
            }
        }
    }

    /// When it lost its first line, and why; `None` if it is whole.
    pub(super) fn lost(&self) -> Option<&(Option<VirtualSpan>, String)> {
        self.lost.as_ref()
    }
}
