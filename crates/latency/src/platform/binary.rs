//! The file of `qcprobe`: it lies beside `qcycle`, and is a static program wherever it is to run in
//! a container, in a guest or on another machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::Refusal;
use os::elf;

/// Names the file, for those who keep it elsewhere.
const VARIABLE: &str = "QCYCLE_PROBE";
const NAME: &str = "qcprobe";
const WAY_OUT: &str = "build it with `make probe`";

/// The program that is carried to where a cell is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binary {
    path: PathBuf,
    is_static: bool,
}

impl Binary {
    /// Looks for it: in `QCYCLE_PROBE`, beside this program, and where `make probe` puts it. A static
    /// one is preferred.
    ///
    /// # Errors
    /// Where it was looked for, and how to get it.
    pub fn find() -> Result<Self> {
        let own = env::current_exe().context("this program does not know its own file")?;
        Self::find_from(&own, env::var_os(VARIABLE))
    }

    fn find_from(own: &Path, named: Option<OsString>) -> Result<Self> {
        let places = match named {
            Some(path) => vec![PathBuf::from(path)],
            None => places(own),
        };
        let found = places.iter().filter_map(|path| Self::at(path));
        found.min_by_key(|binary| !binary.is_static).with_context(|| {
            let places: Vec<String> =
                places.iter().map(|path| path.display().to_string()).collect();
            format!("there is no {NAME} in {}; {WAY_OUT}", places.join(" or "))
        })
    }

    /// The one that lies there; `None` if it is no program.
    pub fn at(path: &Path) -> Option<Self> {
        let octets = std::fs::read(path).ok()?;
        let is_static = !elf::needs_loader(&octets)?;
        Some(Self { path: path.to_owned(), is_static })
    }

    /// Where it lies, static or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it lies, if it needs nothing of a system but its kernel.
    pub fn static_path(&self) -> Result<&Path, Refusal> {
        if self.is_static {
            return Ok(&self.path);
        }
        let reason = format!("{} is not a static program", self.path.display());
        Err(Refusal::missing(reason, WAY_OUT))
    }
}

/// Beside this program, and below the folder of the target for static programs: Cargo puts those of
/// other targets into a folder of their own.
fn places(own: &Path) -> Vec<PathBuf> {
    let beside = own.parent().unwrap_or(Path::new("/"));
    let target = format!("{}-unknown-linux-musl", env::consts::ARCH);
    let built = beside.parent().map(|folder| folder.join(target).join("release").join(NAME));
    [Some(beside.join(NAME)), built].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest file of 64 bits that says whether it wants a loader: a head, and one entry.
    fn program(entry: u32) -> Vec<u8> {
        let mut octets = vec![0; 64 + 56];
        octets[..5].copy_from_slice(b"\x7fELF\x02");
        octets[32] = 64;
        octets[54] = 56;
        octets[56] = 1;
        octets[64..68].copy_from_slice(&entry.to_le_bytes());
        octets
    }

    #[test]
    fn a_static_one_is_preferred_and_a_missing_one_is_reported_with_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("release/qcycle");
        let musl = format!("{}-unknown-linux-musl/release", env::consts::ARCH);
        std::fs::create_dir(folder.path().join("release")).unwrap();
        std::fs::create_dir_all(folder.path().join(&musl)).unwrap();
        let error = Binary::find_from(&own, None).unwrap_err().to_string();
        assert!(error.contains("release/qcprobe") && error.contains("make probe"), "{error}");

        std::fs::write(folder.path().join("release/qcprobe"), program(3)).unwrap();
        let dynamic = Binary::find_from(&own, None).unwrap();
        assert!(dynamic.path().ends_with("release/qcprobe"));
        assert!(matches!(dynamic.static_path(), Err(Refusal::NotMeasured(_))));

        std::fs::write(folder.path().join(musl).join("qcprobe"), program(1)).unwrap();
        let found = Binary::find_from(&own, None).unwrap();
        assert!(found.static_path().unwrap().to_string_lossy().contains("musl"));
        assert!(Binary::find_from(&own, Some("/nowhere".into())).is_err());
    }
}
