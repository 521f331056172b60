//! Automatic reclosing (79, RREC): closes a breaker again after a trip, because most faults of overhead
//! lines are arcs that die while there is no voltage.
//!
//! A cycle begins with a trip that may be followed by closing. Once the trip is over and the breaker is
//! open, the dead time of its shot runs; then the breaker is closed, if it has the energy for that and
//! both sides may be connected. A trip within the reclaim time after it was closed is the same fault and
//! has the next shot, until none is left; one that does not initiate reclosing is final in any shot.
//! Whatever does not go as it should ends in a lockout, and only a breaker that somebody has closed, and
//! that stayed closed for the reclaim time, ends that. The same time must have passed after any closing by
//! hand, so a breaker closed onto a fault stays open.
//!
//! After a trip of one pole (a fault of one phase to earth), the pole is closed again without looking at
//! voltages, for the other two hold both sides together. A second fault meanwhile trips all poles, and is
//! the next shot. A breaker that opens all poles though one was tripped is closed as after a trip of all.
//! A cycle that ends while one pole is open trips the others as well.
//!
//! Sources: RREC of IEC 61850-7-4, IEEE C37.104 (guide for automatic reclosing).

use std::time::Duration;

use iec61850::SampleTime;

use super::PhaseSet;

/// How long poles may be elsewhere than a cycle has them, while somebody closes or opens the breaker:
/// they move within some ms of each other, and are told one by one.
const MOVING_MAX: Duration = Duration::from_millis(100);

/// Times of a reclosing element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Dead times of the shots after trips of all poles.
    pub shots: Vec<Duration>,
    /// Dead time of the first shot after a trip of one pole; nothing where that is never tripped.
    pub dead_time_single: Option<Duration>,
    /// How long the breaker must stay closed until a trip is a new fault.
    pub reclaim: Duration,
    /// From the begin of a trip until it is over and the breaker is open.
    pub open_within: Duration,
    /// From the end of the dead time until closing is released and the breaker has energy.
    pub release_within: Duration,
    /// The longest order to close.
    pub close_within: Duration,
}

impl Settings {
    /// How often it closes in a cycle.
    #[must_use]
    pub fn shots_max(&self) -> usize {
        self.shots.len().max(usize::from(self.dead_time_single.is_some()))
    }
}

/// What a reclosing element looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Poles of the breaker that are tripped. A trip that does not begin with `initiates` is final.
    pub tripped: PhaseSet,
    /// A trip that may be followed by closing.
    pub initiates: bool,
    /// A trip that may not.
    pub is_final: bool,
    /// Poles that are open, while that is known of all of them.
    pub open: Option<PhaseSet>,
    /// The breaker has energy to close, or nobody need tell.
    pub is_charged: bool,
    /// Both sides may be connected, or nobody need tell.
    pub is_released: bool,
    /// Somebody forbids it to close.
    pub is_blocked: bool,
}

impl Seen {
    const fn is_trip(&self) -> bool {
        self.initiates || self.is_final || !self.tripped.is_empty()
    }

    fn is_closed(&self) -> bool {
        self.open == Some(PhaseSet::NONE)
    }
}

/// Where a reclosing element is in its cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The breaker is not closed, or not for long enough; or somebody forbids it.
    NotReady,
    /// A trip would be followed by closing.
    Ready,
    /// The breaker was told to open.
    Tripping,
    /// The arc is given time to die.
    DeadTime,
    /// The dead time is over, and closing is not released yet.
    AwaitingRelease,
    /// The breaker was told to close.
    Closing,
    /// It was closed, and a trip would be that of the same fault.
    Reclaiming,
    /// It closes no more.
    Lockout(Reason),
}

/// Why a cycle ended without success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A trip that may not be followed by closing.
    FinalTrip,
    /// A trip when it was not ready, as after closing by hand.
    TripWhenNotReady,
    /// The fault is still there after the last shot.
    ShotsUsed,
    /// The breaker did not open in time, or not as it was told to.
    NotOpen,
    /// The breaker has not got the energy to close.
    NotCharged,
    /// Both sides may not be connected.
    NotReleased,
    /// The breaker did not close in time.
    NotClosed,
    /// Somebody forbade it meanwhile.
    Blocked,
}

/// What a reclosing element wants done now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Orders {
    /// The breaker is to close.
    pub close: bool,
    /// Poles that are still closed are to be tripped as well.
    pub trip_rest: bool,
}

