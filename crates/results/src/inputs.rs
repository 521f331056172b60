//! The files that a run was made of. Who has them with the same hashes can run it again.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A file that a run was made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Input {
    /// Where it was, absolute.
    pub file: String,
    pub role: Role,
    /// SHA-256 of its octets, in hexadecimal, as `sha256sum` prints it; absent if it could not be read.
    pub sha256: Option<String>,
    pub octets: u64,
    /// Its copy in the folder of the run, if copies were asked for.
    #[serde(default)]
    pub copy: Option<String>,
}

/// What a file is to the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Scenario,
    /// The circuit, or what it redirects to or reads.
    Circuit,
    /// Values that drive the plant.
    Data,
    /// A program, or what interprets it.
    Program,
    /// An argument of a program that is the name of a file.
    Argument,
}

impl Input {
    /// A file with its hash and length, as far as they could be found.
    pub fn of(file: &Path, role: Role, hash: std::io::Result<(String, u64)>) -> Self {
        let (sha256, octets) = hash.map_or((None, 0), |(hash, octets)| (Some(hash), octets));
        Self { file: file.display().to_string(), role, sha256, octets, copy: None }
    }
}
