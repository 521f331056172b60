//! When the programs of a domain that is stopped are frozen, as well as its clock.
//!
//! A hold stops clocks by one store, and that is the whole pause for a program that reads a clock
//! or waits. A program that computes goes on computing, in no virtual time. Freezing it is a
//! backstop against that: it costs microseconds for each program, so a hold that is over sooner
//! than it would pay goes without, and a thaw comes before the clock runs. So does one in which all
//! sleep, for some more milliseconds: to be frozen and thawed they would be woken, and then wait for a processor
//! where they had nothing to do. This decides when; `runtime::launch` does it.

use std::fmt;
use std::str::FromStr;

use vtime::{HostSpan, HostTime};

/// Holds shorter than this stop clocks only, unless somebody wants another bound.
const AFTER: HostSpan = HostSpan::from_ns(1_000_000);
/// Where no program runs by then they are frozen so much later, lest one that something from outside wakes
/// computes for ever.
const LOOK_AGAIN: HostSpan = HostSpan::from_ns(10_000_000);
/// Longest bound; beyond, nobody waits for it.
const AFTER_MAX_NS: i64 = 60_000_000_000;

/// Whether and when programs are frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Freeze {
    Off,
    /// In holds that last longer than this, in host time.
    After(HostSpan),
    /// In every hold, which is in force only when they are.
    Strict,
}

impl Default for Freeze {
    fn default() -> Self {
        Self::After(AFTER)
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => write!(out, "off"),
            Self::Strict => write!(out, "strict"),
            Self::After(bound) => write!(out, "{} us", bound.as_ns() / 1000),
        }
    }
}

impl FromStr for Freeze {
    type Err = String;

    /// `off`, `strict`, or a time as `5 ms`.
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is not a freeze setting; write `off`, `strict`, or the longest hold \
                 without freezing, such as `1 ms`"
            )
        };
        match text.trim() {
            "off" => return Ok(Self::Off),
            "strict" => return Ok(Self::Strict),
            _ => {}
        }
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        let ns_per_unit = match text[digits.len()..].trim() {
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return Err(unknown()),
        };
        let count: u32 = digits.trim().parse().map_err(|_| unknown())?;
        let ns = i64::from(count).saturating_mul(ns_per_unit);
        if ns > AFTER_MAX_NS {
            return Err(format!("`{text}` is longer than 60 s; write `off` to never freeze"));
        }
        Ok(Self::After(HostSpan::from_ns(ns)))
    }
}

/// Who freezes the programs of a domain.
pub trait Backstop: fmt::Debug + Send + Sync {
    /// The clock is stopped. Returns when that is in force for programs too, as far as it
    /// shall be.
    fn stopped(&self);

    /// The clock is about to run; returns when all programs do.
    fn resuming(&self);

    /// The time of programs is to go faster than those of them that wait have reckoned with. Returns
    /// when they have computed their waits again.
    fn quickened(&self, processes: &[i32]);
}

/// Where a domain is between running and being frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// The clock and all programs run.
    #[default]
    Free,
    /// The clock is stopped, and at this time programs are to be frozen, if one of them runs or `whoever` does.
    Due { at: HostTime, whoever: bool },
    /// They are frozen, or being frozen.
    Frozen,
    /// They are to be thawed, which somebody waits for.
    Leaving,
}

/// What is to be done next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Nothing,
    /// Look again at this time.
    Wait(HostTime),
    /// Look whether a program runs, and say so ([`Phase::looked`]).
    Look,
    Freeze,
    Thaw,
}

impl Phase {
    /// The clock has stopped, or stopped once more after a thaw.
    pub fn stopped(&mut self, freeze: Freeze, now: HostTime) {
        if *self != Self::Free {
            return;
        }
        match freeze {
            Freeze::Off => {}
            Freeze::After(bound) => *self = Self::Due { at: now + bound, whoever: false },
            Freeze::Strict => *self = Self::Due { at: now, whoever: true },
        }
    }

    /// The clock is about to run. Returns whether that must wait for a thaw.
    pub fn resuming(&mut self) -> bool {
        if let Self::Due { .. } = self {
            *self = Self::Free;
        }
        if *self == Self::Frozen {
            *self = Self::Leaving;
        }
        *self == Self::Leaving
    }

