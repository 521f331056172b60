//! The file that lines go to: opened again when it has gone, and never left with half a line.
//!
//! One that is large or old is put aside: `relay.jsonl` becomes `relay.jsonl.1`, what has that name
//! becomes `relay.jsonl.2`, and so on; what is beyond the number that is kept is removed. How old a
//! file is says its first line, in the time of the relay: so a restart continues, and a program in
//! virtual time is not compared with the clock of a disk.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{
    self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde_json::Value;

use super::Rotation;
use crate::time;

/// Between attempts to put a file aside that cannot be.
const AGAIN: Duration = Duration::from_secs(5);
/// No first line of records is longer.
const LINE_OCTETS_MAX: u64 = 1 << 20;

/// A file by its path, which may be there or not.
#[derive(Debug)]
pub(super) struct Store {
    program: &'static str,
    path: PathBuf,
    rotation: Rotation,
    open: Option<OpenFile>,
    /// Since when the file cannot be put aside.
    refused: Option<Instant>,
}

#[derive(Debug)]
struct OpenFile {
    file: File,
    about: Metadata,
    octets: u64,
    begun_ns: u64,
}

impl Store {
    /// Opens the file or makes it. What may change by itself, a full disk or a pipe that nobody reads
    /// yet, is no error, but answered.
    pub(super) fn open(
        program: &'static str,
        path: &Path,
        rotation: Rotation,
    ) -> io::Result<(Self, Option<io::Error>)> {
        let mut store =
            Self { program, path: path.to_owned(), rotation, open: None, refused: None };
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
        let open = match self.ready(lines.len()) {
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

    /// The file for so many octets, opened again if it was removed, renamed or had failed.
    fn ready(&mut self, octets: usize) -> io::Result<&mut OpenFile> {
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
        let open = if self.is_over(&open, octets) && self.put_aside() {
            OpenFile::open(&self.path)?
        } else {
            open
        };
        Ok(self.open.insert(open))
    }

    /// Whether so many octets belong in a new file.
    fn is_over(&self, open: &OpenFile, octets: usize) -> bool {
        let age = Duration::from_nanos(time::common().ns().saturating_sub(open.begun_ns));
        let is_full = open.octets + octets as u64 > self.rotation.size_octets_max;
        open.about.is_file()
            && open.octets > 0
            && octets > 0
            && (is_full || age >= self.rotation.age_max)
            && self.refused.is_none_or(|since| since.elapsed() >= AGAIN)
    }

    /// Puts the file aside. One that cannot be is continued, because lines count more than its size.
    fn put_aside(&mut self) -> bool {
        let Err(error) = shift(&self.path, self.rotation.keep) else {
            self.refused = None;
            return true;
        };
        if self.refused.replace(Instant::now()).is_none() {
            terminal::err!(
                "{}: warning: {} cannot be put aside ({error}), and grows: let this user write \
                 in its folder",
                self.program,
                self.path.display()
            );
        }
        false
    }
}

/// Renames a file and those that were put aside before it, and removes those beyond the last that is
/// kept.
fn shift(path: &Path, keep: u64) -> io::Result<()> {
    // A link stays, and what it names is put aside.
    let path = path.canonicalize()?;
    let numbered = |number: u64| {
        let mut name = path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    };
    for number in keep.. {
        match fs::remove_file(numbered(number)) {
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            removed => removed?,
        }
    }
    for number in (1..keep).rev() {
        match fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            renamed => renamed?,
        }
    }
    fs::rename(&path, numbered(1))
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
        let begun_ns = (octets > 0).then(|| begin_of(path)).flatten();
        let begun_ns = begun_ns.unwrap_or_else(|| time::common().ns());
        Ok(Self { file, about, octets, begun_ns })
    }
}

/// The time in the first line of a file, if it is one of records.
fn begin_of(path: &Path) -> Option<u64> {
    let about = path.metadata().ok()?;
    let mut first = String::new();
    // Opening a pipe would wait for somebody who writes.
    let file = about.is_file().then(|| File::open(path).ok()).flatten()?;
    BufReader::new(file.take(LINE_OCTETS_MAX)).read_line(&mut first).ok()?;
    serde_json::from_str::<Value>(&first).ok()?.get("realtime_ns")?.as_u64()
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
