//! What somebody did to a domain through its socket, when, and who it was.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What somebody did, when. Times are scenario time in the record of a run, and virtual time of the
/// domain where an agent reports it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Intervention {
    /// Nanoseconds on the time scale named above.
    pub at_ns: i64,
    /// The change to the domain.
    #[serde(flatten)]
    pub action: Action,
    /// The process that called.
    pub by: Caller,
}

/// What can be done to a domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Action {
    /// A hold was asserted.
    Hold,
    /// A hold was released.
    Release,
    /// Its time dilation factor was changed.
    Dilate {
        /// The factor from then on, in millionths.
        tdf_millionths: u64,
    },
    /// Programs were dilated within their domain.
    DilatePrograms {
        /// The factor from then on, in millionths.
        tdf_millionths: u64,
        /// The names under which they were started.
        programs: Vec<String>,
    },
    /// Factors were changed too often to report every change.
    Further,
}

/// The process that has called.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Caller {
    /// Its number; 0 if it is not known.
    pub pid: i32,
    /// Its effective user ID.
    pub uid: u32,
    /// Its command line, as far as it could still be read.
    pub command: String,
    /// Whether it is a program of the run itself.
    pub inside: bool,
}

impl fmt::Display for Intervention {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caller { pid, uid, command, inside } = &self.by;
        let from = if *inside { "a program of the run, " } else { "" };
        write!(out, "{} by {from}process {pid} of user {uid} (`{command}`)", self.action)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tdf = |millionths: u64| millionths as f64 / 1e6;
        match self {
            Self::Hold => write!(out, "held"),
            Self::Release => write!(out, "released"),
            Self::Dilate { tdf_millionths } => {
                write!(out, "time dilation factor changed to {}", tdf(*tdf_millionths))
            }
            Self::DilatePrograms { tdf_millionths, programs } => {
                let names: Vec<_> = programs.iter().map(|name| format!("`{name}`")).collect();
                write!(out, "{} dilated by {}", names.join(", "), tdf(*tdf_millionths))
            }
            Self::Further => write!(out, "factors changed too often to list every change"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_it_is_reported() {
        let by = Caller { pid: 7, uid: 1000, command: "qcycle dilate".into(), inside: true };
        let one =
            Intervention { at_ns: 0, action: Action::Dilate { tdf_millionths: 2_500_000 }, by };
        let text = "time dilation factor changed to 2.5 by a program of the run, process 7 of user \
                    1000 (`qcycle dilate`)";
        assert_eq!(one.to_string(), text);
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Intervention>(&json).unwrap(), one);
    }
}
