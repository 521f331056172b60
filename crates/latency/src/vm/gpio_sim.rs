//! The module that simulates GPIO lines in a guest.
//!
//! Debian's kernels know lines but not the module gpio-sim (`CONFIG_GPIO_SIM is not set`, in 6.1 as in
//! 6.12). A package that has it is taken as it is. Else the module is built from Debian's source of
//! the very same version, against the headers of the very same kernel: its two files as they are, and
//! one that the kernel would hold itself (`irq_sim.c`), which gets at a descriptor of an interrupt by
//! a call that the kernel exports. This takes a quarter of a minute once, a compiler and `make`; it
//! needs no root, and nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use super::kernel::{self, Kernel};
use super::package;

/// What is done where it cannot be had.
pub(crate) const WAY_OUT: &str = "apt-get install gcc-12 make, or the compiler named in the kernel \
     headers; needs a network once";

/// In the folder of a kernel.
const FOLDER: &str = "gpio-sim";
/// The modules, in the order in which they need each other.
const MODULES: [&str; 2] = ["configfs", "gpio-sim"];
/// Where a package has them.
const PLACES: [&str; 2] = ["*/kernel/fs/configfs/*", "*/kernel/drivers/gpio/*"];
/// What is taken out of the source.
const SOURCES: [&str; 3] =
    ["*/drivers/gpio/gpio-sim.c", "*/drivers/gpio/gpiolib.h", "*/kernel/irq/irq_sim.c"];
const MAKEFILE: &str = "obj-m := gpio-sim.o\ngpio-sim-y := lines.o interrupts.o\n";
const LINES: &str = "#include \"gpio-sim.c\"\n";
const INTERRUPTS: &str = "#include <linux/irq.h>\n#include <linux/irqdesc.h>\n\
     #define irq_to_desc(irq) irq_data_to_desc(irq_get_irq_data(irq))\n#include \"irq_sim.c\"\n";

/// The modules for a kernel of the cache, from the cache if they are there.
///
/// # Errors
/// What could not be fetched or built.
pub(crate) fn modules(kernel: &Kernel) -> Result<Vec<PathBuf>> {
    let home = kernel.image.parent().context("a kernel lies in a folder")?;
    let _lock = kernel::lock(home.parent().context("a cache has folders")?)?;
    let folder = home.join(FOLDER);
    if !folder.exists() {
        let making = kernel::make(home, "unfinished")?;
        let ready = make(&kernel.origin.package, &making)?;
        fs::rename(&ready, &folder).with_context(|| format!("cannot make {}", folder.display()))?;
        kernel::remove(&making)?;
    }
    let found = |name: &&str| find(&folder, name);
    Ok(MODULES.iter().filter_map(found).collect())
}

/// Gives a folder with the modules.
fn make(package: &str, making: &Path) -> Result<PathBuf> {
    let (name, version) =
        parts(package).with_context(|| format!("{package} does not name a package of a kernel"))?;
    let image = fetched(name, version, making)?;
    let content = kernel::make(making, "content")?;
    package::unpack(&image, &PLACES, &content)?;
    let ready = kernel::make(making, "ready")?;
    for module in MODULES {
        if let Some(path) = find(&content, module) {
            let file = path.file_name().context("a module has a name")?;
            fs::copy(&path, ready.join(file))?;
        }
    }
    if find(&ready, "gpio-sim").is_none() {
        let built = build(name, version, making).context(
            "Debian's kernel has no module gpio-sim, and building it from source failed",
        )?;
        fs::copy(built, ready.join("gpio-sim.ko"))?;
    }
    Ok(ready)
}

fn build(name: &str, version: &str, making: &Path) -> Result<PathBuf> {
    let headers = name.replacen("linux-image-", "linux-headers-", 1);
    let content = kernel::make(making, "headers")?;
    let needed = package::dependencies(&headers, "linux-")?;
    ensure!(!needed.is_empty(), "the package lists of this host have no {headers}");
    for package in needed.iter().map(String::as_str).chain([&*headers]) {
        package::unpack(&fetched(package, version, making)?, &["*"], &content)?;
    }
    let headers = content.join("usr/src").join(&headers);
    relocate(&headers.join("Makefile"), &content)?;
    let place = kernel::make(making, "module")?;
    take_sources(name, version, making, &place)?;
    for (file, text) in [("Makefile", MAKEFILE), ("lines.c", LINES), ("interrupts.c", INTERRUPTS)] {
        fs::write(place.join(file), text)?;
    }
    run(Command::new("make")
        .arg("-C")
        .arg(&headers)
        .arg(format!("M={}", place.display()))
        .arg("modules"))?;
    let module = place.join("gpio-sim.ko");
    run(Command::new("strip").arg("--strip-debug").arg(&module))?;
    Ok(module)
}

