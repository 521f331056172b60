//! From files of keys to what a party runs on. The root secrets of a relay node are in memory for
//! this moment only: they certify new working keys, and are wiped.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use quorum::certificate::Keyring;
use quorum::channel::Channels;
use quorum::keys::{Membership, RootSecrets, Secret, Working};
use quorum::{NodeId, Party};
use substation::settings::quorum::Quorum;
use zeroize::{Zeroize as _, Zeroizing};

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
        let place = || path.display().to_string();
        let text = fs::read_to_string(&path).with_context(place)?;
        let membership = Membership::read(&text).with_context(place)?;
        let path = folder.join(&quorum.keys);
        let root = secrets(&path)?;
        if let Some(misfit) = root.misfit(&membership) {
            bail!("{} and {}: {misfit}", quorum.membership, path.display());
        }
        Ok(Self { membership, root })
    }

    /// The relay node that it is of.
    pub(crate) fn node(&self) -> Result<NodeId> {
        match self.root.party {
            Party::Relay(node) => Ok(node),
            Party::Breaker => bail!("these are keys of the breaker node: run `qcrelay breaker`"),
        }
    }

    /// Working keys of a relay node, numbered `counter`; the root secrets are gone afterwards.
    pub(crate) fn born(self, counter: u64) -> Result<(Membership, Channels, Keyring)> {
        let working = Working::born(&self.root, &self.membership, counter, &seed()?);
        self.working(working)
    }

    /// What the breaker node runs on.
    pub(crate) fn of_breaker(self) -> Result<(Membership, Channels, Keyring)> {
        if self.root.party != Party::Breaker {
            bail!("these are keys of a relay node: run `qcrelay node`");
        }
        let working = Working::of_breaker(&self.root, &self.membership);
        self.working(working)
    }

    fn working(self, working: Option<Working>) -> Result<(Membership, Channels, Keyring)> {
        let Self { membership, root } = self;
        let unusable = || anyhow!("the membership has an invalid key: generate the keys again");
        let working = working.ok_or_else(unusable)?;
        let keyring = Keyring::new(&membership, &working, root.share.as_ref());
        let keyring = keyring.map_err(|_| unusable())?;
        let channels = Channels::new(working, &membership);
        Ok((membership, channels, keyring))
    }
}

/// Reads a file of secrets, which nobody else may be able to read.
pub(crate) fn secrets(path: &Path) -> Result<RootSecrets> {
    let place = || path.display().to_string();
    let mut file = File::open(path).with_context(place)?;
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
    file.read_to_string(&mut text).with_context(place)?;
    RootSecrets::read(&text).with_context(place)
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
