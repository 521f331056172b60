//! Debian packages fetched and looked into, without installing any.
//!
//! `apt-get` fetches them from wherever this host takes its packages, and checks their signatures;
//! `dpkg-deb` and `tar` unpack the few files that are wanted. None of it needs root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// The packages that a package depends on whose names begin so; none if this host's lists of packages
/// have none. Asking needs no network.
///
/// # Errors
/// When there is no `apt-cache`.
pub(crate) fn dependencies(package: &str, prefix: &str) -> Result<Vec<String>> {
    let output = apt("apt-cache").args(["depends", package]).output().context(NO_APT)?;
    Ok(dependencies_in(&String::from_utf8_lossy(&output.stdout), prefix))
}

/// Fetches a package into a folder.
pub(crate) fn fetch(package: &str, folder: &Path) -> Result<PathBuf> {
    let output = apt("apt-get")
        .args(["--quiet=2", "-o", "Debug::NoLocking=1", "download", package])
        .current_dir(folder)
        .output()
        .context(NO_APT)?;
    if !output.status.success() {
        bail!("apt-get download {package}: {}", errors(&output.stderr));
    }
    let fetched = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut packages = fetched.filter(|path| path.extension().is_some_and(|end| end == "deb"));
    packages.next().with_context(|| format!("apt-get download {package} left no file"))
}

/// Unpacks those files of a package that match one of the patterns, in which `*` also stands for
/// `/`, below a folder.
///
/// # Errors
/// When a pattern matches nothing, or unpacking fails.
pub(crate) fn unpack(package: &Path, patterns: &[&str], folder: &Path) -> Result<()> {
    let mut content = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run dpkg-deb, which unpacks packages (package dpkg)")?;
    let archive = content.stdout.take().expect("it was piped");
    let unpacked = Command::new("tar")
        .args(["--extract", "--no-same-owner", "--wildcards", "--directory"])
        .arg(folder)
        .args(patterns)
        .stdin(archive)
        .output();
    let ended = content.wait();
    let unpacked = unpacked.context("cannot run tar (package tar)")?;
    let name = package.display();
    ensure!(unpacked.status.success(), "unpacking {name}: {}", errors(&unpacked.stderr));
    ensure!(ended?.success(), "dpkg-deb cannot read {name}");
    Ok(())
}

const NO_APT: &str = "cannot run apt: guest kernels come from Debian packages";

fn apt(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    command
}

fn dependencies_in(depends: &str, prefix: &str) -> Vec<String> {
    let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.map(str::trim).filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}

/// What a program complains of, without warnings, in one line.
fn errors(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let errors: Vec<_> = lines.filter(|line| !line.starts_with("W: ")).collect();
    if errors.is_empty() { "it gave no reason".to_owned() } else { errors.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_behind_a_metapackage_is_its_image() {
        let depends = "linux-image-rt-amd64\n  Depends: linux-image-6.1.0-56-rt-amd64\n";
        let found = dependencies_in(depends, "linux-image-");
        assert_eq!(found, ["linux-image-6.1.0-56-rt-amd64"]);
        let headers = "linux-generic\n  Depends: linux-headers-6.8\n";
        assert!(dependencies_in(headers, "linux-image-").is_empty());
        assert!(dependencies_in("", "linux-image-").is_empty());
        let headers = "linux-headers-1\n  Depends: linux-headers-1-common\n  Depends: gcc\n  Depends: linux-kbuild-1\n";
        let found = dependencies_in(headers, "linux-");
        assert_eq!(found, ["linux-headers-1-common", "linux-kbuild-1"]);
    }

    #[test]
    fn warnings_are_no_errors() {
        let said = b"W: Download is performed unsandboxed\nE: Unable to locate package x\n";
        assert_eq!(errors(said), "E: Unable to locate package x");
        assert_eq!(errors(b"W: only this\n"), "it gave no reason");
    }
}
