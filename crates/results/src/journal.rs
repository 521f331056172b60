//! The series while the run goes on: `series.csv.part`, one line per row, given to the kernel as
//! soon as it is there. What the kernel has survives a kill of this process; at most the last
//! line is torn, and [`csv::read`] leaves that one out.
//!
//! Its writer holds a lock on it, which the kernel lifts when the writer dies: that is how others
//! know. At its end the run turns the journal into `series.parquet` and removes it. After a kill
//! the next program that opens the folder does (`RunFolder::series`).

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::series::Series;
use super::{csv, table_file};
use os::regular;
use plant::name::PointName;

pub(crate) const JOURNAL: &str = "series.csv.part";
pub(crate) const TABLE: &str = "series.parquet";

/// Records rows of the plant, each at once.
#[derive(Debug)]
pub struct SeriesWriter {
    folder: PathBuf,
    file: File,
    points: usize,
    /// Octets of rows that are whole.
    length: u64,
    /// A row was lost: those after it would hide that.
    failed: bool,
}

impl SeriesWriter {
    /// Starts the journal of a run.
    pub fn create(folder: &Path, points: &[PointName]) -> Result<Self> {
        let path = folder.join(JOURNAL);
        let context = || format!("creating {}", path.display());
        let mut file = File::create_new(&path).with_context(context)?;
        file.lock().with_context(context)?;
        let header = csv::header(points);
        file.write_all(header.as_bytes()).with_context(context)?;
        let (folder, length) = (folder.to_owned(), header.len() as u64);
        Ok(Self { folder, file, points: points.len(), length, failed: false })
    }

    /// Records one row; it survives a kill of this process from here on.
    ///
    /// # Errors
    /// When the disk takes no more, or took a row before not: a series has no holes.
    ///
    /// # Panics
    /// When there is not one value per point.
    pub fn row(&mut self, time_ns: i64, values: &[f64]) -> Result<()> {
        assert_eq!(values.len(), self.points, "one value per point");
        let line = csv::line(time_ns, values.iter().copied());
        let context = || format!("writing {}", self.folder.join(JOURNAL).display());
        if self.failed {
            anyhow::bail!("{}: an earlier row could not be written", context());
        }
        let written = self.file.write_all(line.as_bytes());
        match &written {
            Ok(()) => self.length += line.len() as u64,
            Err(_) => {
                self.failed = true;
                // Half a row and the next one would be a row of other numbers.
                let _ = self.file.set_len(self.length);
            }
        }
        written.with_context(context)
    }

    /// Turns the journal into the table.
    pub fn finish(self) -> Result<Series> {
        drop(self.file);
        let series = read(&self.folder)?.unwrap_or_default();
        settle(&self.folder, &series)?;
        Ok(series)
    }
}

pub(crate) fn read(folder: &Path) -> Result<Option<Series>> {
    let parse = |octets: &[u8]| csv::read(&String::from_utf8_lossy(octets));
    read_if_there(&folder.join(JOURNAL), |octets| parse(octets).map_err(anyhow::Error::msg))
}

/// What `parse` makes of a file; `None` if there is none.
pub(crate) fn read_if_there<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    let parsed = match regular::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        read => read.map_err(anyhow::Error::from).and_then(|octets| parse(&octets)),
    };
    parsed.map(Some).with_context(|| format!("reading {}", path.display()))
}

/// Whether there is a journal whose writer is gone.
pub(crate) fn is_abandoned(folder: &Path) -> bool {
    File::open(folder.join(JOURNAL)).is_ok_and(|file| file.try_lock().is_ok())
}

/// Writes the table and removes the journal.
pub(crate) fn settle(folder: &Path, series: &Series) -> Result<()> {
    table_file::write(series, &folder.join(TABLE))?;
    let journal = folder.join(JOURNAL);
    fs::remove_file(&journal).with_context(|| format!("removing {}", journal.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> Vec<PointName> {
        vec![PointName("bus.680.v1".into())]
    }

    #[test]
    fn rows_are_readable_before_the_writer_ends() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SeriesWriter::create(folder.path(), &points()).unwrap();
        writer.row(0, &[2400.0]).unwrap();
        writer.row(1_000_000, &[2399.5]).unwrap();
        // A killed process runs no destructor.
        std::mem::forget(writer);
        let series = read(folder.path()).unwrap().unwrap();
        assert_eq!(series.time_ns, [0, 1_000_000]);
        assert_eq!(series.columns[0].values, [2400.0, 2399.5]);
    }

    #[test]
    fn the_end_of_the_run_leaves_the_table_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = SeriesWriter::create(folder.path(), &points()).unwrap();
        writer.row(0, &[2400.0]).unwrap();
        let series = writer.finish().unwrap();
        assert_eq!(table_file::read(&folder.path().join(TABLE)).unwrap(), series);
        assert!(!folder.path().join(JOURNAL).exists());
    }

    #[test]
    fn a_second_writer_does_not_overwrite_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let _first = SeriesWriter::create(folder.path(), &points()).unwrap();
        assert!(SeriesWriter::create(folder.path(), &points()).is_err());
    }
}
