//! What anybody did to the domain of a run through its socket. Pure.
//!
//! A hold and its release stop the clock of all programs at once and take no virtual time, so they
//! are told and disturb nothing. A change of a time dilation factor changes how much host time
//! programs have for what they do, which is what verdicts are about: from then on until it is as
//! planned again they are disturbed.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::disturbance::{Cause, Disturbance};

/// What somebody did, when. Times are scenario time in the record of a run, and virtual time of the
/// domain where an agent reports it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Intervention {
    /// When.
    pub at_ns: i64,
    /// What.
    #[serde(flatten)]
    pub deed: Deed,
    /// Who.
    pub by: Caller,
}

/// What can be done to a domain.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Deed {
    /// It was held.
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
    /// Factors were changed so often that no more of it is told.
    Further,
}

/// The process that has called.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Caller {
    /// Its number; 0 if it is not known.
    pub pid: i32,
    /// Its user.
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
        write!(out, "{} by {from}process {pid} of user {uid} (`{command}`)", self.deed)
    }
}

impl fmt::Display for Deed {
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
            Self::Further => write!(out, "factors changed too often to tell each time"),
        }
    }
}

/// When the time of programs ran other than planned: the factor of the domain is planned to be
/// `tdf_millionths`, that of each program 1. `nodes` are the nodes of programs.
#[must_use]
pub fn rate_changes(
    interventions: &[Intervention],
    tdf_millionths: u64,
    nodes: &BTreeMap<&str, &str>,
) -> Vec<Disturbance> {
    let mut changes = Vec::new();
    // By program; the domain has no name.
    let mut open: BTreeMap<Option<&str>, i64> = BTreeMap::new();
    for one in interventions {
        let (whose, is_planned): (Vec<Option<&str>>, bool) = match &one.deed {
            Deed::Hold | Deed::Release => continue,
            Deed::Dilate { tdf_millionths: now } => (vec![None], *now == tdf_millionths),
            Deed::DilatePrograms { tdf_millionths: now, programs } => {
                (programs.iter().map(|name| Some(&**name)).collect(), *now == 1_000_000)
            }
            Deed::Further => (vec![None], false),
        };
        for name in whose {
            if !is_planned {
                open.entry(name).or_insert(one.at_ns);
            } else if let Some(from_ns) = open.remove(&name) {
                changes.push(change(name, from_ns, one.at_ns, nodes));
            }
        }
    }
    changes.extend(open.into_iter().map(|(name, from)| change(name, from, i64::MAX, nodes)));
    changes
}

fn change(
    name: Option<&str>,
    from_ns: i64,
    to_ns: i64,
    nodes: &BTreeMap<&str, &str>,
) -> Disturbance {
    Disturbance {
        from_ns,
        to_ns: to_ns.max(from_ns.saturating_add(1)),
        node: name.and_then(|name| nodes.get(name)).map(|node| (*node).to_owned()),
        who: name.map_or_else(|| "the domain".to_owned(), str::to_owned),
        cause: Cause::Rate,
        longest_ns: 0,
        lost_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn did(at_ns: i64, deed: Deed) -> Intervention {
        Intervention { at_ns, deed, by: Caller::default() }
    }

    fn dilate(millionths: u64) -> Deed {
        Deed::Dilate { tdf_millionths: millionths }
    }

    fn dilate_sensor(millionths: u64) -> Deed {
        Deed::DilatePrograms { tdf_millionths: millionths, programs: vec!["sensor".into()] }
    }

    #[test]
    fn time_runs_other_than_planned_until_it_is_set_back() {
        let nodes = BTreeMap::from([("sensor", "n1")]);
        let interventions = [
            did(1, Deed::Hold),
            did(2, dilate(2_000_000)),
            did(3, dilate(10_000_000)),
            did(4, Deed::Release),
            did(5, dilate(2_500_000)),
            did(6, dilate_sensor(4_000_000)),
            did(8, dilate(2_500_000)),
        ];
        let changes = rate_changes(&interventions, 2_500_000, &nodes);
        let told: Vec<_> =
            changes.iter().map(|one| (one.from_ns, one.to_ns, one.node.as_deref())).collect();
        assert_eq!(told, [(2, 5, None), (6, i64::MAX, Some("n1"))]);
        assert!(changes.iter().all(|one| one.cause == Cause::Rate));
    }

    #[test]
    fn what_is_not_told_any_more_is_taken_for_a_change() {
        let changes = rate_changes(&[did(7, Deed::Further)], 1_000_000, &BTreeMap::new());
        assert_eq!((changes[0].from_ns, changes[0].to_ns), (7, i64::MAX));
    }

    #[test]
    fn who_did_it_is_told() {
        let by = Caller { pid: 7, uid: 1000, command: "qcycle dilate".into(), inside: true };
        let one = Intervention { at_ns: 0, deed: dilate(2_500_000), by };
        let text = "time dilation factor changed to 2.5 by a program of the run, process 7 of user \
                    1000 (`qcycle dilate`)";
        assert_eq!(one.to_string(), text);
        let json = serde_json::to_string(&one).unwrap();
        assert_eq!(serde_json::from_str::<Intervention>(&json).unwrap(), one);
    }
}
