//! What is said on the socket of an agent: one JSON object a line, requests with a number that
//! the reply repeats. `docs/internals/agent-protocol.md` describes it for others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::Reading;
use crate::launch::freeze::FreezeStatus;

/// Version of the messages; an agent of another version refuses to talk.
pub const VERSION: u32 = 1;

/// What is asked of a domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "kebab-case")]
pub enum Call {
    /// How it stands.
    Status,
    /// Assert one more hold. The reply comes when the clock stands still.
    Hold,
    /// Release one hold.
    Release,
    /// Change the time dilation factor.
    Dilate {
        /// As a user writes it: a decimal number.
        tdf: String,
    },
}

/// A call with the number that its reply repeats.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Version of the messages.
    pub version: u32,
    /// Chosen by the caller.
    pub id: u64,
    /// What is asked.
    #[serde(flatten)]
    pub call: Call,
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reply {
    /// Of the request.
    pub id: u64,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It is in force; this is how the domain stands.
    Status(Status),
    /// It was not done, and why.
    Error(String),
}

/// How a domain stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Name of the domain.
    pub name: String,
    /// Process that owns it.
    pub agent_pid: u32,
    /// What runs in it, for people.
    pub title: String,
    /// Its clock.
    pub clock: Reading,
    /// Calls that were answered in virtual time, by kind.
    pub calls: BTreeMap<String, u64>,
    /// How programs are frozen while the clock stands still, and how that went.
    pub freeze: Box<FreezeStatus>,
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
        assert_eq!(text, r#"{"version":1,"id":7,"call":"dilate","tdf":"2.5"}"#);
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
    }
}
