//! The first and only file system of a guest: the probe, the modules of the kernel that it needs,
//! the programs that load the guest, and the order.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use probe::init;

use super::cpio::Archive;
use super::kernel::Kernel;
use super::libraries;

/// The console that the kernel opens for its first process, before there is anything else.
const CONSOLE: (&str, (u32, u32)) = ("/dev/console", (5, 1));

/// Two archives, one after the other: what guests with the same kernel share, and the order.
///
/// `programs` are those that the order names, and where they are on this host.
pub(crate) fn build(
    kernel: &Kernel,
    probe: &Path,
    programs: &[(&str, PathBuf)],
    order: &[u8],
) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    archive.character_device(CONSOLE.0, CONSOLE.1);
    libraries::add(&mut archive, probe, init::PROGRAM)?;
    archive.folder(init::MODULES);
    for module in &kernel.modules {
        let name = module.file_name().and_then(|name| name.to_str());
        let name = name.context("a module of the kernel has no name")?;
        let content =
            fs::read(module).with_context(|| format!("cannot read {}", module.display()))?;
        archive.file(&format!("{}/{name}", init::MODULES), &content);
    }
    archive.folder(init::PROGRAMS);
    for (name, program) in programs {
        // One that is named by its path is looked for there.
        let place =
            if name.starts_with('/') { name } else { &*format!("{}/{name}", init::PROGRAMS) };
        libraries::add(&mut archive, program, place)?;
    }
    let mut octets = archive.finish();
    let mut archive = Archive::default();
    archive.file(init::ORDER, order);
    octets.extend(archive.finish());
    Ok(octets)
}
