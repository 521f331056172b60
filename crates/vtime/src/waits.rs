//! What the threads of a program wait for: a table behind its own page, by which the owner of a clock that
//! jumps knows the next deadline, and whom to wake.
//!
//! A thread has one place, from its first wait on, that says whose it is, until which time of the program it waits
//! and whether it was woken. It takes one, and says for what it waits, by stores alone; a thread that
//! dies in a wait leaves its place behind, and so does one whose signal handler jumps out of it. So the
//! owner believes none of it: a place counts only while the kernel says that its thread sleeps, and one
//! whose time has come is woken once. Whatever a program writes there on purpose, it can only make
//! the clock jump less far, or wake its own threads.
//!
//! The order of stores makes no wake-up be lost. The thread first says for what it waits, then reads the
//! clock, then waits on the word or in a native call; the owner first changes the clock, then says
//! that it wakes, and then wakes the word, or sends a signal that ends the native call. A thread whose
//! wait ends for another reason meanwhile waits for that signal ([`SIGNALLED`]): it would end some call
//! of the program otherwise.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering, fence};

use crate::image;
use crate::time::ProgramTime;

/// Threads of one program (with the processes that it has forked) that can say for what they wait. A
/// wait beyond is not known to the owner, which then cannot jump: it tries to find a place again and
/// again, so that the owner sees by [`Waits::untold`] that there still is one.
pub const WAITS: usize = 3_800;

/// Times of a program from here on, 146 years after its domain began, are meant for never: what a call
/// can wait for at the longest is cut off there or later.
const NEVER_NS: i64 = i64::MAX / 2;

/// The place of one thread.
#[repr(C)]
#[derive(Debug)]
pub struct Wait {
    /// The thread as the kernel numbers it for the owner of the clock or for the program, 0: nobody.
    thread: AtomicU32,
    /// Futex word: [`SLEEPS`], [`CALLS`], [`WOKEN`], [`SIGNALLED`] or [`AWAKE`].
    state: AtomicU32,
    /// Time of the program until which it waits.
    deadline: AtomicI64,
}

/// What a place says at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    deadline: i64,
    state: u32,
}

impl Standing {
    /// That it waits for nothing.
    pub const AWAKE: Self = Self { deadline: 0, state: AWAKE };
}

/// Of [`Wait::state`]: it waits for nothing that the owner could end.
pub const AWAKE: u32 = 0;
/// It sleeps on the word.
pub const SLEEPS: u32 = 1;
/// It waits in a native call.
pub const CALLS: u32 = 2;
/// The owner has told it to look at the clock again.
pub const WOKEN: u32 = 3;
/// The same by a signal, which has not come yet.
pub const SIGNALLED: u32 = 4;

/// The table. Nobody has a place in memory that is zero, so that only what is used takes memory.
#[repr(C)]
#[derive(Debug)]
pub struct Waits {
    /// Places from here on were never taken.
    taken: AtomicU32,
    /// Attempts to find a place that found none.
    untold: AtomicU32,
    places: [Wait; WAITS],
}

const _: () = assert!(size_of::<Waits>() <= image::OWN + image::OWN_SIZE - image::WAITS);

