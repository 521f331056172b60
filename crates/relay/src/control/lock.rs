//! A file that is locked while a program has another file, a socket, as its own.
//!
//! That a socket is there says nothing of its program: one that was killed left it, and two that start
//! together would each find nobody there, and the later remove what the other has just made. A lock
//! (flock(2)) ends with its program, however that ends.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The right to make and remove the file at a path, until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    inode: Inode,
    _file: File,
}

/// Device and number, which no other file has while this one is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Inode(u64, u64);

impl Lock {
    /// Takes it; [`io::ErrorKind::WouldBlock`] where another program has it.
    pub(super) fn take(of: &Path) -> io::Result<Self> {
        let mut name = of.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let mut options = File::options();
        options.write(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        loop {
            let file = options.open(&path)?;
            file.try_lock()?;
            let inode = Inode::of(&file.metadata()?);
            // One that was removed in between locks nothing.
            if inode.is_at(&path) {
                return Ok(Self { path, inode, _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.inode.remove(&self.path);
    }
}

impl Inode {
    pub(super) fn of(about: &Metadata) -> Self {
        Self(about.dev(), about.ino())
    }

    fn is_at(self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|about| Self::of(&about) == self)
    }

    /// Removes the file at a path, unless another one has its name by now.
    pub(super) fn remove(self, path: &Path) {
        if self.is_at(path) {
            // Who has removed it already has done the same.
            let _gone = fs::remove_file(path);
        }
    }
}
