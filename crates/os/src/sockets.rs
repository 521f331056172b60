//! The folder of the sockets: one that nobody else has a hand in.
//!
//! A user who can put files into that folder can answer in the name of a domain and name things that
//! are removed later. So it must be a folder of this user's own that others cannot write to, and it
//! is used by a descriptor: what was looked at is what is used, whatever is put in its place
//! meanwhile.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use crate::namespaces;

/// Names the folder to an agent in a user namespace, where everybody is root.
pub const VARIABLE: &str = "QCYCLE_SOCKETS";

const NAME: &str = "quartercycle";
const OWNER_ONLY: u32 = 0o700;
/// Bits of those who could put files into it besides its owner.
const OTHERS_WRITE: u32 = 0o022;

/// A folder that belongs to this user alone.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: File,
}

impl Folder {
    /// The folder if it is there.
    ///
    /// # Errors
    /// When what is there is not this user's own.
    pub fn find() -> anyhow::Result<Option<Self>> {
        Self::open(place(), namespaces::effective_user())
    }

    /// The folder, made where it is not there.
    ///
    /// # Errors
    /// When it cannot be made, or what is there is not this user's own.
    pub fn make() -> anyhow::Result<Self> {
        let path = place();
        let made = DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(&path);
        match made {
            // A link to something that is no folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.with_context(|| format!("cannot make the folder {}", path.display()))?,
        }
        let user = namespaces::effective_user();
        let found = Self::open(path.clone(), user)?;
        found.with_context(|| {
            format!("the folder {} was removed by another process", path.display())
        })
    }

    /// Where it lies, for people and for programs that are given its name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it, by the descriptor.
    pub fn file(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.handle.as_raw_fd()))
    }

    /// The names in it.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.file(""))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
    }

    fn open(path: PathBuf, user: u32) -> anyhow::Result<Option<Self>> {
        let check_owner = |found: &fs::Metadata| {
            let (owner, path) = (found.uid(), unusable(&path));
            ensure!(owner == user, "{path}: it belongs to user {owner}; {FIX}");
            Ok(())
        };
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW);
        let handle = match options.open(&path) {
            Ok(handle) => handle,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let found = fs::symlink_metadata(&path).with_context(|| unusable(&path))?;
                if found.is_symlink() {
                    bail!("{}: it is a link; {FIX}", unusable(&path));
                }
                check_owner(&found)?;
                return Err(error).with_context(|| unusable(&path));
            }
        };
        let found = handle.metadata().with_context(|| unusable(&path))?;
        check_owner(&found)?;
        if found.mode() & OTHERS_WRITE != 0 {
            bail!("{}: other users can write to it; fix with `chmod 700`", unusable(&path));
        }
        Ok(Some(Self { path, handle }))
    }
}

const FIX: &str = "have it removed, or set XDG_RUNTIME_DIR to a folder of your own";

fn unusable(path: &Path) -> String {
    format!("cannot use the folder {} for sockets", path.display())
}

fn place() -> PathBuf {
    let owner = |path: &Path| fs::metadata(path).ok().map(|found| found.uid());
    place_for(namespaces::effective_user(), |name| std::env::var_os(name), owner)
}

/// As [`place`], of what this user's environment says and who owns folders.
///
/// A runtime folder that belongs to somebody else is not this user's: a user who becomes root may
/// have kept the variable.
fn place_for(
    user: u32,
    variable: impl Fn(&str) -> Option<OsString>,
    owner: impl Fn(&Path) -> Option<u32>,
) -> PathBuf {
    if let Some(folder) = variable(VARIABLE) {
        return PathBuf::from(folder);
    }
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(folder) = runtime.filter(|path| owner(path).is_none_or(|owner| owner == user)) {
        return folder.join(NAME);
    }
    if user == 0 {
        return Path::new("/run").join(NAME);
    }
    let of_session = PathBuf::from(format!("/run/user/{user}"));
    if owner(&of_session) == Some(user) {
        return of_session.join(NAME);
    }
    PathBuf::from(format!("/tmp/{NAME}-{user}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn place_of(user: u32, variables: &[(&str, &str)], folders: &[(&str, u32)]) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value))
        };
        let owner = |path: &Path| {
            folders.iter().find(|(own, _)| Path::new(own) == path).map(|(_, owner)| *owner)
        };
        place_for(user, variable, owner).display().to_string()
    }

    #[test]
    fn the_folder_lies_where_only_its_user_has_a_say() {
        let runtime = [("XDG_RUNTIME_DIR", "/run/user/7")];
        let (own, foreign) = ([("/run/user/7", 7)], [("/run/user/7", 8)]);
        assert_eq!(place_of(7, &runtime, &own), "/run/user/7/quartercycle");
        assert_eq!(place_of(7, &runtime, &[]), "/run/user/7/quartercycle", "to be made");
        assert_eq!(place_of(7, &[], &own), "/run/user/7/quartercycle", "without the variable");
        assert_eq!(place_of(7, &runtime, &foreign), "/tmp/quartercycle-7");
        assert_eq!(place_of(7, &[], &[]), "/tmp/quartercycle-7");
        assert_eq!(place_of(7, &[("XDG_RUNTIME_DIR", "")], &[]), "/tmp/quartercycle-7");
        assert_eq!(place_of(7, &[("XDG_RUNTIME_DIR", "here")], &[]), "/tmp/quartercycle-7");
        assert_eq!(place_of(0, &runtime, &own), "/run/quartercycle", "root kept a user's");
        assert_eq!(place_of(0, &[(VARIABLE, "/a"), runtime[0]], &own), "/a");
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused_with_the_fix() {
        let own = namespaces::effective_user();
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("sockets");
        assert!(Folder::open(path.clone(), own).unwrap().is_none());
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        let folder = Folder::open(path.clone(), own).unwrap().unwrap();
        fs::write(folder.file("one"), "").unwrap();
        assert_eq!(folder.names().unwrap(), ["one"]);
        let refused =
            |path: &Path, user| Folder::open(path.to_owned(), user).unwrap_err().to_string();
        let error = refused(&path, own + 1);
        assert!(
            error.contains(&format!("belongs to user {own};")) && error.contains("XDG"),
            "{error}"
        );
        for mode in [0o720, 0o702, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(refused(&path, own).contains("other users can write to it"));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        let link = parent.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(refused(&link, own).contains("it is a link"));
        fs::write(parent.path().join("file"), "").unwrap();
        assert!(refused(&parent.path().join("file"), own).contains("cannot use the folder"));
        // What was opened is what is used.
        fs::rename(&path, parent.path().join("moved")).unwrap();
        assert_eq!(folder.names().unwrap(), ["one"]);
    }
}
