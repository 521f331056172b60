//! The names of domains, and finding their agents by name.
//!
//! A name belongs to the process that holds a lock (flock(2)) on the file `NAME.lock`, which the
//! kernel gives back when that process ends, by whatever cause. Only who holds the lock makes or
//! removes the socket `NAME.sock` beside it. So two agents never have one name, and nobody removes
//! a socket that somebody is about to listen on. Files whose lock is free were left behind by an
//! agent that was killed; the next process that finds them removes them.
//!
//! The lock file may have a mark in it. By that an agent knows others of its own run.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::peer;
use os::sockets::Folder;

/// Longest name of a domain.
pub const NAME_LENGTH_MAX: usize = 48;

/// Longest mark in octets; what is longer is none.
const MARK_LENGTH_MAX: u64 = 256;

/// How long an agent may take between locking its name and listening; it is microseconds of work.
const STARTING_LONGEST: Duration = Duration::from_secs(2);
const STARTING_LOOK: Duration = Duration::from_millis(2);
/// How often somebody who is about to listen is looked at again; some hundredths of a second.
const STARTING_TRIES: u32 = 10_000;

/// A name under which a domain is registered; it vanishes with this.
#[derive(Debug)]
pub struct Registration {
    // Dropped in this order: the lock last.
    files: Files,
    pub(super) listener: UnixListener,
    _lock: File,
}

#[derive(Debug)]
struct Files {
    folder: Folder,
    name: String,
}

impl Files {
    fn socket(&self) -> std::path::PathBuf {
        self.folder.file(&format!("{}.sock", self.name))
    }

    fn lock(&self) -> std::path::PathBuf {
        self.folder.file(&format!("{}.lock", self.name))
    }

    /// Takes the lock of the name; `None` if somebody else has it.
    fn claim(&self) -> io::Result<Option<File>> {
        let path = self.lock();
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).mode(0o600);
            let file = options.custom_flags(libc::O_NOFOLLOW).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The last owner may have removed the file meanwhile.
            if is_same(&file, &path) {
                return Ok(Some(file));
            }
        }
    }

    /// Removes what lies there. The lock must be held.
    fn remove(&self) {
        // Removed by its user already, if not.
        let _ = fs::remove_file(self.socket());
        let _ = fs::remove_file(self.lock());
    }

    /// Removes what nobody owns. Returns whether there was such a thing.
    fn remove_dead(&self) -> io::Result<bool> {
        let Some(_lock) = self.claim()? else { return Ok(false) };
        self.remove();
        Ok(true)
    }
}

fn is_same(file: &File, path: &Path) -> bool {
    let of = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(one), Ok(other)) => of(one) == of(other),
        _ => false,
    }
}

impl Registration {
    /// Registers a name.
    ///
    /// # Errors
    /// When the name is taken or cannot be a file name.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        Self::marked(name, "")
    }

    /// The same, with a mark that [`mark`] finds.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn marked(name: &str, mark: &str) -> anyhow::Result<Self> {
        check_name(name)?;
        let files = Files { folder: Folder::make()?, name: name.to_owned() };
        let cannot = || format!("cannot register the domain `{name}`");
        let begun = Instant::now();
        let mut lock = loop {
            if let Some(lock) = files.claim().with_context(cannot)? {
                break lock;
            }
            // It is taken, or somebody looks whether it is.
            if is_there(name)? || begun.elapsed() > STARTING_LONGEST {
                bail!("a domain named `{name}` already exists; `qcycle ps` lists them");
            }
            thread::sleep(STARTING_LOOK);
        };
        // Before the socket is there, by which others find the name.
        let marked = lock.set_len(0).and_then(|()| lock.write_all(mark.as_bytes()));
        marked.with_context(cannot)?;
        // Left behind, if there is one.
        let _ = fs::remove_file(files.socket());
        let listener = UnixListener::bind(files.socket()).with_context(cannot)?;
        Ok(Self { files, listener, _lock: lock })
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.files.remove();
    }
}

