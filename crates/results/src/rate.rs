//! Which interventions disturb verdicts. Pure.
//!
//! A hold and its release stop the clock of all programs at once and take no virtual time, so they
//! are recorded and disturb nothing. A change of a time dilation factor changes how much host time
//! programs have for what they do, which is what verdicts are about: from then on until it is as
//! planned again they are disturbed.

use std::collections::BTreeMap;

use super::disturbance::{Cause, Disturbance};
use runtime::intervention::{Action, Intervention};

/// When the time of programs ran other than planned: the factor of the domain is planned to be
/// `tdf_millionths`, that of each program 1. `nodes` are the nodes of programs.
pub(crate) fn rate_changes(
    interventions: &[Intervention],
    tdf_millionths: u64,
    nodes: &BTreeMap<&str, &str>,
) -> Vec<Disturbance> {
    let mut changes = Vec::new();
    // By program; the domain has no name.
    let mut open: BTreeMap<Option<&str>, i64> = BTreeMap::new();
    for one in interventions {
        let (whose, is_planned): (Vec<Option<&str>>, bool) = match &one.action {
            Action::Hold | Action::Release => continue,
            Action::Dilate { tdf_millionths: now } => (vec![None], *now == tdf_millionths),
            Action::DilatePrograms { tdf_millionths: now, programs } => {
                (programs.iter().map(|name| Some(&**name)).collect(), *now == 1_000_000)
            }
            Action::Further => (vec![None], false),
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
    use runtime::intervention::Caller;

    fn did(at_ns: i64, action: Action) -> Intervention {
        Intervention { at_ns, action, by: Caller::default() }
    }

    fn dilate(millionths: u64) -> Action {
        Action::Dilate { tdf_millionths: millionths }
    }

    fn dilate_sensor(millionths: u64) -> Action {
        Action::DilatePrograms { tdf_millionths: millionths, programs: vec!["sensor".into()] }
    }

    #[test]
    fn time_runs_other_than_planned_until_it_is_set_back() {
        let nodes = BTreeMap::from([("sensor", "n1")]);
        let interventions = [
            did(1, Action::Hold),
            did(2, dilate(2_000_000)),
            did(3, dilate(10_000_000)),
            did(4, Action::Release),
            did(5, dilate(2_500_000)),
            did(6, dilate_sensor(4_000_000)),
            did(8, dilate(2_500_000)),
        ];
        let changes = rate_changes(&interventions, 2_500_000, &nodes);
        let reported: Vec<_> =
            changes.iter().map(|one| (one.from_ns, one.to_ns, one.node.as_deref())).collect();
        assert_eq!(reported, [(2, 5, None), (6, i64::MAX, Some("n1"))]);
        assert!(changes.iter().all(|one| one.cause == Cause::Rate));
    }

    #[test]
    fn what_is_not_reported_any_more_is_taken_for_a_change() {
        let changes = rate_changes(&[did(7, Action::Further)], 1_000_000, &BTreeMap::new());
        assert_eq!((changes[0].from_ns, changes[0].to_ns), (7, i64::MAX));
    }
}
