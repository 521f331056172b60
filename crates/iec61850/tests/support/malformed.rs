//! The captures that are wrong on purpose.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use std::path::{Path, PathBuf};

use crate::support::{data, frames};

/// Their frames, by the name of the capture.
pub(crate) fn frames_by_name() -> Vec<(String, Vec<u8>)> {
    let folder = std::fs::read_dir(data().join("malformed_goose")).unwrap();
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let captures = paths.iter().map(|path| (name(path), frames(path)));
    captures.flat_map(|(name, frames)| frames.into_iter().map(move |f| (name.clone(), f))).collect()
}
