//! Processor time in virtual time.
//!
//! The kernel counts processor time in host time, and a program may go on computing while the
//! clock is stopped. What it shows must fit its clocks: a thread cannot have used more processor
//! time than time has passed, and none passes during a hold. So a meter keeps its last reading, on
//! all scales, and takes what was used since as used evenly: of the processor time between two
//! readings that share counts which virtual time has of host time between them. That is exact
//! while the rate is constant, and nothing while the clock is stopped. If the rate changes between two
//! readings, the error is at most the virtual time between them for each thread. Time that the clock
//! has jumped over was computed in by nobody, so it is left out.
//!
//! A meter lies in memory of the program. It is read by several threads at once, in signal
//! handlers too, so a reader that finds it being written does not wait: it shows the last reading again.

use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use crate::history::share;
use crate::image;
use crate::line::Line;
use crate::own::{Exact, OwnLine, ProgramSnapshot};
use crate::rate::Rate;
use crate::time::{HostTime, ProgramTime, VirtualTime};

/// Meters in one program. Beyond, one that is not used now forgets what it has shown.
pub const METERS: usize = 37;

/// When something is read, and how the program's time runs then.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    host: HostTime,
    time: ProgramTime,
    snapshot: ProgramSnapshot,
    /// The clock has arrived at its horizon.
    arrived: bool,
}

impl Now {
    /// By a snapshot taken about then.
    pub fn new(host: HostTime, snapshot: ProgramSnapshot) -> Self {
        let arrived = snapshot.clock.at(host) >= snapshot.clock.horizon;
        Self { host, time: snapshot.at(host), snapshot, arrived }
    }

    /// Another number after each change of the rate, also of that which the horizon makes: mixed
    /// from all that makes up the present pieces.
    fn piece(&self) -> u64 {
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = |sum: u64, word: u64| (sum ^ word).wrapping_mul(MIX).rotate_left(29);
        let line = &self.snapshot.clock.line;
        let words = [
            line.base_host.as_ns().cast_unsigned(),
            line.base_virtual.as_ns().cast_unsigned(),
            line.rate.whole,
            line.rate.fraction,
            u64::from(self.arrived),
        ];
        let sum = words.into_iter().fold(MIX, mixed);
        let Some(own) = &self.snapshot.own else { return sum };
        let base = own.base_program.0.as_ns().cast_unsigned();
        [base, own.rate.whole, own.rate.fraction].into_iter().fold(sum, mixed)
    }

    /// Time of the program in what the clock has jumped over so far, at the program's present rate.
    fn jumped_ns(&self) -> i64 {
        let jumped = self.snapshot.clock.jumped.as_ns();
        let Some(own) = &self.snapshot.own else { return jumped };
        own_share(own.rate, (VirtualTime::from_ns(jumped), 0))
    }

    /// What this much host time is at the present rate.
    fn worth(&self, host_ns: i64) -> i64 {
        if self.arrived {
            return 0;
        }
        let rate = self.snapshot.clock.line.rate;
        let (base_host, base_virtual) = (HostTime::ZERO, VirtualTime::ZERO);
        let clock = Line { base_host, base_virtual, base_fraction: 0, rate };
        let (time, fraction) = clock.at_exactly(HostTime::from_ns(host_ns));
        let Some(own) = &self.snapshot.own else { return time.as_ns() };
        own_share(own.rate, (time, fraction))
    }
}

/// What so much virtual time is in a program with this rate.
fn own_share(rate: Rate, time: Exact<VirtualTime>) -> i64 {
    let (base_virtual, base_program) = ((VirtualTime::ZERO, 0), (ProgramTime::ZERO, 0));
    OwnLine { base_virtual, base_program, rate }.at_exactly(time).0.as_ns()
}

/// One clock of processor time. All numbers but the last of nanoseconds.
#[repr(C)]
#[derive(Debug, Default)]
struct Meter {
    /// Odd while somebody writes.
    sequence: AtomicU32,
    /// Whose clock this is; 0: nobody's.
    key: AtomicU64,
    piece: AtomicU64,
    /// Where the present piece begins: used on the host, shown to the program.
    base_used: AtomicI64,
    base_shown: AtomicI64,
    host: AtomicI64,
    time: AtomicI64,
    /// Of the time, what was jumped over.
    jumped: AtomicI64,
    used: AtomicI64,
    shown: AtomicI64,
}