/// A reclosing element (79).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reclosing {
    settings: Settings,
    state: State,
    /// When that state began.
    since: SampleTime,
    /// Number of the present shot, from 1; zero when there is none.
    shot: usize,
    /// Poles that this shot opens; none until they are known.
    poles: PhaseSet,
    /// Since when the breaker is closed, while it is known to be.
    closed_since: Option<SampleTime>,
    /// Since when poles are elsewhere than this cycle has them, while they are.
    elsewhere_since: Option<SampleTime>,
}

impl Reclosing {
    /// An element that knows nothing of its breaker yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::NotReady,
            since: SampleTime::ZERO,
            shot: 0,
            poles: PhaseSet::NONE,
            closed_since: None,
            elsewhere_since: None,
        }
    }

    /// Where it is, and the number of its shot.
    #[must_use]
    pub const fn state(&self) -> (State, usize) {
        (self.state, self.shot)
    }

    /// Whether a cycle is in progress, up to the moment at which the breaker is closed.
    #[must_use]
    pub const fn is_in_progress(&self) -> bool {
        matches!(
            self.state,
            State::Tripping | State::DeadTime | State::AwaitingRelease | State::Closing
        )
    }

    /// Whether it closes no more.
    #[must_use]
    pub const fn is_locked_out(&self) -> bool {
        matches!(self.state, State::Lockout(_))
    }

    /// Whether one pole is open on purpose, or about to be.
    #[must_use]
    pub const fn is_pole_open(&self) -> bool {
        self.is_in_progress() && self.poles.count() == 1
    }

    /// Whether a trip of one pole, now, would be followed by closing it.
    #[must_use]
    pub const fn closes_pole(&self) -> bool {
        let is_first = match self.state {
            State::Ready => true,
            State::Tripping => self.shot == 1 && self.poles.is_empty(),
            _ => false,
        };
        is_first && self.settings.dead_time_single.is_some()
    }

    /// Looks at trips and breaker.
    pub fn update(&mut self, now: SampleTime, seen: &Seen) -> Orders {
        if seen.is_closed() {
            self.closed_since.get_or_insert(now);
        } else {
            self.closed_since = None;
        }
        let (before, was_pole_open) = (self.state, self.is_pole_open());
        match self.state {
            State::NotReady | State::Lockout(_) => self.rest(now, seen),
            _ if self.is_final_trip(seen) => self.lock_out(now, Reason::FinalTrip),
            State::Ready => self.wait_for_trip(now, seen),
            State::Reclaiming => self.reclaim(now, seen),
            _ if seen.is_blocked => self.lock_out(now, Reason::Blocked),
            State::Tripping => self.open(now, seen),
            State::DeadTime | State::AwaitingRelease => self.wait(now, seen),
            State::Closing => self.close(now, seen),
        }
        let is_new_lockout = self.is_locked_out() && self.state != before;
        let is_part_open = seen.open.is_some_and(|open| matches!(open.count(), 1 | 2));
        Orders {
            close: self.state == State::Closing,
            trip_rest: is_new_lockout && (was_pole_open || is_part_open),
        }
    }

    /// Whether a trip may not be followed by closing: somebody says so, or nothing initiates it. What
    /// initiated the present shot may be over before its trip is.
    fn is_final_trip(&self, seen: &Seen) -> bool {
        seen.is_final || (self.state != State::Tripping && seen.is_trip() && !seen.initiates)
    }

    /// Not ready, or locked out: only a breaker that stays closed helps.
    fn rest(&mut self, now: SampleTime, seen: &Seen) {
        if seen.is_trip() && self.is_locked_out() {
            self.since = now;
        } else if seen.is_trip() {
            let reason = if seen.is_final { Reason::FinalTrip } else { Reason::TripWhenNotReady };
            self.lock_out(now, reason);
        } else if self.was_closed_for(now, self.settings.reclaim)
            && seen.is_charged
            && !seen.is_blocked
        {
            self.enter(now, State::Ready);
        }
    }

    fn wait_for_trip(&mut self, now: SampleTime, seen: &Seen) {
        if seen.is_trip() {
            self.begin_shot(now, seen);
        } else if !seen.is_closed() || !seen.is_charged || seen.is_blocked {
            self.enter(now, State::NotReady);
        }
    }

    fn reclaim(&mut self, now: SampleTime, seen: &Seen) {
        if seen.is_trip() {
            self.begin_shot(now, seen);
        } else if seen.is_blocked || seen.open.is_some_and(|open| !open.is_empty()) {
            self.enter(now, State::NotReady);
        } else if self.was_closed_for(now, self.settings.reclaim) {
            self.enter(now, State::Ready);
        }
    }

    /// The trip is given: waits until it is over and the breaker is open.
    fn open(&mut self, now: SampleTime, seen: &Seen) {
        self.poles = self.poles | seen.tripped;
        let poles = if self.poles.count() == 1 { self.poles } else { PhaseSet::ALL };
        let open = seen.open.filter(|open| *open == poles || *open == PhaseSet::ALL);
        if let Some(open) = open.filter(|_| !seen.is_trip()) {
            self.poles = poles;
            self.begin_dead_time(now, open);
        } else if now.since(self.since) >= self.settings.open_within {
            self.lock_out(now, Reason::NotOpen);
        }
    }

    /// The breaker is open: waits until it may be closed.
    fn wait(&mut self, now: SampleTime, seen: &Seen) {
        let is_open = seen.open == Some(self.poles);
        let span = now.since(self.since);
        if seen.is_trip() && self.poles.count() == 1 {
            self.begin_shot(now, seen);
        } else if seen.is_trip() {
            // Nothing that hangs on this breaker can feed a fault now.
            self.lock_out(now, Reason::FinalTrip);
        } else if seen.is_closed() {
            // By somebody else, who must look after it.
            self.enter(now, State::NotReady);
        } else if self.poles.count() == 1 && seen.open == Some(PhaseSet::ALL) {
            self.begin_dead_time(now, PhaseSet::ALL);
        } else if self.is_elsewhere(now, seen) {
            self.lock_out(now, Reason::NotOpen);
        } else if self.state == State::DeadTime {
            if self.dead_time().is_some_and(|dead_time| span >= dead_time) {
                self.enter(now, State::AwaitingRelease);
                self.wait(now, seen);
            }
        } else if is_open && seen.is_charged && (seen.is_released || self.poles.count() == 1) {
            self.enter(now, State::Closing);
        } else if span >= self.settings.release_within {
            self.lock_out(
                now,
                match (is_open, seen.is_charged) {
                    (false, _) => Reason::NotOpen,
                    (true, false) => Reason::NotCharged,
                    (true, true) => Reason::NotReleased,
                },
            );
        }
    }

    /// The order to close is given.
    fn close(&mut self, now: SampleTime, seen: &Seen) {
        if seen.is_trip() {
            self.begin_shot(now, seen);
        } else if seen.is_closed() {
            self.enter(now, State::Reclaiming);
        } else if now.since(self.since) >= self.settings.close_within {
            self.lock_out(now, Reason::NotClosed);
        }
    }

    /// The dead time of these poles begins, which are those of the shot, or all.
    fn begin_dead_time(&mut self, now: SampleTime, open: PhaseSet) {
        let is_as_told = std::mem::replace(&mut self.poles, open) == open;
        match self.dead_time() {
            Some(_) => self.enter(now, State::DeadTime),
            None if is_as_told => self.lock_out(now, Reason::ShotsUsed),
            None => self.lock_out(now, Reason::NotOpen),
        }
    }

    /// Whether poles are elsewhere than this shot has them, and not on their way.
    fn is_elsewhere(&mut self, now: SampleTime, seen: &Seen) -> bool {
        if seen.open.is_none_or(|open| open == self.poles) {
            self.elsewhere_since = None;
            return false;
        }
        now.since(*self.elsewhere_since.get_or_insert(now)) >= MOVING_MAX
    }

    /// Dead time of the present shot, if it has one.
    fn dead_time(&self) -> Option<Duration> {
        match (self.settings.dead_time_single, self.poles.count()) {
            (Some(single), 1) if self.shot == 1 => Some(single),
            (_, 3) => self.settings.shots.get(self.shot - 1).copied(),
            _ => None,
        }
    }

    fn begin_shot(&mut self, now: SampleTime, seen: &Seen) {
        if self.shot == self.settings.shots_max() {
            return self.lock_out(now, Reason::ShotsUsed);
        }
        self.shot += 1;
        self.poles = seen.tripped;
        (self.state, self.since) = (State::Tripping, now);
    }

    fn was_closed_for(&self, now: SampleTime, span: Duration) -> bool {
        let since = self.closed_since.map(|closed| closed.max(self.since));
        since.is_some_and(|since| now.since(since) >= span)
    }

    fn lock_out(&mut self, now: SampleTime, reason: Reason) {
        self.enter(now, State::Lockout(reason));
    }

    fn enter(&mut self, now: SampleTime, state: State) {
        (self.state, self.since, self.elsewhere_since) = (state, now, None);
        if matches!(state, State::NotReady | State::Ready) {
            self.shot = 0;
        }
        if !self.is_in_progress() {
            self.poles = PhaseSet::NONE;
        }
    }
}

#[cfg(test)]
mod tests;
