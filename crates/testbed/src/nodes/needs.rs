//! What nodes need of a machine, looked for before anything is started: one clear line for
//! what is missing beats an error from the depth of a set-up.

use std::fs::OpenOptions;

use anyhow::{Context, bail};

use os::namespaces;
use scenario::model::Node;

/// What some nodes need.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// A network between them.
    pub network: bool,
    /// Points that their programs see as files.
    pub files: bool,
}

impl Needs {
    /// Of these nodes, of which those with an address are on a network.
    pub fn of<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> Self {
        let mut needs = Self::default();
        for node in nodes {
            needs.network |= node.address.is_some();
            needs.files |= !node.files.is_empty();
        }
        needs
    }

    /// Makes sure that this process may have namespaces, and that devices are there. Must run while
    /// the process has one thread.
    ///
    /// # Errors
    /// One line that says what is missing and the fix.
    pub fn check(self) -> anyhow::Result<()> {
        if !namespaces::is_root() {
            namespaces::become_root_of_own().context(
                "without root this needs user namespaces, which this host does not allow; run as \
                 root, or have the administrator allow them (sysctl user.max_user_namespaces, \
                 kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
            )?;
        }
        if self.network {
            device("/dev/net/tun", "the network of the scenario")?;
        }
        if self.files {
            device("/dev/fuse", "the points that programs see as files")?;
        }
        Ok(())
    }
}

fn device(path: &str, what: &str) -> anyhow::Result<()> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => bail!(
            "{what} needs {path}, which this user may not open; run as root, or have the \
             administrator run `chmod 0666 {path}`"
        ),
        Err(error) => bail!(
            "{what} needs {path}: {error}; load the kernel module that provides it (`modprobe {}`)",
            path.rsplit('/').next().unwrap_or(path)
        ),
    }
}
