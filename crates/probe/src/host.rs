//! The files in which a host describes itself, below a root that tests can choose.

use std::path::{Path, PathBuf};

/// A tree with `/proc` and `/sys` in it.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    /// The machine that this runs on.
    pub fn this() -> Self {
        Self::below(Path::new("/"))
    }

    /// A machine that the files below a folder describe.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file without the white space round it; `None` if it cannot be read.
    pub fn text(&self, path: &str) -> Option<String> {
        let octets = self.octets(path)?;
        Some(String::from_utf8_lossy(&octets).trim().to_owned())
    }

    /// The number in a file.
    pub fn number(&self, path: &str) -> Option<i64> {
        self.text(path)?.parse().ok()
    }

    /// What is in a file.
    pub fn octets(&self, path: &str) -> Option<Vec<u8>> {
        std::fs::read(self.path(path)).ok()
    }

    /// Whether there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, in order; none if there is no such folder.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// The word of a kernel line, without its `=`: `isolcpus=1` gives `1`, `nosmt` gives ``.
    pub fn boot_option(&self, name: &str) -> Option<String> {
        let line = self.text("/proc/cmdline")?;
        let found = line.split_whitespace().rev().find_map(|word| {
            let rest = word.strip_prefix(name)?;
            rest.strip_prefix('=').or((rest.is_empty()).then_some(""))
        });
        found.map(str::to_owned)
    }

    /// The names of all processes, one for each.
    pub fn processes(&self) -> Vec<String> {
        let is_process = |name: &String| name.bytes().all(|octet| octet.is_ascii_digit());
        self.names("/proc")
            .into_iter()
            .filter(is_process)
            .filter_map(|pid| self.text(&format!("/proc/{pid}/comm")))
            .collect()
    }

    /// Where the control group of this process lies, for a controller of version 1 or, as ``, for
    /// version 2.
    pub fn control_group(&self, controller: &str) -> Option<String> {
        let groups = self.text("/proc/self/cgroup")?;
        let path = groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            controllers.split(',').any(|named| named == controller).then(|| path.to_owned())
        })?;
        let path = path.trim_end_matches('/');
        let mounts: &[&str] = match controller {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ => &[&format!("/sys/fs/cgroup/{controller}"), "/sys/fs/cgroup/cpu,cpuacct"],
        };
        // In a container the group is often mounted as the root.
        let folders =
            mounts.iter().flat_map(|mount| [format!("{mount}{path}"), (*mount).to_owned()]);
        folders.into_iter().find(|folder| self.exists(&format!("{folder}/cgroup.procs")))
    }
}

/// Files of a host for tests.
#[cfg(test)]
pub(crate) fn with(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let host = Host::below(root.path());
    (root, host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_kernel_line_counts() {
        let line = "quiet isolcpus=1 nosmt isolcpus=2,3 isolcpusish=4\n";
        let (_root, host) = with(&[("/proc/cmdline", line)]);
        assert_eq!(host.boot_option("isolcpus").as_deref(), Some("2,3"));
        assert_eq!(host.boot_option("nosmt").as_deref(), Some(""));
        assert_eq!(host.boot_option("nohz_full"), None);
    }

    #[test]
    fn processes_are_named() {
        let (_root, host) = with(&[
            ("/proc/12/comm", "ptp4l\n"),
            ("/proc/7/comm", "irqbalance\n"),
            ("/proc/sys/x", ""),
        ]);
        assert_eq!(host.processes(), ["ptp4l", "irqbalance"]);
    }
}
