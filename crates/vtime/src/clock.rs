//! Holds, dilation, horizon and jumps: the state machine of a virtual clock.
//!
//! The owner of a time domain keeps one of these, reports to it what happened at which host time and
//! publishes what it answers. Holds are counted: the clock is stopped while at least one is
//! asserted (Hannon et al.: S(p) = 1 on a wired-OR line). A pause moves the running line to
//! later host times by its exact length, so the clock equals
//! `(T_wall - T_start - T_paused) / tdf + T_start` however often it was held.
//!
//! A jump moves the running line to a later virtual time at one host time: what lies between was
//! nobody's, and nobody computed in it. A clock that *stands* moves by jumps alone: it is as if it were held,
//! but by nobody, and nobody waits for its release.

use crate::line::Line;
use crate::rate::{Rate, Tdf};
use crate::time::{HostSpan, HostTime, VirtualSpan, VirtualTime};

/// A virtual clock as its owner sees it. `VirtualTime::ZERO` is the start of the domain.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    /// The line on which the clock runs, or would run if it were not held.
    running: Line,
    tdf: Tdf,
    holds: u32,
    /// Host time of the first of the present holds.
    held_since: Option<HostTime>,
    /// Whether it moves by jumps alone.
    stands: bool,
    /// The host time since which it is held or stands, or of its last jump since then.
    still_since: Option<HostTime>,
    paused: HostSpan,
    horizon: VirtualTime,
    /// Virtual time that it has jumped over.
    jumped: VirtualSpan,
}

impl VirtualClock {
    /// A clock that starts to run at virtual zero at host time `now`, without a horizon.
    pub const fn new(now: HostTime, tdf: Tdf) -> Self {
        let base_virtual = VirtualTime::ZERO;
        Self::on(Line { base_host: now, base_virtual, base_fraction: 0, rate: tdf.rate() }, tdf)
    }

    /// A clock that runs on a line, whose rate is that of `tdf`, without a horizon.
    pub(crate) const fn on(running: Line, tdf: Tdf) -> Self {
        Self {
            running,
            tdf,
            holds: 0,
            held_since: None,
            stands: false,
            still_since: None,
            paused: HostSpan::ZERO,
            horizon: VirtualTime::MAX,
            jumped: VirtualSpan::ZERO,
        }
    }

    /// Asserts one more hold. Returns whether this stopped the clock.
    ///
    /// # Panics
    /// After 2^32 holds that were never released, which is a bug of the caller.
    pub fn hold(&mut self, now: HostTime) -> bool {
        self.holds = self.holds.checked_add(1).expect("fewer than 2^32 holds");
        if self.holds == 1 {
            self.held_since = Some(now);
            self.still_since.get_or_insert(now);
        }
        self.holds == 1
    }

    /// Releases one hold. Returns whether the clock runs again; `None` if there was no hold.
    pub fn release(&mut self, now: HostTime) -> Option<bool> {
        self.holds = self.holds.checked_sub(1)?;
        if self.holds > 0 {
            return Some(false);
        }
        if let Some(since) = self.held_since.take() {
            self.paused += now.max(since) - since;
        }
        Some(self.goes_on(now))
    }

    /// Puts a clock that runs ahead, as if it had begun to run that much earlier; or lets it stand for as long, if that
    /// is less than zero. Returns whether it runs: of one that does not, nothing changes.
    pub fn shift(&mut self, now: HostTime, by: HostSpan) -> bool {
        let runs = self.still_since.is_none();
        if runs {
            self.running = self.running.turned(now, self.running.rate).delayed(HostSpan::ZERO - by);
        }
        runs
    }

    /// From now on it moves by jumps alone, until it runs.
    pub fn stand(&mut self, now: HostTime) {
        self.stands = true;
        self.still_since.get_or_insert(now);
    }

    /// It stands no more. Returns whether it runs.
    pub fn run(&mut self, now: HostTime) -> bool {
        self.stands = false;
        self.goes_on(now)
    }