/// The mark that a name was registered with; nothing without one, or if nobody has the name any more.
///
/// # Errors
/// When it cannot be read.
pub fn mark(name: &str) -> anyhow::Result<String> {
    check_name(name)?;
    let Some(folder) = Folder::find()? else { return Ok(String::new()) };
    let files = Files { folder, name: name.to_owned() };
    let mut mark = String::new();
    match File::open(files.lock()) {
        Ok(file) => {
            let read = file.take(MARK_LENGTH_MAX).read_to_string(&mut mark);
            read.with_context(|| format!("cannot see who has the name `{name}`"))?;
            Ok(mark)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(mark),
        Err(error) => Err(error).with_context(|| format!("cannot see who has the name `{name}`")),
    }
}

/// Names of the domains that are there, in order. Removes what agents that were killed left behind.
///
/// # Errors
/// When the folder is not this user's own or cannot be read.
pub fn names() -> anyhow::Result<Vec<String>> {
    sweep().map(|(names, _)| names)
}

/// Removes what agents that were killed left behind. Returns how many names it was.
pub fn remove_dead() -> anyhow::Result<usize> {
    sweep().map(|(_, dead)| dead)
}

fn sweep() -> anyhow::Result<(Vec<String>, usize)> {
    let (mut names, mut dead) = (Vec::new(), 0);
    let Some(folder) = Folder::find()? else { return Ok((names, dead)) };
    let cannot = || format!("cannot list the domains in {}", folder.path().display());
    let found = folder.names().with_context(cannot)?;
    let found = found.iter().filter_map(|file| file.strip_suffix(".sock"));
    for name in found.filter(|name| check_name(name).is_ok()) {
        let Some(folder) = Folder::find()? else { break };
        let files = Files { folder, name: name.to_owned() };
        if files.remove_dead().with_context(|| format!("cannot monitor `{name}`"))? {
            dead += 1;
        } else {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok((names, dead))
}

/// Whether there is a domain of this name, whether it answers or not.
///
/// # Errors
/// As [`connect`], if it is not known.
pub fn is_there(name: &str) -> anyhow::Result<bool> {
    Ok(!matches!(find(name)?, Found::Nobody))
}

/// A connection to a domain; `None` if there is none of this name.
///
/// # Errors
/// When there is one that does not take calls, or somebody else answers for it.
pub fn connect(name: &str) -> anyhow::Result<Option<UnixStream>> {
    match find(name)? {
        Found::Nobody => Ok(None),
        Found::Agent(stream) => Ok(Some(stream)),
        Found::Silent => bail!(
            "the domain `{name}` accepts no requests: too many are waiting for its agent, which \
             may have been stopped"
        ),
    }
}

enum Found {
    Nobody,
    Agent(UnixStream),
    /// It is there and takes no calls.
    Silent,
}

fn find(name: &str) -> anyhow::Result<Found> {
    if check_name(name).is_err() {
        return Ok(Found::Nobody);
    }
    let Some(folder) = Folder::find()? else { return Ok(Found::Nobody) };
    let files = Files { folder, name: name.to_owned() };
    let cannot = || format!("cannot reach the domain `{name}`");
    for _ in 0..STARTING_TRIES {
        match peer::connect(&files.socket()) {
            Ok(stream) => {
                peer::check_agent(&stream).with_context(cannot)?;
                return Ok(Found::Agent(stream));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nobody),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Found::Silent),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                if files.remove_dead().with_context(cannot)? {
                    return Ok(Found::Nobody);
                }
                // Somebody is about to listen. In a domain that is held no sleep of this process would end.
                thread::yield_now();
            }
            Err(error) => return Err(error).with_context(cannot),
        }
    }
    Ok(Found::Silent)
}

/// A name for the domain of a program: that of the program and a number.
pub(super) fn name_for(program: &str, number: i32) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let base: String = program.chars().filter(fits).take(24).collect();
    format!("{}-{number}", if base.is_empty() { "program" } else { &base })
}

/// Refuses a name that no domain can have.
///
/// # Errors
/// What is wrong with it, and what names are made of.
pub fn check_name(name: &str) -> anyhow::Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with(['.', '-']) || !name.chars().all(fits) {
        bail!("`{name}` is not a valid domain name: use letters, digits, `-`, `_` and `.`");
    }
    if name.chars().all(|c| c.is_ascii_digit()) {
        bail!("`{name}` is not a valid domain name: numbers stand for processes; add a letter");
    }
    if name.len() > NAME_LENGTH_MAX {
        bail!("`{name}` is too long for a domain name: at most {NAME_LENGTH_MAX} characters");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_file_names_are_refused() {
        for name in ["", "..", "a/b", ".hidden", "--tdf", "a b", "4711", &"x".repeat(49)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("voltage-stability_1.a").is_ok());
    }
}
