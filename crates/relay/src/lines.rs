//! A file of lines, written together: one call of the kernel for all that came since the last one.
//! A call for each would be many a millisecond where somebody attacks, and a kernel that does not
//! preempt itself keeps real-time threads waiting for the end of each.

use std::fmt::{Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};

/// A file that goes on with the lines that it had, and those that are not yet in it.
#[derive(Debug)]
pub(crate) struct Lines {
    file: File,
    text: String,
}

impl Lines {
    /// Opens the file, or creates it.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.with_context(|| {
            format!("records cannot be written to {}: use a different file", path.display())
        })?;
        Ok(Self { file, text: String::new() })
    }

    /// Adds a line, which is not in the file yet.
    pub(crate) fn add(&mut self, line: impl Display) {
        // A string takes whatever is written to it.
        let _always = writeln!(self.text, "{line}");
    }

    /// Writes all lines that were added: a file that ends early ends within the last of them only.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let octets = self.file.metadata()?.len();
        let written = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        if written.is_err() {
            // Of what is no file nothing can be taken back.
            let _taken_back = self.file.set_len(octets);
        }
        written
    }
}

/// Lines that could not be written, and why. Who protects a grid goes on without, and says so.
#[derive(Debug, Default)]
pub(crate) struct LostLines {
    count: u64,
    why: Option<String>,
}

impl LostLines {
    /// So many more were lost; what is wrong with the first is said at once.
    pub(crate) fn note(&mut self, count: u64, error: &io::Error) {
        self.count += count;
        self.why.get_or_insert_with(|| {
            let why =
                format!("records are lost ({error}): free disk space, or use a different file");
            terminal::err!("qcrelay: warning: {why}");
            why
        });
    }

    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// Why the first of them were.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.as_deref()
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
        let mut lines = Lines::open(&path).expect("the file");
        lines.add(1);
        lines.add("two");
        assert_eq!(read(), "before\n");
        lines.write().expect("written");
        lines.write().expect("nothing to write");
        assert_eq!(read(), "before\n1\ntwo\n");
    }

    #[test]
    fn lines_that_find_no_room_are_counted_and_those_after_them_tried() {
        let mut lines = Lines::open(Path::new("/dev/full")).expect("a file without room");
        let mut lost = LostLines::default();
        for count in [2, 3] {
            lines.add("longer than there is room");
            lost.note(count, &lines.write().expect_err("no room"));
        }
        assert!(lines.text.is_empty(), "it grows without end");
        assert_eq!(lost.count(), 5);
        assert!(lost.why().is_some_and(|why| why.contains("No space left")), "{lost:?}");
    }

    #[test]
    fn a_file_that_cannot_be_written_names_itself_and_the_fix() {
        let error = Lines::open(Path::new("/dev/null/records.jsonl")).expect_err("no folder");
        let said = error.to_string();
        assert!(said.contains("/dev/null/records.jsonl") && said.contains("use a different file"));
    }
}
