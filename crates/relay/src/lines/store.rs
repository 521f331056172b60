//! The file that lines go to: opened again when it has gone, and never left with half a line.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// A file by its path, which may be there or not.
#[derive(Debug)]
pub(super) struct Store {
    path: PathBuf,
    open: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    about: Metadata,
    octets: u64,
}

impl Store {
    /// Opens the file or makes it. What may change by itself, a full disk or a pipe that nobody reads
    /// yet, is no error, but answered.
    pub(super) fn open(path: &Path) -> io::Result<(Self, Option<io::Error>)> {
        let mut store = Self { path: path.to_owned(), open: None };
        let failure = match OpenFile::open(path) {
            Ok(open) => {
                store.open = Some(open);
                None
            }
            Err(error) if is_unread_pipe(path, &error) => {
                Some(io::Error::other("nobody reads this pipe"))
            }
            Err(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(error),
                _ => return Err(error),
            },
        };
        Ok((store, failure))
    }

    /// Appends lines; answers how many octets are done with, how many lines of those are lost all the
    /// same, and why not all are written. A file ends with a whole line also then.
    pub(super) fn append(&mut self, lines: &str) -> (usize, u64, Option<io::Error>) {
        let open = match self.ready() {
            Ok(open) => open,
            Err(error) => return (0, 0, Some(error)),
        };
        let (written, failure) = write(&mut open.file, lines.as_bytes());
        if failure.is_none() {
            open.octets += written as u64;
            return (written, 0, None);
        }
        let whole = lines.as_bytes()[..written].iter().rposition(|octet| *octet == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        // Of a pipe nothing can be taken back: the line that it has a part of is lost.
        let (kept, lost) = match open.about.is_file() {
            true => {
                let _taken_back = open.file.set_len(open.octets + whole as u64);
                (whole, 0)
            }
            false if whole == written => (whole, 0),
            false => {
                let rest = lines[written..].find('\n').map_or(lines.len(), |end| written + end + 1);
                (rest, 1)
            }
        };
        self.open = None;
        (kept, lost, failure)
    }

    /// The file, opened again if it was removed, renamed or had failed.
    fn ready(&mut self) -> io::Result<&mut OpenFile> {
        let is_there = |open: &OpenFile| {
            let there = self.path.metadata();
            there.is_ok_and(|there| {
                (there.dev(), there.ino()) == (open.about.dev(), open.about.ino())
            })
        };
        let open = match self.open.take().filter(is_there) {
            Some(open) => open,
            None => OpenFile::open(&self.path)?,
        };
        Ok(self.open.insert(open))
    }
}

impl OpenFile {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        // Opening a pipe would wait for somebody who reads; writing may.
        options.create(true).append(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options.open(path)?;
        rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
        let about = file.metadata()?;
        if about.is_file() && about.len() > 0 && is_torn(path) {
            file.write_all(b"\n")?;
        }
        let octets = file.metadata()?.len();
        Ok(Self { file, about, octets })
    }
}

/// Whether a file ends within a line, as one does whose host lost its power. One that cannot be read
/// counts as whole.
fn is_torn(path: &Path) -> bool {
    let last = || {
        let (mut file, mut last) = (File::open(path)?, [0]);
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        io::Result::Ok(last != *b"\n")
    };
    last().unwrap_or(false)
}

fn is_unread_pipe(path: &Path, error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENXIO)
        && path.metadata().is_ok_and(|about| about.file_type().is_fifo())
}

/// Writes all, or answers how many octets were written and why not more.
fn write(file: &mut File, octets: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while written < octets.len() {
        match file.write(&octets[written..]) {
            Ok(0) => return (written, Some(ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}
