//! What somebody did to a domain through its socket, when, and who it was.
//!
//! An agent reports it to the runner up to a limit: one that holds the domain at each of its steps
//! fills no record, and nothing is lost, for holds disturb nothing. Changes of factors are reported up
//! to a number as well, and then that they were changed further, once: who changes them on and on is
//! not followed.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use vtime::VirtualTime;

/// What somebody did, when. Times are scenario time in the record of a run, and virtual time of the
/// domain where an agent reports it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Intervention {
    /// Nanoseconds on the time scale named above.
    pub at_ns: i64,
    #[serde(flatten)]
    pub action: Action,
    pub by: Caller,
}

/// What can be done to a domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Action {
    Hold,
    Release,
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
    pub uid: u32,
    /// Its command line, as far as it could still be read.
    pub command: String,
    /// Whether it is a program of the run itself.
    pub inside: bool,
    /// The host that it is on; `None` where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// Most characters of a command line that another host has told.
const COMMAND_MAX: usize = 200;

impl Caller {
    /// As another host may have told it: no longer than it is told by this one.
    pub fn cut(self) -> Self {
        let command = self.command.chars().take(COMMAND_MAX).collect();
        Self { command, ..self }
    }
}

impl fmt::Display for Intervention {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caller { pid, uid, command, inside, host } = &self.by;
        let from = if *inside { "a program of the run, " } else { "" };
        write!(out, "{} by {from}process {pid} of user {uid} (`{command}`)", self.action)?;
        host.iter().try_for_each(|host| write!(out, " on host `{host}`"))
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

/// How many of each kind are reported.
const REPORTED_MAX: u32 = 1000;

/// What was reported so far.
#[derive(Debug, Default)]
pub struct Interventions {
    holds: AtomicU32,
    changes: AtomicU32,
}

impl Interventions {
    /// What is to be reported of an action, if anything.
    pub fn note(&self, at: VirtualTime, action: Action, by: Caller) -> Option<Intervention> {
        let of_clock = matches!(action, Action::Hold | Action::Release);
        let count = if of_clock { &self.holds } else { &self.changes };
        // The count stays at the limit once it is reached.
        let before = count.fetch_add(1, Ordering::Relaxed).min(REPORTED_MAX + 1);
        count.fetch_min(REPORTED_MAX + 1, Ordering::Relaxed);
        let action = match before {
            reported if reported < REPORTED_MAX => action,
            REPORTED_MAX if !of_clock => Action::Further,
            _ => return None,
        };
        Some(Intervention { at_ns: at.as_ns(), action, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_did_it_is_reported() {
        let by =
            Caller { pid: 7, uid: 1000, command: "qcycle dilate".into(), inside: true, host: None };
        let one =
            Intervention { at_ns: 0, action: Action::Dilate { tdf_millionths: 2_500_000 }, by };
        let text = "time dilation factor changed to 2.5 by a program of the run, process 7 of user \
                    1000 (`qcycle dilate`)";
        assert_eq!(one.to_string(), text);
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Intervention>(&json).unwrap(), one);
        let host = Some("bench-a".to_owned());
        let one = Intervention { by: Caller { host, ..one.by }, ..one };
        assert_eq!(one.to_string(), format!("{text} on host `bench-a`"));
    }

    #[test]
    fn what_is_done_without_end_is_reported_to_an_end() {
        let interventions = Interventions::default();
        let change = || Action::Dilate { tdf_millionths: 2_000_000 };
        let note = |action| interventions.note(VirtualTime::ZERO, action, Caller::default());
        let reported =
            |actions: Vec<Action>| actions.into_iter().filter_map(note).collect::<Vec<_>>();
        let changes = reported((0..5000).map(|_| change()).collect());
        assert_eq!(changes.len(), 1001);
        assert_eq!((&changes[999].action, &changes[1000].action), (&change(), &Action::Further));
        assert_eq!(reported((0..5000).map(|_| Action::Hold).collect()).len(), 1000);
    }
}
