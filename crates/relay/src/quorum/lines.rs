//! A file of lines, written together: one call of the kernel for all that came since the last one.
//! A call for each would be many a millisecond where somebody attacks, and a kernel that does not
//! preempt itself keeps real-time threads waiting for the end of each.

use std::fmt::{Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Result, anyhow};

use crate::run::Missing;

/// A file that goes on with the lines that it had, and those that are not yet in it.
#[derive(Debug)]
pub(super) struct Lines {
    file: File,
    text: String,
}

impl Lines {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// That it cannot be written, and the way out.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| {
            anyhow!(Missing(format!(
                "records cannot be written to {} ({error}): name another file",
                path.display()
            )))
        })?;
        Ok(Self { file, text: String::new() })
    }

    /// Adds a line, which is not in the file yet.
    pub(super) fn add(&mut self, line: impl Display) {
        // A string takes whatever is written to it.
        let _always = writeln!(self.text, "{line}");
    }

    /// Writes all lines that were added: a file that ends early ends within the last of them only.
    ///
    /// # Errors
    /// Those of write(2).
    pub(super) fn write(&mut self) -> io::Result<()> {
        let written = self.file.write_all(self.text.as_bytes());
        self.text.clear();
        written
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
    fn a_file_that_cannot_be_written_names_itself_and_the_way_out() {
        let error = Lines::open(Path::new("/dev/null/records.jsonl")).expect_err("no folder");
        let told = error.to_string();
        assert!(told.contains("/dev/null/records.jsonl") && told.contains("name another file"));
    }
}
