//! What a host says of itself, to all others, in the order of its numbers.

use serde::{Deserialize, Serialize};
use vtime::VirtualTime;

use crate::ns;

/// Frames to one host are told as so many groups at most: one that has many under way says less about each.
pub const GROUPS_MAX: usize = 8;

/// Where a host is, and what it has sent and received.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Counted from 1 by each host.
    pub number: u64,
    /// How many hosts are lost, as this one was told.
    #[serde(default)]
    pub view: u32,
    /// Nothing happens at this host before, unless a frame that it has not received yet brings it about.
    #[serde(with = "ns")]
    pub next: VirtualTime,
    /// By host, how many frames from it were received; what they bring about is in `next`.
    pub received: Vec<u64>,
    /// By host, the frames to it that it had not said to have received.
    pub under_way: Vec<Vec<Group>>,
    /// By host, the number of its last report that this one takes into account.
    pub heard: Vec<u64>,
    /// Nothing happens at this host before this time until a frame arrives, or a timer of a kernel there ends, which runs
    /// on host time.
    #[serde(with = "ns::or_none")]
    pub for_timers: Option<VirtualTime>,
    /// Others are to report as soon as nothing happens there any more up to this time.
    #[serde(with = "ns::or_none")]
    pub wants: Option<VirtualTime>,
}

/// Frames to one host, from the last of the group before on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// The last one, counted from 1 over all frames to that host.
    pub last: u64,
    /// When the first of them arrives.
    #[serde(with = "ns")]
    pub arrival: VirtualTime,
}

/// Why a report cannot be one of a host that works as it should.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// It is for another number of hosts.
    Hosts,
    /// Another report was to come.
    Number,
    /// It says that something was received, or heard, that was never sent.
    Unsent,
    /// It says less than one before it.
    Less,
    /// It and many before it know of reports that do not come.
    Ahead,
}

impl Report {
    /// What a host has said that has said nothing: it is at virtual zero.
    pub fn none(hosts: usize) -> Self {
        Self {
            number: 0,
            view: 0,
            next: VirtualTime::ZERO,
            received: vec![0; hosts],
            under_way: vec![Vec::new(); hosts],
            heard: vec![0; hosts],
            for_timers: None,
            wants: None,
        }
    }

    /// Whether it may come after `before`, from the same host.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn follows(&self, before: &Self) -> Result<(), Wrong> {
        let hosts = before.received.len();
        if [self.received.len(), self.under_way.len(), self.heard.len()] != [hosts; 3] {
            return Err(Wrong::Hosts);
        }
        if self.number != before.number + 1 {
            return Err(Wrong::Number);
        }
        if self.view < before.view {
            return Err(Wrong::Less);
        }
        let counts = self.received.iter().chain(&self.heard);
        let counts_before = before.received.iter().chain(&before.heard);
        if counts.zip(counts_before).any(|(now, before)| now < before) {
            return Err(Wrong::Less);
        }
        Ok(())
    }
}
