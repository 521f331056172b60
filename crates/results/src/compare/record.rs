//! What the records of two runs say: scenario, end, verdicts, and what the runs were made of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::difference::{Difference, Part, Value, What};
use super::{Rules, is_equal, is_near};
use crate::record::{RunRecord, ScenarioRecord};
use crate::verdict::Verdict;
use report_kit::figure::figure;
use report_kit::machine::{Versions, utc};
use scenario::model::{Measure, MeasureKind};

/// Digits of a hash that tell texts apart for people.
const HASH_SHOWN: usize = 12;

/// Why two runs do not answer the same question.
pub(super) fn scenario(one: &ScenarioRecord, other: &ScenarioRecord) -> Vec<Difference> {
    let both = [one, other];
    let make = |what, values| Difference::new(Part::Scenario, "", what, values);
    let mut found = Vec::new();
    if one.sha256 != other.sha256 {
        let hash = |run: &ScenarioRecord| run.sha256.chars().take(HASH_SHOWN).collect::<String>();
        let text = |run: &ScenarioRecord| format!("{} (SHA-256 {}…)", run.file, hash(run));
        found.push(make(What::Text, both.map(|run| Value::Text(text(run)))));
    }
    if one.variant != other.variant {
        let name = |run: &ScenarioRecord| run.variant.clone().map_or(Value::None, Value::Text);
        found.push(make(What::Variant, both.map(name)));
    }
    if one.duration_ns != other.duration_ns {
        found.push(make(What::Duration, both.map(|run| Value::TimeNs(run.duration_ns))));
    }
    found
}

/// A difference in how the runs ended, and without which hosts.
pub(super) fn end(one: &RunRecord, other: &RunRecord) -> Option<Difference> {
    let ends = [one, other].map(|run| {
        let lost = run.lost_hosts.iter().map(|lost| format!(", without host `{}`", lost.host));
        run.ended.how.words().to_owned() + &lost.collect::<String>()
    });
    let values = ends.each_ref().map(|end| Value::from(&**end));
    (ends[0] != ends[1]).then(|| Difference::new(Part::End, "", What::End, values))
}

/// How many verdicts were compared, and what differs: not the reason, which is a text about the
/// rest.
pub(super) fn verdicts(rules: Rules, one: &[Verdict], other: &[Verdict]) -> (u64, Vec<Difference>) {
    let by_name = |verdicts: &'_ [Verdict]| -> BTreeMap<String, Verdict> {
        verdicts.iter().map(|one| (one.requirement.name.clone(), one.clone())).collect()
    };
    let both = [by_name(one), by_name(other)];
    let names: BTreeSet<&String> = both.iter().flat_map(BTreeMap::keys).collect();
    let (mut compared, mut found) = (0, Vec::new());
    for name in names {
        match both.each_ref().map(|verdicts| verdicts.get(name)) {
            [Some(one), Some(other)] => {
                compared += 1;
                found.extend(verdict(rules, name, one, other));
            }
            alone => {
                let is_there = alone.map(|one| one.is_some());
                found.push(Difference::missing(Part::Verdict, name, is_there));
            }
        }
    }
    (compared, found)
}

fn verdict(rules: Rules, name: &str, one: &Verdict, other: &Verdict) -> Vec<Difference> {
    let both = [one, other];
    let make = |what, values| Difference::new(Part::Verdict, name, what, values);
    let mut found = Vec::new();
    if one.outcome != other.outcome {
        let words = both.map(|verdict| Value::from(verdict.outcome.words()));
        found.push(make(What::Outcome, words));
    }
    if one.unit != other.unit {
        found.push(make(What::Unit, both.map(|verdict| Value::from(&*verdict.unit))));
    }
    let is_same = match (one.value, other.value) {
        (Some(a), Some(b)) => {
            is_equal(a, b) || is_near_in_time(rules, &one.requirement.measure, a, b)
        }
        (a, b) => a.is_none() && b.is_none(),
    };
    if !is_same {
        let value = |verdict: &Verdict| verdict.value.map_or(Value::None, Value::from);
        found.push(make(What::Value, both.map(value)).in_unit(&one.unit));
    }
    found
}

/// Whether two values are times that are equal, as far as the rules ask. Both ends of a gap may be
/// off.
fn is_near_in_time(rules: Rules, measure: &Measure, one: f64, other: f64) -> bool {
    let (ns, ends) = match measure.kind {
        MeasureKind::FirstBelow { .. } | MeasureKind::LastBelow { .. } => (1e9, 1),
        MeasureKind::LongestGap { .. } => (1e6, 2),
        _ => return false,
    };
    // Values that are no number become 0, and are equal to none.
    let [a, b] = [one, other].map(|value| (value * ns).round() as i64);
    one.is_finite() && other.is_finite() && is_near(a, b, ends * rules.tolerance_ns)
}

/// What the runs were made of and is not equal.
pub(super) fn made_of([one, other]: [&RunRecord; 2]) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, values: [String; 2]| {
        if values[0] != values[1] {
            found.push(format!("{what} {} and {}", values[0], values[1]));
        }
    };
    let both = [one, other];
    compare("seed", both.map(|run| run.scenario.seed.to_string()));
    compare("tdf", both.map(|run| figure(run.scenario.tdf)));
    compare("pace", both.map(|run| run.scenario.pace_words()));
    compare("time of day at zero", both.map(|run| utc(run.realtime_zero_ns)));
    compare("qcycle", both.map(|run| qcycle(&run.versions)));
    compare("processor", both.map(|run| run.machine.cpu_model.clone()));
    compare("kernel", both.map(|run| run.machine.kernel.clone()));
    let [first, second] = both.map(inputs);
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    found.extend(names.into_iter().filter_map(|name| content(name, [&first, &second])));
    found
}

fn qcycle(versions: &Versions) -> String {
    let commit = versions.git_commit.as_deref().unwrap_or("unknown");
    format!("{} (commit {commit})", versions.qcycle)
}

type Hashes<'r> = BTreeMap<String, BTreeSet<Option<&'r str>>>;

/// What is not equal of a file of that name. Nobody knows what programs on other machines were made of.
fn content(name: &str, both: [&Hashes<'_>; 2]) -> Option<String> {
    let hashes = both.map(|run| run.get(name).filter(|all| all.iter().any(Option::is_some)));
    match hashes {
        [Some(one), Some(other)] => (one != other).then(|| format!("content of {name}")),
        [Some(_), None] => Some(format!("content of {name}, not known of the second")),
        [None, Some(_)] => Some(format!("content of {name}, not known of the first")),
        [None, None] => None,
    }
}

/// Hashes of the files that a run was made of, by their names: folders differ between machines.
fn inputs(run: &RunRecord) -> Hashes<'_> {
    let mut all = BTreeMap::<_, BTreeSet<_>>::new();
    for input in &run.inputs {
        let name = Path::new(&input.file).file_name().unwrap_or_default().to_string_lossy();
        all.entry(name.into_owned()).or_default().insert(input.sha256.as_deref());
    }
    all
}
