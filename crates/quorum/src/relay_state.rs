//! Where a relay node stands: what its relay last decided, and what the breaker last did.
//!
//! It attempts an action only on a decision made since the breaker's last action, so that nothing
//! happens on authority older than that. A relay that was overtaken waits: when others have
//! tripped, a close that it holds from before is void, and the other way round.

use super::Action;

/// The six states; their names say what the relay node does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RelayState {
    /// Relay and breaker agree on close.
    Closed,
    /// The relay has decided to trip; the breaker is closed.
    AttemptTrip,
    /// Relay and breaker agree on trip.
    Tripped,
    /// The relay has decided to close; the breaker has tripped.
    AttemptClose,
    /// The breaker was tripped by others; the relay's own decision, from before that, is close.
    WaitTrip,
    /// The breaker was closed by others; the relay's own decision, from before that, is trip.
    WaitClose,
}

impl RelayState {
    /// The state on entering: what the relay said last, and how the breaker stands. A decision
    /// from before is not attempted.
    pub const fn entered(relay: Action, breaker: Action) -> Self {
        match (relay, breaker) {
            (Action::Close, Action::Close) => Self::Closed,
            (Action::Trip, Action::Trip) => Self::Tripped,
            (Action::Close, Action::Trip) => Self::WaitTrip,
            (Action::Trip, Action::Close) => Self::WaitClose,
        }
    }

    /// What the relay last decided.
    pub const fn relay(self) -> Action {
        match self {
            Self::Closed | Self::AttemptClose | Self::WaitTrip => Action::Close,
            Self::Tripped | Self::AttemptTrip | Self::WaitClose => Action::Trip,
        }
    }

    /// What the breaker last did.
    pub const fn breaker(self) -> Action {
        match self {
            Self::Closed | Self::AttemptTrip | Self::WaitClose => Action::Close,
            Self::Tripped | Self::AttemptClose | Self::WaitTrip => Action::Trip,
        }
    }

    /// What is being attempted.
    pub const fn attempted(self) -> Option<Action> {
        match self {
            Self::AttemptTrip => Some(Action::Trip),
            Self::AttemptClose => Some(Action::Close),
            _ => None,
        }
    }

    /// The relay decides, now.
    pub const fn decided(self, action: Action) -> Self {
        match (action, self.breaker()) {
            (Action::Trip, Action::Close) => Self::AttemptTrip,
            (Action::Close, Action::Trip) => Self::AttemptClose,
            (_, breaker) => Self::entered(breaker, breaker),
        }
    }

    /// The relay no longer wants what the breaker has not done.
    pub const fn withdrawn(self) -> Self {
        Self::entered(self.breaker(), self.breaker())
    }

    /// The breaker has acted since, once or more often, and now stands so.
    pub const fn overtaken(self, breaker: Action) -> Self {
        Self::entered(self.relay(), breaker)
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, RelayState};
    use Action::{Close, Trip};
    use RelayState::{AttemptClose, AttemptTrip, Closed, Tripped, WaitClose, WaitTrip};

    #[test]
    fn a_trip_and_a_close_go_through_their_states() {
        let state = Closed.decided(Trip);
        assert_eq!((state, state.attempted()), (AttemptTrip, Some(Trip)));
        let state = state.overtaken(Trip);
        assert_eq!((state, state.attempted()), (Tripped, None));
        let state = state.decided(Close);
        assert_eq!((state, state.attempted()), (AttemptClose, Some(Close)));
        assert_eq!(state.overtaken(Close), Closed);
    }

    #[test]
    fn who_was_overtaken_waits_for_a_new_decision() {
        assert_eq!(Closed.overtaken(Trip), WaitTrip);
        assert_eq!(WaitTrip.attempted(), None);
        assert_eq!(WaitTrip.decided(Close), AttemptClose);
        assert_eq!(WaitTrip.decided(Trip), Tripped);
        assert_eq!(Tripped.overtaken(Close), WaitClose);
        assert_eq!(WaitClose.attempted(), None);
        assert_eq!(WaitClose.decided(Trip), AttemptTrip);
        assert_eq!(WaitClose.decided(Close), Closed);
        assert_eq!(WaitClose.withdrawn(), Closed);
        assert_eq!(WaitTrip.withdrawn(), Tripped);
    }

    #[test]
    fn an_attempt_does_not_outlive_an_action_that_it_has_missed() {
        // The breaker has tripped and closed again; the trip is from before both.
        assert_eq!(AttemptTrip.overtaken(Close), WaitClose);
        assert_eq!(AttemptClose.overtaken(Trip), WaitTrip);
    }

    #[test]
    fn states_are_what_their_parts_say() {
        for state in [Closed, AttemptTrip, Tripped, AttemptClose, WaitTrip, WaitClose] {
            let agree = state.relay() == state.breaker();
            assert!(!(agree && state.attempted().is_some()));
            for action in [Trip, Close] {
                assert_eq!(state.decided(action).relay(), action);
                assert_eq!(state.decided(action).breaker(), state.breaker());
                assert_eq!(state.overtaken(action).breaker(), action);
                assert_eq!(state.overtaken(action).relay(), state.relay());
                assert_eq!(state.overtaken(action).attempted(), None);
            }
            assert_eq!(state.withdrawn().relay(), state.breaker());
        }
    }
}
