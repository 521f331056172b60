//! Where the engine of the plant is looked for.

use std::env;
use std::path::PathBuf;

/// Where the OpenDSS engine may lie: beside the `python3` of the user's path, in the active
/// virtual environment, and in the project's own.
pub(super) fn folders() -> Vec<PathBuf> {
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
