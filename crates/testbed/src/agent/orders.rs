//! What a runner and its agent say to each other: one JSON object a line on a socket of their
//! own. The runner orders; the agent reports, and asks for what only the runner has: the plant.
//! Both ends are the same binary today, so a [`super::protocol::VERSION`] in the first order is
//! all the negotiation there is. `docs/internals/agent-protocol.md` tells the order of events.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use super::protocol::Status;
use crate::network::stats::NetworkStats;
use crate::scenario::model::{Attacker, Event, Link, Node, PointName, span_ns};

/// From the runner to the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Make everything, with the clock held at virtual zero. Answered by [`Report::Prepared`] or
    /// [`Report::Failed`].
    Prepare(Box<Setup>),
    /// Start the programs and let the clock run.
    Begin,
    /// The answer to a [`Report::Ask`].
    Answer {
        /// Its number.
        ask: u64,
        /// What came of it.
        outcome: Answer,
    },
    /// Tell how the domain stands.
    Status,
    /// Stop everything, answer with [`Report::Ended`], and end.
    End,
}

/// What came of a question to the plant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The value read, or the value written.
    Value(f64),
    /// Why not.
    Error(String),
}

/// What an agent needs to know of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// [`super::protocol::VERSION`] of the runner.
    pub version: u32,
    /// Name of the domain.
    pub name: String,
    /// What runs, for people.
    pub title: String,
    /// Time dilation factor in millionths.
    pub tdf_millionths: u64,
    /// Time of day at scenario time zero, ns since 1970; the host's if `None`.
    pub realtime_zero_ns: Option<i64>,
    /// Virtual time before scenario time zero.
    #[serde(with = "span_ns")]
    pub settle: VirtualSpan,
    /// Scenario time at which the clock stops for good.
    #[serde(with = "span_ns")]
    pub duration: VirtualSpan,
    /// Working directory of programs.
    pub directory: PathBuf,
    /// Environment of all programs.
    pub environment: BTreeMap<String, String>,
    /// Where programs run, which programs, and what they see of the plant.
    pub nodes: Vec<Node>,
    /// Switches by name.
    pub switches: Vec<String>,
    /// Hosts that attack.
    pub attackers: Vec<Attacker>,
    /// Links.
    pub links: Vec<Link>,
    /// What happens in the network.
    pub events: Vec<Event>,
    /// Folder for captures.
    pub captures: PathBuf,
}

/// From the agent to the runner. Times are virtual, in nanoseconds since the domain began.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// Everything is there and the clock is held at virtual zero.
    Prepared {
        /// Time of day at scenario time zero, ns since 1970.
        realtime_zero_ns: i64,
    },
    /// Something could not be made; nothing is left of the rest.
    Failed {
        /// What and why.
        reason: String,
    },
    /// A program reads or writes a point; the clock is held until the answer.
    Ask {
        /// Number to be repeated in the answer.
        ask: u64,
        /// The point.
        point: PointName,
        /// The value to set; a read if `None`.
        write: Option<f64>,
        /// When.
        at_ns: i64,
    },
    /// A program wrote a line.
    Output {
        /// The program.
        program: String,
        /// Whether to standard error.
        error: bool,
        /// When it arrived.
        at_ns: i64,
        /// The line, without its end.
        text: String,
    },
    /// A program has ended.
    Exited(Exited),
    /// Something that makes results doubtful.
    Warning {
        /// What.
        text: String,
    },
    /// How the domain stands.
    Status(Status),
    /// The clock has reached the end of the scenario.
    Arrived,
    /// Everything is stopped.
    Ended(Box<Ended>),
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exited {
    /// The program.
    pub program: String,
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Processor time of it and the children that it waited for, in seconds.
    pub cpu_s: f64,
    /// When.
    pub at_ns: i64,
    /// Whether it was stopped because the run was over.
    pub stopped: bool,
}

/// What is left to tell at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// How the domain stood.
    pub status: Status,
    /// What the network did; `None` without one.
    pub network: Option<NetworkStats>,
    /// Wall time of each access to the plant, in nanoseconds.
    pub access_ns: Vec<u64>,
    /// Processor time of the agent in seconds.
    pub agent_cpu_s: f64,
}
