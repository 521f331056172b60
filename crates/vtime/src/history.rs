//! Where the map from host time to virtual time has bent lately.
//!
//! The kernel stamps what it receives with host time, and a program may look at the stamp long
//! after the clock was held, released or dilated. So the clock page keeps the last points at
//! which the map bent: between two of them it is straight, and what lay there is found by
//! proportion, to the nanosecond. Behind the last bend the present piece holds. What is older
//! than the oldest bend kept is taken for that bend: no stamp is ever later than it should be by
//! more than that, and none lies in the future. A jump is two bends at one host time.

use core::ops::Deref;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::clock::VirtualClock;
use crate::image::{CLOCK, HISTORY, PAGE_SIZE};
use crate::line::div_floor;
use crate::page::ClockPage;
use crate::time::{HostTime, VirtualTime};

/// Bends that are kept: what fits half a page. A hold makes two, and so does a jump.
pub const BENDS_MAX: usize = 127;

/// A moment at which the map bends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bend {
    /// Host time from which the line holds.
    pub host: HostTime,
    /// Virtual time at that moment.
    pub time: VirtualTime,
}

/// The last bends, oldest overwritten first. It lies in the second half of the page whose first
/// half is the clock page, and readers and the owner keep to the sequence counter of that.
#[repr(C, align(2048))]
#[derive(Debug)]
pub struct History {
    /// Bends noted so far.
    count: AtomicU64,
    bends: [[AtomicI64; 2]; BENDS_MAX],
}

const _: () = assert!(size_of::<History>() == 2048);

/// What the owner of a domain publishes: the clock page, and behind it where the map bent.
#[repr(C)]
#[derive(Debug)]
pub struct DomainPage {
    clock: ClockPage,
    history: History,
}

const _: () = assert!(core::mem::offset_of!(DomainPage, history) == HISTORY - CLOCK);
const _: () = assert!(size_of::<DomainPage>() <= PAGE_SIZE);

impl DomainPage {
    /// A page that begins with this clock page.
    pub const fn new(clock: ClockPage) -> Self {
        Self { clock, history: History::new() }
    }

    /// Where the map bent lately.
    pub const fn history(&self) -> &History {
        &self.history
    }
}

impl Deref for DomainPage {
    type Target = ClockPage;

    fn deref(&self) -> &ClockPage {
        &self.clock
    }
}

impl History {
    pub(crate) const fn new() -> Self {
        Self {
            count: AtomicU64::new(0),
            bends: [const { [AtomicI64::new(0), AtomicI64::new(0)] }; BENDS_MAX],
        }
    }

    /// Owner only, between `begin_change` and `end_change` of the clock page: notes where the map
    /// has bent from `before` (`None`: it begins) to `after` at host time `now`, and where it has
    /// reached its horizon since the last change.
    pub fn note_change(&self, now: HostTime, before: Option<&VirtualClock>, after: &VirtualClock) {
        let arrival = before.and_then(|clock| {
            let arrival = clock.published().reaches(clock.horizon())?;
            (arrival < now).then(|| Bend { host: arrival, time: clock.horizon() })
        });
        if let Some(arrival) = arrival {
            self.note(arrival);
        }
        let jump = before.filter(|clock| clock.jumped() < after.jumped());
        if let Some(before) = jump {
            // At one host time it is here, and there.
            self.note(Bend { host: now, time: before.at(now) });
        }
        let goes_on = before.is_some_and(|clock| clock.published() == after.published());
        if arrival.is_some() || !goes_on {
            self.note(Bend { host: now, time: after.at(now) });
        }
    }

