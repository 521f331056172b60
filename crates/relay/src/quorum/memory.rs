//! What a restart finds again: gen and state of the breaker, keys and counters.
//!
//! It is written by the thread that must be in time, so a write is one call into the page cache of
//! a file that is open and has its size: a killed process loses nothing. The disk follows from
//! another thread. What a host loses that loses its power is a few last writes; its next start is
//! another boot, which it sees, and makes up for it.
//!
//! The file has two slots that are written in turn, so that one of them is whole at any time, and
//! is locked, so that no party runs twice.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::program;

/// Octets of a slot: a page, which the kernel takes whole or not at all.
const SLOT_OCTETS: usize = 4096;
/// How often the disk looks whether something is new.
const PERIOD: Duration = Duration::from_millis(20);

#[derive(Serialize, Deserialize)]
struct Slot<'b, T> {
    number: u64,
    /// The boot of the host in which it was written.
    boot: Cow<'b, str>,
    remembered: T,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found<T> {
    pub(crate) remembered: T,
    /// The host was started since, perhaps after it lost its power.
    pub(crate) is_other_boot: bool,
}

#[derive(Debug)]
pub(crate) struct Memory {
    file: Arc<File>,
    boot: String,
    /// Of the last write.
    pub(crate) number: u64,
    buffer: Vec<u8>,
    progress: Arc<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    written: AtomicU64,
    /// The last one that is on the disk.
    followed: AtomicU64,
}

/// Brings what was written to the disk, from a thread that may wait.
#[derive(Debug)]
pub(crate) struct Disk {
    file: Arc<File>,
    progress: Arc<Progress>,
}

impl Memory {
    /// Opens the file or makes it; answers what was written last.
    pub(crate) fn open<T: DeserializeOwned>(path: &Path) -> Result<(Self, Option<Found<T>>)> {
        let place = || path.display().to_string();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .with_context(place)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: in use: this party is already running", path.display())
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(place),
        }
        let mut octets = Vec::new();
        file.read_to_end(&mut octets).with_context(place)?;
        let newest = newest::<T>(path, &octets)?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let memory = Self {
            file: Arc::new(file),
            number: newest.as_ref().map_or(0, |slot| slot.number),
            buffer: Vec::with_capacity(SLOT_OCTETS),
            progress: Arc::default(),
            boot,
        };
        // So that its place on the disk is there before anything depends on it.
        let all = 2 * SLOT_OCTETS as u64;
        rustix::fs::fallocate(&memory.file, FallocateFlags::empty(), 0, all)
            .or_else(|error| match error {
                // Where files have no place before they are written.
                Errno::OPNOTSUPP => memory.file.set_len(all),
                error => Err(error.into()),
            })
            .with_context(place)?;
        let found = newest.map(|slot| Found {
            is_other_boot: slot.boot != memory.boot,
            remembered: slot.remembered,
        });
        Ok((memory, found))
    }

    /// Writes where a restart of the program finds it.
    pub(crate) fn write<T: Serialize>(&mut self, remembered: &T) -> io::Result<()> {
        self.number += 1;
        self.buffer.clear();
        let slot = Slot { number: self.number, boot: Cow::Borrowed(&self.boot), remembered };
        serde_json::to_writer(&mut self.buffer, &slot)?;
        assert!(self.buffer.len() < SLOT_OCTETS, "what is remembered is small");
        self.buffer.resize(SLOT_OCTETS, b'\n');
        self.file.write_all_at(&self.buffer, self.number % 2 * SLOT_OCTETS as u64)?;
        self.progress.written.store(self.number, Ordering::Release);
        Ok(())
    }

    /// Whether a restart of the host finds what was written then, or later.
    pub(crate) fn is_on_disk(&self, number: u64) -> bool {
        self.progress.followed.load(Ordering::Acquire) >= number
    }

    /// Writes where a restart of the host finds it, and waits for that.
    pub(crate) fn write_through<T: Serialize>(&mut self, remembered: &T) -> io::Result<()> {
        self.write(remembered)?;
        self.file.sync_all()?;
        self.progress.followed.store(self.number, Ordering::Release);
        Ok(())
    }

    /// The side of the thread that may wait.
    pub(crate) fn disk(&self) -> Disk {
        Disk { file: Arc::clone(&self.file), progress: Arc::clone(&self.progress) }
    }
}

impl Disk {
    /// Follows in a thread of its own, as long as somebody has the counter of failures that is
    /// answered: a disk that fails or hangs keeps no party from acting, and is reported once. A
    /// thread inherits how it is scheduled, so this is called before anything becomes real-time.
    pub(crate) fn follow_on(self) -> io::Result<Arc<AtomicU64>> {
        let failures = Arc::new(AtomicU64::new(0));
        let counted = Arc::downgrade(&failures);
        let (mut failed, mut is_failing) = (0, false);
        let follow = move || {
            while let Some(failures) = counted.upgrade() {
                match self.follow(&mut failed) {
                    Err(error) => {
                        failures.fetch_add(1, Ordering::Relaxed);
                        if !std::mem::replace(&mut is_failing, true) {
                            terminal::err!(
                                "qcrelay: warning: the memory of this party does not reach the disk \
                                 ({error}): replace the disk; until then a host that loses its power \
                                 may forget the last changes"
                            );
                        }
                    }
                    Ok(true) if std::mem::take(&mut is_failing) => {
                        terminal::err!("qcrelay: the memory of this party is on the disk again");
                    }
                    Ok(_) => {}
                }
                drop(failures);
                sleep(PERIOD);
            }
        };
        Builder::new().name("disk".into()).spawn(follow)?;
        Ok(failures)
    }

