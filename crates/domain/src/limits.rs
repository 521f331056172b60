//! How far the clock of a domain may run by itself, beside holds and the end of a run: as far as the stall guard
//! has seen all processors answer, and as far as other hosts have granted.
//!
//! Both are one host time in the page, beyond which no reader goes. It is raised with one store, whoever waits for
//! whatever, as long as the clock has not come there. Once it has, the clock stands by itself, and the next
//! raise turns the time since then into a hold. So a grant that comes in time costs nobody anything, and
//! one that is late costs host time and no virtual time.

use std::time::Duration;

use vtime::{HostSpan, HostTime, VirtualClock, VirtualTime};

use super::{Changed, Domain, host_now, settled_host_now};

/// Later than any experiment; not none, so that the page need not change when a limit comes.
const FAR: HostTime = HostTime::from_ns(i64::MAX - 1);

/// What keeps a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The host time up to which all processors answer; none without a guard.
    pub(super) guard: HostTime,
    /// The virtual time up to which other hosts have granted it to run; none without others.
    granted: VirtualTime,
    /// Where it is to stand with others; none if it is not.
    to: VirtualTime,
}

impl Limits {
    pub(super) const NONE: Self =
        Self { guard: HostTime::MAX, granted: VirtualTime::MAX, to: VirtualTime::MAX };

    /// The last host time up to which a clock may run, as it runs now.
    pub(super) fn of(&self, clock: &VirtualClock) -> HostTime {
        self.of_hosts(clock).min(self.guard)
    }

    fn of_hosts(&self, clock: &VirtualClock) -> HostTime {
        let last = self.granted.min(self.to);
        if last == VirtualTime::MAX {
            return HostTime::MAX;
        }
        let beyond = VirtualTime::from_ns(last.as_ns() + 1);
        let reaches = clock.published().reaches(beyond);
        reaches.map_or(FAR, |host| host - HostSpan::from_ns(1))
    }
}

impl Domain {
    /// Lets the clock run up to this virtual time, and jump no further; less than before changes nothing. Before
    /// the first time, only holds and the horizon keep it; [`VirtualTime::MAX`] makes it so again.
    pub fn let_run_until(&self, granted: VirtualTime) {
        {
            let mut state = self.state.lock();
            let before = state.limits.granted;
            if before != VirtualTime::MAX && granted <= before {
                return;
            }
            if before != VirtualTime::MAX && granted != VirtualTime::MAX {
                let raised = Limits { granted, ..state.limits };
                let limit = raised.of(&state.clock);
                if host_now() <= self.page.limit() && limit >= self.page.limit() {
                    state.limits = raised;
                    self.page.set_limit(limit);
                    state.nudges += 1;
                    self.nudged.notify_all();
                    return;
                }
            }
        }
        self.set_limits(|limits, _, _| limits.granted = granted);
        self.nudge();
    }

    /// Lets the clock, which is held, run to this virtual time and no further, whatever is granted;
    /// [`VirtualTime::MAX`] makes an end of that.
    pub fn let_run_to(&self, to: VirtualTime) {
        self.set_limits(|limits, _, _| limits.to = to);
        self.nudge();
    }

    /// Lets the clock, which runs, go on to this virtual time and no further. Returns whether it is still to come;
    /// otherwise nothing has changed.
    pub fn stops_at(&self, to: VirtualTime) -> bool {
        let mut is_ahead = false;
        self.set_limits(|limits, clock, now| {
            let wanted = Limits { to, ..*limits };
            is_ahead = wanted.of_hosts(clock) > now;
            if is_ahead {
                *limits = wanted;
            }
        });
        is_ahead
    }

    /// Where it is to stand with others, if it is.
    pub fn runs_to(&self) -> Option<VirtualTime> {
        let to = self.state.lock().limits.to;
        (to != VirtualTime::MAX).then_some(to)
    }

    /// Something has changed for whoever waits because the clock may go no further.
    pub fn nudge(&self) {
        self.state.lock().nudges += 1;
        self.nudged.notify_all();
    }

    /// How often something has changed so.
    pub fn nudges(&self) -> u64 {
        self.state.lock().nudges
    }