    /// The map bends here: later than all bends before, or at the last one.
    fn note(&self, bend: Bend) {
        let count = self.count.load(Ordering::Relaxed);
        let [host, time] = &self.bends[place(count)];
        host.store(bend.host.as_ns(), Ordering::Relaxed);
        time.store(bend.time.as_ns(), Ordering::Relaxed);
        self.count.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// What was at a host time before the last bend; the oldest bend kept if it lies before that.
    /// `None` if it does not lie before the last bend. Worth nothing if the clock page has changed
    /// meanwhile.
    pub fn at(&self, host: HostTime) -> Option<Bend> {
        let count = self.count.load(Ordering::Relaxed);
        let mut after = self.bend(count.checked_sub(1)?);
        if host >= after.host {
            return None;
        }
        let kept = count.min(BENDS_MAX as u64);
        for back in 2..=kept {
            let before = self.bend(count - back);
            if host >= before.host {
                return Some(Bend { host, time: between(before, after, host) });
            }
            after = before;
        }
        Some(after)
    }

    fn bend(&self, number: u64) -> Bend {
        let [host, time] = &self.bends[place(number)];
        Bend {
            host: HostTime::from_ns(host.load(Ordering::Relaxed)),
            time: VirtualTime::from_ns(time.load(Ordering::Relaxed)),
        }
    }
}

const fn place(number: u64) -> usize {
    (number % BENDS_MAX as u64) as usize
}

/// On the straight way between two bends, at a host time between theirs.
fn between(before: Bend, after: Bend, host: HostTime) -> VirtualTime {
    let gained = share(
        (after.time - before.time).as_ns(),
        (host - before.host).as_ns(),
        (after.host - before.host).as_ns(),
    );
    VirtualTime::from_ns(before.time.as_ns().saturating_add(gained))
}

/// `whole * part / of`, cut off; 0 where one of them is not positive.
pub const fn share(whole: i64, part: i64, of: i64) -> i64 {
    if whole <= 0 || part <= 0 || of <= 0 {
        return 0;
    }
    let share = div_floor(whole as u128 * part as u128, of as u128);
    if share > i64::MAX as u128 { i64::MAX } else { share as i64 }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::clock::tests::any_act;
    use crate::own_page::Identity;
    use crate::page::Epoch;
    use crate::{HostSpan, OwnPage, Tdf};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn bend(host: i64, time: i64) -> Bend {
        Bend { host: HostTime::from_ns(host), time: VirtualTime::from_ns(time) }
    }

    #[test]
    fn what_lies_between_two_bends_is_found_by_proportion() {
        let history = History::new();
        assert_eq!(history.at(HostTime::from_ns(5)), None);
        for (host, time) in [(100, 0), (200, 50), (300, 50)] {
            history.note(bend(host, time));
        }
        let at = |host| history.at(HostTime::from_ns(host));
        assert_eq!(at(151), Some(bend(151, 25)));
        assert_eq!(at(250), Some(bend(250, 50)));
        assert_eq!(at(300), None, "the present piece");
        assert_eq!(at(7), Some(bend(100, 0)), "older than all that is kept");
    }

    #[test]
    fn the_oldest_bends_are_forgotten_first() {
        let history = History::new();
        for number in 0..200 {
            history.note(bend(number * 10, number));
        }
        assert_eq!(history.at(HostTime::ZERO), Some(bend(730, 73)));
        assert_eq!(history.at(HostTime::from_ns(735)), Some(bend(735, 73)));
        assert_eq!(history.at(HostTime::from_ns(1985)), Some(bend(1985, 198)));
    }

    proptest! {
        /// What a clock showed at some host time, the page still knows later.
        #[test]
        fn the_past_is_what_it_was(
            acts in prop::collection::vec((any_act(3_000_000), 1..2_000_000i64, 0..2_000_000i64), 1..40),
        ) {
            let epochs = [0; Epoch::COUNT];
            let (page, history) = (ClockPage::new(epochs), History::new());
            let own = OwnPage::new(Identity { domain: 1, program: 1 }, epochs);
            let mut host = HostTime::from_ns(1_000_000);
            let mut clock = VirtualClock::new(host, Tdf::ONE);
            page.begin_change();
            history.note_change(host, None, &clock);
            page.end_change(&clock, true, true);
            let mut seen: Vec<Bend> = Vec::new();
            for (act, later, look) in acts {
                let looked = host + HostSpan::from_ns(look.min(later));
                seen.push(Bend { host: looked, time: clock.at(looked) });
                host = host + HostSpan::from_ns(later);
                let before = clock.clone();
                act.apply(&mut clock, host);
                page.begin_change();
                history.note_change(host, Some(&before), &clock);
                page.end_change(&clock, true, true);
            }
            for Bend { host, time } in seen {
                let past = own.past(&page, &history, host, |_| ());
                prop_assert_eq!(past.host, host);
                let error = past.time.as_ns() - time.as_ns();
                // The horizon is reached within a host nanosecond, which is up to a hundred of
                // the program; bends and what lies between are cut off to one.
                prop_assert!(error.abs() <= 102, "{error}");
            }
        }
    }
}
