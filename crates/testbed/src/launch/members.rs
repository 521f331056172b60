//! Which processes belong to which program of a domain.
//!
//! A program's processes come and go by fork without anybody being told. But each of them has the
//! own page of its program at a place that is the same in all, and the page names domain and
//! program. So whoever wants to know reads it there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use libc::pid_t;
use vtime::image::OWN;
use vtime::own_page::Identity;

use super::timers::read;
use crate::domain::{Domain, Program};

/// The number of the program of a process; `None` if it is in another domain or in none.
///
/// Memory that is closed to this user (a program may ask for that, prctl(2) `PR_SET_DUMPABLE`)
/// says nothing; then the process is taken for that of the program that it was seen to begin.
#[must_use]
pub fn program_of(domain: &Domain, process: pid_t) -> Option<u64> {
    let words = match read::<{ Identity::WORDS }>(process, OWN as u64) {
        Ok(words) => words,
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
            return domain.last_begun_by(process);
        }
        Err(_) => return None,
    };
    let identity = Identity::of_words(words.map(i64::cast_unsigned))?;
    (identity.domain == domain.token()).then_some(identity.program)
}

/// The processes of each program, by its number.
#[must_use]
pub fn all(domain: &Domain) -> BTreeMap<u64, BTreeSet<pid_t>> {
    let mut members: BTreeMap<u64, BTreeSet<pid_t>> = BTreeMap::new();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
        if let Some(number) = program_of(domain, process) {
            members.entry(number).or_default().insert(process);
        }
    }
    members
}

/// The programs of a domain with the processes of each. Forgets those that are gone.
#[must_use]
pub fn programs(domain: &Domain) -> Vec<(Arc<Program>, BTreeSet<pid_t>)> {
    let members = all(domain);
    sweep(domain, &members);
    let found = members.into_iter();
    found.filter_map(|(number, processes)| Some((domain.program(number)?, processes))).collect()
}

/// Forgets the programs that are gone, if there are many to look for.
pub(super) fn sweep_if_wanted(domain: &Domain) {
    if domain.wants_sweep() {
        sweep(domain, &all(domain));
    }
}

fn sweep(domain: &Domain, members: &BTreeMap<u64, BTreeSet<pid_t>>) {
    domain.keep_programs(&members.keys().copied().collect());
}
