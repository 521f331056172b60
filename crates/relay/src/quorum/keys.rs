//! `qcrelay keys`: all keys of a station as files, one for everybody and one for each party.
//!
//! The host that runs it knows all secrets for a moment. So it is done where none of the parties is, and
//! each file of secrets is carried to its party and removed.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use quorum::dealer::generate;
use quorum::wire::CertificateKind;
use quorum::{BreakerId, Epoch, Party, StationId};

use super::birth::{membership, secrets, seed};
use crate::program::{usage, whole};

/// The file that all parties have in common.
pub(crate) const MEMBERSHIP: &str = "membership";

/// Arguments of `qcrelay keys`.
#[derive(Clone, Debug, Args)]
pub(crate) struct KeysRequest {
    /// Folder for the files
    folder: PathBuf,
    /// Number of the station
    #[arg(long, value_parser = whole::<u32>(0, u32::MAX.into()))]
    pub(crate) station: u32,
    /// Number of the breaker in it
    #[arg(long, default_value_t = 1, value_parser = whole::<u16>(0, u16::MAX.into()))]
    pub(crate) breaker: u16,
    /// Key epoch, above that of the replaced keys [default: the one after it, or 1]
    #[arg(long, value_parser = whole::<u32>(0, u32::MAX.into()))]
    epoch: Option<u32>,
    /// Kind of certificates of the Peer Protocol
    #[arg(long, value_enum, default_value_t = Certificate::TwoSignatures)]
    certificate: Certificate,
    /// Replace existing keys
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Certificate {
    /// Two signatures (Ed25519); the breaker node knows the keys of all nodes
    TwoSignatures,
    /// One signature that two nodes make together (FROST, RFC 9591)
    Frost,
    /// One signature combined of two shares (threshold BLS)
    Bls,
}

impl From<Certificate> for CertificateKind {
    fn from(certificate: Certificate) -> Self {
        match certificate {
            Certificate::TwoSignatures => Self::TwoSignatures,
            Certificate::Frost => Self::Frost,
            Certificate::Bls => Self::Bls,
        }
    }
}

pub(crate) fn file_of(party: Party) -> String {
    match party {
        Party::Relay(node) => format!("node-{}.secret", node.number()),
        Party::Breaker => "breaker.secret".into(),
    }
}

impl KeysRequest {
    /// Makes the keys of a station; answers the epoch and the files.
    pub(crate) fn make(&self) -> Result<(Epoch, Vec<PathBuf>)> {
        let folder = &self.folder;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| folder.display().to_string())?;
        let names = [MEMBERSHIP.to_owned()].into_iter().chain(Party::ALL.map(file_of));
        let paths: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
        if !self.force
            && let Some(path) = paths.iter().find(|path| path.exists())
        {
            bail!(
                "{} already exists: use a different folder, or replace all keys of the station with \
                 --force",
                path.display()
            );
        }
        let epoch = self.epoch(&paths)?;
        let (station, breaker) = (StationId(self.station), BreakerId(self.breaker));
        let station = generate(station, epoch, breaker, self.certificate.into(), &seed()?);
        // The membership last: a party that finds it finds all.
        for (path, secrets) in paths[1..].iter().zip(&station.secrets) {
            write(path, secrets.text().as_bytes(), 0o600)?;
        }
        write(&paths[0], station.membership.to_string().as_bytes(), 0o644)?;
        File::open(folder).and_then(|folder| folder.sync_all()).context("writing keys to disk")?;
        Ok((epoch, paths))
    }

    /// The epoch of the new keys, above that of all that they replace: what was signed in an epoch
    /// that comes again would be valid again.
    fn epoch(&self, paths: &[PathBuf]) -> Result<Epoch> {
        let known = paths.iter().filter_map(|path| epoch_of(path));
        let Some(asked) = self.epoch else {
            let known = known.collect::<Result<Vec<_>>>();
            let highest =
                known.context("these keys are to be replaced; give --epoch, above theirs")?;
            let highest = highest.into_iter().max().unwrap_or(Epoch(0));
            return highest.0.checked_add(1).map(Epoch).ok_or_else(|| {
                usage("there is no epoch after that of these keys; use a different folder and station")
            });
        };
        match known.filter_map(Result::ok).max() {
            Some(highest) if asked <= highest.0 => Err(usage(format!(
                "--epoch {asked} is not above epoch {} of the keys that it replaces; give a larger \
                 one, or leave --epoch out",
                highest.0
            ))),
            _ => Ok(Epoch(asked)),
        }
    }
}

/// The epoch of the keys in a file; none if it is not there.
fn epoch_of(path: &Path) -> Option<Result<Epoch>> {
    path.exists().then(|| {
        if path.ends_with(MEMBERSHIP) {
            Ok(membership(path)?.epoch)
        } else {
            Ok(secrets(path)?.epoch)
        }
    })
}

/// Writes a file beside its place and moves it there, so that it is whole or not there at all.
fn write(path: &Path, octets: &[u8], mode: u32) -> Result<()> {
    let beside = path.with_extension("new");
    let write = || -> std::io::Result<()> {
        // What a run that was killed left behind.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        file.write_all(octets)?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn wanted(folder: &Path) -> KeysRequest {
        KeysRequest {
            folder: folder.to_owned(),
            station: 7,
            breaker: 1,
            epoch: None,
            certificate: Certificate::TwoSignatures,
            force: false,
        }
    }

    #[test]
    fn keys_fit_together_and_nobody_else_can_read_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let wanted = wanted(&folder.path().join("keys"));
        let (epoch, paths) = wanted.make().expect("keys");
        assert_eq!((epoch, paths.len()), (Epoch(1), 6));
        let membership = membership(&paths[0]).expect("a membership");
        for (path, party) in paths[1..].iter().zip(Party::ALL) {
            let mode = path.metadata().expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            let root = secrets(path).expect("secrets");
            assert_eq!((root.party, root.misfit(&membership)), (party, None));
            fs::set_permissions(path, fs::Permissions::from_mode(0o640)).expect("a mode");
            let refused = secrets(path).expect_err("others may read it").to_string();
            assert!(refused.contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn keys_are_replaced_only_by_force_and_then_of_the_next_epoch() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut wanted = wanted(folder.path());
        wanted.make().expect("keys");
        let before = fs::read(folder.path().join("node-2.secret")).expect("secrets");
        let refused = wanted.make().expect_err("they are there").to_string();
        assert!(refused.contains("--force"), "{refused}");
        assert_eq!(fs::read(folder.path().join("node-2.secret")).expect("secrets"), before);
        wanted.force = true;
        assert_eq!(wanted.make().expect("keys").0, Epoch(2));
        for epoch in [1, 2] {
            wanted.epoch = Some(epoch);
            let refused = wanted.make().expect_err("epoch 2 is there").to_string();
            assert!(refused.contains("is not above epoch 2 of the keys"), "{refused}");
        }
        wanted.epoch = Some(9);
        assert_eq!(wanted.make().expect("keys").0, Epoch(9));
        fs::remove_file(folder.path().join(MEMBERSHIP)).expect("it is there");
        wanted.epoch = None;
        assert_eq!(wanted.make().expect("keys").0, Epoch(10), "secrets have their epoch too");
    }
}
