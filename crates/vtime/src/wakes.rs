//! When what a program waits for reaches it, where no time passes while programs run.
//!
//! By itself that is the very moment: computing takes no time, and all whose time has come run at once. Node
//! by node, something else can be said: that each wake-up comes later by what this node takes to compute, and
//! that no two nodes run at the same instant. For the latter each node has nanoseconds of its own, one of
//! so many at its place: what is due happens at the next of these. So the clock alone puts nodes in their
//! order, always the same, and nobody else has to know of it.
//!
//! Programs see the moment at which they were woken. So what a node takes to compute lies before what it does, and
//! delays all that it does then: what it sends, and its next wait.

use crate::{VirtualSpan, VirtualTime};

/// When what is due at a time happens at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wakes {
    charge: VirtualSpan,
    place: u32,
    /// 1 where each nanosecond is for all.
    places: u32,
}

impl Wakes {
    /// At the very moment.
    pub const AT_ONCE: Self = Self { charge: VirtualSpan::ZERO, place: 0, places: 1 };

    /// The same, later by this; by nothing if that is less than zero.
    #[must_use]
    pub fn charged(self, charge: VirtualSpan) -> Self {
        Self { charge: charge.max(VirtualSpan::ZERO), ..self }
    }

    /// The same, at nanoseconds of its own: those at this place of so many. All are for who has no such place.
    #[must_use]
    pub const fn in_turn(self, place: u32, places: u32) -> Self {
        if place < places { Self { place, places, ..self } } else { self }
    }

    /// By how much each wake-up is later.
    pub const fn charge(self) -> VirtualSpan {
        self.charge
    }

    /// The first instant at which it may do anything.
    pub const fn begin(self) -> VirtualTime {
        VirtualTime::from_ns(self.place as i64)
    }

    /// When that happens which is due at a time.
    pub fn at(self, due: VirtualTime) -> VirtualTime {
        let charged = due + self.charge;
        let (place, places) = (i64::from(self.place), i64::from(self.places));
        let rest = charged.as_ns().rem_euclid(places);
        charged + VirtualSpan::from_ns((place - rest).rem_euclid(places))
    }

    /// The last time of which all that was due has happened by `now`.
    pub fn reached(self, now: VirtualTime) -> VirtualTime {
        let (place, places) = (i64::from(self.place), i64::from(self.places));
        let own = (now.as_ns().rem_euclid(places) - place).rem_euclid(places);
        let back = own.saturating_add(self.charge.as_ns());
        VirtualTime::from_ns(now.as_ns().saturating_sub(back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: i64) -> VirtualTime {
        VirtualTime::from_ns(ns)
    }

    #[test]
    fn by_itself_everything_happens_when_it_is_due() {
        for ns in [i64::MIN, -5, 0, 7, i64::MAX] {
            assert_eq!(Wakes::AT_ONCE.at(at(ns)), at(ns));
            assert_eq!(Wakes::AT_ONCE.reached(at(ns)), at(ns));
        }
        assert_eq!(Wakes::AT_ONCE.in_turn(3, 3), Wakes::AT_ONCE);
        assert_eq!(Wakes::AT_ONCE.charged(VirtualSpan::from_ns(-1)), Wakes::AT_ONCE);
    }

    #[test]
    fn what_is_never_due_never_happens() {
        let wakes = Wakes::AT_ONCE.charged(VirtualSpan::from_ms(1)).in_turn(2, 7);
        assert_eq!(wakes.at(VirtualTime::MAX), VirtualTime::MAX);
    }

    proptest! {
        #[test]
        fn each_has_nanoseconds_of_its_own_and_nothing_is_early(
            due in -1_000_000_000_000_000_000..1_000_000_000_000_000_000i64,
            now in 0..2_000_000i64,
            charge in 0..1_000_000i64,
            places in 1..1000u32,
            places_before in (0..1000u32, 0..1000u32),
        ) {
            let of = |place: u32| {
                let place = place % places;
                (place, Wakes::AT_ONCE.charged(VirtualSpan::from_ns(charge)).in_turn(place, places))
            };
            let ((one, wakes), (other, others)) = (of(places_before.0), of(places_before.1));
            let happens = wakes.at(at(due));
            let later = happens.as_ns() - due;
            prop_assert!(later >= charge && later < charge + i64::from(places));
            prop_assert_eq!(happens == others.at(at(due)), one == other);
            // What was due has happened from then on, and not before.
            let now = at(due + now);
            prop_assert_eq!(wakes.reached(now) >= at(due), happens <= now);
            prop_assert!(wakes.at(at(due + 1)) >= happens, "the order stays");
        }
    }
}
