//! Which hosts are lost, as the runner says, for threads of an agent that wait for its word.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

#[derive(Debug, Default)]
pub(super) struct LostHosts {
    hosts: Mutex<BTreeSet<usize>>,
    changed: Condvar,
}

impl LostHosts {
    pub(super) fn add(&self, host: usize) {
        self.hosts.lock().insert(host);
        self.changed.notify_all();
    }

    /// Whether a host is lost, or is so within that time.
    pub(super) fn has_within(&self, host: usize, longest: Duration) -> bool {
        let mut hosts = self.hosts.lock();
        let is_missing = |hosts: &mut BTreeSet<usize>| !hosts.contains(&host);
        !self.changed.wait_while_for(&mut hosts, is_missing, longest).timed_out()
            || hosts.contains(&host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[test]
    fn who_waits_for_one_host_is_not_answered_with_another() {
        let lost = Arc::new(LostHosts::default());
        let waits = Arc::clone(&lost);
        let waiting = thread::spawn(move || waits.has_within(2, Duration::from_secs(60)));
        lost.add(1);
        assert!(!lost.has_within(2, Duration::from_millis(20)));
        lost.add(2);
        assert!(waiting.join().unwrap() && lost.has_within(1, Duration::ZERO));
    }
}
