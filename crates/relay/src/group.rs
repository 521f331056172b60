//! Which setting group the protection task is asked for, and by whom.
//!
//! A message of another device that selects a group does so for as long as it says so; it goes before
//! a person's wish, as inputs of a relay do (SEL-351 manual, "Multiple Setting Groups"). A person's
//! wish comes from another thread, through one place that holds one wish: whoever finds it taken tries
//! again, and the task waits for nobody.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Who asks for a setting group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// A subscribed message, by its place in the order of names.
    Publisher(usize),
    /// A user of this host, by the number (uid), through the socket.
    User(u32),
}

/// A user's wish for a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wish(u64);

impl Wish {
    /// The group, and whose wish it is.
    pub(crate) const fn of(self) -> (u8, By) {
        (self.0 as u8, By::User((self.0 >> 8) as u32))
    }
}

/// Wishes for the task, and what it says of groups.
#[derive(Debug, Default)]
pub(crate) struct GroupBoard {
    /// A wish: its group in the lowest octet, the user above it; 0 if there is none.
    wish: AtomicU64,
    active: AtomicU8,
    /// The group that a message selects now; 0 if none does.
    selected: AtomicU8,
}

impl GroupBoard {
    /// Leaves a user's wish to the task; says whether there was room for it.
    pub(crate) fn ask(&self, group: u8, user: u32) -> bool {
        let wish = u64::from(user) << 8 | u64::from(group);
        self.wish.compare_exchange(0, wish, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Whether the task has not yet answered the wish that was left to it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.wish().is_some()
    }

    /// Number of the active group, from 1.
    pub(crate) fn active(&self) -> u8 {
        self.active.load(Ordering::Acquire)
    }

    /// The group that a message selects now.
    pub(crate) fn selected(&self) -> Option<u8> {
        Some(self.selected.load(Ordering::Acquire)).filter(|group| *group != 0)
    }

    /// The wish that is left, for the task.
    pub(crate) fn wish(&self) -> Option<Wish> {
        Some(Wish(self.wish.load(Ordering::Acquire))).filter(|wish| wish.0 != 0)
    }

    /// The task tells what holds, which is the answer to a wish.
    pub(crate) fn tell(&self, active: u8, selected: Option<u8>, wish: Option<Wish>) {
        self.active.store(active, Ordering::Release);
        self.selected.store(selected.unwrap_or(0), Ordering::Release);
        if let Some(Wish(wish)) = wish {
            // It is still there: nobody but the task takes one away.
            let _taken = self.wish.compare_exchange(wish, 0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }
}

/// The one group that messages select, and the first that does; none if they do not agree.
pub(crate) fn selected(true_ones: impl Iterator<Item = (u8, usize)>) -> Option<(u8, By)> {
    let mut found: Option<(u8, usize)> = None;
    for (group, publisher) in true_ones {
        match found {
            Some((known, _)) if known != group => return None,
            Some(_) => {}
            None => found = Some((group, publisher)),
        }
    }
    found.map(|(group, publisher)| (group, By::Publisher(publisher)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_do_not_agree_select_nothing() {
        let of = |each: &[(u8, usize)]| selected(each.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(2, 1)]), Some((2, By::Publisher(1))));
        assert_eq!(of(&[(2, 1), (2, 3)]), Some((2, By::Publisher(1))));
        assert_eq!(of(&[(2, 1), (3, 1), (2, 2)]), None);
    }

    #[test]
    fn one_wish_waits_at_a_time_and_is_answered_once() {
        let board = GroupBoard::default();
        assert_eq!(board.wish(), None);
        assert!(board.ask(8, u32::MAX) && board.is_waiting());
        assert!(!board.ask(2, 0), "the place is taken");
        let wish = board.wish().expect("it was left");
        assert_eq!(wish.of(), (8, By::User(u32::MAX)));
        board.tell(3, Some(2), None);
        assert!(board.is_waiting(), "it is not answered yet");
        board.tell(3, Some(2), Some(wish));
        assert_eq!((board.active(), board.selected(), board.wish()), (3, Some(2), None));
        board.tell(3, None, None);
        assert_eq!(board.selected(), None);
    }
}
