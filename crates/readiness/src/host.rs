//! The host that is checked: this one, or in tests a folder with the files that matter.

pub(super) use probe::Host;

/// Files of a host for tests.
#[cfg(test)]
pub(super) fn with(files: &[(&str, &str)]) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let host = Host::below(root.path());
    (root, host)
}