    /// Waits until it has changed more often than that, or for so long.
    pub fn wait_for_nudge(&self, seen: u64, longest: HostSpan) {
        let longest = Duration::from_nanos(longest.as_ns().max(0).unsigned_abs());
        let mut state = self.state.lock();
        self.nudged.wait_while_for(&mut state, |state| state.nudges == seen, longest);
    }

    /// Whether there are other hosts, without which it may not run on.
    pub fn has_hosts(&self) -> bool {
        self.state.lock().limits.granted != VirtualTime::MAX
    }

    /// Up to which virtual time it may run by what other hosts have granted, or say that all are to stand.
    pub fn granted(&self) -> VirtualTime {
        let limits = self.state.lock().limits;
        limits.granted.min(limits.to)
    }

    /// Host time for which the clock has stood since other hosts had granted no more.
    pub fn waited_for_hosts(&self) -> HostSpan {
        self.state.lock().waited_for_hosts
    }

    /// Whether all processors answer, so that the clock may run at this host time.
    pub(super) fn guard_allows(&self, now: HostTime) -> bool {
        self.state.lock().limits.guard >= now
    }

    /// Raises the limit of the guard from where it stands; while it lies behind the host, some processor is
    /// silent, and nothing changes.
    pub(super) fn allow(&self, guard: HostTime) {
        {
            let mut state = self.state.lock();
            let (before, now) = (state.limits.guard, host_now());
            if guard <= before || guard <= now || before == HostTime::MAX {
                return;
            }
            if now <= self.page.limit() {
                state.limits.guard = guard;
                self.page.set_limit(state.limits.of(&state.clock));
                return;
            }
        }
        self.set_limits(|limits, _, _| limits.guard = guard);
    }

