//! What the network knows of events that no thread waits for, for a clock that jumps.

use parking_lot::Mutex;
use vtime::{HostSpan, VirtualTime};

use std::sync::Arc;

use domain::{Domain, host_now};
use network::border::Sleep;
use network::outlook::Outlook as OfNetwork;
use network::owed::Owing;
use runtime::launch::{Outlook, Waits};

pub(super) struct Network {
    network: OfNetwork,
    domain: Arc<Domain>,
    /// What a kernel may have owed at the last look.
    owing: Mutex<Option<Owing>>,
}

impl Network {
    pub(super) fn new(network: OfNetwork, domain: Arc<Domain>) -> Self {
        Self { network, domain, owing: Mutex::default() }
    }
}

impl Outlook for Network {
    fn look(&self) -> Option<Waits> {
        let quiet = self.network.look(self.domain.now(), host_now())?;
        *self.owing.lock() = quiet.owing;
        Some(Waits {
            round: quiet.round,
            for_kernels: quiet.owing.is_some(),
            others_may_send: quiet.others_may_send,
        })
    }

    fn ran_for_kernels(&self, span: HostSpan) {
        if let Some(owing) = *self.owing.lock() {
            self.network.note_ran_for(owing, span);
        }
    }

    fn all_sleep(&self, waits: &Waits, until: VirtualTime, is_owed: bool) {
        let sleep = if is_owed { Sleep::ForTimersUntil(until) } else { Sleep::Until(until) };
        self.network.all_sleep(waits.round, sleep);
    }

    fn jumped(&self, now: VirtualTime) {
        self.network.jumped(now);
    }
}
