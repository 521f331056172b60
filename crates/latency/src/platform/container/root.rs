//! The root file system of a container: the probe, and places to mount on.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The probe in it.
pub(super) const PROBE: &str = "qcprobe";
/// The device that keeps processors awake.
pub(super) const AWAKE: &str = "/dev/cpu_dma_latency";

/// On which the container mounts what each has.
const PLACES: [&str; 4] = ["proc", "dev", "sys", "tmp"];
/// Where the programs of a host are, with their libraries and settings.
const PROGRAMS: [&str; 8] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc"];

/// Makes it, and returns which folders of this host are to be shown in it, read-only, under the same
/// path.
pub(super) fn make(root: &Path, probe: &Path, programs: bool) -> Result<Vec<PathBuf>> {
    let wrong = |path: &Path| format!("cannot make {}", path.display());
    let make = |path: &Path| {
        DirBuilder::new().recursive(true).mode(0o755).create(path).with_context(|| wrong(path))
    };
    make(root)?;
    for place in PLACES {
        make(&root.join(place))?;
    }
    let target = root.join(PROBE);
    fs::copy(probe, &target).with_context(|| wrong(&target))?;
    fs::set_permissions(&target, fs::Permissions::from_mode(0o755))
        .with_context(|| wrong(&target))?;
    let mut binds = Vec::new();
    for name in PROGRAMS.iter().filter(|_| programs) {
        let (host, place) = (Path::new("/").join(name), root.join(name));
        // Most hosts have everything in /usr, and links to that.
        if let Ok(leads_to) = fs::read_link(&host) {
            symlink(leads_to, &place).with_context(|| wrong(&place))?;
        } else if host.is_dir() {
            make(&place)?;
            binds.push(host);
        }
    }
    Ok(binds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_loads_there_is_the_probe_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let probe = folder.path().join("binary");
        fs::write(&probe, "x").unwrap();
        let names = |programs: bool| {
            let root = folder.path().join(format!("root-{programs}"));
            let binds = make(&root, &probe, programs).unwrap();
            let entries = fs::read_dir(root).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            (names, binds)
        };
        let (found, binds) = names(false);
        assert_eq!(
            (found, binds.len()),
            (["dev", "proc", "qcprobe", "sys", "tmp"].map(str::to_owned).into(), 0)
        );
        let (found, binds) = names(true);
        assert!(found.contains(&"usr".to_owned()) && binds.contains(&PathBuf::from("/usr")));
    }
}
