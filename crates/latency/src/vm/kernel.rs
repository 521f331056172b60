//! Kernels for guests: those of Debian's packages, ordinary and with PREEMPT_RT, as they are.
//!
//! A package is fetched once and kept in the user's cache: its kernel, the few modules that carry
//! the probe's words out of the guest, and where they came from (`package.json`). A host without
//! a network uses what is in the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::package;
use crate::matrix::GuestKernel;
use report_kit::machine::sha256;

/// Modules of the virtual serial port. One that a package does not have is part of its kernel.
const MODULES: [&str; 6] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_console",
];
/// What is taken out of a package.
const FILES: [&str; 2] = ["*/boot/vmlinuz-*", "*/kernel/drivers/*/virtio*.ko*"];

/// A kernel in the cache.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Kernel {
    pub image: PathBuf,
    pub modules: Vec<PathBuf>,
    pub origin: Origin,
}

/// Where a kernel is from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Origin {
    pub metapackage: String,
    /// The file of the package: its name, version and architecture.
    pub package: String,
    pub sha256: String,
}

/// The metapackage that stands for the newest kernel of this kind.
fn metapackage(kind: GuestKernel) -> String {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    match kind {
        GuestKernel::Stock => format!("linux-image-{architecture}"),
        GuestKernel::Rt => format!("linux-image-rt-{architecture}"),
    }
}

impl Kernel {
    /// The newest kernel of this kind that can be had, from the cache if it is there.
    pub(crate) fn newest(kind: GuestKernel) -> Result<Self> {
        Self::newest_in(&cache(), &metapackage(kind))
    }

    fn newest_in(cache: &Path, metapackage: &str) -> Result<Self> {
        fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
        let _lock = lock(cache)?;
        // What a metapackage stands for today is the first kernel that it depends on.
        let wanted = package::dependencies(metapackage, "linux-image-");
        let wanted = wanted.map(|names| names.into_iter().next());
        if let Ok(Some(name)) = &wanted
            && let Some(kernel) = kept(cache, |kernel| kernel.is_of(name))
        {
            return Ok(kernel);
        }
        let fetched = wanted.and_then(|name| {
            let name = name.with_context(|| {
                format!(
                    "the package lists of this host have no {metapackage}; run `apt-get \
                         update`, or add a source with Debian kernels"
                )
            })?;
            fetch(&name, metapackage, cache)
        });
        // Outdated is better than nothing: the result tells which one it was.
        fetched.or_else(|error| {
            kept(cache, |kernel| kernel.origin.metapackage == metapackage).ok_or(error)
        })
    }

    /// Whether it is of this package: `NAME_VERSION_ARCHITECTURE.deb`.
    fn is_of(&self, package: &str) -> bool {
        self.origin.package.split('_').next() == Some(package)
    }

    fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join("package.json")).ok()?;
        let origin = serde_json::from_str(&text).ok()?;
        let files = fs::read_dir(folder).ok()?.filter_map(Result::ok);
        let files: Vec<_> = files.map(|entry| entry.path()).collect();
        // `virtio.ko`, and with later kernels `virtio.ko.xz`.
        let named = |name: &str| {
            let is = |path: &&PathBuf| {
                let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
                file.split('.').next() == Some(name)
            };
            files.iter().find(is).cloned()
        };
        let modules = MODULES.iter().filter_map(|module| named(module)).collect();
        Some(Self { image: named("vmlinuz")?, modules, origin })
    }
}

/// The newest kernel of the cache of which something holds.
fn kept(cache: &Path, holds: impl Fn(&Kernel) -> bool) -> Option<Kernel> {
    let folders = fs::read_dir(cache).ok()?.filter_map(Result::ok);
    let with_time =
        folders.map(|folder| (folder.metadata().and_then(|it| it.modified()).ok(), folder));
    let kernels =
        with_time.filter_map(|(time, folder)| Some((time, Kernel::read(&folder.path())?)));
    kernels.filter(|(_, kernel)| holds(kernel)).max_by_key(|(time, _)| *time).map(|it| it.1)
}

