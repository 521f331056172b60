//! How late an agent does what virtual times demand of it. The threads that do it note it here, and
//! whoever watches for disturbances takes it from here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vtime::late::{Late, Lateness};

use super::Domain;

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
    /// Threads of the agent that serve one program each, by number: when they wait, it does.
    servants: Mutex<BTreeMap<i32, String>>,
}

/// That a thread serves one program, until this is dropped.
#[derive(Debug)]
pub struct Serving {
    domain: Arc<Domain>,
    thread: i32,
}

impl Serving {
    /// This thread serves the program of this name from now on. `None` if it has no number to be
    /// found by.
    #[must_use]
    pub fn begin(domain: &Arc<Domain>, name: &str) -> Option<Self> {
        let this = std::fs::read_link("/proc/thread-self").ok()?;
        let thread = this.file_name()?.to_str()?.parse().ok()?;
        domain.lateness().servants().insert(thread, name.to_owned());
        Some(Self { domain: Arc::clone(domain), thread })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.domain.lateness().servants().remove(&self.thread);
    }
}

impl AgentLateness {
    /// The program that each thread serves which serves one only.
    #[must_use]
    pub fn served(&self) -> BTreeMap<i32, String> {
        self.servants().clone()
    }

    fn servants(&self) -> MutexGuard<'_, BTreeMap<i32, String>> {
        self.servants.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
    fn a_thread_that_serves_a_program_is_known_as_long_as_it_does() {
        let domain = Domain::new(crate::domain::Start::default()).unwrap();
        let serving = Serving::begin(&domain, "sensor");
        assert_eq!(domain.lateness().served().into_values().collect::<Vec<_>>(), ["sensor"]);
        drop(serving);
        assert!(domain.lateness().served().is_empty());
    }

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
