//! Files that others may have laid: only what is a regular file is read. A FIFO keeps a process that opens it
//! waiting until somebody writes, a device for ever, and both until nobody can end it any more.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Opens a file for reading, without waiting. open(2)
///
/// # Errors
/// What open(2) reports, and `InvalidInput` for what is no regular file.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

/// Reads a file, as long as it is when it is opened: those of `/proc` that last for ever are empty.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut octets = Vec::new();
    let length = file.metadata()?.len();
    file.take(length).read_to_end(&mut octets)?;
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        for path in [&fifo, Path::new("/dev/zero"), folder.path()] {
            let error = open(path).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
        }
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(read(&file).unwrap(), b"text");
        assert_eq!(open(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Reading this one waits for the kernel's next message, and takes it from others.
    #[test]
    fn what_says_to_be_empty_is_not_read() {
        assert_eq!(read(Path::new("/proc/self/status")).unwrap(), b"");
    }
}