fn fetch(name: &str, metapackage: &str, cache: &Path) -> Result<Kernel> {
    // Below one name while it is not whole: what an interruption leaves is removed the next time.
    let making = make(cache, "unfinished")?;
    let package = package::fetch(name, &making)?;
    let file = package.file_name().and_then(|file| file.to_str());
    let file = file.context("the file of a package has no name")?.to_owned();
    let sha256 = sha256(&fs::read(&package)?);
    let content = make(&making, "content")?;
    package::unpack(&package, &FILES, &content)?;
    let whole = make(&making, "kernel")?;
    take(&content, &whole)?;
    let origin = Origin { metapackage: metapackage.to_owned(), package: file, sha256 };
    fs::write(whole.join("package.json"), serde_json::to_string_pretty(&origin)?)?;
    let place = cache.join(origin.package.trim_end_matches(".deb"));
    remove(&place)?;
    fs::rename(&whole, &place).with_context(|| format!("cannot make {}", place.display()))?;
    remove(&making)?;
    Kernel::read(&place).with_context(|| format!("there is no kernel in {}", origin.package))
}

/// Moves the files that are wanted out of the folders of a package.
fn take(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a file of a package has a name that is not text")?;
        if entry.file_type()?.is_dir() {
            take(&entry.path(), to)?;
        } else if name.starts_with("vmlinuz-") {
            fs::rename(entry.path(), to.join("vmlinuz"))?;
        } else if MODULES.iter().any(|module| name.split('.').next() == Some(module)) {
            fs::rename(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// Held while something is fetched: two at once would fetch the same package.
pub(super) fn lock(cache: &Path) -> Result<File> {
    let lock = File::create(cache.join("lock")).context("cannot make a lock in the cache")?;
    lock.lock().context("cannot lock the cache of kernels")?;
    Ok(lock)
}

/// An empty folder of this name.
pub(super) fn make(parent: &Path, name: &str) -> Result<PathBuf> {
    let folder = parent.join(name);
    remove(&folder)?;
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

pub(super) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// `$XDG_CACHE_HOME/quartercycle/kernels`, by default below `~/.cache`.
fn cache() -> PathBuf {
    let named = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let caches = caches.or_else(|| named("HOME").map(|home| home.join(".cache")));
    caches.unwrap_or_else(|| PathBuf::from("/var/cache")).join("quartercycle/kernels")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(cache: &Path, package: &str, files: &[&str]) {
        let folder = cache.join(package.trim_end_matches(".deb"));
        fs::create_dir_all(&folder).unwrap();
        let origin = Origin {
            metapackage: "linux-image-none".to_owned(),
            package: package.to_owned(),
            sha256: "0".to_owned(),
        };
        fs::write(folder.join("package.json"), serde_json::to_string(&origin).unwrap()).unwrap();
        for file in files {
            fs::write(folder.join(file), file).unwrap();
        }
    }

    #[test]
    fn without_a_source_the_kernel_of_the_cache_is_used() {
        let cache = tempfile::tempdir().unwrap();
        let missing = Kernel::newest_in(cache.path(), "linux-image-none").unwrap_err().to_string();
        assert!(missing.contains("apt"), "{missing}");

        let files = ["vmlinuz", "virtio_console.ko.xz", "virtio.ko", "virtio_pci.ko"];
        keep(cache.path(), "linux-image-1.0-none_1.0-1_amd64.deb", &files);
        let kernel = Kernel::newest_in(cache.path(), "linux-image-none").unwrap();
        assert!(kernel.image.ends_with("vmlinuz"));
        let names: Vec<_> = kernel.modules.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["virtio.ko", "virtio_pci.ko", "virtio_console.ko.xz"]);
        assert!(kernel.is_of("linux-image-1.0-none") && !kernel.is_of("linux-image-1.0"));
    }

    #[test]
    fn a_folder_without_a_kernel_is_none() {
        let cache = tempfile::tempdir().unwrap();
        keep(cache.path(), "linux-image-1.0-none_1.0-1_amd64.deb", &["virtio.ko"]);
        fs::create_dir(cache.path().join("unfinished")).unwrap();
        assert!(kept(cache.path(), |_| true).is_none());
    }
}
