//! A share of the processor's last cache for the threads that must be in time: programs on other
//! cores throw out what they hold there (resctrl, `Documentation/arch/x86/resctrl.rst` of the kernel;
//! Intel's CAT, AMD's, MPAM of Arm).
//!
//! The group is made by the owner of the host, who alone can say what others may keep; the relay's
//! threads only join it. So nothing is left on the host however the relay ends.

use std::fs::{OpenOptions, read_to_string};
use std::io::{self, Write};
use std::path::Path;

/// Where the kernel shows groups, once that is mounted.
pub(crate) const GROUPS: &str = "/sys/fs/resctrl";

/// Has the calling thread join a group below `groups`; answers what stands in the way, with the way
/// out.
pub(crate) fn join(groups: &Path, group: &str) -> Option<String> {
    let folder = groups.join(group);
    let shown = folder.display();
    if !groups.join("info").exists() {
        return Some(format!(
            "cache group {group}: there are no groups in {}: mount -t resctrl resctrl {0}, on a \
             processor that can partition its cache",
            groups.display()
        ));
    }
    if !folder.exists() {
        return Some(format!(
            "cache group {group} does not exist: mkdir {shown}, and give it a share in \
             {shown}/schemata"
        ));
    }
    // The kernel takes 0 for the thread that writes it.
    if let Err(error) = write(&folder.join("tasks"), "0") {
        return Some(format!(
            "cache group {group} cannot be joined ({error}): give write access to {shown}/tasks"
        ));
    }
    let mode = read_to_string(folder.join("mode")).unwrap_or_default();
    (mode.trim() == "shareable").then(|| {
        format!(
            "cache group {group} overlaps with others: remove its share from theirs in schemata, \
             then echo exclusive > {shown}/mode"
        )
    })
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, write};

    #[test]
    fn a_thread_joins_a_group_that_is_there_and_says_what_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let groups = folder.path();
        let said = || join(groups, "relay").unwrap_or_default();
        assert!(said().contains("mount -t resctrl"), "{}", said());
        create_dir(groups.join("info")).expect("it is made");
        assert!(said().contains("does not exist: mkdir"), "{}", said());
        create_dir(groups.join("relay")).expect("it is made");
        assert!(said().contains("cannot be joined"), "{}", said());
        let tasks = groups.join("relay/tasks");
        write(&tasks, "").expect("it is written");
        write(groups.join("relay/mode"), "shareable\n").expect("it is written");
        assert!(said().contains("echo exclusive"), "{}", said());
        write(groups.join("relay/mode"), "exclusive\n").expect("it is written");
        assert_eq!(join(groups, "relay"), None);
        assert_eq!(read_to_string(tasks).expect("it is read"), "0");
    }
}
