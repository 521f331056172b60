//! Archives in the format that the kernel unpacks as its first file system: cpio, "newc".
//!
//! The same entries give the same octets: times are zero, everything belongs to root, and inodes
//! are counted. So two guests with the same order start from the same memory, without which no
//! two runs of a deterministic guest would be equal. Archives may follow one another in one file;
//! the kernel unpacks them all, later ones over earlier ones.
//!
//! `Documentation/driver-api/early-userspace/buffer-format.rst` of the kernel, cpio(5).

use std::collections::BTreeSet;

/// What everything in an archive is aligned to.
const ALIGNMENT: usize = 4;
const TRAILER: &str = "TRAILER!!!";

const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive in the making.
#[derive(Debug, Default)]
pub(crate) struct Archive {
    octets: Vec<u8>,
    entries: u32,
    folders: BTreeSet<String>,
}

impl Archive {
    /// Adds a folder and those that it is in, unless they are there.
    ///
    /// # Panics
    /// If the path is not absolute, as with all paths here.
    pub(crate) fn folder(&mut self, path: &str) {
        assert!(path.starts_with('/'), "{path} is absolute");
        for end in path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]) {
            let folder = &path[..end];
            if end > 1 && self.folders.insert(folder.to_owned()) {
                self.entry(folder, FOLDER, (0, 0), &[]);
            }
        }
    }

    /// Adds a file that may be executed, in its folder.
    pub(crate) fn file(&mut self, path: &str, content: &[u8]) {
        self.parent(path);
        self.entry(path, PROGRAM, (0, 0), content);
    }

    /// Adds a character device with its major and minor number, in its folder.
    pub(crate) fn character_device(&mut self, path: &str, numbers: (u32, u32)) {
        self.parent(path);
        self.entry(path, CHARACTER_DEVICE, numbers, &[]);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, (0, 0), &[]);
        self.octets
    }

    fn parent(&mut self, path: &str) {
        if let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) {
            self.folder(folder);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.entries += 1;
        let name = path.trim_start_matches('/');
        let size = u32::try_from(content.len()).expect("files of a guest are far below 4 GiB");
        let name_size = u32::try_from(name.len() + 1).expect("a path is short");
        let inode = if name == TRAILER { 0 } else { self.entries };
        let fields = [
            inode,
            mode,
            0, // user
            0, // group
            if mode == FOLDER { 2 } else { 1 },
            0, // time of the last change
            size,
            0, // of the device that holds it
            0,
            device.0,
            device.1,
            name_size,
            0, // the checksum that this format has no use for
        ];
        self.octets.extend_from_slice(b"070701");
        for field in fields {
            self.octets.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.octets.extend_from_slice(name.as_bytes());
        self.octets.push(0);
        self.pad();
        self.octets.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        let length = self.octets.len().next_multiple_of(ALIGNMENT);
        self.octets.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    fn example() -> Vec<u8> {
        let mut archive = Archive::default();
        archive.file("/init", b"#!");
        archive.file("/lib/modules/odd.ko", &[7; 13]);
        archive.file("/lib/modules/even.ko", &[8; 16]);
        archive.character_device("/dev/console", (5, 1));
        archive.folder("/proc");
        archive.finish()
    }

    #[test]
    fn the_same_entries_give_the_same_octets() {
        assert_eq!(example(), example());
        assert_eq!(example().len() % ALIGNMENT, 0);
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_once() {
        let octets = example();
        let text = String::from_utf8_lossy(&octets);
        let at = |name: &str| text.find(name).expect(name);
        assert!(at("lib\0") < at("lib/modules\0") && at("lib/modules\0") < at("odd.ko"));
        assert_eq!(text.matches("lib/modules\0").count(), 1);
    }

    #[test]
    fn cpio_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let spawned = Command::new("cpio")
            .args(["--quiet", "--extract", "--make-directories"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .spawn();
        let Ok(mut cpio) = spawned else {
            println!("not measured: there is no cpio here (package cpio)");
            return;
        };
        // Without the device, which only root may make.
        let mut archive = Archive::default();
        archive.file("/init", b"#!");
        archive.file("/lib/modules/odd.ko", &[7; 13]);
        cpio.stdin.take().unwrap().write_all(&archive.finish()).unwrap();
        assert!(cpio.wait().unwrap().success());
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!((read("init"), read("lib/modules/odd.ko")), (b"#!".to_vec(), vec![7; 13]));
    }
}
