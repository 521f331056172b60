//! Root secrets of one party: they certify its working keys, and hold its share of the key of
//! all nodes where certificates need one.

use zeroize::Zeroizing;

use super::channel::public;
use super::text::{Lines, TextError, line};
use super::{CertificateKeys, Membership, Secret};
use crate::Party;
use crate::statement::{Epoch, NodeId, StationId};

/// Root secrets of one party.
#[derive(Clone, Debug)]
pub struct RootSecrets {
    pub party: Party,
    pub station: StationId,
    /// Of which set of root keys.
    pub epoch: Epoch,
    /// Signs working keys (Ed25519). The breaker node signs nothing and does not use it.
    pub signing: Secret,
    /// Its end of boot channels, and of all channels of the breaker node (X25519).
    pub channel: Secret,
    /// Its share of the key of all nodes; none if certificates need none.
    pub share: Option<Secret>,
}

/// What the share is called in the file.
const SHARE: &str = "share-secret";

impl RootSecrets {
    /// Reads the text of a key file, as [`Self::text`] writes it. The reader of the file wipes
    /// the text.
    ///
    /// # Errors
    /// The first line that is not as it must be.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let mut lines = Lines::new(text);
        lines.value("quorum-secrets", "version 1", |version| (version == "1").then_some(()))?;
        let party = lines.value("party", "0, 1, 2, 3 or `breaker`", |word| match word {
            "breaker" => Some(Party::Breaker),
            word => word.parse().ok().and_then(NodeId::new).map(Party::Relay),
        })?;
        let station = StationId(lines.number("station", "a number from 0 to 4294967295")?);
        let epoch = Epoch(lines.number("epoch", "a number from 0 to 4294967295")?);
        let signing = Secret::new(lines.octets("signing-secret")?);
        let channel = Secret::new(lines.octets("channel-secret")?);
        let needs = "64 hexadecimal digits, or `none`";
        let share = lines.value(SHARE, needs, |word| match word {
            "none" => Some(None),
            digits => crate::hex::decode(digits).map(|octets| Some(Secret::new(octets))),
        })?;
        lines.finish()?;
        Ok(Self { party, station, epoch, signing, channel, share })
    }

    /// The text of a key file.
    pub fn text(&self) -> Zeroizing<String> {
        let Self { party, station, epoch, signing, channel, share } = self;
        // Never grows, so that no part of it is left behind elsewhere.
        let mut text = Zeroizing::new(String::with_capacity(600));
        let party = match party {
            Party::Relay(node) => node.number().to_string(),
            Party::Breaker => "breaker".to_owned(),
        };
        *text += "# SECRET: for this party only, readable by nobody else.\nquorum-secrets 1\n";
        *text += &format!("party {party}\nstation {}\nepoch {}\n", station.0, epoch.0);
        line("signing-secret", signing.expose(), &mut text);
        line("channel-secret", channel.expose(), &mut text);
        match share {
            Some(share) => line(SHARE, share.expose(), &mut text),
            None => *text += "share-secret none\n",
        }
        assert!(text.len() < 600, "all lines are short");
        text
    }

    /// What does not fit between these secrets and a membership; nothing if they belong together.
    pub fn misfit(&self, membership: &Membership) -> Option<&'static str> {
        let verifying = ed25519_dalek::SigningKey::from_bytes(self.signing.expose());
        let channel_key = match self.party {
            Party::Relay(node) => membership.node(node).channel_key,
            Party::Breaker => membership.breaker_channel_key,
        };
        let needs_share = self.party != Party::Breaker
            && membership.certificate != CertificateKeys::TwoSignatures;
        if self.station != membership.station {
            Some("they belong to a different station: use the files of one station")
        } else if self.epoch != membership.epoch {
            Some(
                "they belong to a different key epoch: use files that `qcrelay keys` created \
                 together",
            )
        } else if public(&self.channel) != channel_key {
            Some("the channel secret does not match the channel key: use the file of this party")
        } else if let Party::Relay(node) = self.party
            && verifying.verifying_key().to_bytes() != membership.node(node).signing_key
        {
            Some("the signing secret does not match the signing key: use the file of this party")
        } else if needs_share != self.share.is_some() {
            Some(
                "a share is present although certificates need none, or missing although they \
                 need one",
            )
        } else {
            None
        }
    }
}