    /// What is to be done at this time; what it is counts as begun.
    pub fn next(&mut self, now: HostTime) -> Next {
        match *self {
            Self::Free | Self::Frozen => Next::Nothing,
            Self::Due { at, .. } if now < at => Next::Wait(at),
            Self::Due { whoever: false, .. } => Next::Look,
            Self::Due { whoever: true, .. } => {
                *self = Self::Frozen;
                Next::Freeze
            }
            Self::Leaving => Next::Thaw,
        }
    }

    /// It was looked whether a program runs, which took until now.
    pub fn looked(&mut self, one_runs: bool, now: HostTime) {
        // The hold may be over, and another one have begun.
        if let Self::Due { at, whoever } = self
            && *at <= now
        {
            *whoever = true;
            *at = if one_runs { now } else { now + LOOK_AGAIN };
        }
    }

    /// All programs run again.
    pub fn thawed(&mut self) {
        *self = Self::Free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: i64) -> HostTime {
        HostTime::from_ns(us * 1000)
    }

    #[test]
    fn a_short_hold_freezes_nobody() {
        let mut phase = Phase::Free;
        phase.stopped(Freeze::default(), at(0));
        assert_eq!(phase.next(at(999)), Next::Wait(at(1000)));
        assert!(!phase.resuming(), "nothing to wait for");
        assert_eq!(phase.next(at(5000)), Next::Nothing);
    }

    #[test]
    fn a_long_hold_freezes_and_thaws_before_it_ends() {
        let mut phase = Phase::Free;
        phase.stopped(Freeze::default(), at(0));
        assert_eq!(phase.next(at(1000)), Next::Look);
        phase.looked(true, at(1000));
        assert_eq!(phase.next(at(1000)), Next::Freeze);
        assert_eq!(phase.next(at(1001)), Next::Nothing);
        assert!(phase.resuming());
        assert_eq!(phase.next(at(2000)), Next::Thaw);
        phase.thawed();
        assert_eq!(phase, Phase::Free);
    }

    #[test]
    fn a_hold_in_which_all_sleep_freezes_them_later_and_a_look_that_it_has_outlasted_says_nothing()
    {
        let mut phase = Phase::Free;
        phase.stopped(Freeze::default(), at(0));
        phase.looked(false, at(1000));
        assert_eq!(phase.next(at(10_999)), Next::Wait(at(11_000)));
        assert_eq!(phase.next(at(11_000)), Next::Freeze);
        let mut phase = Phase::Free;
        phase.looked(true, at(0));
        assert_eq!(phase, Phase::Free);
        phase.stopped(Freeze::default(), at(0));
        phase.looked(true, at(999));
        assert_eq!(phase.next(at(1000)), Next::Look, "that was about the hold before");
        assert!(!phase.resuming(), "nothing to wait for");
    }

    #[test]
    fn a_hold_that_comes_during_a_thaw_is_a_new_one() {
        let mut phase = Phase::Frozen;
        assert!(phase.resuming());
        phase.stopped(Freeze::default(), at(0));
        assert_eq!(phase.next(at(0)), Next::Thaw, "somebody waits for it");
        phase.thawed();
        phase.stopped(Freeze::default(), at(10));
        assert_eq!(phase.next(at(10)), Next::Wait(at(1010)));
    }

    #[test]
    fn strict_is_at_once_and_off_is_never() {
        let mut phase = Phase::Free;
        phase.stopped(Freeze::Off, at(0));
        assert_eq!(phase.next(at(1_000_000)), Next::Nothing);
        phase.stopped(Freeze::Strict, at(0));
        assert_eq!(phase.next(at(0)), Next::Freeze);
    }

    #[test]
    fn what_a_user_writes_is_read_or_explained() {
        let read = |text: &str| text.parse::<Freeze>();
        assert_eq!(read("strict"), Ok(Freeze::Strict));
        assert_eq!(read("off"), Ok(Freeze::Off));
        assert_eq!(read("1 ms"), Ok(Freeze::default()));
        assert_eq!(read("250us"), Ok(Freeze::After(HostSpan::from_ns(250_000))));
        for wrong in ["", "5", "ms", "-1 ms", "1.5 ms", "1 h", "always"] {
            assert!(read(wrong).unwrap_err().contains("`off`, `strict`"), "{wrong}");
        }
        assert!(read("61 s").unwrap_err().contains("longer than 60 s"));
        for freeze in [Freeze::Off, Freeze::Strict, Freeze::default()] {
            assert_eq!(read(&freeze.to_string()), Ok(freeze));
        }
    }
}
