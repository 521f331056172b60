//! From files of keys to what a party runs on. The root secrets of a relay node are in memory for
//! this moment only: they certify new working keys, and are wiped.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use quorum::certificate::Keyring;
use quorum::channel::Channels;
use quorum::keys::{Membership, RootSecrets, Secret, Working};
use quorum::{NodeId, Party};
use substation::settings::quorum::Quorum;
use zeroize::{Zeroize as _, Zeroizing};

use crate::program::{self, bad_input};

/// What a party is made of before it runs.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) membership: Membership,
    root: RootSecrets,
}

impl Identity {
    /// Reads membership and keys, whose paths are relative to `folder`.
    pub(crate) fn read(quorum: &Quorum, folder: &Path) -> Result<Self> {
        let path = folder.join(&quorum.membership);
        let membership = membership(&path)?;
        let path = folder.join(&quorum.keys);
        let root = secrets(&path)?;
        if let Some(misfit) = root.misfit(&membership) {
            let (one, other) = (&quorum.membership, path.display());
            return Err(bad_input(format!("{one} and {other}: {misfit}")));
        }
        Ok(Self { membership, root })
    }

    /// The relay node that it is of.
    pub(crate) fn node(&self, quorum: &Quorum) -> Result<NodeId> {
        match self.root.party {
            Party::Relay(node) => Ok(node),
            Party::Breaker => {
                let what = "these are keys of the breaker node; give `keys` those of a relay node";
                Err(bad_input(format!("{}: {what}", quorum.keys)))
            }
        }
    }

    /// Working keys of a relay node, numbered `counter`; the root secrets are gone afterwards.
    pub(crate) fn born(self, counter: u64) -> Result<(Membership, Channels, Keyring)> {
        let working = Working::born(&self.root, &self.membership, counter, &seed()?);
        self.working(working)
    }

    /// What the breaker node runs on.
    pub(crate) fn of_breaker(self, quorum: &Quorum) -> Result<(Membership, Channels, Keyring)> {
        if self.root.party != Party::Breaker {
            let what = "these are keys of a relay node; give `keys` those of the breaker node";
            return Err(bad_input(format!("{}: {what}", quorum.keys)));
        }
        let working = Working::of_breaker(&self.root, &self.membership);
        self.working(working)
    }

    fn working(self, working: Option<Working>) -> Result<(Membership, Channels, Keyring)> {
        let Self { membership, root } = self;
        let unusable = || bad_input("the membership has an invalid key; generate the keys again");
        let working = working.ok_or_else(unusable)?;
        let keyring = Keyring::new(&membership, &working, root.share.as_ref());
        let keyring = keyring.map_err(|_| unusable())?;
        let channels = Channels::new(working, &membership);
        Ok((membership, channels, keyring))
    }
}

/// Octets of a membership that are read; one has some thousand.
const MEMBERSHIP_OCTETS_MAX: u64 = 1 << 20;

pub(crate) fn membership(path: &Path) -> Result<Membership> {
    let text = program::text(path, MEMBERSHIP_OCTETS_MAX)?;
    Membership::read(&text).map_err(|error| bad_input(format!("{}: {error}", path.display())))
}

/// Reads a file of secrets, which nobody else may be able to read.
pub(crate) fn secrets(path: &Path) -> Result<RootSecrets> {
    let place = || path.display().to_string();
    let mut file = File::open(path).map_err(|error| program::unreadable(path, &error))?;
    let metadata = file.metadata().with_context(place)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        bail!(
            "{}: other users can read these secrets: fix with `chmod 600`, or generate the keys \
             again",
            place()
        );
    }
    // Never grows, so that no part of it is left behind elsewhere.
    let mut text = Zeroizing::new(String::with_capacity(metadata.len() as usize + 1));
    file.read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            let what = "these are not secrets; use the file as `qcrelay keys` wrote it";
            bad_input(format!("{}: {what}", place()))
        }
        _ => program::unreadable(path, &error),
    })?;
    RootSecrets::read(&text).map_err(|error| bad_input(format!("{}: {error}", place())))
}

/// Octets from the kernel, for one use.
pub(crate) fn seed() -> Result<Secret> {
    let mut octets = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut octets))
        .context("/dev/urandom cannot be read, so no key can be made")?;
    let seed = Secret::new(octets);
    octets.zeroize();
    Ok(seed)
}