fn take_sources(name: &str, version: &str, making: &Path, place: &Path) -> Result<()> {
    let release = release(name).with_context(|| format!("{name} names no release"))?;
    let source = fetched(&format!("linux-source-{release}"), version, making)?;
    let content = kernel::make(making, "source")?;
    package::unpack(&source, &["*/usr/src/linux-source-*.tar.xz"], &content)?;
    let archive = content.join(format!("usr/src/linux-source-{release}.tar.xz"));
    // It is large: no further than needed.
    run(Command::new("tar")
        .args(["--extract", "--xz", "--occurrence=1", "--wildcards", "--strip-components=3"])
        .arg("--file")
        .arg(&archive)
        .arg("--directory")
        .arg(place)
        .args(SOURCES))
}

/// The Makefile of headers includes the one that they share by its path on a system where they are
/// installed.
fn relocate(makefile: &Path, root: &Path) -> Result<()> {
    let text = fs::read_to_string(makefile)
        .with_context(|| format!("cannot read {}", makefile.display()))?;
    let here = format!("{}/usr/src/", root.display());
    Ok(fs::write(makefile, text.replace("/usr/src/", &here))?)
}

/// A package in a folder of its own.
fn fetched(name: &str, version: &str, making: &Path) -> Result<PathBuf> {
    let folder = kernel::make(making, name)?;
    package::fetch(&format!("{name}={version}"), &folder)
}

/// Name and version of `NAME_VERSION_ARCHITECTURE.deb`.
fn parts(package: &str) -> Option<(&str, &str)> {
    let mut parts = package.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    name.starts_with("linux-image-").then_some((name, version))
}

/// `6.1` of `linux-image-6.1.0-56-rt-amd64`.
fn release(name: &str) -> Option<&str> {
    let version = name.strip_prefix("linux-image-")?;
    let (end, _) = version.match_indices('.').nth(1)?;
    Some(&version[..end])
}

/// A module anywhere in a folder: `gpio-sim.ko`, `gpio-sim.ko.xz`.
fn find(folder: &Path, module: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().find_map(|path| {
        if path.is_dir() {
            return find(path, module);
        }
        let name = path.file_name()?.to_str()?;
        let (stem, end) = name.split_once('.')?;
        (stem == module && end.starts_with("ko")).then(|| path.clone())
    })
}

/// Runs a program that says nothing if it does what it shall.
fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.env("LC_ALL", "C").stdin(Stdio::null());
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<_> = said.lines().rev().take(3).collect();
        bail!("{name}: {}", last.into_iter().rev().collect::<Vec<_>>().join("; "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_tells_which_source_it_is_from() {
        let package = "linux-image-6.1.0-56-rt-amd64_6.1.192-2_amd64.deb";
        let (name, version) = parts(package).unwrap();
        assert_eq!((name, version), ("linux-image-6.1.0-56-rt-amd64", "6.1.192-2"));
        assert_eq!(release(name), Some("6.1"));
        assert_eq!(release("linux-image-6.12.95+deb12-amd64"), Some("6.12"));
        assert_eq!((release("linux-image-none"), parts("vmlinuz_1_2")), (None, None));
    }

    #[test]
    fn a_module_is_found_wherever_a_package_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("lib/modules/1/kernel/drivers/gpio");
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("gpio-sim-more.ko"), "").unwrap();
        fs::write(place.join("gpio-sim.txt"), "").unwrap();
        assert_eq!(find(folder.path(), "gpio-sim"), None);
        fs::write(place.join("gpio-sim.ko.xz"), "").unwrap();
        assert_eq!(find(folder.path(), "gpio-sim"), Some(place.join("gpio-sim.ko.xz")));
    }

    #[test]
    fn headers_find_each_other_where_they_were_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let makefile = folder.path().join("Makefile");
        fs::write(&makefile, "include /usr/src/linux-headers-1-common/Makefile\n").unwrap();
        relocate(&makefile, Path::new("/tmp/x")).unwrap();
        let text = fs::read_to_string(&makefile).unwrap();
        assert_eq!(text, "include /tmp/x/usr/src/linux-headers-1-common/Makefile\n");
    }
}
