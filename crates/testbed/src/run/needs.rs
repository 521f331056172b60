//! What a run needs of this machine, looked for before anything is started: one clear line for
//! what is missing beats an error from the depth of a set-up.

use std::env;
use std::fs::OpenOptions;
use std::path::PathBuf;

use anyhow::{Context, bail};

use os::namespaces;
use scenario::model::Scenario;

/// Makes sure that this process may have namespaces, and that devices are there. Must run while
/// the process has one thread.
///
/// # Errors
/// One line that says what is missing and the fix.
pub(super) fn check(scenario: &Scenario) -> anyhow::Result<()> {
    if !namespaces::is_root() {
        namespaces::become_root_of_own().context(
            "without root this needs user namespaces, which this host does not allow; run as \
             root, or have the administrator allow them (sysctl user.max_user_namespaces, \
             kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
        )?;
    }
    if !scenario.network.links.is_empty() {
        device("/dev/net/tun", "the network of the scenario")?;
    }
    if scenario.nodes.iter().any(|node| !node.files.is_empty()) {
        device("/dev/fuse", "the points that programs see as files")?;
    }
    Ok(())
}

/// Where the OpenDSS engine may lie: beside the `python3` of the user's path, in the active
/// virtual environment, and in the project's own.
pub(super) fn engine_folders() -> Vec<PathBuf> {
    let beside_python = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path)
            .find(|folder| folder.join("python3").exists())
            .and_then(|folder| folder.parent().map(PathBuf::from))
    });
    let active = env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let mut folders: Vec<PathBuf> = active.into_iter().chain(beside_python).collect();
    folders.push(PathBuf::from(".venv"));
    folders
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
