//! The folder of a run, and where its cells lie within it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::cell::RECORD;

/// The folder of cells within that of a run.
pub const CELLS: &str = "cells";

/// Makes the first of these folders that is not there yet, for its owner alone.
pub(crate) fn make_first(mut folders: impl Iterator<Item = PathBuf>) -> Result<PathBuf> {
    loop {
        let folder = folders.next().context("no name is left for a folder")?;
        match os::files::make_private(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot make {}", folder.display()));
            }
        }
    }
}

/// What is wrong with a folder without cells, and the fix.
pub(crate) fn no_cells(folder: &Path) -> String {
    format!(
        "{} has no cells; `qcycle latency` measures them, `qcycle latency import` imports results \
         of other tools",
        folder.display()
    )
}

/// The names of the cells of a run.
pub fn cell_names(folder: &Path) -> Result<Vec<String>> {
    let name = |path: PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(cell_folders(folder, &[])?.into_iter().map(name).collect())
}

/// Folders of cells: those that the run names, in its order, then others by name.
pub fn cell_folders(folder: &Path, order: &[String]) -> Result<Vec<PathBuf>> {
    let cells = folder.join(CELLS);
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(&cells) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error).with_context(|| format!("reading {}", cells.display())),
    };
    for entry in entries {
        let path = entry.with_context(|| format!("reading {}", cells.display()))?.path();
        // A cell that was not finished has no record yet.
        if path.join(RECORD).exists() {
            found.push(path);
        }
    }
    let place = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let at = order.iter().position(|other| *other == name).unwrap_or(order.len());
        (at, name)
    };
    found.sort_by_key(place);
    Ok(found)
}
