//! Between the agent of a host and those of the others, where a run has several: asks them, and answers.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use network::border::{AllHolds, Asked, OtherHosts};
use runtime::agent::control::Control;
use runtime::agent::local::Together;
use vtime::VirtualTime;

/// All hosts of a run, seen from one.
pub(super) struct OverHosts {
    pub(super) me: usize,
    pub(super) names: Vec<String>,
    pub(super) holds: Arc<AllHolds>,
    pub(super) others: Arc<OtherHosts>,
}

impl Together for OverHosts {
    fn me(&self) -> usize {
        self.me
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn is_there(&self, host: usize) -> bool {
        self.others.is_there(host)
    }

    fn hold(&self) -> Option<VirtualTime> {
        self.holds.hold()
    }

    fn release(&self) -> bool {
        self.holds.release()
    }

    fn why_over(&self) -> String {
        self.others.why_over()
    }

    fn holds(&self) -> Option<(u32, u32)> {
        self.holds.count().map(|count| (count.of_all, count.here))
    }

    fn ask(
        &self,
        hosts: &[usize],
        question: &[u8],
        longest: Option<Duration>,
    ) -> Vec<Result<Vec<u8>, String>> {
        self.others.ask(hosts, question, longest)
    }
}

/// Answers what other hosts ask, each in a thread of its own, as one answer may wait for other hosts.
pub(super) fn answer(
    asked: Receiver<Asked>,
    control: &Arc<Control>,
    others: &Arc<OtherHosts>,
) -> io::Result<()> {
    let (control, others) = (Arc::clone(control), Arc::clone(others));
    thread::Builder::new().name("asked".into()).spawn(move || {
        for one in asked {
            let one = Arc::new(one);
            let answer = {
                let (control, others) = (Arc::clone(&control), Arc::clone(&others));
                let one = Arc::clone(&one);
                move || others.answer(&one, control.answer_host(one.from, &one.octets))
            };
            let thread = thread::Builder::new().name("asked-once".into());
            if thread.spawn(answer).is_err() {
                // Programs may have all threads that this user may have: then one after the other.
                others.answer(&one, control.answer_host(one.from, &one.octets));
            }
        }
    })?;
    Ok(())
}
