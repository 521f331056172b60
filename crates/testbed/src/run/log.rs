//! The log of a run: what happened, in order, with virtual and wall time.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use vtime::VirtualSpan;

/// `log.txt` of a run folder.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    begun: Instant,
}

impl Log {
    pub(super) fn create(path: &Path) -> anyhow::Result<Self> {
        let file =
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { file, begun: Instant::now() })
    }

    /// Writes a line; `at` is scenario time, where it is known.
    pub(super) fn line(&mut self, at: Option<VirtualSpan>, text: &str) {
        let at = at.map_or_else(|| "-".to_owned(), |at| at.to_string());
        let wall = self.begun.elapsed().as_secs_f64();
        // A full disk shows in results that matter; the log is not worth ending a run for.
        let _ = writeln!(self.file, "{wall:>10.3} s wall {at:>16}  {text}");
    }
}
