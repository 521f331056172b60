//! Settings of this machine that cost latency, by name, before anything is measured. The cells are
//! marked by what the probe finds where it runs; this is for the user at the terminal.

use crate::record::Warning;

/// What `qcycle check` says of power, frequency, SMT and throttling here.
pub(super) fn of_this_machine() -> Vec<Warning> {
    let items = readiness::power_and_throttling().unwrap_or_default();
    let warning = |item: readiness::Item| Warning {
        name: item.name,
        found: item.found,
        fix: item.fix.unwrap_or_default(),
    };
    items
        .into_iter()
        .filter(|item| item.grade > readiness::Grade::NotMeasured)
        .map(warning)
        .collect()
}
