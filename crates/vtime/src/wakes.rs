//! When what a program waits for reaches it, where no time passes while programs run.
//!
//! By itself that is the very moment: computing takes no time, and all whose time has come run at once. Node
//! by node, something else can be said: that each wake-up comes later by what this node takes to compute, that
//! what its programs compute keeps it busy for some time, and that no two nodes run at the same instant. For the
//! latter each node has nanoseconds of its own, one of so many at its place: what is due happens at the next of
//! these. So the clock alone puts nodes in their order, always the same, and nobody else has to know of it.
//!
//! Programs see the moment at which they were woken. So what a node takes to compute at each wake-up lies before what
//! it does, and delays all that it does then: what it sends, and its next wait. What its programs have computed is
//! known only afterwards. So a node that is busy has done what it did at the instant at which it began, but what
//! it sends leaves it when it is free again, and what becomes due meanwhile happens then: it is a
//! station with one server.

use crate::{HostSpan, VirtualSpan, VirtualTime};

/// When what is due at a time happens at a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wakes {
    charge: VirtualSpan,
    place: u32,
    /// 1 where each nanosecond is for all.
    places: u32,
    /// Virtual time that processor time takes, in millionths of it.
    millionths: u32,
    /// The last instant at which it did anything before it is free again, and when it is.
    busy: (VirtualTime, VirtualTime),
}

impl Wakes {
    /// At the very moment.
    pub const AT_ONCE: Self = Self {
        charge: VirtualSpan::ZERO,
        place: 0,
        places: 1,
        millionths: 0,
        busy: (VirtualTime::from_ns(i64::MIN), VirtualTime::from_ns(i64::MIN)),
    };

    /// The same, later by this; by nothing if that is less than zero.
    #[must_use]
    pub fn charged(self, charge: VirtualSpan) -> Self {
        Self { charge: charge.max(VirtualSpan::ZERO), ..self }
    }

