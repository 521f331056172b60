//! Where the sockets of agents lie, and finding them by name.
//!
//! A domain is there as long as somebody answers on its socket. A socket that nobody answers on
//! was left behind by an agent that was killed; whoever comes across it removes it.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::launch::namespaces;

/// Longest name of a domain: the path of a socket has 107 octets at most.
pub const NAME_LENGTH_MAX: usize = 48;

/// Names the folder of the sockets to an agent in a user namespace, where everybody is root.
pub const FOLDER_VARIABLE: &str = "QCYCLE_SOCKETS";

/// The folder of the sockets: `$XDG_RUNTIME_DIR/quartercycle`, `/run/quartercycle` for root,
/// and a folder of the user's own in `/tmp` otherwise.
#[must_use]
pub fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(FOLDER_VARIABLE) {
        return PathBuf::from(folder);
    }
    let user = namespaces::effective_user();
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !folder.is_empty() => PathBuf::from(folder).join("quartercycle"),
        _ if user == 0 => PathBuf::from("/run/quartercycle"),
        _ => PathBuf::from(format!("/tmp/quartercycle-{user}")),
    }
}

/// A name under which a domain is registered; it vanishes with this.
#[derive(Debug)]
pub struct Registration {
    path: PathBuf,
    listener: UnixListener,
}

impl Registration {
    /// Registers a name.
    ///
    /// # Errors
    /// When the name is taken or cannot be a file name.
    pub fn new(name: &str) -> anyhow::Result<Self> {
        check_name(name)?;
        let folder = folder();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let path = socket(name);
        if connect(name)?.is_some() {
            bail!("there is a domain named `{name}` already; `qcycle ps` lists them");
        }
        let listener = UnixListener::bind(&path)
            .with_context(|| format!("cannot make the socket {}", path.display()))?;
        Ok(Self { path, listener })
    }

    /// Where callers arrive.
    #[must_use]
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Removed by somebody else already, which is as good.
        let _ = fs::remove_file(&self.path);
    }
}

/// Names of the domains that answer, in order. Removes what agents that were killed left behind.
///
/// # Errors
/// When the folder cannot be read.
pub fn names() -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".sock").map(str::to_owned))
        .filter(|name| connect(name).is_ok_and(|stream| stream.is_some()))
        .collect();
    names.sort();
    Ok(names)
}

/// Removes the sockets that agents left behind which were killed. Answers how many.
///
/// # Errors
/// When the folder cannot be read.
pub fn remove_dead() -> io::Result<usize> {
    let count = || fs::read_dir(folder()).map_or(0, Iterator::count);
    let before = count();
    names()?;
    Ok(before.saturating_sub(count()))
}

/// A connection to a domain; `None` if there is none of this name.
///
/// # Errors
/// When there is one, but not for us.
pub fn connect(name: &str) -> anyhow::Result<Option<UnixStream>> {
    let path = socket(name);
    match UnixStream::connect(&path) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove the dead socket {}", path.display()))?;
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| format!("cannot reach the domain `{name}`")),
    }
}

fn socket(name: &str) -> PathBuf {
    folder().join(format!("{name}.sock"))
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
        bail!("`{name}` cannot name a domain: use letters, digits, `-`, `_` and `.`");
    }
    if name.chars().all(|c| c.is_ascii_digit()) {
        bail!("`{name}` cannot name a domain: a number names a process; add a letter");
    }
    if name.len() > NAME_LENGTH_MAX {
        bail!("`{name}` is too long for the name of a domain: at most {NAME_LENGTH_MAX} letters");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_file_names_are_refused() {
        for name in ["", "..", "a/b", ".hidden", "a b", "4711", &"x".repeat(49)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("voltage-stability_1.a").is_ok());
    }
}
