//! Which setting group the protection task is asked for, and by whom.
//!
//! A message of another device that selects a group does so for as long as it says so; it goes before
//! a person's wish, as inputs of a relay do (SEL-351 manual, "Multiple Setting Groups"). A person's
//! wish comes from another thread, through one place that holds one wish: whoever finds it taken tries
//! again, and the task waits for nobody. A wish that the task has not taken can be withdrawn, so that
//! what its user was told did not happen does not happen later.

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

/// Set in a wish that the task has taken and not yet answered.
const TAKEN: u64 = 1 << 63;

/// Wishes for the task, and what it says of groups.
#[derive(Debug, Default)]
pub(crate) struct GroupBoard {
    /// A wish: its group in the lowest octet, the user above it, [`TAKEN`]; 0 if there is none.
    wish: AtomicU64,
    active: AtomicU8,
    /// The group that a message selects now; 0 if none does.
    selected: AtomicU8,
}

impl GroupBoard {
    /// Leaves a user's wish to the task, if there is room for it.
    pub(crate) fn ask(&self, group: u8, user: u32) -> Option<Wish> {
        let wish = u64::from(user) << 8 | u64::from(group);
        self.replace(0, wish).then_some(Wish(wish))
    }

    /// Whether the task has not yet answered the wish that was left to it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.wish.load(Ordering::Acquire) != 0
    }

    /// Takes a wish back, unless the task has taken it; says whether it was taken back.
    pub(crate) fn withdraw(&self, wish: Wish) -> bool {
        self.replace(wish.0, 0)
    }

    fn replace(&self, wish: u64, by: u64) -> bool {
        self.wish.compare_exchange(wish, by, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Number of the active group, from 1.
    pub(crate) fn active(&self) -> u8 {
        self.active.load(Ordering::Acquire)
    }

    /// The group that a message selects now.
    pub(crate) fn selected(&self) -> Option<u8> {
        Some(self.selected.load(Ordering::Acquire)).filter(|group| *group != 0)
    }

    /// The wish that is left, taken by the task; it is answered by [`GroupBoard::tell`].
    pub(crate) fn take(&self) -> Option<Wish> {
        let wish = self.wish.load(Ordering::Acquire);
        (wish != 0 && wish & TAKEN == 0 && self.replace(wish, wish | TAKEN)).then_some(Wish(wish))
    }

    /// The task tells what holds, which is the answer to a wish that it has taken.
    pub(crate) fn tell(&self, active: u8, selected: Option<u8>, wish: Option<Wish>) {
        self.active.store(active, Ordering::Release);
        self.selected.store(selected.unwrap_or(0), Ordering::Release);
        if wish.is_some() {
            self.wish.store(0, Ordering::Release);
        }
    }
}

/// What messages say of groups in one cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Selection {
    #[default]
    Nothing,
    /// A group, and the first message that selects it.
    Group(u8, usize),
    /// Different ones, which is no selection.
    Contradiction,
}

impl Selection {
    /// A message, by its place, selects a group.
    pub(crate) fn add(&mut self, group: u8, publisher: usize) {
        *self = match *self {
            Self::Nothing => Self::Group(group, publisher),
            Self::Group(known, _) if known != group => Self::Contradiction,
            known => known,
        };
    }

    /// The one group that messages select, and who does.
    pub(crate) const fn group(self) -> Option<(u8, By)> {
        match self {
            Self::Group(group, publisher) => Some((group, By::Publisher(publisher))),
            Self::Nothing | Self::Contradiction => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_do_not_agree_select_nothing() {
        let of = |each: &[(u8, usize)]| {
            let mut selection = Selection::default();
            each.iter().for_each(|(group, publisher)| selection.add(*group, *publisher));
            selection.group()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(2, 1)]), Some((2, By::Publisher(1))));
        assert_eq!(of(&[(2, 1), (2, 3)]), Some((2, By::Publisher(1))));
        assert_eq!(of(&[(2, 1), (3, 1), (2, 2)]), None);
    }

    #[test]
    fn a_wish_is_withdrawn_unless_the_task_has_taken_it() {
        let board = GroupBoard::default();
        let wish = board.ask(2, 0).expect("there is room");
        assert!(board.withdraw(wish) && !board.is_waiting());
        assert_eq!(board.take(), None, "it does not happen later");
        let wish = board.ask(2, 0).expect("there is room again");
        let taken = board.take();
        assert!(!board.withdraw(wish) && board.is_waiting());
        board.tell(2, None, taken);
        assert!(!board.is_waiting());
    }

    #[test]
    fn one_wish_waits_at_a_time_and_is_answered_once() {
        let board = GroupBoard::default();
        assert_eq!(board.take(), None);
        assert!(board.ask(8, u32::MAX).is_some() && board.is_waiting());
        assert_eq!(board.ask(2, 0), None, "there is no room");
        let wish = board.take().expect("it was left");
        assert_eq!(wish.of(), (8, By::User(u32::MAX)));
        assert_eq!((board.take(), board.ask(2, 0)), (None, None), "it is taken, and there");
        board.tell(3, Some(2), None);
        assert!(board.is_waiting(), "it is not answered yet");
        board.tell(3, Some(2), Some(wish));
        assert_eq!((board.active(), board.selected(), board.take()), (3, Some(2), None));
        assert!(!board.is_waiting());
        board.tell(3, None, None);
        assert_eq!(board.selected(), None);
    }
}
