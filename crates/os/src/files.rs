//! Folders and files that a user has named.
//!
//! What a run records (programs' output, frames) is its user's alone.
//!
//! What is there must stay whole until what is new is complete, so a file is written beside and takes
//! the place of the old one. But only a regular file has a place to be taken: a device or a pipe
//! (`/dev/stdout`) is written to, and a link leads to what is meant, as with every other tool.
//!
//! In a folder of everybody, such as `/tmp`, anybody may have put something under the name first. What
//! is of neither this user nor the folder's owner is neither followed nor written to there, nor taken
//! away: what the kernel does where `fs.protected_symlinks` and its siblings are set, sysctl/fs.rst,
//! which knows nothing of links that are read rather than followed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _,
    PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::namespaces;

/// Bits of a folder in which everybody may put things, and nobody may take away those of others.
const OF_EVERYBODY: u32 = 0o1002;
/// Bits of who may read, write and run a file; the others are about whose rights it runs with.
const ACCESS: u32 = 0o777;

/// Makes a folder that only its owner may look into.
///
/// # Errors
/// What mkdir(2) reports: `AlreadyExists` also for a link.
pub fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// Makes a folder for its owner alone where there is none, and those above it as usual.
pub fn make_private_all(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match make_private(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Refuses something else where a folder belongs.
///
/// # Errors
/// If there is something that is no folder; with what to do about it.
pub fn refuse_file(folder: &Path) -> Result<()> {
    ensure!(
        !folder.exists() || folder.is_dir(),
        "{} is not a folder; name a folder, which is made if it is missing",
        folder.display()
    );
    Ok(())
}

/// Whether a path still leads to the file that was written to, and that has so many octets: others may
/// have put another one in its place, or cut it (`logrotate` with `copytruncate`).
pub fn is_as_written(file: &File, path: &Path, octets: u64) -> bool {
    let now = file.metadata().and_then(|file| Ok((file, fs::metadata(path)?)));
    now.is_ok_and(|(file, there)| {
        (file.dev(), file.ino()) == (there.dev(), there.ino()) && file.len() == octets
    })
}

/// Writes a file by `write`: readers see it as it was or complete.
///
/// # Errors
/// With the path; a file that was there is then as it was.
pub fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let writing = || format!("writing {}", path.display());
    let place = followed(path)?;
    let there = match fs::symlink_metadata(&place) {
        Ok(there) => Some(there),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(writing),
    };
    if let Some(there) = &there {
        check_owner(&place, there)?;
    }
    match there.as_ref().map(fs::Metadata::file_type) {
        Some(kind) if kind.is_dir() => bail!("{} is a folder; name a file", path.display()),
        Some(kind) if kind.is_socket() => bail!("{} is a socket; name a file", path.display()),
        Some(kind) if !kind.is_file() => {
            let mut options = OpenOptions::new();
            options.write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NOCTTY);
            let mut device = options.open(&place).with_context(writing)?;
            return write(&mut device).and_then(|()| device.flush()).with_context(writing);
        }
        _ => {}
    }
    let (beside, file) = beside(&place).with_context(writing)?;
    let written = written(file, there.as_ref(), write).and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // What went wrong is reported.
        let _ = fs::remove_file(&beside);
    }
    written.with_context(writing)
}

