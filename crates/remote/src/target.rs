//! How a machine is reached: the same options wherever settings name one.

use std::path::{Path, PathBuf};

use settings::Fault;
use settings::cursor::Mapping;
use settings::problems::quoted;
use settings::table::{Key, Need, Shape, key};

/// A machine that ssh(1) reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// As ssh(1) knows it: `name` or `user@name`.
    pub destination: String,
    /// Of its ssh server.
    pub port: Option<u16>,
    pub identity: Option<PathBuf>,
    /// Configuration of ssh(1), instead of the user's.
    pub config: Option<PathBuf>,
    /// Where a program is put while it runs.
    pub folder: String,
}

/// Port of the ssh server.
pub const PORT: Key =
    key("port", Shape::Whole { min: 1, max: 65_535 }, Need::Optional, "port of its ssh server");
/// The file of the key that proves who asks.
pub const IDENTITY: Key = key("identity", Shape::File, Need::Optional, "file of the private key");
/// Another configuration of ssh(1).
pub const CONFIG: Key =
    key("config", Shape::File, Need::Optional, "configuration of ssh(1), instead of the user's");

impl Target {
    /// Reads one, of which `destination` is the key of what ssh(1) is called with, where files count from
    /// `directory`. What is wrong is reported where it stands.
    pub fn read(options: &Mapping<'_>, destination: &str, directory: &Path) -> Option<Self> {
        let destination = options.parse(destination, |text| {
            // Such a word would be an option of ssh, and run what it likes here.
            if text.is_empty() || text.starts_with('-') || text.contains(char::is_whitespace) {
                let what = format!("{} is not a host name", quoted(text));
                return Err(Fault::new(what, "write it as `name` or `user@name`"));
            }
            Ok(text.to_owned())
        });
        let folder = options.parse("folder", |text| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.');
            if !text.starts_with('/') || !text.chars().all(plain) {
                let what = format!("{} is not a plain absolute path", quoted(text));
                return Err(Fault::new(what, "write it as `/tmp`"));
            }
            Ok(text.to_owned())
        });
        let port = options.whole(PORT.name).and_then(|port| u16::try_from(port.value).ok());
        let file = |key: &Key| {
            // Absolute, since settings are written into the folder of the run.
            let path = directory.join(PathBuf::from(options.text(key.name)?.value));
            Some(std::path::absolute(&path).unwrap_or(path))
        };
        Some(Self {
            destination: destination?.value,
            port,
            identity: file(&IDENTITY),
            config: file(&CONFIG),
            folder: folder?.value,
        })
    }
}
