//! Nodes may send faster than a connection between hosts carries. What waits for it would grow without end, so the clock
//! stands while there is much: where all wait for grants it is the clock of this host, and the others wait; where clocks run
//! by themselves, all of them. Programs are frozen with their clock, as in any hold.

use std::sync::Arc;

use domain::{Domain, Hold};

use super::holding::AllHolds;

/// Octets that wait for another host, from which on the clock stands, and down to which it does.
const MUCH: usize = 8 * 1024 * 1024;
const LITTLE: usize = 1024 * 1024;

/// Whether the clock stands for that.
#[derive(Debug, Default)]
pub(super) struct Brake {
    on: Option<On>,
    times: u64,
}

#[derive(Debug)]
enum On {
    /// The clock of this host, until this is dropped.
    One {
        _hold: Hold,
    },
    All,
}

impl Brake {
    /// So many octets wait. `all` is where all clocks are held, if they run by themselves.
    pub(super) fn step(
        &mut self,
        waiting: usize,
        domain: &Arc<Domain>,
        all: Option<&Arc<AllHolds>>,
    ) {
        match (&self.on, all) {
            (None, None) if waiting > MUCH => self.on = Some(On::One { _hold: domain.hold() }),
            (None, Some(all)) if waiting > MUCH => {
                all.hold_by_itself(true);
                self.on = Some(On::All);
            }
            (Some(On::One { .. }), _) if waiting < LITTLE => self.on = None,
            (Some(On::All), Some(all)) if waiting < LITTLE => {
                all.hold_by_itself(false);
                self.on = None;
            }
            _ => return,
        }
        self.times += u64::from(self.on.is_some());
    }

    /// That it was on, of a host with that name.
    pub(super) fn warning(&self, host: &str) -> Option<String> {
        let times = self.times;
        (times > 0).then(|| {
            format!(
                "nodes of host `{host}` sent more than its connection with another host carries: its clock stood {times} times until \
                 that was sent; give links a `rate`, or the hosts a faster connection"
            )
        })
    }
}