fn written(
    file: File,
    before: Option<&fs::Metadata>,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // Somebody else's choice who may write to it is not this user's.
    if let Some(before) = before.filter(|before| before.uid() == namespaces::effective_user()) {
        file.set_permissions(fs::Permissions::from_mode(before.mode() & ACCESS))?;
    }
    let mut buffered = io::BufWriter::new(file);
    write(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

/// Where links lead; a path without any is its own answer.
fn followed(path: &Path) -> Result<PathBuf> {
    /// As many as the kernel follows, path_resolution(7).
    const LINKS_MAX: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..LINKS_MAX {
        // No link, or nothing yet.
        let Ok(target) = fs::read_link(&place) else { return Ok(place) };
        let link = fs::symlink_metadata(&place);
        check_owner(&place, &link.with_context(|| format!("writing {}", path.display()))?)?;
        // An absolute one takes the place of the whole.
        place = folder_of(&place).join(target);
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
        .with_context(|| format!("writing {}", path.display()))
}

fn folder_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Refuses what somebody else has put into a folder of everybody.
fn check_owner(place: &Path, there: &fs::Metadata) -> Result<()> {
    let folder = fs::metadata(folder_of(place));
    let folder = folder.with_context(|| format!("writing {}", place.display()))?;
    ensure!(
        !is_laid(namespaces::effective_user(), there.uid(), folder.uid(), folder.mode()),
        "{} belongs to user {}, who put it into a folder that everyone can write to; name a \
         different file",
        place.display(),
        there.uid()
    );
    Ok(())
}

/// Whether something of `owner` may have been laid there for `user` to come across.
fn is_laid(user: u32, owner: u32, folder_owner: u32, folder_mode: u32) -> bool {
    folder_mode & OF_EVERYBODY == OF_EVERYBODY && owner != user && owner != folder_owner
}

/// A file of a name that nobody else has, in the same folder.
fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let Some(name) = path.file_name() else { return Err(io::ErrorKind::InvalidFilename.into()) };
    let mut number = 0;
    loop {
        let mut own = std::ffi::OsString::from(".");
        own.push(name);
        own.push(format!(".{}-{number}.tmp", std::process::id()));
        let beside = path.with_file_name(own);
        // Never through a link, and never what somebody else has put there.
        match OpenOptions::new().write(true).create_new(true).mode(0o666).open(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn put(path: &Path, text: &str) -> Result<()> {
        replace(path, |to| to.write_all(text.as_bytes()))
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page");
        put(&path, "one").unwrap();
        // Not with the rights of its owner.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o4640)).unwrap();
        put(&path, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
        let failed = replace(&path, |to| {
            to.write_all(b"thr")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(names(folder.path()), ["page"]);
    }

    #[test]
    fn what_somebody_else_puts_into_a_folder_of_everybody_is_laid_there() {
        let (own, other, root) = (7, 8, 0);
        for (user, owner, folder_owner, mode, laid) in [
            (own, other, root, 0o1777, true),
            (root, other, root, 0o1777, true),
            (root, other, own, 0o1777, true),
            (own, own, root, 0o1777, false),
            (own, root, root, 0o1777, false),
            (own, root, other, 0o1777, true),
            (own, other, other, 0o1777, false),
            (own, other, root, 0o755, false),
            (own, other, root, 0o777, false),
        ] {
            assert_eq!(is_laid(user, owner, folder_owner, mode), laid, "{user} {owner} {mode:o}");
        }
    }

    #[test]
    fn a_link_leads_to_what_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link, other] =
            ["target", "link", "other"].map(|name| folder.path().join(name));
        symlink("other", &link).unwrap();
        symlink(&target, &other).unwrap();
        for text in ["made", "made again"] {
            put(&link, text).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), text);
        }
        assert!(link.is_symlink() && other.is_symlink() && !target.is_symlink());
        symlink("loop", folder.path().join("loop")).unwrap();
        assert!(put(&folder.path().join("loop"), "").is_err());
        assert_eq!(names(folder.path()), ["link", "loop", "other", "target"]);
    }

    #[test]
    fn what_is_no_file_is_written_to_or_refused() {
        put(Path::new("/dev/null"), "nothing").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(put(Path::new("/dev/full"), "x").is_err());
        let folder = tempfile::tempdir().unwrap();
        let error = put(folder.path(), "x").unwrap_err().to_string();
        assert!(error.ends_with("is a folder; name a file"), "{error}");
        refuse_file(folder.path()).unwrap();
        refuse_file(&folder.path().join("new")).unwrap();
        let error = refuse_file(Path::new("/dev/null")).unwrap_err().to_string();
        assert!(error.starts_with("/dev/null is not a folder; name a folder"), "{error}");
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(put(&socket, "x").unwrap_err().to_string().contains("is a socket"));
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        put(&pipe, "through").unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        // What somebody has put where a file would be written beside is left alone.
        let trap = folder.path().join(format!(".page.{}-0.tmp", std::process::id()));
        symlink("victim", &trap).unwrap();
        put(&folder.path().join("page"), "x").unwrap();
        assert!(trap.is_symlink() && !folder.path().join("victim").exists());
    }
}
