//! What is said on the socket of an agent: one JSON object a line, requests with a number that
//! the reply repeats. `docs/internals/agent-protocol.md` describes it for others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::launch::freeze::FreezeStatus;
use domain::{PaceStatus, Reading};

/// Version of the messages; an agent of another version refuses to talk.
pub const VERSION: u32 = 2;

/// What is asked of a domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case")]
pub enum Call {
    Status,
    /// Assert one more hold. The reply comes when the clock is stopped.
    Hold,
    /// Release a hold that a caller has asserted.
    Release,
    Dilate {
        /// As a user writes it: a decimal number.
        tdf: String,
    },
    /// Change the time dilation factor of programs within the domain.
    DilateProgram {
        /// As a user writes it: a decimal number.
        tdf: String,
        program: Selector,
    },
    /// How it stands, with its programs.
    Query {
        /// Which programs; all if none is named.
        program: Option<Selector>,
        /// With those of all other hosts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hosts: bool,
    },
    /// Attach it again if it was detached, and detach it when this connection ends.
    Attend,
    /// Detach it: no hold, no dilation, and none from now on.
    Detach,
}

/// Which programs of a domain are meant.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selector {
    /// The one that this process runs.
    Pid(i32),
    /// The one that was started under this name, and all that it has started.
    Name(String),
}

/// A call with the number that its reply repeats.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    pub version: u32,
    /// Chosen by the caller.
    pub id: u64,
    #[serde(flatten)]
    pub call: Call,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// The number of the request.
    pub id: u64,
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Reply {
    /// As it is said.
    pub(super) fn line(&self) -> String {
        serde_json::to_string(self).expect("a reply is plain data") + "\n"
    }
}

/// What came of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is in force; this is how the domain stands.
    Status(Status),
    /// It is in force; this is how the domain stands, with the programs that were meant.
    Detail(Box<Detail>),
    /// It was not done, and why.
    Error(String),
    /// To who attends the domain, unasked (`id` 0): what makes results doubtful from now on.
    Warning(String),
}

/// How a domain stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    pub name: String,
    pub agent_pid: u32,
    /// The host of this agent, where the domain spans several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// What runs in it, for people.
    pub title: String,
    /// Its clock at the moment of the answer.
    pub clock: Reading,
    /// How its time passes.
    #[serde(default)]
    pub pace: Box<PaceStatus>,
    /// Calls that were answered in virtual time, by kind.
    pub calls: BTreeMap<String, u64>,
    /// How programs are frozen while the clock is stopped, and how that went.
    pub freeze: Box<FreezeStatus>,
    /// What makes results doubtful.
    pub warnings: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

/// How a domain stands, with programs of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Detail {
    #[serde(flatten)]
    pub status: Status,
    pub state: State,
    /// What clocks of programs show at virtual zero, by clock, in nanoseconds.
    pub epochs_ns: BTreeMap<String, i64>,
    /// Its programs, or those that were meant, in the order of their start.
    pub programs: Vec<ProgramStatus>,
    /// The other hosts that it spans, if they were asked, in the order of the scenario; those without
    /// a program that was meant are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<OtherHost>,
}

impl Detail {
    /// Leaves out all programs, of other hosts too.
    pub fn clear_programs(&mut self) {
        self.programs.clear();
        for other in &mut self.hosts {
            if let OtherHost::Detail(detail) = other {
                detail.programs.clear();
            }
        }
    }
}

/// Another host of a domain.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OtherHost {
    /// It is there, and did not say how it stands.
    Silent {
        host: String,
        /// The reason, in a sentence.
        silent: String,
    },
    /// How it stands, as it says.
    Detail(Box<Detail>),
}

/// Whether a clock runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Running,
    /// At least one hold is asserted.
    Held,
    /// It stands at its horizon until it is granted more.
    AtHorizon,
    /// It runs on host time, whatever its domain does.
    #[serde(rename = "let-go")]
    Detached,
}

/// How a program stands: what one exec has started, and what that has forked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ProgramStatus {
    /// The name under which it was started, or what has started it.
    pub name: String,
    /// The process that called exec, or another one of it if that is gone.
    pub pid: i32,
    pub pids: Vec<i32>,
    /// Its command line, as /proc shows it.
    pub command: String,
    pub state: State,
    /// Its time, in nanoseconds since the start of the domain.
    pub virtual_ns: i64,
    /// What its `CLOCK_REALTIME` shows, less that of the host.
    pub offset_ns: i64,
    /// Time dilation factor within its domain, in millionths.
    pub tdf_millionths: u64,
    /// Host nanoseconds that it was held, since it began.
    pub paused_ns: i64,
    /// Calls that were answered in virtual time, by kind.
    pub calls: BTreeMap<String, u64>,
    /// What makes results doubtful.
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_flat_object() {
        let call = Call::Dilate { tdf: "2.5".into() };
        let request = Request { version: VERSION, id: 7, call };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(text, r#"{"version":2,"id":7,"call":"dilate","tdf":"2.5"}"#);
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
    }
}