    /// The same, where processor time takes so many millionths of it in virtual time.
    #[must_use]
    pub const fn for_processor_time(self, millionths: u32) -> Self {
        Self { millionths, ..self }
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

    /// Whether processor time takes virtual time.
    pub const fn takes_processor_time(self) -> bool {
        self.millionths > 0
    }

    /// What so much processor time takes.
    pub fn takes(self, spent: HostSpan) -> VirtualSpan {
        let takes = i128::from(spent.as_ns().max(0)) * i128::from(self.millionths) / 1_000_000;
        VirtualSpan::from_ns(i64::try_from(takes).unwrap_or(i64::MAX))
    }

    /// Its programs have used so much processor time until `now`.
    #[must_use]
    pub fn computes(self, spent: HostSpan, now: VirtualTime) -> Self {
        let (from, until) = self.busy;
        let takes = self.takes(spent);
        if takes == VirtualSpan::ZERO {
            return self;
        }
        let from = if until > now { from } else { now };
        Self { busy: (from, self.free(until.max(now) + takes)), ..self }
    }

    /// One of its programs has seen this time by what it has computed until `now`: so it is busy until then at least.
    #[must_use]
    pub fn has_seen(self, time: VirtualTime, now: VirtualTime) -> Self {
        let (from, until) = self.busy;
        if time <= until.max(now) {
            return self;
        }
        let from = if until > now { from } else { now };
        Self { busy: (from, self.free(time)), ..self }
    }

    /// Until when it is busy, or was last.
    pub const fn busy_until(self) -> VirtualTime {
        self.busy.1
    }

    /// Virtual time that processor time takes, in millionths of it.
    pub const fn millionths(self) -> u32 {
        self.millionths
    }

    /// When what it sends at `now` leaves it, by what its programs have computed until then.
    pub fn leaves(self, now: VirtualTime) -> VirtualTime {
        now.max(self.busy.1)
    }

    /// The first instant at which it may do anything.
    pub const fn begin(self) -> VirtualTime {
        VirtualTime::from_ns(self.place as i64)
    }

    /// When that happens which is due at a time.
    pub fn at(self, due: VirtualTime) -> VirtualTime {
        self.put_off(self.free(due + self.charge))
    }

    /// When that happens which was to happen at an instant of this node, by what its programs have computed since that
    /// was known.
    pub fn put_off(self, at: VirtualTime) -> VirtualTime {
        let (from, until) = self.busy;
        if from < at && at < until { until } else { at }
    }

    /// The first instant of this node that is no earlier.
    fn free(self, at: VirtualTime) -> VirtualTime {
        let (place, places) = (i64::from(self.place), i64::from(self.places));
        let rest = at.as_ns().rem_euclid(places);
        at + VirtualSpan::from_ns((place - rest).rem_euclid(places))
    }

    /// The last time of which all that was due has happened by `now`.
    pub fn reached(self, now: VirtualTime) -> VirtualTime {
        let (from, until) = self.busy;
        let now = if from < now && now < until { from } else { now };
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
    fn who_computes_is_busy_until_it_is_free_again() {
        let ms = |ms: i64| at(1_000_000 * ms);
        let host = HostSpan::from_ms;
        let idle = Wakes::AT_ONCE.for_processor_time(2_500_000);
        assert_eq!(idle.at(ms(3)), ms(3));
        assert_eq!(idle.computes(HostSpan::ZERO, ms(9)), idle);
        let busy = idle.computes(host(10), ms(100));
        assert_eq!((busy.leaves(ms(100)), busy.leaves(ms(200))), (ms(125), ms(200)));
        assert_eq!(
            [90, 100, 101, 124, 125, 126].map(|due| busy.at(ms(due)) == ms(due)),
            [true, true, false, false, true, true]
        );
        assert_eq!(
            (busy.at(ms(101)), busy.reached(ms(124)), busy.reached(ms(125))),
            (ms(125), ms(100), ms(125))
        );
        // More in the same instant, then in that at which it is free.
        let more = busy.computes(host(2), ms(100));
        assert_eq!(
            (more.leaves(ms(100)), more.at(ms(101)), more.at(ms(100))),
            (ms(130), ms(130), ms(100))
        );
        let next = more.computes(host(10), ms(130));
        assert_eq!((next.at(ms(131)), next.reached(ms(154))), (ms(155), ms(130)));
        // What a program has seen is not taken back.
        assert_eq!((idle.has_seen(ms(90), ms(100)), next.has_seen(ms(155), ms(130))), (idle, next));
        assert_eq!(idle.has_seen(ms(104), ms(100)).at(ms(102)), ms(104));
        assert_eq!(next.has_seen(ms(160), ms(130)).reached(ms(159)), ms(130));
    }

    #[test]
    fn what_is_never_due_never_happens() {
        let wakes = Wakes::AT_ONCE.charged(VirtualSpan::from_ms(1)).in_turn(2, 7);
        let wakes = wakes.for_processor_time(u32::MAX);
        let wakes = wakes.computes(HostSpan::from_ms(1), at(0));
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
            computed in proptest::collection::vec((-10..10_000i64, 0..10_000i64), 0..4),
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
            // The same while it is busy, and what was to happen meanwhile is put off until then.
            let (mut busy, mut then) = (wakes.for_processor_time(1_500_000), at(due));
            for (later, spent) in computed {
                then = then + VirtualSpan::from_ns(later);
                let before = busy;
                busy = busy.computes(HostSpan::from_ns(spent), then);
                prop_assert!(busy.leaves(then) >= before.leaves(then));
                let both = [busy.put_off(before.at(at(due))), busy.at(at(due))];
                prop_assert!(both[0] == both[1] || both[0].max(both[1]) <= then);
            }
            let happens = busy.at(at(due));
            prop_assert!(happens >= wakes.at(at(due)));
            prop_assert_eq!(busy.reached(now) >= at(due), happens <= now, "{:?}", busy);
            prop_assert!(busy.at(at(due + 1)) >= happens);
        }
    }
}
