//! What one must know before trusting a cell.
//!
//! A figure without its reservation is a lie once it is copied into a slide. So marks belong to the
//! cell, and whatever shows a figure of it, a table, a picture or JSON, shows them too.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reservation under which all figures of a cell stand.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Mark {
    pub kind: MarkKind,
    /// With what is known about this case, as `core 3: powersave`; may be empty.
    #[serde(default)]
    pub detail: String,
}

/// The kinds of reservations; [`Self::meaning`] says what each is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkKind {
    Emulated,
    Cut,
    LostSamples,
    /// Or longer than the bins of a histogram reach.
    Overflow,
    TooShort,
    LoadMissing,
    NeighboursMissing,
    Battery,
    Scaling,
    Smt,
    RtThrottling,
    IdleStates,
    Stolen,
    MaximaOnly,
    NoMeter,
    BelowZero,
}

impl MarkKind {
    /// Its name in tables, in two or three words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Emulated => "emulated",
            Self::Cut => "cut",
            Self::LostSamples => "lost samples",
            Self::Overflow => "overflow",
            Self::TooShort => "too short",
            Self::LoadMissing => "load missing",
            Self::NeighboursMissing => "neighbours missing",
            Self::Battery => "on battery",
            Self::Scaling => "frequency scaling",
            Self::Smt => "SMT",
            Self::RtThrottling => "RT throttling",
            Self::IdleStates => "idle states",
            Self::Stolen => "stolen time",
            Self::MaximaOnly => "maxima only",
            Self::NoMeter => "no stall meter",
            Self::BelowZero => "below zero",
        }
    }

    /// What it means for the figures, as a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Emulated => {
                "The processor was emulated: these are times of a model, not of a real machine."
            }
            Self::Cut => "The measurement ended before its planned duration.",
            Self::LostSamples => "Some samples were taken but lost; the worst may be among them.",
            Self::Overflow => {
                "Latencies were longer than can be stored: the maximum is at least what is shown."
            }
            Self::TooShort => "Too few samples for the higher percentiles.",
            Self::LoadMissing => "The load of the profile did not run, or only part of the time.",
            Self::NeighboursMissing => {
                "The neighbours of the profile did not run, or only part of the time."
            }
            Self::Battery => "The computer ran on battery.",
            Self::Scaling => "The processor frequency was scaled with the load.",
            Self::Smt => "Two hardware threads share a core and slow each other down.",
            Self::RtThrottling => {
                "The kernel throttles real-time threads that use too much of the processor."
            }
            Self::IdleStates => {
                "Idle states of the processor were not disabled, so latencies include waking up \
                 from them."
            }
            Self::Stolen => "A hypervisor took the processor away during the measurement.",
            Self::MaximaOnly => {
                "Only the maximum of each interval is known, so all figures are those of maxima."
            }
            Self::NoMeter => "No stall meter ran, so causes of late samples are unknown.",
            Self::BelowZero => {
                "Some latencies were below zero, so a clock was set or differs; they count as 0."
            }
        }
    }

    /// Whether figures under this mark are none of the platform at all, so that no verdict on the
    /// platform can rest on them.
    pub fn forbids_verdict(self) -> bool {
        matches!(self, Self::Emulated)
    }
}

impl Mark {
    /// A mark with what is known about this case.
    pub fn new(kind: MarkKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

impl From<MarkKind> for Mark {
    fn from(kind: MarkKind) -> Self {
        Self::new(kind, "")
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.words())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}
