//! The environment of programs: what the scenario says, variables about the run, and of the
//! host's no more than it takes to find and start them.
//!
//! Two runs of a scenario must not differ because two shells did. So the time zone is UTC, the language
//! none, and what is taken over from the host is reported in the record.

use std::collections::BTreeMap;

use scenario::model::Scenario;

/// Taken over from the host: where programs, their libraries and files are found.
const KEPT: [&str; 3] = ["PATH", "HOME", "VIRTUAL_ENV"];
const FIXED: [(&str, &str); 2] = [("LANG", "C.UTF-8"), ("TZ", "UTC0")];

pub(super) fn of_all(scenario: &Scenario, run: &str) -> BTreeMap<String, String> {
    let mut all = kept();
    all.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    all.insert("QCYCLE_SEED".into(), scenario.seed.to_string());
    all.insert("QCYCLE_VARIANT".into(), scenario.variant.clone().unwrap_or_default());
    all.insert("QCYCLE_RUN".into(), run.to_owned());
    all
}

pub(super) fn kept() -> BTreeMap<String, String> {
    let value = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    KEPT.iter().filter_map(value).collect()
}