    /// Changes limits at the moment of the change, and makes a hold of the time that the clock has stood
    /// at the old one, unless the new one keeps it there too.
    pub(super) fn set_limits(&self, change: impl FnOnce(&mut Limits, &VirtualClock, HostTime)) {
        let mut state = self.state.lock();
        let is_stopped = self.begin_change(&mut state);
        let (stood_at, now) = (self.page.limit(), settled_host_now());
        let stood_for_guard = state.limits.guard <= stood_at;
        let mut limits = state.limits;
        change(&mut limits, &state.clock, now);
        state.limits = limits;
        let is_kept = limits.guard <= now || limits.of_hosts(&state.clock) <= stood_at.min(now);
        if is_kept {
            self.page.end_change(&state.clock, false, false);
            self.stop_if_asked(state, is_stopped);
            return;
        }
        if stood_at < now {
            let history = self.page.history();
            let running = state.clock.clone();
            state.clock.hold(stood_at);
            history.note_change(stood_at, Some(&running), &state.clock);
            let standing = state.clock.clone();
            state.clock.release(now);
            history.note_change(now, Some(&standing), &state.clock);
            if stood_for_guard {
                state.stood(stood_at, now);
            } else {
                state.waited_for_hosts += now - stood_at;
            }
        }
        self.end_change(&mut state, Changed { resumes: true, ..Changed::default() });
        self.stop_if_asked(state, is_stopped);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Instant;

    use vtime::{Tdf, VirtualSpan};

    use super::*;
    use crate::{Pace, Start};

    const fn ms(ms: i64) -> VirtualTime {
        VirtualTime::from_ns(ms * 1_000_000)
    }

    /// A domain that may run up to virtual zero.
    fn domain(pace: Pace) -> Arc<Domain> {
        let domain = Domain::new(Start { held: true, pace, ..Start::default() }).unwrap();
        domain.let_run_until(VirtualTime::ZERO);
        domain.release_hold();
        domain
    }

    fn reaches(domain: &Domain, when: VirtualTime) {
        let until = Instant::now() + Duration::from_secs(20);
        while domain.now() < when {
            assert!(Instant::now() < until, "it stands at {}", domain.now());
            thread::yield_now();
        }
    }

    #[test]
    fn the_clock_runs_to_what_was_granted_and_no_further() {
        let domain = domain(Pace::Real);
        for step in 1..=5 {
            thread::sleep(Duration::from_millis(3));
            assert!(domain.now() <= ms(step - 1));
            domain.let_run_until(ms(step));
            reaches(&domain, ms(step));
            thread::sleep(Duration::from_millis(2));
            assert_eq!(domain.now(), ms(step));
        }
        domain.let_run_until(ms(1));
        assert_eq!(domain.granted(), ms(5), "less changes nothing");
        let hold = domain.hold();
        domain.let_run_until(ms(8));
        domain.let_run_to(ms(6));
        drop(hold);
        reaches(&domain, ms(6));
        thread::sleep(Duration::from_millis(5));
        assert_eq!((domain.now(), domain.runs_to()), (ms(6), Some(ms(6))));
        domain.let_run_until(ms(9));
        thread::sleep(Duration::from_millis(5));
        assert_eq!(domain.now(), ms(6), "whatever is granted");
        domain.let_run_to(VirtualTime::MAX);
        reaches(&domain, ms(9));
        assert!(domain.waited_for_hosts() >= HostSpan::from_ms(5 * 2));
        domain.let_run_until(VirtualTime::MAX);
        reaches(&domain, ms(20));
    }

    #[test]
    fn a_grant_that_comes_in_time_costs_nothing() {
        let domain = domain(Pace::Real);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(50) {
            domain.let_run_until(domain.now() + VirtualSpan::from_ms(1000));
        }
        assert_eq!(domain.reading().stops, 1, "the first hold alone");
        assert!(domain.waited_for_hosts() <= HostSpan::from_ms(5), "but for the beginning");
    }

    #[test]
    fn it_stays_there_whatever_else_happens_to_the_clock() {
        let domain = domain(Pace::Real);
        let at = ms(3);
        domain.let_run_until(at);
        reaches(&domain, at);
        let stays = |what: &str| {
            thread::sleep(Duration::from_millis(2));
            assert_eq!(domain.now(), at, "{what}");
        };
        let hold = domain.hold();
        assert_eq!(hold.at(), at);
        stays("held");
        domain.let_run_until(ms(4));
        stays("granted more while held");
        let at = ms(4);
        drop(hold);
        reaches(&domain, at);
        thread::sleep(Duration::from_millis(2));
        assert_eq!(domain.now(), at);
        for tdf in ["0.01", "1000", "1"] {
            domain.dilate(tdf.parse::<Tdf>().unwrap());
            thread::sleep(Duration::from_millis(2));
            assert_eq!(domain.now(), at, "at tdf {tdf}");
        }
        drop(domain.hold());
        assert_eq!(domain.now(), at);
        domain.let_run_until(ms(6));
        reaches(&domain, ms(6));
    }

    #[test]
    fn it_jumps_no_further() {
        for pace in [Pace::Skip, Pace::Events] {
            let domain = domain(pace);
            domain.let_run_until(ms(1000));
            assert!(domain.jump(ms(5000)).is_some());
            assert_eq!(domain.now(), ms(1000), "{pace}");
            assert_eq!(domain.jump(ms(5000)), None);
            domain.let_run_until(ms(2000));
            assert!(domain.now() <= ms(1100));
            assert!(domain.jump(ms(1500)).is_some());
            assert!(domain.now() >= ms(1500));
        }
    }

    #[test]
    fn nobody_sees_time_go_back_while_grants_come_early_and_late() {
        let domain = domain(Pace::Real);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut last, mut granted) = (domain.now(), VirtualTime::ZERO);
                while !is_over.load(Ordering::Relaxed) {
                    // What is granted was at least that before the clock was read.
                    let now = domain.now();
                    granted = granted.max(domain.granted());
                    assert!(last <= now && now <= granted, "{last} {now} {granted}");
                    last = now;
                }
            });
            let mut random = random::Random::new(3);
            for _ in 0..3000 {
                let more = VirtualSpan::from_ns(random.below(200_000) as i64);
                domain.let_run_until(domain.granted() + more);
                if random.chance(20) {
                    drop(domain.hold());
                }
                thread::sleep(Duration::from_nanos(random.below(100_000)));
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_guard_and_grants_keep_it_each() {
        let domain = domain(Pace::Real);
        let guard = domain.guard(HostSpan::from_ms(2)).unwrap();
        for step in 1..=20 {
            domain.let_run_until(ms(step));
            reaches(&domain, ms(step));
            thread::sleep(Duration::from_millis(1));
            assert_eq!(domain.now(), ms(step));
        }
        drop(guard);
        thread::sleep(Duration::from_millis(2));
        assert_eq!(domain.now(), ms(20));
        domain.let_run_until(ms(25));
        reaches(&domain, ms(25));
    }
}