    /// Lets it run, if nothing keeps it from that: from `when`, or from where it stopped if that was later. If `when`
    /// lies ahead it stands until then.
    fn goes_on(&mut self, when: HostTime) -> bool {
        if self.stands || self.holds > 0 {
            return false;
        }
        if let Some(since) = self.still_since.take() {
            let stopped = self.running.turned(since, self.running.rate);
            self.running = stopped.delayed(when.max(since) - since);
        }
        true
    }

    /// Changes the time dilation factor from `now` on; the clock neither jumps nor stops.
    pub fn dilate(&mut self, now: HostTime, tdf: Tdf) {
        // Beyond the horizon the line would have run on unseen: it turns where it was cut off.
        let host = self.still_since.unwrap_or(now);
        self.catch_up_with_horizon(host);
        self.running = self.running.turned(host, tdf.rate());
        self.tdf = tdf;
    }

    /// Sets the horizon, at which the clock saturates until it is granted more. A horizon in the
    /// past counts as the present: time never goes back.
    pub fn grant(&mut self, now: HostTime, horizon: VirtualTime) {
        let host = self.still_since.unwrap_or(now);
        self.catch_up_with_horizon(host);
        self.horizon = horizon.max(self.at(now));
    }

    /// Jumps forward to `when`, or to the horizon if that comes first, from which it runs on. Returns
    /// how far; `None` if it does not lie ahead, or the clock is held.
    pub fn jump(&mut self, now: HostTime, when: VirtualTime) -> Option<VirtualSpan> {
        let when = when.min(self.horizon);
        let here = self.at(now);
        if self.holds > 0 || when <= here {
            return None;
        }
        let (base_host, base_virtual, rate) = (now, when, self.running.rate);
        self.running = Line { base_host, base_virtual, base_fraction: 0, rate };
        self.still_since = self.stands.then_some(now);
        self.jumped += when - here;
        Some(when - here)
    }

    /// Virtual time at host time `now`.
    pub fn at(&self, now: HostTime) -> VirtualTime {
        self.published().at(now).min(self.horizon)
    }

    /// Virtual time at host time `now` and the fraction cut off, in 2^-64 ns.
    pub fn at_exactly(&self, now: HostTime) -> (VirtualTime, u64) {
        self.published().at_exactly(now).min((self.horizon, 0))
    }

    /// The line to publish: the running one, or one that is stopped while the clock is held or stands.
    pub fn published(&self) -> Line {
        match self.still_since {
            Some(since) => self.running.turned(since, Rate::STILL),
            None => self.running,
        }
    }

    /// Holds asserted at present.
    pub const fn holds(&self) -> u32 {
        self.holds
    }

    /// Whether it moves by jumps alone at present.
    pub const fn stands(&self) -> bool {
        self.stands
    }

    /// The present time dilation factor.
    pub const fn tdf(&self) -> Tdf {
        self.tdf
    }

    /// The virtual time at which the clock stops by itself.
    pub const fn horizon(&self) -> VirtualTime {
        self.horizon
    }

    /// Virtual time that it has jumped over so far.
    pub const fn jumped(&self) -> VirtualSpan {
        self.jumped
    }

    /// Host time spent held up to `now`, a hold still in force included.
    pub fn paused(&self, now: HostTime) -> HostSpan {
        self.paused + self.held_since.map_or(HostSpan::ZERO, |since| now - since)
    }

    /// If the clock waits at its horizon, lets the line restart there; the wait counts as a
    /// pause. The line may have stepped over the horizon by a part of its last step, which
    /// nobody has seen, so it is the horizon that it goes on from.
    fn catch_up_with_horizon(&mut self, host: HostTime) {
        if self.running.at(host) <= self.horizon {
            return;
        }
        if let Some(arrival) = self.running.reaches(self.horizon) {
            self.paused += host - arrival;
        }
        let rate = self.running.rate;
        let base_virtual = self.horizon;
        self.running = Line { base_host: host, base_virtual, base_fraction: 0, rate };
    }
}

/// `T_v = (T_wall - T_start - T_paused) / tdf + T_start`, as Hannon et al. 2019 write it, in
/// integers, cut off to whole nanoseconds. The reference that [`VirtualClock`] is checked against.
pub fn formula(wall_ns: i64, start_ns: i64, paused_ns: i64, tdf: Tdf) -> i128 {
    let run = i128::from(wall_ns) - i128::from(start_ns) - i128::from(paused_ns);
    (run * 1_000_000).div_euclid(i128::from(tdf.millionths())) + i128::from(start_ns)
}

