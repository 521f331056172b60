//! A program with all that it loads when it starts, so that it also runs where nothing else is.
//!
//! The host's own loader knows best which files these are: `ldd` asks it. A static program has
//! none. What a program opens later, by name, is not found here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::cpio::Archive;

/// Adds a program at `place`, and its libraries where it looks for them.
pub(crate) fn add(archive: &mut Archive, program: &Path, place: &str) -> Result<()> {
    for library in of(program)? {
        let path =
            library.to_str().with_context(|| format!("{} is not text", library.display()))?;
        archive.file(path, &read(&library)?);
    }
    archive.file(place, &read(program)?);
    Ok(())
}

/// Where the shell would find this program.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The libraries and the loader that a program needs.
fn of(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd")
        .arg(program)
        .env("LC_ALL", "C")
        .output()
        .context("cannot run ldd, which lists the libraries of programs (package libc-bin)")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let is_static = ["not a dynamic executable", "statically linked"];
    if is_static.iter().any(|words| said.contains(words) || complaint.contains(words)) {
        return Ok(Vec::new());
    }
    if !output.status.success() {
        bail!("ldd {}: {}", program.display(), complaint.trim());
    }
    parsed(&said).with_context(|| format!("the libraries of {}", program.display()))
}

/// The paths in the lines of `ldd`: `libc.so.6 => /lib/libc.so.6 (0x…)`, `/lib64/ld.so (0x…)`, and
/// libraries without a file, which the kernel brings.
fn parsed(said: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for line in said.lines() {
        let named = line.split_once("=>").map_or(line, |(_, file)| file).trim();
        if named == "not found" {
            bail!("{} is missing on this host", line.trim());
        }
        let path = named.split(" (0x").next().unwrap_or_default();
        if path.starts_with('/') {
            paths.push(PathBuf::from(path));
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\tlinux-vdso.so.1 (0x00007fe1e4d3f000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fe1e4b3d000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007fe1e4d41000)
";

    #[test]
    fn libraries_and_loader_are_found_and_what_has_no_file_is_not() {
        let paths = parsed(SAID).unwrap();
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths, expected.map(PathBuf::from));
    }

    #[test]
    fn a_missing_library_is_named() {
        let error = parsed("\tlibnuma.so.1 => not found\n").unwrap_err().to_string();
        assert!(error.contains("libnuma.so.1"), "{error}");
    }

    #[test]
    fn a_program_of_this_host_brings_its_loader() {
        let shell = find("sh").expect("there is a shell");
        let libraries = of(&shell).unwrap();
        assert!(libraries.iter().all(|path| path.is_file()), "{libraries:?}");
    }
}
