//! What the image asks the agent about timers, and the agent's answer, in registers alone.
//!
//! A call of a timer names a structure in the program's memory. The agent must not read it: memory
//! can be such that who reads it waits for as long as the program likes. So the image reads and
//! writes it, in the program, and what it asks the agent are numbers: the first five arguments of a
//! notified call, and one number as the answer. The sixth is [`crate::image::ASKS`].
//!
//! | Call | 0 | 1 | 2 | 3 | 4 |
//! |---|---|---|---|---|---|
//! | `timerfd_settime`, `timer_settime`, `setitimer` | which | flags | left, ns | period, ns | program |
//! | `timerfd_gettime`, `timer_gettime`, `getitimer` | which | | | | program |
//! | `timer_create` | clock | kind and signal | value | thread | program |
//! | `timer_delete` | which | | | | program |
//! | `timer_getoverrun` | which | [`Query`] | | | program |
//!
//! Nothing that is asked is trusted: a program can jump into the image with any registers.

/// The agent leaves it to the kernel.
pub const KERNEL: i64 = i64::MIN;
/// Beside the program's flags: it has a time namespace of its own, in which an absolute time counts.
pub const NAMESPACE: u64 = 1 << 32;
/// In place of the thread, which is a number of 32 bits: the program has given no event.
pub const NO_EVENT: u64 = 1 << 32;

/// Bit of an answer: the timer has a period too, which is asked for by a second call.
const HAS_PERIOD: i64 = 1 << 62;
/// Added to an answer that may be negative: negative answers are errors.
const BIAS: i64 = 1 << 62;

/// What else is asked by `timer_getoverrun`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Query {
    /// How often a timer has expired beyond those that its signal reported.
    Overrun = 0,
    /// The period that belongs to the last answer to this thread.
    Period = 1,
    /// How far `CLOCK_MONOTONIC` is shifted in the time namespace of the program, see [`shift`].
    Monotonic = 2,
    /// How far `CLOCK_BOOTTIME` is.
    Boottime = 3,
}

impl Query {
    /// The query with this number.
    pub const fn of(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::Overrun),
            1 => Some(Self::Period),
            2 => Some(Self::Monotonic),
            3 => Some(Self::Boottime),
            _ => None,
        }
    }
}

/// What was left of a timer, in nanoseconds, and whether it has a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Left {
    /// Nanoseconds to the next expiration, 0 if it is not armed.
    pub ns: i64,
    /// Whether the period is to be asked for.
    pub has_period: bool,
}

impl Left {
    /// As an answer. More than 146 years are 146 years.
    pub const fn answer(self) -> i64 {
        let ns = if self.ns < 0 { 0 } else { self.ns };
        let ns = if ns < HAS_PERIOD { ns } else { HAS_PERIOD - 1 };
        if self.has_period { ns | HAS_PERIOD } else { ns }
    }

    /// Out of an answer that is no error.
    pub const fn of(answer: i64) -> Self {
        Self { ns: answer & (HAS_PERIOD - 1), has_period: answer & HAS_PERIOD != 0 }
    }
}

/// The answer for a shift of a clock in nanoseconds, which may be negative.
pub const fn shift_answer(shift_ns: i64) -> i64 {
    let most = BIAS - 1;
    let ns = if shift_ns > most {
        most
    } else if shift_ns < -most {
        -most
    } else {
        shift_ns
    };
    ns + BIAS
}

/// The shift that an answer names; `None` if it is an error.
pub const fn shift(answer: i64) -> Option<i64> {
    if answer > 0 { Some(answer - BIAS) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_left_survives_and_is_never_an_error(ns in 0..HAS_PERIOD, has_period: bool) {
            let left = Left { ns, has_period };
            prop_assert!(left.answer() >= 0);
            prop_assert_eq!(Left::of(left.answer()), left);
        }

        #[test]
        fn a_shift_survives_and_is_never_an_error(ns in 1 - BIAS..BIAS) {
            prop_assert_eq!(shift(shift_answer(ns)), Some(ns));
        }

        #[test]
        fn no_number_is_an_answer_by_mistake(ns: i64, has_period: bool) {
            let left = Left { ns, has_period };
            prop_assert!(left.answer() >= 0);
            prop_assert!(shift_answer(ns) > 0);
        }
    }

    #[test]
    fn errors_are_no_shift() {
        assert_eq!((shift(-38), shift(KERNEL)), (None, None));
    }
}