/// The meters of a program, in memory that is zero at first.
#[repr(C)]
#[derive(Debug)]
pub struct Meters([Meter; METERS]);

const _: () = assert!(size_of::<Meters>() == METERS * 80);
// The end of the page is a place for what the launcher lets the program do for it.
const _: () = {
    let begin = image::METERS - image::PROCESS;
    assert!(begin + size_of::<Meters>() <= image::PAGE_SIZE - 64);
};

impl Meters {
    /// What a clock of processor time shows that has `used` host nanoseconds now. `key` is not
    /// zero and names the clock. `at_first` answers for one that was never read before.
    pub fn read(&self, key: u64, now: &Now, used: i64, at_first: impl FnOnce() -> i64) -> i64 {
        let known = self.0.iter().find(|meter| meter.key.load(Ordering::Acquire) == key);
        let free = || self.0.iter().find(|meter| meter.key.load(Ordering::Relaxed) == 0);
        let any = || &self.0[(key % METERS as u64) as usize];
        let meter = known.or_else(free).unwrap_or_else(any);
        meter.read(key, now, used, at_first)
    }
}

impl Meter {
    fn read(&self, key: u64, now: &Now, used: i64, at_first: impl FnOnce() -> i64) -> i64 {
        let sequence = self.sequence.load(Ordering::Acquire);
        let locked = sequence & 1 == 0
            && self
                .sequence
                .compare_exchange(
                    sequence,
                    sequence.wrapping_add(1),
                    Ordering::Acquire,
                    Ordering::Relaxed,
                )
                .is_ok();
        if !locked {
            let mine = self.key.load(Ordering::Relaxed) == key;
            return if mine { self.shown.load(Ordering::Relaxed) } else { at_first() };
        }
        let shown = if self.key.load(Ordering::Relaxed) == key {
            self.advance(now, used)
        } else {
            self.key.store(key, Ordering::Relaxed);
            self.begin(now, used, at_first())
        };
        self.sequence.store(sequence.wrapping_add(2), Ordering::Release);
        shown
    }

    fn begin(&self, now: &Now, used: i64, shown: i64) -> i64 {
        self.piece.store(now.piece(), Ordering::Relaxed);
        self.base_used.store(used, Ordering::Relaxed);
        self.base_shown.store(shown, Ordering::Relaxed);
        self.keep(now, used, shown)
    }

    fn keep(&self, now: &Now, used: i64, shown: i64) -> i64 {
        self.host.store(now.host.as_ns(), Ordering::Relaxed);
        self.time.store(now.time.as_ns(), Ordering::Relaxed);
        self.jumped.store(now.jumped_ns(), Ordering::Relaxed);
        self.used.store(used, Ordering::Relaxed);
        self.shown.store(shown, Ordering::Relaxed);
        shown
    }

