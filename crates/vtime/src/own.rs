//! A program's own line: how its time runs along the virtual time of its domain.
//!
//! A program that is dilated by itself gets a second line on top of the clock page: the time of
//! the program as a function of *virtual* time. So a hold of the domain, its dilation and its
//! horizon stay one change of one page that reaches all programs at once, and what a program has
//! of its own is a ratio to the others. A program that was detached has a line on host time
//! instead, and no hold reaches it.
//!
//! A change of the own line moves the program's time by nothing: all lines keep the fraction of a
//! nanosecond, as [`crate::line`] does, and the composition of two cuts off once, at the end.

use crate::clock::VirtualClock;
use crate::line::{Line, div_ceil};
use crate::page::Snapshot;
use crate::rate::{Rate, Tdf};
use crate::time::{HostTime, ProgramTime, VirtualTime};

/// A time cut off to whole nanoseconds, and what was cut off in 2^-64 ns.
pub type Exact<T> = (T, u64);

/// `program = base_program + (virtual - base_virtual) * rate`, each with its fraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnLine {
    pub base_virtual: Exact<VirtualTime>,
    pub base_program: Exact<ProgramTime>,
    /// Nanoseconds of the program per nanosecond of its domain.
    pub rate: Rate,
}

impl OwnLine {
    /// Time of the program at a virtual time. One before the base counts as the base.
    #[inline]
    pub const fn at_exactly(&self, (whole, fraction): Exact<VirtualTime>) -> Exact<ProgramTime> {
        let (fraction, borrow) = fraction.overflowing_sub(self.base_virtual.1);
        let whole = whole.as_ns().saturating_sub(self.base_virtual.0.as_ns());
        let whole = whole.saturating_sub(borrow as i64);
        if whole < 0 {
            return self.base_program;
        }
        let (whole, fraction) = (whole as u64 as u128, fraction as u128);
        let (rate, rate_fraction) = (self.rate.whole as u128, self.rate.fraction as u128);
        let low = whole * rate_fraction
            + fraction * rate
            + ((fraction * rate_fraction) >> 64)
            + self.base_program.1 as u128;
        let gained = whole * rate + (low >> 64);
        let gained = if gained > i64::MAX as u128 { i64::MAX } else { gained as i64 };
        (ProgramTime::from_ns(self.base_program.0.as_ns().saturating_add(gained)), low as u64)
    }

    /// A virtual time at which the program has certainly reached `when`, by less than
    /// [`CERTAIN_NS`] later than the first; `None` if that is never.
    const fn certainly_at(&self, when: ProgramTime) -> Option<VirtualTime> {
        let missing = when.as_ns().saturating_sub(self.base_program.0.as_ns());
        if missing <= 0 {
            return Some(VirtualTime::from_ns(self.base_virtual.0.as_ns().saturating_add(1)));
        }
        let missing = ((missing as u128) << 64) - self.base_program.1 as u128;
        let rate = ((self.rate.whole as u128) << 64) + self.rate.fraction as u128;
        let elapsed = div_ceil(missing, rate);
        if elapsed >= i64::MAX as u128 {
            return None;
        }
        // One more, for the fraction of the base.
        match self.base_virtual.0.as_ns().checked_add(elapsed as i64 + 1) {
            Some(ns) => Some(VirtualTime::from_ns(ns)),
            None => None,
        }
    }
}

/// How much later than the first [`OwnLine::certainly_at`] may be.
pub const CERTAIN_NS: i64 = 3;

/// What rounding may add to a time that is left, on each of two lines.
const ROUNDING_NS: i64 = 2;

/// `ns` times a factor in millionths, cut off. The image in programs cannot divide 128 bits.
const fn scaled(ns: u64, millionths: u64) -> u64 {
    const MILLION: u64 = 1_000_000;
    let below = match (ns % MILLION).checked_mul(millionths) {
        Some(product) => product / MILLION,
        // No factor of a page that its owner has written.
        None => 0,
    };
    (ns / MILLION).saturating_mul(millionths).saturating_add(below)
}

/// What a program's time is at one moment: the clock that it follows, and its own line on top.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProgramSnapshot {
    /// The clock of the domain, or that of a program which was detached.
    pub clock: Snapshot,
    /// The program's own line; `None` while its time is that of the clock.
    pub own: Option<OwnLine>,
}

impl ProgramSnapshot {
    /// Time of the program at host time `host`.
    #[inline]
    pub fn at(&self, host: HostTime) -> ProgramTime {
        match &self.own {
            None => self.clock.at(host).of_program(),
            Some(own) => own.at_exactly(self.clock.at_exactly(host)).0,
        }
    }

