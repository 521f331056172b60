//! Teleprotection of a line with two ends (85-21, PSCH): each end tells the other what it sees, and
//! both trip at once for a fault anywhere on the line, where distance alone needs the time of zone 2
//! near the far end.
//!
//! | Scheme | An end sends | and trips when it sees a fault ahead and |
//! |---|---|---|
//! | POTT, permissive overreach | for a fault ahead, beyond the line too | hears the other |
//! | PUTT, permissive underreach | for a fault that is on the line for sure | hears the other |
//! | DCB, directional comparison blocking | for a fault behind | does not, for `coordination` |
//!
//! Parallel lines: when the breaker of the faulty line opens at one end first, the current of the
//! healthy line turns round, and an end that saw the fault behind sees it ahead while the permission
//! of the other still stands (or before its blocking arrives). So after a fault behind:
//!
//! ```text
//! free --fault behind for 20 ms--> guarded --it is gone--> guarded for `reversal` more --> free
//! ```
//!
//! and an end that is guarded neither trips nor permits; with DCB it goes on blocking. A start of an
//! element behind that is shorter does not guard: it may belong to a fault of the line. An end of POTT
//! with little behind it echoes: see [`super::weak_infeed`].
//!
//! During a power swing distance elements find faults, but only after a while ([`super::swing_fault`]): that
//! one sees nothing yet says nothing. So an end does not echo meanwhile, and with DCB it blocks until it sees
//! a fault ahead. Both ends then trip for faults of the line, however long each takes, and for no others.
//!
//! Silence is no signal. An end that does not hear the other (link or publisher lost, quality not
//! good) has no permission. With DCB it does not know that nothing blocks: it waits, unless the
//! settings want it to trip, as with carriers that are silent while all is well. There is no
//! unblocking: a fault on a line does not disturb a fibre, so a lost link says nothing of a fault.
//!
//! Schemes as in IEEE C37.113 and the Network Protection & Automation Guide (chapter 12); 20 ms and
//! 60 ms of the guard are those of ABB's ZCRWPSCH (`tPickUpRev`, `tDelayRev`), 20 ms that of GE's POTT
//! too.

use std::time::Duration;

use iec61850::SampleTime;

use super::timing::Delay;
use super::weak_infeed::{self, WeakEnd};
use super::{Decision, PhaseSet};

/// How long a fault is behind before its end guards: less than any breaker takes to open.
const REVERSE_MIN: Duration = Duration::from_millis(20);

/// What is sent, and what a signal of the other end means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scheme {
    /// Permissive overreach, with what an end does that has little behind it.
    Pott(Option<weak_infeed::Settings>),
    /// Permissive underreach: an end that is sure sends.
    Putt,
    /// Directional comparison blocking: an end that sees a fault behind sends.
    Dcb {
        /// Whether it trips while the other end is not heard.
        trips_unheard: bool,
    },
}

/// Scheme and times of a teleprotection element (PSCH).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// What is sent and awaited.
    pub scheme: Scheme,
    /// How long the condition of a trip must last: with DCB, for the signal to come.
    pub coordination: Duration,
    /// How long it guards after a fault behind: longer than a signal takes to end.
    pub reversal: Duration,
}

/// What an end sees and hears.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seen {
    /// An element that looks ahead, beyond the line, has started.
    pub forward: bool,
    /// Phases of that fault; none where they are not known.
    pub phases: PhaseSet,
    /// An element that reaches no further than the line has started.
    pub underreaching: bool,
    /// An element that looks behind has started.
    pub reverse: bool,
    /// What the other end sends, where it is heard.
    pub received: Option<bool>,
    /// Voltages to earth, in V; `None` while those elements cannot see.
    pub phases_v: Option<[f64; 3]>,
    /// Position of the breaker, where it is known.
    pub is_closed: Option<bool>,
    /// A power swing keeps elements from seeing faults at once.
    pub is_swing: bool,
}

/// One end of a teleprotection scheme (PSCH).
#[derive(Clone, PartialEq, Debug)]
pub struct Teleprotection {
    settings: Settings,
    reverse: Delay,
    /// When a fault behind was last there, after `REVERSE_MIN`.
    reversed: Option<SampleTime>,
    coordination: Delay,
    weak_end: Option<WeakEnd>,
}

impl Teleprotection {
    /// An end at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let weak_end = match settings.scheme {
            Scheme::Pott(weak_end) => weak_end.map(WeakEnd::new),
            Scheme::Putt | Scheme::Dcb { .. } => None,
        };
        Self {
            settings,
            reverse: Delay::new(REVERSE_MIN),
            reversed: None,
            coordination: Delay::new(settings.coordination),
            weak_end,
        }
    }

    /// Looks at what is seen and heard: a start is what it sends, operation a trip. `None` while it is
    /// blocked.
    pub fn update(&mut self, now: SampleTime, seen: Option<&Seen>) -> Decision {
        let Some(seen) = seen else {
            *self = Self::new(self.settings);
            return Decision::NONE;
        };
        let is_guarded = self.is_guarded(now, seen.reverse);
        let hears = seen.received == Some(true);
        let (may_trip, sends) = match self.settings.scheme {
            Scheme::Pott(_) => (hears, seen.forward && !is_guarded),
            Scheme::Putt => (hears, seen.underreaching),
            Scheme::Dcb { trips_unheard } => (
                seen.received.map_or(trips_unheard, |blocks| !blocks),
                is_guarded || ((seen.reverse || seen.is_swing) && !seen.forward),
            ),
        };
        let asks = seen.forward && !is_guarded && may_trip;
        let trips = self.coordination.update(now, asks).operate;
        let (echoes, low) = self.weak(now, seen, is_guarded);
        let phases = if trips { seen.phases } else { low };
        let operate = trips || !low.is_empty();
        let phases = if operate { phases } else { PhaseSet::NONE };
        Decision { start: sends || echoes, operate, phases }
    }

    fn is_guarded(&mut self, now: SampleTime, reverse: bool) -> bool {
        if self.reverse.update(now, reverse).operate {
            self.reversed = Some(now);
        }
        let lasts = |at: SampleTime| at == now || now.since(at) < self.settings.reversal;
        self.reversed = self.reversed.filter(|at| lasts(*at));
        self.reversed.is_some()
    }

    /// What a weak end does: whether it echoes, and the phases by whose low voltage it trips.
    fn weak(&mut self, now: SampleTime, seen: &Seen, is_guarded: bool) -> (bool, PhaseSet) {
        let Some(weak_end) = &mut self.weak_end else { return (false, PhaseSet::NONE) };
        let fault = seen.forward || seen.reverse || is_guarded;
        let hears = seen.received == Some(true);
        let can_see = seen.phases_v.is_some() && !seen.is_swing;
        let echoes = weak_end.update(now, hears, can_see, fault);
        // An open breaker has nothing to trip, and a trip would only make others follow it.
        let may_trip = echoes && hears && seen.is_closed != Some(false);
        let low = seen.phases_v.filter(|_| may_trip).map(|phases_v| weak_end.low(phases_v));
        (echoes, low.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
