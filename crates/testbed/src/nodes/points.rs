//! The plant as an agent reaches it: it asks the runner, and the program waits meanwhile.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use vtime::VirtualTime;

use super::orders::{PlantAnswer, Report};
use super::owner::Owner;
use crate::devices::PointStore;
use domain::Domain;
use network::border::{AllHeld, AllHolds, Turns};
use network::stats::LatenessCounter;
use plant::name::PointName;
use results::record::ReadAccount;

#[derive(Debug)]
pub(super) struct Points {
    owner: Arc<Owner>,
    domain: Arc<Domain>,
    /// Where other hosts have the same plant.
    turns: OnceLock<Arc<Turns>>,
    /// The same where clocks run by themselves, and all are held for an access.
    all: OnceLock<Arc<AllHolds>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    asked: u64,
    waiting: BTreeMap<u64, Sender<PlantAnswer>>,
    access: LatenessCounter,
    /// No more answers will come.
    closed: bool,
}

impl Points {
    pub(super) fn new(owner: Arc<Owner>, domain: Arc<Domain>) -> Arc<Self> {
        Arc::new(Self {
            owner,
            domain,
            turns: OnceLock::new(),
            all: OnceLock::new(),
            state: Mutex::default(),
        })
    }

    /// From now on accesses of several hosts come one after the other, in virtual time.
    pub(super) fn take_turns(&self, turns: Arc<Turns>) {
        let _ = self.turns.set(turns);
    }

    /// From now on each access holds the clocks of all hosts.
    pub(super) fn hold_all_hosts(&self, all: Arc<AllHolds>) {
        let _ = self.all.set(all);
    }

    pub(super) fn answer(&self, ask: u64, outcome: PlantAnswer) {
        if let Some(waiting) = self.state.lock().waiting.remove(&ask) {
            // That one may have been killed meanwhile.
            let _ = waiting.send(outcome);
        }
    }

    /// Lets everybody who waits find that no answer will come.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting.clear();
        self.turns.get().into_iter().for_each(|turns| turns.end());
    }

    /// Wall time that accesses took so far; `None` if there were none.
    pub(super) fn access(&self) -> Option<ReadAccount> {
        let counted = self.state.lock().access.summary();
        let in_us = |ns: u64| ns as f64 / 1e3;
        (counted.frames > 0).then(|| ReadAccount {
            count: counted.frames,
            median_us: in_us(counted.median_ns),
            p99_us: in_us(counted.p99_ns),
        })
    }

    fn request(
        &self,
        points: &[PointName],
        write: Option<f64>,
        at: VirtualTime,
    ) -> Result<Vec<f64>, String> {
        const OVER: &str = "the run is over";
        let _work = self.domain.works().begin();
        let begun = Instant::now();
        if self.turns.get().is_some_and(|turns| !turns.wait(at)) {
            return Err(OVER.to_owned());
        }
        let (sender, receiver) = channel();
        let ask = {
            let mut state = self.state.lock();
            if state.closed {
                return Err(OVER.to_owned());
            }
            state.asked += 1;
            let ask = state.asked;
            state.waiting.insert(ask, sender);
            ask
        };
        self.owner.report(&Report::Ask { ask, points: points.to_vec(), write, at_ns: at.as_ns() });
        let answer = receiver.recv().map_err(|_| OVER.to_owned())?;
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.state.lock().access.count(took);
        match answer {
            PlantAnswer::Values(values) => Ok(values),
            PlantAnswer::Error(error) => Err(error),
        }
    }
}

impl PointStore for Points {
    fn hold_all(&self) -> Option<AllHeld> {
        self.all.get()?.held()
    }

    fn read(&self, points: &[PointName], at: VirtualTime) -> Result<Vec<f64>, String> {
        self.request(points, None, at)
    }

    fn write(&self, point: &PointName, value: f64, at: VirtualTime) -> Result<(), String> {
        self.request(std::slice::from_ref(point), Some(value), at).map(drop)
    }
}
