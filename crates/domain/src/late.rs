//! How late an agent does what virtual times demand of it. The threads that do it note it here, and
//! the watch for disturbances takes it from here.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use vtime::late::{Late, Lateness, ON_TIME_NS};

use super::Domain;

/// By what is done.
#[derive(Debug, Default)]
pub struct AgentLateness {
    /// Frames that are handed over.
    pub frames: Lateness,
    /// Accesses to points of the plant, that are taken up or answered.
    pub points: Lateness,
    /// What is done for one program alone, by its name: each keeps itself waiting only.
    served: Mutex<BTreeMap<String, Served>>,
    /// Threads of the agent that serve one program each, by number: when they wait, it does.
    servants: Mutex<BTreeMap<i32, String>>,
}

/// How the agent has done with what it does for one program: what stands at an exec until it is in
/// virtual time, and timers that expire.
#[derive(Debug, Default)]
struct Served {
    lateness: Lateness,
    /// Lines of its output, that were read later than they were written.
    stamped: Lateness,
    /// Calls that failed for want of something of the agent's, since they were last taken.
    refused: u64,
    /// The same since the program began.
    refused_ever: u64,
}

/// What was noted of a program since that was last asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceLateness {
    pub name: String,
    pub served: Late,
    /// How late lines that it wrote were stamped.
    pub stamped: Late,
    pub refused: u64,
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
        domain.lateness().servants.lock().insert(thread, name.to_owned());
        Some(Self { domain: Arc::clone(domain), thread })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.domain.lateness().servants.lock().remove(&self.thread);
    }
}

impl AgentLateness {
    /// The program that each thread serves which serves one only.
    pub fn served(&self) -> BTreeMap<i32, String> {
        self.servants.lock().clone()
    }

    /// A program of this name was served so late.
    pub fn note_served(&self, name: &str, late_ns: i64) {
        if late_ns >= ON_TIME_NS {
            self.with(name, |served| served.lateness.note(late_ns));
        }
    }

    /// A call of a program of this name has failed because the agent lacked something, not the
    /// program.
    pub fn note_refused(&self, name: &str) {
        self.with(name, |served| {
            served.refused += 1;
            served.refused_ever += 1;
        });
    }

    /// Lines of a program of this name were stamped so late.
    pub fn note_stamped(&self, name: &str, late_ns: i64) {
        if late_ns >= ON_TIME_NS {
            self.with(name, |served| served.stamped.note(late_ns));
        }
    }

    /// What was noted since the last call, by the names of programs.
    pub fn take_served(&self) -> Vec<ServiceLateness> {
        let mut all = self.served.lock();
        let take = |(name, served): (&String, &mut Served)| ServiceLateness {
            name: name.clone(),
            served: served.lateness.take(),
            stamped: served.stamped.take(),
            refused: std::mem::take(&mut served.refused),
        };
        all.iter_mut().map(take).collect()
    }

    /// What it means to who looks at a domain that calls were refused, by program.
    pub fn warnings(&self) -> Vec<String> {
        let all = self.served.lock();
        let refused = all.iter().filter(|(_, served)| served.refused_ever > 0);
        let warning = |(name, served): (&String, &Served)| {
            format!(
                "{} calls of timers of `{name}` failed with ENOMEM because the agent had no \
                 descriptors or threads for them; raise its limits (`ulimit -n`, `ulimit -u`) or \
                 set fewer timerfds",
                served.refused_ever
            )
        };
        refused.map(warning).collect()
    }

    fn with(&self, name: &str, act: impl FnOnce(&mut Served)) {
        let mut all = self.served.lock();
        if !all.contains_key(name) {
            all.insert(name.to_owned(), Served::default());
        }
        all.get_mut(name).map(act);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_serves_a_program_is_known_as_long_as_it_does() {
        let domain = Domain::new(crate::Start::default()).unwrap();
        let serving = Serving::begin(&domain, "sensor");
        assert_eq!(domain.lateness().served().into_values().collect::<Vec<_>>(), ["sensor"]);
        drop(serving);
        assert!(domain.lateness().served().is_empty());
    }

    #[test]
    fn each_program_is_kept_waiting_and_refused_by_itself() {
        let lateness = AgentLateness::default();
        for (name, late_ms) in [("one", 3), ("other", 5), ("one", 4), ("one", 0)] {
            lateness.note_served(name, late_ms * 1_000_000);
        }
        lateness.note_refused("other");
        lateness.note_refused("other");
        let late = |largest_ms: i64, sum_ms: i64| Late {
            largest_ns: largest_ms * 1_000_000,
            sum_ns: sum_ms * 1_000_000,
        };
        lateness.note_stamped("one", 6_000_000);
        lateness.note_stamped("one", ON_TIME_NS - 1);
        let since = |name: &str, served, stamped, refused| {
            let name = name.to_owned();
            ServiceLateness { name, served, stamped, refused }
        };
        let none = Late::default();
        let reported =
            [since("one", late(4, 7), late(6, 6), 0), since("other", late(5, 5), none, 2)];
        assert_eq!(lateness.take_served(), reported);
        let nothing = ["one", "other"].map(|name| since(name, none, none, 0));
        assert_eq!(lateness.take_served(), nothing);
        let warnings = lateness.warnings();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("2 calls of timers of `other`"), "{warnings:?}");
    }
}
