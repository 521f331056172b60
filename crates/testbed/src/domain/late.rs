//! How late an agent does what virtual times demand of it. The threads that do it note it here, and
//! whoever watches for disturbances takes it from here.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use vtime::late::{Late, Lateness};

/// By what is done.
#[derive(Debug, Default)]
pub struct AgentLateness {
    /// Frames that are handed over.
    pub frames: Lateness,
    /// Timers that expire.
    pub timers: Lateness,
    /// Programs that stand at their exec until they are in virtual time. Each keeps itself waiting
    /// only, so they are told apart.
    execs: Mutex<BTreeMap<String, Lateness>>,
}

impl AgentLateness {
    /// A program of this name stood at its exec for so much longer than it takes.
    pub fn note_exec(&self, name: &str, late_ns: i64) {
        let mut execs = self.execs.lock().unwrap_or_else(PoisonError::into_inner);
        if !execs.contains_key(name) {
            execs.insert(name.to_owned(), Lateness::default());
        }
        execs[name].note(late_ns);
    }

    /// What was noted of execs since the last call, by the names of programs.
    pub fn take_execs(&self) -> Vec<(String, Late)> {
        let execs = self.execs.lock().unwrap_or_else(PoisonError::into_inner);
        execs.iter().map(|(name, lateness)| (name.clone(), lateness.take())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_waited_for_its_own_execs() {
        let lateness = AgentLateness::default();
        for (name, late_ms) in [("one", 3), ("other", 5), ("one", 4), ("one", 0)] {
            lateness.note_exec(name, late_ms * 1_000_000);
        }
        let late = |largest_ms: i64, sum_ms: i64| Late {
            largest_ns: largest_ms * 1_000_000,
            sum_ns: sum_ms * 1_000_000,
        };
        let told = [("one".to_owned(), late(4, 7)), ("other".to_owned(), late(5, 5))];
        assert_eq!(lateness.take_execs(), told);
    }
}
