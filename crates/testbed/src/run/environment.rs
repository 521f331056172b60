//! The environment of programs: what the scenario says, variables about the run, and of the
//! host's no more than it takes to find and start them.
//!
//! Two runs of a scenario must not differ because two shells did. So the time zone is UTC and the language
//! none.

use std::collections::BTreeMap;

use scenario::model::Scenario;

const FIXED: [(&str, &str); 2] = [("LANG", "C.UTF-8"), ("TZ", "UTC0")];

/// All of it, with what was `kept` of the variables of the host.
pub(super) fn of_all(
    scenario: &Scenario,
    run: &str,
    kept: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all = kept;
    all.extend(FIXED.map(|(name, value)| (name.to_owned(), value.to_owned())));
    all.insert("QCYCLE_SEED".into(), scenario.seed.to_string());
    all.insert("QCYCLE_VARIANT".into(), scenario.variant.clone().unwrap_or_default());
    all.insert("QCYCLE_RUN".into(), run.to_owned());
    all
}