    /// The first host time at which the program reaches `when`; `None` if it does not reach it
    /// before somebody changes its clock or its line.
    pub fn reaches(&self, when: ProgramTime) -> Option<HostTime> {
        let Some(own) = &self.own else { return self.clock.reaches(when.of_domain()) };
        let begin = self.clock.line.base_host;
        if self.at(begin) >= when {
            return Some(begin);
        }
        if own.at_exactly((self.clock.horizon, 0)).0 < when {
            return None;
        }
        let certain = own.certainly_at(when)?;
        let late = self.clock.line.reaches(certain.min(self.clock.horizon))?;
        let nearly = VirtualTime::from_ns(certain.as_ns().saturating_sub(CERTAIN_NS));
        let early = self.clock.line.reaches(nearly.min(self.clock.horizon)).unwrap_or(begin);
        Some(self.first_between(early, late, when))
    }

    /// A host time before which the program does not reach `when`, whatever is held, granted or
    /// stalled and for how long, as long as the factors stay: that of the clock that it follows and
    /// that of its own line, in millionths. Only nanoseconds before the first at which it may.
    pub fn not_before(&self, when: ProgramTime, now: HostTime, factors: [u64; 2]) -> HostTime {
        // The time now is cut off, and a rate is rounded up by 2^-64.
        let left = (when - self.at(now)).as_ns().saturating_sub(ROUNDING_NS).max(0).unsigned_abs();
        let [clock, own] = factors;
        let left = scaled(scaled(left, own), clock).saturating_sub(ROUNDING_NS.unsigned_abs());
        let left = if left > i64::MAX as u64 { i64::MAX } else { left.cast_signed() };
        HostTime::from_ns(now.as_ns().saturating_add(left))
    }

    /// The first host time from `early` on at which the program has reached `when`, as it has at
    /// `late`. A few nanoseconds of virtual time lie between the two, so this takes few steps.
    fn first_between(&self, early: HostTime, late: HostTime, when: ProgramTime) -> HostTime {
        let (mut early, mut late) = (early.as_ns(), late.as_ns());
        while early < late {
            let middle = early + (late - early) / 2;
            if self.at(HostTime::from_ns(middle)) >= when {
                late = middle;
            } else {
                early = middle + 1;
            }
        }
        HostTime::from_ns(late)
    }
}

/// The moment of a change: host time, and the virtual time of the domain then.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub host: HostTime,
    pub domain: Exact<VirtualTime>,
}

/// How the time of a program runs, as the owner of its domain keeps it.
#[derive(Clone, Debug, Default)]
pub enum OwnClock {
    /// As that of its domain.
    #[default]
    Domain,
    /// Along that of its domain, at a factor of its own.
    Scaled(OwnLine, Tdf),
    /// At host rate, whatever the domain does.
    Free(VirtualClock),
}

impl OwnClock {
    /// Time of the program at a moment.
    pub fn at(&self, now: Moment) -> Exact<ProgramTime> {
        let of_program = |(whole, fraction): Exact<VirtualTime>| (whole.of_program(), fraction);
        match self {
            Self::Domain => of_program(now.domain),
            Self::Scaled(line, _) => line.at_exactly(now.domain),
            Self::Free(clock) => of_program(clock.at_exactly(now.host)),
        }
    }

    /// The virtual time of the domain at which the program has reached `when`, by less than
    /// [`CERTAIN_NS`] later than the first; `None` if that is never, or no matter of the domain.
    pub fn reaches(&self, when: ProgramTime) -> Option<VirtualTime> {
        match self {
            Self::Domain => Some(when.of_domain()),
            Self::Scaled(line, _) => line.certainly_at(when),
            Self::Free(_) => None,
        }
    }

    /// What the program's time is while the clock of its domain is as in this snapshot.
    pub fn snapshot(&self, domain: Snapshot) -> ProgramSnapshot {
        match self {
            Self::Domain => ProgramSnapshot { clock: domain, own: None },
            Self::Scaled(line, _) => ProgramSnapshot { clock: domain, own: Some(*line) },
            Self::Free(clock) => {
                let (line, horizon, limit) = (clock.published(), clock.horizon(), HostTime::MAX);
                let jumped = clock.jumped();
                let clock = Snapshot { line, horizon, limit, jumped, ..domain };
                ProgramSnapshot { clock, own: None }
            }
        }
    }

