//! Files and programs that a scenario names, found before anything starts.
//!
//! Paths count from the folder of the scenario. A program is looked for as a shell would, but
//! in that folder first, so that a scenario can bring its own. Symbolic links stay as they are:
//! the `python3` of a virtual environment is a link that finds its libraries by its own path.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::script;
use settings::problems::{Fault, quoted};
use settings::suggest;

/// Where files and programs are looked for.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// The folder of the scenario, absolute.
    pub(super) directory: PathBuf,
    /// The folder of the scenario as the user gave it, for reports.
    pub(super) directory_shown: PathBuf,
    /// Folders with programs, in the order in which they are searched.
    pub(super) search: Vec<PathBuf>,
}

impl Places {
    /// The file that `text` names, absolute, if it can be read.
    pub(super) fn file(&self, text: &str) -> Result<PathBuf, Fault> {
        let path = self.directory.join(text);
        let fault = |reason: String| {
            let what = format!("the file {} {reason}", quoted(text));
            Fault::new(what, self.fix_of_missing(text))
        };
        match path.metadata() {
            Ok(found) if found.is_dir() => Err(fault("is a folder".into())),
            Ok(found) if !found.is_file() => Err(fault("is not a regular file".into())),
            Ok(_) => match File::open(&path) {
                Ok(_) => Ok(path),
                Err(error) => Err(fault(format!("cannot be read ({error})"))),
            },
            Err(_) => Err(fault("is not there".into())),
        }
    }

    /// How reports call the file that `text` names.
    pub(super) fn shown(&self, text: &str) -> PathBuf {
        self.directory_shown.join(text)
    }

    /// The program that `text` names, absolute, if it can be executed.
    pub(super) fn program(&self, text: &str) -> Result<PathBuf, Fault> {
        let found = self.executable(text)?;
        script::check(&found, text, &self.search)?;
        Ok(found)
    }

    fn executable(&self, text: &str) -> Result<PathBuf, Fault> {
        let beside = self.directory.join(text);
        if text.contains('/') || beside.is_file() {
            return match executable(&beside) {
                Some(true) => Ok(beside),
                Some(false) => {
                    let what = format!("the program {} is not executable", quoted(text));
                    let fix = "make it executable with `chmod +x`, or run its interpreter";
                    Err(Fault::new(what, fix))
                }
                None => {
                    let what = format!("the program {} does not exist", quoted(text));
                    Err(Fault::new(what, self.fix_of_missing(text)))
                }
            };
        }
        let mut found = self.search.iter().map(|folder| folder.join(text));
        found.find(|path| executable(path) == Some(true)).ok_or_else(|| {
            let program = quoted(text);
            let what =
                format!("there is no program {program} in the folder of the scenario or on PATH");
            Fault::new(what, "install it, or give its path")
        })
    }

    /// A file of a similar name in the same folder, or where paths count from.
    fn fix_of_missing(&self, text: &str) -> String {
        let path = self.directory.join(text);
        let folder = path.parent().and_then(|folder| folder.read_dir().ok());
        let mut names: Vec<String> = folder
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        let written = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match suggest::nearest(written, names.iter().map(String::as_str)) {
            Some(name) if name != written => format!("did you mean {}?", quoted(name)),
            _ => "give a path relative to the folder of the scenario".into(),
        }
    }
}

/// The program that a scenario names, absolute: a path if it contains `/`, otherwise a file in `directory` or in a
/// folder of `path`, which is as in `PATH`.
///
/// # Errors
/// What is wrong with it, and the fix.
pub fn find_program(directory: &Path, path: &OsStr, text: &str) -> Result<PathBuf, Fault> {
    let places = Places {
        directory: directory.to_owned(),
        directory_shown: directory.to_owned(),
        search: std::env::split_paths(path).map(|folder| directory.join(folder)).collect(),
    };
    places.program(text)
}

/// Whether a file may be executed; `None` if there is no such file.
fn executable(path: &Path) -> Option<bool> {
    let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn put(path: &Path, mode: u32) {
        fs::write(path, "x").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_are_found_beside_the_scenario_then_on_the_path() {
        let root = tempfile::tempdir().unwrap();
        let (directory, bin) = (root.path().join("case"), root.path().join("bin"));
        fs::create_dir_all(directory.join("tools")).unwrap();
        fs::create_dir(&bin).unwrap();
        put(&bin.join("relay"), 0o755);
        put(&bin.join("own"), 0o755);
        put(&bin.join("data"), 0o644);
        put(&directory.join("own"), 0o755);
        put(&directory.join("plain"), 0o644);
        put(&directory.join("tools/probe"), 0o755);
        let (search, directory_shown) = (vec![bin.clone()], "case".into());
        let places = Places { directory: directory.clone(), directory_shown, search };
        assert_eq!(places.program("relay").unwrap(), bin.join("relay"));
        assert_eq!(places.program("own").unwrap(), directory.join("own"));
        assert_eq!(places.program("tools/probe").unwrap(), directory.join("tools/probe"));
        assert!(places.program("plain").unwrap_err().fix.contains("chmod"));
        assert_eq!(places.program("tools/prob").unwrap_err().fix, "did you mean `probe`?");
        for missing in ["data", "tools", "./relay", "x\0y", ""] {
            assert!(places.program(missing).is_err(), "{missing}");
        }
    }
}