#[cfg(test)]
pub(crate) mod tests {
    extern crate std;
    use super::*;
    use crate::rate::tests::any_tdf;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn ns(ns: i64) -> HostTime {
        HostTime::from_ns(ns)
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Act {
        Hold,
        Release,
        Dilate(Tdf),
        /// By so many nanoseconds.
        Grant(i64),
        Stand,
        Run,
        Nothing,
    }

    pub(crate) fn any_act(granted_ns_max: i64) -> impl Strategy<Value = Act> {
        prop_oneof![
            Just(Act::Hold),
            Just(Act::Release),
            any_tdf().prop_map(Act::Dilate),
            (0..granted_ns_max).prop_map(Act::Grant),
            Just(Act::Stand),
            Just(Act::Run),
            Just(Act::Nothing),
        ]
    }

    impl Act {
        pub(crate) fn apply(self, clock: &mut VirtualClock, now: HostTime) {
            match self {
                Self::Hold => drop(clock.hold(now)),
                Self::Release => drop(clock.release(now)),
                Self::Dilate(tdf) => clock.dilate(now, tdf),
                Self::Grant(ns) => {
                    clock.grant(now, clock.at(now) + VirtualSpan::from_ns(ns));
                }
                Self::Stand => clock.stand(now),
                Self::Run => drop(clock.run(now)),
                Self::Nothing => {}
            }
        }
    }

    proptest! {
        /// Whatever happens, the change itself moves the clock by nothing, and it never goes back.
        #[test]
        fn continuous_and_monotone(
            tdf in any_tdf(),
            acts in proptest::collection::vec((0..5_000_000_000i64, any_act(10_000_000_000)), 1..200),
        ) {
            let mut now = ns(77);
            let mut clock = VirtualClock::new(now, tdf);
            let mut last = clock.at(now);
            for (step, act) in acts {
                now = now + HostSpan::from_ns(step);
                let before = clock.at(now);
                prop_assert!(before >= last);
                act.apply(&mut clock, now);
                prop_assert_eq!(clock.at(now), before, "{:?}", act);
                last = before;
            }
        }

        /// One that is released as of another time, or put right, never goes back; if that time has passed it is where it
        /// would be, and if not it stands until then.
        #[test]
        fn never_goes_back_however_it_is_put_right(
            acts in proptest::collection::vec((1..1_000_000i64, any::<bool>(), -500_000..500_000i64), 1..100),
        ) {
            let mut now = ns(77);
            let mut clock = VirtualClock::new(now, Tdf::ONE);
            for (step, is_hold, by) in acts {
                now = now + HostSpan::from_ns(step);
                let before = clock.at(now);
                if is_hold {
                    clock.hold(now);
                    let stopped = now;
                    now = now + HostSpan::from_ns(step);
                    let when = now + HostSpan::from_ns(by);
                    prop_assert_eq!(clock.release(when), Some(true));
                    let ran = (now - when.max(stopped)).as_ns().max(0);
                    let gained = (clock.at(now) - before).as_ns();
                    prop_assert!((0..=ran).contains(&gained), "{} of {}", gained, ran);
                } else {
                    prop_assert!(clock.shift(now, HostSpan::from_ns(by)));
                    let gained = (clock.at(now) - before).as_ns();
                    prop_assert!((0..=by.max(0)).contains(&gained), "{} by {}", gained, by);
                    let later = now + HostSpan::from_ns(500_000);
                    prop_assert!(clock.at(later) >= clock.at(now));
                }
            }
        }

        /// However often it is held, the clock equals the published formula within 1 ns, up to
        /// ten years after its start.
        #[test]
        fn equals_the_formula(
            start in 0..4_000_000_000_000_000_000i64,
            pieces in proptest::collection::vec((0..3_000_000_000_000_000i64, 0..3_000_000_000_000_000i64), 0..50),
            tdf in any_tdf(),
        ) {
            let mut now = ns(start);
            let mut clock = VirtualClock::new(now, tdf);
            let mut paused = 0i64;
            for (run, pause) in pieces {
                now = now + HostSpan::from_ns(run);
                clock.hold(now);
                now = now + HostSpan::from_ns(pause);
                clock.release(now);
                paused += pause;
            }
            let expected = formula(now.as_ns(), start, paused, tdf) - i128::from(start);
            let actual = i128::from(clock.at(now).as_ns());
            if expected < i128::from(i64::MAX) {
                prop_assert!((actual - expected).abs() <= 1, "{actual} is not {expected}");
            }
            prop_assert_eq!(clock.paused(now).as_ns(), paused);
        }
    }

    #[test]
    fn is_stopped_while_at_least_one_hold_is_asserted() {
        let mut clock = VirtualClock::new(ns(0), Tdf::ONE);
        assert!(clock.hold(ns(100)));
        assert!(!clock.hold(ns(200)));
        assert_eq!(clock.release(ns(300)), Some(false));
        assert_eq!(clock.at(ns(900)).as_ns(), 100);
        assert_eq!(clock.release(ns(1000)), Some(true));
        assert_eq!(clock.release(ns(1000)), None);
        assert_eq!(clock.at(ns(1010)).as_ns(), 110);
        assert_eq!(clock.paused(ns(1010)).as_ns(), 900);
    }

    #[test]
    fn waits_at_its_horizon_until_granted_more() {
        let mut clock = VirtualClock::new(ns(0), Tdf::ONE);
        clock.grant(ns(0), VirtualTime::from_ns(50));
        let seen: Vec<i64> = [10, 50, 70].iter().map(|h| clock.at(ns(*h)).as_ns()).collect();
        assert_eq!(seen, [10, 50, 50]);
        clock.grant(ns(100), VirtualTime::from_ns(60));
        assert_eq!(clock.at(ns(105)).as_ns(), 55);
        assert_eq!(clock.at(ns(200)).as_ns(), 60);
        assert_eq!(clock.paused(ns(100)).as_ns(), 50);
    }

    #[test]
    fn a_horizon_in_the_past_does_not_turn_time_back() {
        let mut clock = VirtualClock::new(ns(0), Tdf::ONE);
        clock.grant(ns(100), VirtualTime::from_ns(10));
        assert_eq!(clock.at(ns(100)).as_ns(), 100);
        assert_eq!(clock.at(ns(500)).as_ns(), 100);
    }

    #[test]
    fn a_clock_that_stands_moves_by_jumps_alone() {
        let mut clock = VirtualClock::new(ns(0), Tdf::ONE);
        clock.stand(ns(100));
        let to = VirtualTime::from_ns;
        assert_eq!(clock.at(ns(900)), to(100));
        assert_eq!(clock.jump(ns(1000), to(500)), Some(VirtualSpan::from_ns(400)));
        assert_eq!(clock.at(ns(9000)), to(500));
        assert!(clock.hold(ns(9000)) && clock.jump(ns(9001), to(600)).is_none(), "it is held");
        assert_eq!(clock.release(ns(9100)), Some(false), "it still stands");
        assert_eq!((clock.paused(ns(9200)).as_ns(), clock.at(ns(9200))), (100, to(500)));
        assert!(clock.run(ns(9300)));
        assert_eq!(clock.at(ns(9350)), to(550));
        clock.hold(ns(9400));
        clock.stand(ns(9500));
        assert!(!clock.run(ns(9600)), "it is held");
        assert_eq!(clock.release(ns(9700)), Some(true));
        assert_eq!(clock.at(ns(9750)), to(650));
        assert_eq!(clock.jumped().as_ns(), 400);
    }

    #[test]
    fn a_change_of_rate_while_held_takes_force_on_release() {
        let mut clock = VirtualClock::new(ns(0), Tdf::ONE);
        clock.hold(ns(1000));
        clock.dilate(ns(5000), "10".parse().unwrap());
        assert_eq!(clock.at(ns(6000)).as_ns(), 1000);
        clock.release(ns(9000));
        assert_eq!(clock.at(ns(9100)).as_ns(), 1010);
    }
}