    /// The same program from now on along its domain, slower than that by a factor. It neither
    /// jumps nor stops, also if it had been detached.
    pub fn scaled(&self, now: Moment, tdf: Tdf) -> Self {
        let (base_virtual, base_program) = (now.domain, self.at(now));
        Self::Scaled(OwnLine { base_virtual, base_program, rate: tdf.rate() }, tdf)
    }

    /// The same program from now on at host rate, from where it is.
    pub fn detached(&self, now: Moment) -> Self {
        let (whole, base_fraction) = self.at(now);
        let (base_host, base_virtual, rate) = (now.host, whole.of_domain(), Tdf::ONE.rate());
        Self::Free(VirtualClock::on(
            Line { base_host, base_virtual, base_fraction, rate },
            Tdf::ONE,
        ))
    }

    /// The factor by which the program is slower than its domain, or than its host if it was let
    /// go.
    pub const fn tdf(&self) -> Tdf {
        match self {
            Self::Domain | Self::Free(_) => Tdf::ONE,
            Self::Scaled(_, tdf) => *tdf,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::clock::tests::{Act, any_act};
    use crate::page::tests::snapshot_of;
    use crate::rate::tests::any_tdf;
    use crate::time::{HostSpan, VirtualSpan};
    use proptest::prelude::*;

    fn moment(clock: &VirtualClock, host: HostTime) -> Moment {
        Moment { host, domain: clock.at_exactly(host) }
    }

    fn snapshot(clock: &VirtualClock, own: &OwnClock) -> ProgramSnapshot {
        own.snapshot(snapshot_of(clock))
    }

    #[derive(Clone, Copy, Debug)]
    enum Change {
        Domain(Act),
        Dilate(Tdf),
        Detach,
    }

    fn any_change() -> impl Strategy<Value = Change> {
        prop_oneof![
            4 => any_act(9_000_000_000).prop_map(Change::Domain),
            1 => any_tdf().prop_map(Change::Dilate),
            1 => Just(Change::Detach),
        ]
    }

    proptest! {
        /// Whatever happens to the domain and to the program, a change moves the program's time
        /// by nothing, and it never goes back.
        #[test]
        fn continuous_and_monotone(
            tdf in any_tdf(),
            changes in proptest::collection::vec((0..5_000_000_000i64, any_change()), 1..100),
        ) {
            let mut now = HostTime::from_ns(77);
            let (mut clock, mut own) = (VirtualClock::new(now, tdf), OwnClock::Domain);
            let mut last = ProgramTime::ZERO;
            for (step, change) in changes {
                now = now + HostSpan::from_ns(step);
                let before = snapshot(&clock, &own).at(now);
                prop_assert!(before >= last);
                match change {
                    Change::Domain(act) => act.apply(&mut clock, now),
                    Change::Dilate(tdf) => own = own.scaled(moment(&clock, now), tdf),
                    Change::Detach => own = own.detached(moment(&clock, now)),
                }
                prop_assert_eq!(snapshot(&clock, &own).at(now), before, "{:?}", change);
                prop_assert_eq!(own.at(moment(&clock, now)).0, before, "{:?}", change);
                last = before;
            }
        }

        /// The inverse of the composition is exact: the program has arrived at that host
        /// nanosecond, and not at the one before.
        #[test]
        fn reaches_is_the_first_nanosecond(
            domain in any_tdf(),
            program in any_tdf(),
            turns in 0..1_000_000_007i64,
            granted in 0..40_000_000_000_000i64,
            later in 0..4_000_000_000_000i64,
        ) {
            let start = HostTime::from_ns(1_000_000);
            let turned = start + HostSpan::from_ns(turns);
            let mut clock = VirtualClock::new(start, domain);
            let own = OwnClock::Domain.scaled(moment(&clock, turned), program);
            clock.grant(turned, clock.at(turned) + VirtualSpan::from_ns(granted));
            let snapshot = snapshot(&clock, &own);
            let when = snapshot.at(turned) + crate::ProgramSpan::from_ns(later);
            match snapshot.reaches(when) {
                Some(host) => {
                    prop_assert!(snapshot.at(host) >= when);
                    let one_before = host - HostSpan::from_ns(1);
                    prop_assert!(host <= turned || snapshot.at(one_before) < when);
                }
                None => prop_assert!(snapshot.at(HostTime::MAX) < when),
            }
        }

        /// However long it is held and wherever its horizon lies, a program does not reach a time
        /// sooner than it would if all let go at once, and that moment is known to a few
        /// nanoseconds of each line.
        #[test]
        fn not_before_is_when_a_release_at_once_would_lead_there(
            domain in any_tdf(),
            program in proptest::option::of(any_tdf()),
            ran in 0..1_000_000_007i64,
            held in 0..5_000_000_000i64,
            granted in proptest::option::of(0..9_000_000_000i64),
            later in 1..4_000_000_000_000i64,
        ) {
            let mut clock = VirtualClock::new(HostTime::from_ns(1_000_000), domain);
            let own = match program {
                Some(tdf) => OwnClock::Domain.scaled(moment(&clock, HostTime::from_ns(2_000_000)), tdf),
                None => OwnClock::Domain,
            };
            let stops = HostTime::from_ns(2_000_000 + ran);
            if let Some(granted) = granted {
                clock.grant(stops, clock.at(stops) + VirtualSpan::from_ns(granted));
            }
            clock.hold(stops);
            let now = stops + HostSpan::from_ns(held);
            let still = snapshot(&clock, &own);
            let when = still.at(now) + crate::ProgramSpan::from_ns(later);
            let bound = still.not_before(when, now, [domain, own.tdf()].map(Tdf::millionths));
            clock.release(now);
            clock.grant(now, VirtualTime::MAX);
            let first = snapshot(&clock, &own).reaches(when).unwrap();
            prop_assert!(bound <= first, "{} ns too late", (bound - first).as_ns());
            let product = i128::from(domain.millionths()) * i128::from(own.tdf().millionths());
            let near = 8 * (1 + i128::from(domain.millionths()) / 1_000_000 + product / 1_000_000_000_000);
            prop_assert!(i128::from((first - bound).as_ns()) <= near, "{} ns early", (first - bound).as_ns());
        }

        /// A program at a factor within a domain at another one runs at the product of the two,
        /// within 1 ns over a year.
        #[test]
        fn factors_multiply(domain in any_tdf(), program in any_tdf(), host in 0..31_536_000_000_000_000i64) {
            let start = HostTime::ZERO;
            let clock = VirtualClock::new(start, domain);
            let own = OwnClock::Domain.scaled(moment(&clock, start), program);
            let shown = i128::from(snapshot(&clock, &own).at(HostTime::from_ns(host)).as_ns());
            let product = i128::from(domain.millionths()) * i128::from(program.millionths());
            let error = shown * product - i128::from(host) * 1_000_000_000_000;
            if shown < i128::from(i64::MAX) {
                prop_assert!(error.abs() <= product, "{} ns", error as f64 / product as f64);
            }
        }

        /// Turning to one's own factor a hundred times loses no fraction.
        #[test]
        fn turning_loses_nothing(
            steps in proptest::collection::vec(0..1_000_000_007i64, 1..100),
            domain in any_tdf(),
            program in any_tdf(),
        ) {
            let mut now = HostTime::ZERO;
            let clock = VirtualClock::new(now, domain);
            let straight = OwnClock::Domain.scaled(moment(&clock, now), program);
            let mut own = straight.clone();
            for (count, step) in steps.into_iter().enumerate() {
                now = now + HostSpan::from_ns(step);
                own = own.scaled(moment(&clock, now), program);
                let (one, other) = (own.at(moment(&clock, now)), straight.at(moment(&clock, now)));
                // A turn cuts off less than 2^-64 ns of the program's time.
                let apart = (i128::from(other.0.as_ns() - one.0.as_ns()) << 64)
                    + i128::from(other.1) - i128::from(one.1);
                prop_assert!((0..=count as i128 + 1).contains(&apart), "{apart}");
            }
        }
    }

    #[test]
    fn a_hold_of_the_domain_stops_a_program_with_a_factor_and_none_that_was_detached() {
        let at = |ns| HostTime::from_ns(ns);
        let mut clock = VirtualClock::new(at(0), Tdf::ONE);
        let scaled = OwnClock::Domain.scaled(moment(&clock, at(1000)), "10".parse().unwrap());
        let free = scaled.detached(moment(&clock, at(2000)));
        clock.hold(at(3000));
        let shown = |own: &OwnClock, ns| snapshot(&clock, own).at(at(ns)).as_ns();
        assert_eq!([3000, 9000].map(|ns| shown(&scaled, ns)), [1200, 1200]);
        assert_eq!([3000, 9000].map(|ns| shown(&free, ns)), [2100, 8100]);
        assert_eq!(snapshot(&clock, &scaled).reaches(ProgramTime::from_ns(1201)), None);
        assert_eq!(snapshot(&clock, &free).reaches(ProgramTime::from_ns(8100)), Some(at(9000)));
        let back = free.scaled(moment(&clock, at(9000)), Tdf::ONE);
        assert_eq!(shown(&back, 10_000), 8100, "it is held with its domain again");
    }
}
