//! What programs get of the variables of the host that they run on.
//!
//! Two runs of a scenario must not differ because two shells did. So it is no more than it takes to find and start
//! programs, and what it was is reported in the record.

use std::collections::BTreeMap;

/// Where programs, their libraries and files are found.
const KEPT: [&str; 3] = ["PATH", "HOME", "VIRTUAL_ENV"];

/// Those variables, as they are set here.
pub fn kept() -> BTreeMap<String, String> {
    let value = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    KEPT.iter().filter_map(value).collect()
}
