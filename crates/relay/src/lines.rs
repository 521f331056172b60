//! A file of lines, written together: one call of the kernel for all that came since the last one.
//! A call for each would be many a millisecond where somebody attacks, and a kernel that does not
//! preempt itself keeps real-time threads waiting for the end of each.

use std::fmt::{Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

/// A file that goes on with the lines that it had, those that are not yet in it, and what could not
/// be written. Without a file, lines go nowhere.
#[derive(Debug)]
pub(crate) struct Lines {
    file: Option<File>,
    text: String,
    pub(crate) lost: u64,
    pub(crate) why_lost: Option<String>,
}

impl Lines {
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        let open = |path: &Path| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.with_context(|| {
                format!("records cannot be written to {}: use a different file", path.display())
            })
        };
        let file = path.map(open).transpose()?;
        Ok(Self { file, text: String::new(), lost: 0, why_lost: None })
    }

    /// Adds a line, which is not in the file yet.
    pub(crate) fn add(&mut self, line: impl Display) {
        if self.file.is_some() {
            // A string takes whatever is written to it.
            let _always = writeln!(self.text, "{line}");
        }
    }

    /// Writes all lines that were added: a file that ends early ends within the last of them only.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let Some(file) = self.file.as_mut().filter(|_| !self.text.is_empty()) else {
            return Ok(());
        };
        let written = file.metadata().and_then(|before| {
            file.write_all(self.text.as_bytes()).inspect_err(|_| {
                // Of what is no file nothing can be taken back.
                let _taken_back = file.set_len(before.len());
            })
        });
        self.lost += if written.is_err() { self.text.lines().count() as u64 } else { 0 };
        self.text.clear();
        written
    }

    /// As [`Lines::write`], for a party that protects a grid: it continues without lines that cannot
    /// be written, counts them, and warns at the first.
    pub(crate) fn write_or_lose(&mut self) {
        let Err(error) = self.write() else { return };
        self.why_lost.get_or_insert_with(|| {
            let why =
                format!("records are lost ({error}): free disk space, or use a different file");
            terminal::err!("qcrelay: warning: {why}");
            why
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_together_and_behind_those_that_were_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("records.jsonl");
        std::fs::write(&path, "before\n").expect("a file");
        let read = || std::fs::read_to_string(&path).expect("the file");
        let mut lines = Lines::open(Some(&path)).expect("the file");
        lines.add(1);
        lines.add("two");
        assert_eq!(read(), "before\n");
        lines.write().expect("written");
        lines.write().expect("nothing to write");
        assert_eq!(read(), "before\n1\ntwo\n");
    }

    #[test]
    fn lines_that_find_no_room_are_counted_and_those_after_them_tried() {
        let mut lines = Lines::open(Some(Path::new("/dev/full"))).expect("a file without room");
        for count in [2, 3] {
            (0..count).for_each(|_| lines.add("longer than there is room"));
            lines.write_or_lose();
        }
        assert!(lines.text.is_empty(), "it grows without end");
        assert_eq!(lines.lost, 5);
        assert!(
            lines.why_lost.as_ref().is_some_and(|why| why.contains("No space left")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_file_that_cannot_be_written_names_itself_and_the_fix() {
        let error = Lines::open(Some(Path::new("/dev/null/records.jsonl"))).expect_err("no folder");
        let said = error.to_string();
        assert!(said.contains("/dev/null/records.jsonl") && said.contains("use a different file"));
    }
}