    /// Brings what is new to the disk; answers whether something was. After a failure the kernel may
    /// take for written what is not, so only what is newer than what `failed` is tried again.
    fn follow(&self, failed: &mut u64) -> io::Result<bool> {
        let written = self.progress.written.load(Ordering::Acquire);
        if written <= self.progress.followed.load(Ordering::Acquire).max(*failed) {
            return Ok(false);
        }
        self.file.sync_data().inspect_err(|_| *failed = written)?;
        self.progress.followed.store(written, Ordering::Release);
        Ok(true)
    }
}

/// Refuses a file that is the memory of nobody of this kind. One that is not there yet is as good as
/// an empty one.
pub(crate) fn check<T: DeserializeOwned>(path: &Path) -> Result<()> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(program::unreadable(path, &error)),
        Ok(octets) => newest::<T>(path, &octets).map(drop),
    }
}

/// What was written last; nothing in a file that is new.
fn newest<T: DeserializeOwned>(path: &Path, octets: &[u8]) -> Result<Option<Slot<'static, T>>> {
    let slots = octets.chunks(SLOT_OCTETS).filter_map(read_slot::<T>);
    let newest = slots.max_by_key(|slot| slot.number);
    if newest.is_none() && octets.iter().any(|octet| *octet != 0) {
        let path = path.display();
        let what = "this is not the memory of this party, or it is damaged; give `memory` the file of \
                    this party, or, where that is damaged, move it away, make new keys for the \
                    station with `qcrelay keys --force` and restart all parties";
        return Err(program::bad_input(format!("{path}: {what}")));
    }
    Ok(newest)
}

fn read_slot<T: DeserializeOwned>(octets: &[u8]) -> Option<Slot<'static, T>> {
    let Slot { number, boot, remembered } = serde_json::from_slice(octets).ok()?;
    Some(Slot { number, boot: Cow::Owned(Cow::into_owned(boot)), remembered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_is_found_and_a_torn_slot_costs_one_write() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory");
        let (mut memory, found) = Memory::open::<u64>(&path).expect("it opens");
        assert_eq!(found, None);
        for value in 1..=5_u64 {
            memory.write(&value).expect("it writes");
        }
        assert_eq!((memory.number, memory.is_on_disk(1)), (5, false));
        assert!(memory.disk().follow(&mut 0).expect("it syncs"));
        assert!(memory.is_on_disk(5) && !memory.is_on_disk(6));
        let again = Memory::open::<u64>(&path).expect_err("it is in use");
        assert!(again.to_string().contains("already running"), "{again}");
        drop(memory);
        let (memory, found) = Memory::open::<u64>(&path).expect("it opens");
        assert_eq!(found, Some(Found { remembered: 5, is_other_boot: false }));
        // The fifth lies in the second slot.
        memory.file.write_all_at(b"torn", SLOT_OCTETS as u64).expect("it writes");
        drop(memory);
        let (_, found) = Memory::open::<u64>(&path).expect("it opens");
        assert_eq!(found.map(|found| found.remembered), Some(4));
    }

    #[test]
    fn a_disk_that_fails_is_counted_and_only_newer_writes_are_tried() {
        // Of this nothing can be brought to a disk.
        let file = File::options().write(true).open("/dev/full").expect("it opens");
        let progress = Arc::new(Progress::default());
        let disk = Disk { file: Arc::new(file), progress: Arc::clone(&progress) };
        progress.written.store(1, Ordering::Release);
        let failures = disk.follow_on().expect("a thread");
        for count in [1, 2] {
            while failures.load(Ordering::Relaxed) < count {
                sleep(PERIOD);
            }
            sleep(3 * PERIOD);
            assert_eq!(failures.load(Ordering::Relaxed), count);
            progress.written.store(2, Ordering::Release);
        }
        assert_eq!(progress.followed.load(Ordering::Acquire), 0);
    }

    #[test]
    fn another_boot_is_told_and_another_file_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("memory");
        std::fs::write(&path, br#"{"number":7,"boot":"earlier","remembered":9}"#).expect("written");
        let (_, found) = Memory::open::<u64>(&path).expect("it opens");
        assert_eq!(found, Some(Found { remembered: 9, is_other_boot: true }));
        std::fs::write(&path, "a text").expect("written");
        let said = Memory::open::<u64>(&path).expect_err("a text").to_string();
        assert!(said.contains("or it is damaged; give `memory` the file of this party"), "{said}");
    }
}
