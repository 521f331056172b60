//! The captures in `tests/data`, frame by frame; for tests of other crates too.

use std::path::{Path, PathBuf};

/// The folder of the captures.
pub(crate) fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../iec61850/tests/data")
}

/// The frames of a capture file (libpcap 2.4, either order of octets).
pub(crate) fn frames(path: &Path) -> Vec<Vec<u8>> {
    let octets = std::fs::read(path).expect("the capture is in the repository");
    let number = match octets[..4] {
        [0xd4, 0xc3, 0xb2, 0xa1] => u32::from_le_bytes,
        [0xa1, 0xb2, 0xc3, 0xd4] => u32::from_be_bytes,
        _ => panic!("{} is no capture", path.display()),
    };
    let mut rest = &octets[24..];
    let mut frames = Vec::new();
    while let Some((record, body)) = rest.split_at_checked(16) {
        let length = number(record[8..12].try_into().expect("four octets")) as usize;
        frames.push(body[..length].to_vec());
        rest = &body[length..];
    }
    frames
}

/// The frames of a capture by its name in `tests/data`.
pub(crate) fn capture(name: &str) -> Vec<Vec<u8>> {
    frames(&data().join(name))
}