    fn advance(&self, now: &Now, used: i64) -> i64 {
        let before = self.used.load(Ordering::Relaxed);
        let shown = self.shown.load(Ordering::Relaxed);
        let host = self.host.load(Ordering::Relaxed);
        // Somebody who read the kernel's count earlier comes later.
        if used < before || now.host.as_ns() < host {
            return shown;
        }
        if self.piece.load(Ordering::Relaxed) == now.piece() {
            let since = used - self.base_used.load(Ordering::Relaxed);
            let base = self.base_shown.load(Ordering::Relaxed);
            return self.keep(now, used, base.saturating_add(now.worth(since)));
        }
        let passed = now.time.as_ns().saturating_sub(self.time.load(Ordering::Relaxed));
        let jumped = now.jumped_ns().saturating_sub(self.jumped.load(Ordering::Relaxed)).max(0);
        let passed = passed.saturating_sub(jumped).max(0);
        let gained = share(passed, used - before, now.host.as_ns() - host);
        self.begin(now, used, shown.saturating_add(gained))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::page::tests::snapshot_of;
    use crate::rate::Tdf;
    use crate::{HostSpan, VirtualClock};
    use proptest::prelude::*;

    const KEY: u64 = 7;

    fn now(clock: &VirtualClock, host: i64) -> Now {
        let clock = snapshot_of(clock);
        Now::new(HostTime::from_ns(host), ProgramSnapshot { clock, own: None })
    }

    fn meters() -> Meters {
        Meters(core::array::from_fn(|_| Meter::default()))
    }

    #[test]
    fn at_a_constant_rate_it_is_exact_however_often_it_is_read() {
        let meters = meters();
        let clock = VirtualClock::new(HostTime::ZERO, "3".parse().unwrap());
        let mut shown = 0;
        for used in 0..10_000 {
            shown = meters.read(KEY, &now(&clock, used * 2), used, || 0);
        }
        assert_eq!(shown, 9_999 / 3);
    }

    #[test]
    fn it_is_stopped_with_the_clock_though_the_program_computes() {
        let meters = meters();
        let mut clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
        assert_eq!(meters.read(KEY, &now(&clock, 1000), 400, || 400), 400);
        clock.hold(HostTime::from_ns(1000));
        assert_eq!(meters.read(KEY, &now(&clock, 2000), 1400, || 0), 400);
        assert_eq!(meters.read(KEY, &now(&clock, 9000), 8400, || 0), 400);
        clock.release(HostTime::from_ns(9000));
        assert_eq!(meters.read(KEY, &now(&clock, 9500), 8900, || 0), 900);
    }

    #[test]
    fn it_is_stopped_at_the_horizon() {
        let meters = meters();
        let mut clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
        clock.grant(HostTime::ZERO, VirtualTime::from_ns(1000));
        assert_eq!(meters.read(KEY, &now(&clock, 900), 900, || 900), 900);
        assert_eq!(meters.read(KEY, &now(&clock, 1100), 1100, || 0), 1000);
        assert_eq!(meters.read(KEY, &now(&clock, 5000), 5000, || 0), 1000);
    }

    #[test]
    fn each_clock_has_its_own_meter_and_there_are_enough_for_more() {
        let meters = meters();
        let clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
        for key in 1..=2 * METERS as u64 {
            let used = key.cast_signed() * 10;
            assert_eq!(meters.read(key, &now(&clock, 1000), used, || used), used);
        }
        assert_eq!(meters.read(3, &now(&clock, 1000), 31, || 31), 31);
    }

    proptest! {
        /// Whatever happens to the clock, a thread never has used more than has passed, and what
        /// is shown never goes back.
        #[test]
        fn no_more_is_shown_than_has_passed(
            steps in prop::collection::vec((0..4u8, 1..1_000_000i64, 0..=100i64), 1..60),
        ) {
            let meters = meters();
            let mut clock = VirtualClock::new(HostTime::ZERO, Tdf::ONE);
            let (mut host, mut used, mut last) = (HostTime::ZERO, 0, 0);
            for (piece, (change, later, busy)) in steps.into_iter().enumerate() {
                let before = clock.at(host);
                host = host + HostSpan::from_ns(later);
                used += later * busy / 100;
                match change {
                    0 => drop(clock.hold(host)),
                    1 => drop(clock.release(host)),
                    2 => clock.dilate(host, "2.5".parse().unwrap()),
                    _ => clock.dilate(host, "0.5".parse().unwrap()),
                }
                let passed = (clock.at(host) - before).as_ns();
                let shown = meters.read(KEY, &now(&clock, host.as_ns()), used, || last);
                prop_assert!(shown >= last);
                if piece > 0 {
                    prop_assert!(shown - last <= passed + 1, "{} in {passed}", shown - last);
                }
                last = shown;
            }
        }
    }

    #[test]
    fn several_threads_never_see_it_go_back() {
        let meters = meters();
        let used = AtomicI64::new(0);
        let clock = VirtualClock::new(HostTime::ZERO, "2".parse().unwrap());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    for _ in 0..10_000 {
                        let used = used.fetch_add(1, Ordering::Relaxed);
                        let shown = meters.read(KEY, &now(&clock, used), used, || used / 2);
                        assert!(shown >= last, "{shown} after {last}");
                        last = shown;
                    }
                });
            }
        });
    }
}
