//! The clock as a signal bus stops it: at the edge, before anybody has said why.
//!
//! The one who sees the edge, a thread of the agent ([`Domain::stop_for_bus`]) or the kernel module in its interrupt, stops the
//! clock at once. That is one hold more, until those who agree on holds have taken it over ([`Domain::release_bus`]).
//!
//! What the module has done stands in the page alone. The agent takes it up before each change of its own, once the page is
//! odd and nobody else changes it: so it never lets a clock run that was stopped meanwhile. The head of
//! `kernel/qcbus/qcclock.h` is the contract.

use parking_lot::MutexGuard;
use vtime::{HostSpan, HostTime, VirtualClock, VirtualSpan, VirtualTime};

use super::{Changed, Domain, State};

/// What the bus has done to a clock.
#[derive(Debug)]
pub(super) struct Stops {
    /// Whether a module may change the page.
    by_module: bool,
    /// How often it has stopped the clock, as far as that was taken up.
    taken_up: u32,
    /// Whether one of the holds of the clock is that of the bus.
    holds: bool,
}

impl Stops {
    pub(super) const fn new(by_module: bool) -> Self {
        Self { by_module, taken_up: 0, holds: false }
    }
}

impl Domain {
    /// The bus has become asserted: stops the clock, unless a module has done so. Returns where it stands.
    pub fn stop_for_bus(&self) -> VirtualTime {
        let mut state = self.state.lock();
        let is_stopped = self.begin_change(&mut state);
        let now = super::settled_host_now().min(self.page.limit());
        let stops = !state.bus.holds && {
            let before = state.clock.clone();
            state.bus.holds = true;
            let stops = state.clock.hold(now);
            self.page.history().note_change(now, Some(&before), &state.clock);
            stops
        };
        let at = state.clock.at(now);
        self.end_change(&mut state, Changed { stops, ..Changed::default() });
        self.stop_if_asked(state, is_stopped || stops);
        at
    }

    /// Others hold the clock now, or nobody does: the bus holds it no more.
    pub fn release_bus(&self) {
        self.take_up_stops();
        let holds = std::mem::take(&mut self.state.lock().bus.holds);
        if holds {
            self.release_hold();
        }
    }

    /// Takes up what the module has done to the clock since the last change.
    pub fn take_up_stops(&self) {
        let is_behind = {
            let state = self.state.lock();
            state.bus.by_module && state.bus.taken_up != self.page.stops()
        };
        if is_behind {
            self.change(|_, _| ((), Changed::default()));
        }
    }

    /// Makes the page odd, and takes up what the module has done to the clock since the last change. Returns whether that
    /// has stopped it.
    pub(super) fn begin_change(&self, state: &mut State) -> bool {
        self.page.begin_change();
        if !state.bus.by_module || state.bus.taken_up == self.page.stops() {
            return false;
        }
        state.bus.taken_up = self.page.stops();
        if std::mem::replace(&mut state.bus.holds, true) {
            return false;
        }
        let (stopped, at) = self.page.stopped_at();
        let host = host_time_of_stop(&state.clock, stopped, at);
        let before = state.clock.clone();
        let stops = state.clock.hold(host);
        self.page.history().note_change(host, Some(&before), &state.clock);
        state.stops += u64::from(stops);
        state.watchers.iter().for_each(|watcher| watcher.wake.wake());
        stops
    }

    /// After a change: stops the clock if the module has asked for that meanwhile, and freezes programs if it `is_stopped`.
    pub(super) fn stop_if_asked(&self, state: MutexGuard<'_, State>, is_stopped: bool) {
        let asked = state.bus.by_module && self.page.is_stop_asked();
        drop(state);
        if asked {
            self.stop_for_bus();
        }
        if let Some(backstop) = self.backstop.get().filter(|_| is_stopped) {
            backstop.stopped();
        }
    }
}

/// The host time at which a clock was stopped, so that it shows the virtual time of that moment: no later than that at which
/// it would show more, where a limit kept it from going on.
fn host_time_of_stop(clock: &VirtualClock, stopped: HostTime, at: VirtualTime) -> HostTime {
    let beyond = at + VirtualSpan::from_ns(1);
    let reaches = clock.published().reaches(beyond);
    reaches.map_or(stopped, |host| stopped.min(host - HostSpan::from_ns(1)))
}

#[cfg(test)]
mod tests;
