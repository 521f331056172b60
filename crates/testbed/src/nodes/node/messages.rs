//! What an agent and a node say to each other, with descriptors beside the messages.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use os::fds;

/// Longest message in octets: command lines and environments are the longest.
const MESSAGE_LENGTH_MAX: usize = 128 * 1024;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum ToNode {
    /// Make interfaces and mounts; answered by [`FromNode::Made`] or [`FromNode::Failed`].
    Make(Make),
    /// Start a program; its output goes to the two descriptors that come with this. Answered by
    /// [`FromNode::Started`] or [`FromNode::NotStarted`].
    Start(Start),
    /// Ask all programs to end, or kill them.
    Stop { kill: bool },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Make {
    pub(super) name: String,
    pub(super) interface: Option<Interface>,
    /// Whether points are served at `/plant`.
    pub(super) plant: bool,
    /// Whether virtual time may jump, so that timers of its kernel are better not set.
    pub(super) avoids_timers: bool,
    /// Whether the agent serves what is random.
    pub(super) random: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Interface {
    pub(super) mac: [u8; 6],
    pub(super) address: Ipv4Addr,
    pub(super) prefix: u8,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: PathBuf,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::nodes) enum FromNode {
    /// With the descriptors of the TAP device, of `/plant` and of `/dev/urandom`, as far as asked for.
    Made,
    Failed {
        reason: String,
    },
    Started {
        name: String,
    },
    NotStarted {
        name: String,
        reason: String,
    },
    Exited {
        name: String,
        code: Option<i32>,
        signal: Option<i32>,
        cpu_s: f64,
    },
}

impl FromNode {
    pub(in crate::nodes) fn program(&self) -> Option<&str> {
        match self {
            Self::Made | Self::Failed { .. } => None,
            Self::Started { name } | Self::NotStarted { name, .. } | Self::Exited { name, .. } => {
                Some(name)
            }
        }
    }
}

pub(super) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    with: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > MESSAGE_LENGTH_MAX {
        return Err(io::Error::other("command line and environment are too long"));
    }
    fds::send(socket, &text, with)
}

/// The next message; `None` when the other side is gone.
pub(super) fn receive<M: DeserializeOwned>(
    socket: BorrowedFd<'_>,
) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
    let mut octets = vec![0; MESSAGE_LENGTH_MAX];
    let (length, fds) = fds::receive(socket, &mut octets)?;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&octets[..length])?, fds)))
}