impl Waits {
    /// The place of a thread: the one that it has, or one that nobody has. `None` if all are taken,
    /// which is counted.
    pub fn of(&self, thread: u32) -> Option<&Wait> {
        let taken = self.present();
        let is_mine = |wait: &&Wait| wait.thread.load(Ordering::Relaxed) == thread;
        if let Some(mine) = taken.iter().find(is_mine) {
            return Some(mine);
        }
        for (number, wait) in self.places.iter().enumerate() {
            let free = wait.thread.load(Ordering::Relaxed) == 0;
            let (yes, no) = (Ordering::AcqRel, Ordering::Relaxed);
            if free && wait.thread.compare_exchange(0, thread, yes, no).is_ok() {
                self.taken.fetch_max(number as u32 + 1, Ordering::AcqRel);
                return Some(wait);
            }
        }
        self.untold.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// All places that were ever taken. What stands there the program may have written.
    pub fn present(&self) -> &[Wait] {
        let taken = self.taken.load(Ordering::Acquire) as usize;
        &self.places[..taken.min(WAITS)]
    }

    /// A place by its number among those that were ever taken, whatever the program says of these now.
    ///
    /// # Panics
    /// From [`WAITS`] on, which is a bug of the caller.
    pub const fn place(&self, number: usize) -> &Wait {
        &self.places[number]
    }

    /// Attempts so far to find a place that found none.
    pub fn untold(&self) -> u32 {
        self.untold.load(Ordering::Relaxed)
    }
}

impl Wait {
    /// The thread whose place this is, 0 if nobody's.
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Acquire)
    }

    /// Says, before the clock is read, that the thread is about to wait until `deadline`, on the
    /// word ([`SLEEPS`]) or in a native call ([`CALLS`]).
    pub fn begin(&self, deadline: ProgramTime, how: u32) {
        self.deadline.store(deadline.as_ns(), Ordering::Relaxed);
        self.state.store(how, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// What it says now, to go on with after a wait in a signal handler that has interrupted this one.
    pub fn stands(&self) -> Standing {
        let state = match self.state.load(Ordering::Relaxed) {
            // The other wait begins when the signal has come.
            SIGNALLED => WOKEN,
            state => state,
        };
        Standing { deadline: self.deadline.load(Ordering::Relaxed), state }
    }

    /// Says that the thread makes no native call any more that the owner could end: to be called
    /// before anything else is said. Returns whether a signal is on its way, for which it has to wait.
    pub fn retract(&self) -> bool {
        !self.turn(CALLS, AWAKE) && self.is_signalled()
    }

    /// Says again what it said.
    pub fn go_on(&self, as_before: &Standing) {
        self.deadline.store(as_before.deadline, Ordering::Relaxed);
        self.state.store(as_before.state, Ordering::Relaxed);
    }

    /// The thread waits no more.
    pub fn end(&self) {
        self.state.store(AWAKE, Ordering::Relaxed);
    }

    /// Until when and how the thread says that it waits; `None` if it does not, was woken, or waits for
    /// longer than any clock lasts, as `sleep infinity` does.
    pub fn awaits(&self) -> Option<(ProgramTime, u32)> {
        let state = self.state.load(Ordering::Acquire);
        let deadline = self.deadline.load(Ordering::Relaxed);
        let waits = matches!(state, SLEEPS | CALLS) && deadline < NEVER_NS;
        waits.then_some((ProgramTime::from_ns(deadline), state))
    }

    /// Whether the owner has told the thread to look again, and it has not begun to.
    pub fn was_woken(&self) -> bool {
        self.state.load(Ordering::Acquire) == WOKEN
    }

    /// Owner only, after a change of the clock: has the thread look again, if it waits in the way
    /// `how`. Waking the word, or sending the signal, is the caller's work if this answers `true`.
    pub fn wake(&self, how: u32) -> bool {
        fence(Ordering::SeqCst);
        self.turn(how, if how == CALLS { SIGNALLED } else { WOKEN })
    }

    /// Owner only: there is no signal, as it could not be sent, or the thread does not wait any more in
    /// the native call for which it had said so.
    pub fn is_not_signalled(&self) {
        self.turn(SIGNALLED, WOKEN);
    }

    /// Whether a signal of the owner is on its way to the thread.
    pub fn is_signalled(&self) -> bool {
        self.state.load(Ordering::Acquire) == SIGNALLED
    }

    /// The signal has come, and has `cut` a native call short: the thread looks at the clock next. If not,
    /// it may only now be about to make the call, with a clock of before: so it waits as it did, and
    /// the owner tells it again when it sleeps. Returns whether a signal was on its way.
    pub fn signal_has_come(&self, cut: bool) -> bool {
        self.turn(SIGNALLED, if cut { WOKEN } else { CALLS })
    }

    fn turn(&self, from: u32, to: u32) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Owner only: nobody has this place any more, if it is still that of this thread.
    pub fn give_back(&self, thread: u32) {
        self.end();
        let _ = self.thread.compare_exchange(thread, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// The futex word to sleep on while it is [`SLEEPS`], or [`SIGNALLED`].
    pub const fn word(&self) -> &AtomicU32 {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::boxed::Box;
    use std::collections::BTreeSet;
    use std::vec::Vec;

    fn table() -> Box<Waits> {
        let none = || Wait {
            thread: AtomicU32::new(0),
            state: AtomicU32::new(AWAKE),
            deadline: AtomicI64::new(0),
        };
        let places = core::array::from_fn(|_| none());
        Box::new(Waits { taken: AtomicU32::new(0), untold: AtomicU32::new(0), places })
    }

    #[test]
    fn a_thread_has_one_place_and_says_there_what_it_waits_for() {
        let waits = table();
        assert!(waits.present().is_empty());
        let wait = waits.of(7).unwrap();
        assert_eq!((wait.thread(), wait.awaits()), (7, None));
        let until = ProgramTime::from_ns(5);
        wait.begin(until, SLEEPS);
        assert_eq!(waits.present()[0].awaits(), Some((until, SLEEPS)));
        assert!(!wait.wake(CALLS), "it does not wait in that way");
        assert!(wait.wake(SLEEPS) && wait.was_woken() && !wait.wake(SLEEPS), "woken once");
        assert_eq!(wait.awaits(), None);
        assert!(core::ptr::eq(waits.of(7).unwrap(), wait), "it keeps its place");
        let outer = wait.stands();
        wait.begin(ProgramTime::from_ns(2), CALLS);
        wait.go_on(&outer);
        assert!(wait.was_woken(), "a handler has waited in between");
        wait.end();
        assert_eq!((wait.awaits(), waits.present().len()), (None, 1));
        assert!(!core::ptr::eq(waits.of(8).unwrap(), wait));
    }

    #[test]
    fn a_signal_is_on_its_way_until_it_has_come_or_is_not_sent() {
        let waits = table();
        let wait = waits.of(7).unwrap();
        let until = ProgramTime::from_ns(5);
        for ends in [|wait: &Wait| assert!(wait.signal_has_come(true)), Wait::is_not_signalled] {
            wait.begin(until, CALLS);
            assert!(!wait.signal_has_come(true) && wait.wake(CALLS) && wait.is_signalled());
            assert_eq!((wait.awaits(), wait.was_woken()), (None, false));
            ends(wait);
            assert!(wait.was_woken() && !wait.is_signalled() && !wait.signal_has_come(true));
        }
        wait.begin(until, CALLS);
        assert!(wait.wake(CALLS) && wait.signal_has_come(false));
        assert_eq!(wait.awaits(), Some((until, CALLS)), "it came before the call was made");
        assert!(!wait.retract() && !wait.wake(CALLS), "it has said so before the owner");
        wait.begin(until, CALLS);
        assert!(wait.wake(CALLS) && wait.retract() && wait.is_signalled(), "the owner was first");
        assert_eq!(wait.stands(), Standing { deadline: 5, state: WOKEN });
        wait.begin(until, SLEEPS);
        wait.is_not_signalled();
        assert!(wait.awaits().is_some() && wait.wake(SLEEPS) && !wait.is_signalled());
    }

    #[test]
    fn who_waits_for_ever_waits_for_no_time() {
        let waits = table();
        let wait = waits.of(7).unwrap();
        for (deadline, is_awaited) in [(NEVER_NS - 1, true), (NEVER_NS, false), (i64::MAX, false)] {
            wait.begin(ProgramTime::from_ns(deadline), SLEEPS);
            assert_eq!(wait.awaits().is_some(), is_awaited);
        }
    }

    #[test]
    fn places_of_the_dead_are_given_to_others_and_what_finds_none_is_counted() {
        let waits = table();
        for thread in 1..=WAITS as u32 {
            assert!(waits.of(thread).is_some());
        }
        assert!(waits.of(100_000).is_none());
        assert_eq!(waits.untold(), 1);
        waits.present()[9].begin(ProgramTime::from_ns(1), CALLS);
        waits.present()[9].give_back(10);
        waits.present()[10].give_back(77);
        let found = waits.of(100_000).unwrap();
        assert!(core::ptr::eq(found, &waits.present()[9]) && found.awaits().is_none());
        assert_eq!(waits.present()[10].thread(), 11, "that was another's");
    }

    #[test]
    fn no_two_threads_get_the_same_place() {
        let waits = table();
        let take = |from: u32| (from..from + 500).map(|thread| waits.of(thread).unwrap());
        let places: Vec<_> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|taker| {
                    let take = move || take(1 + taker * 500).map(|wait| &raw const *wait as usize);
                    scope.spawn(move || take().collect::<Vec<_>>())
                })
                .collect();
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        assert_eq!(places.iter().collect::<BTreeSet<_>>().len(), 2000);
        assert_eq!(waits.present().len(), 2000);
    }

    /// A waiter that reads the old clock is woken; one that clears its place later reads the new one.
    #[test]
    fn no_wake_up_is_lost() {
        use core::sync::atomic::AtomicI64;
        let waits = table();
        let (clock, wait) = (AtomicI64::new(0), waits.of(1).unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1..20_000 {
                    loop {
                        wait.begin(ProgramTime::from_ns(turn), SLEEPS);
                        if clock.load(Ordering::Relaxed) >= turn {
                            break;
                        }
                        while !wait.was_woken() {
                            std::thread::yield_now();
                        }
                    }
                }
                wait.end();
            });
            for turn in 1..20_000 {
                while wait.awaits().is_none_or(|(until, _)| until.as_ns() != turn) {
                    std::thread::yield_now();
                }
                clock.store(turn, Ordering::Relaxed);
                wait.wake(SLEEPS);
            }
        });
    }
}
