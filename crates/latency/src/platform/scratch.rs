//! A folder on this host for what a platform needs while it runs, and its removal, also after a kill.
//!
//! Whoever owns the folder holds a lock on a file in it, which the kernel gives back with the
//! process. A folder whose lock is free belongs to nobody: the next run, or `qcycle clean`, removes
//! it, with the containers that it names.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::matrix::Engine;
use crate::run_folder::make_first;
use os::sockets::Folder;

const PREFIX: &str = "latency-";
const LOCK: &str = "lock";
/// Who is asked to remove what a file names. Nothing else is started.
const ENGINES: [Engine; 2] = [Engine::Docker, Engine::Podman];
/// Names of containers of an engine, one a line: `docker NAME`. Those of runc are in [`STATE`].
const CONTAINERS: &str = "containers";
/// Where runc keeps what it knows of its containers.
pub(super) const STATE: &str = "runc";

/// A folder of this process.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) folder: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes one, and removes those of processes that are gone.
    pub(super) fn make() -> Result<Self> {
        let parent = Folder::make()?;
        let parent = parent.path();
        sweep_folder(parent);
        let own = std::process::id();
        // Two platforms of one process have one each.
        let folders = (0..).map(|number| parent.join(format!("{PREFIX}{own}-{number}")));
        Self::lock(make_first(folders)?)
    }

    fn lock(folder: PathBuf) -> Result<Self> {
        let path = folder.join(LOCK);
        let lock = File::create(&path)
            .and_then(|file| file.lock().map(|()| file))
            .with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Notes a container of an engine before it is started, so that it is found after a kill.
    pub(super) fn note_container(&self, engine: &str, name: &str) -> Result<()> {
        use std::io::Write as _;
        let path = self.folder.join(CONTAINERS);
        let opened = fs::OpenOptions::new().append(true).create(true).open(&path);
        opened
            .and_then(|mut file| writeln!(file, "{engine} {name}"))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Removes what processes that are gone have left behind, and returns how many folders that was.
///
/// # Errors
/// When the folder of such folders is not this user's own: what it names may be anybody's.
pub fn sweep() -> Result<usize> {
    Ok(Folder::find()?.map_or(0, |folder| sweep_folder(folder.path())))
}

fn sweep_folder(parent: &Path) -> usize {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(PREFIX);
    let folders = entries
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path());
    folders.filter(|folder| is_orphan(folder)).map(|folder| remove(&folder)).count()
}

/// Whether nobody holds the lock. One without a lock is being made, or is being removed.
fn is_orphan(folder: &Path) -> bool {
    let Ok(lock) = File::open(folder.join(LOCK)) else { return false };
    !matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

/// Removes a folder and the containers that it names. What is gone already needs no removal, so
/// nothing here is an error.
fn remove(folder: &Path) {
    let state = folder.join(STATE);
    for entry in fs::read_dir(&state).into_iter().flatten().flatten() {
        let mut command = Command::new("runc");
        command.arg("--root").arg(&state).args(["delete", "--force"]).arg(entry.file_name());
        quietly(command);
    }
    let containers = fs::read_to_string(folder.join(CONTAINERS)).unwrap_or_default();
    let containers = containers.lines().filter_map(|line| line.split_once(' '));
    for (engine, name) in containers.filter(|(engine, name)| is_named(engine, name)) {
        for words in [&["rm"][..], &["image", "rm"]] {
            let mut command = Command::new(engine);
            command.args(words).args(["--force", name]);
            quietly(command);
        }
    }
    let _ = fs::remove_dir_all(folder);
}

/// Whether this is what a measurement notes: the file may say anything after a disk ran full.
fn is_named(engine: &str, name: &str) -> bool {
    ENGINES.iter().any(|known| known.name() == engine) && name.starts_with("quartercycle-")
}

/// Runs a program without its words, and returns whether it did what it should.
pub(super) fn quietly(mut command: Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_owner_is_gone_is_removed_and_no_other() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let held = Scratch::lock(make("latency-1-0")).unwrap();
        let left = make("latency-2-0");
        // As after a kill: the folder and its lock file, and nobody who holds it.
        File::create(left.join(LOCK)).unwrap();
        fs::create_dir(left.join("bundle")).unwrap();
        let other = make("bus");
        assert_eq!(sweep_folder(parent.path()), 1);
        assert!(held.folder.exists() && other.exists() && !left.exists());
        let path = held.folder.clone();
        drop(held);
        assert!(!path.exists());
    }
}
