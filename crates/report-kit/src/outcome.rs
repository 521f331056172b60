//! What becomes of a requirement.

use serde::{Deserialize, Serialize};

/// Met, missed, disturbed or not measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The value lies within the bounds.
    Met,
    /// It does not, or can no longer.
    Missed,
    /// The data say something, but not of the programs: these were kept from acting in time.
    Disturbed,
    /// The data do not say.
    NotMeasured,
}

impl Outcome {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Disturbed => "disturbed",
            Self::NotMeasured => "not measured",
        }
    }

    /// Its class in style sheets, and a sign by which it is known without colours.
    pub fn sign(self) -> (&'static str, &'static str) {
        match self {
            Self::Met => ("met", "✓"),
            Self::Missed => ("missed", "✗"),
            Self::Disturbed => ("unknown", "~"),
            Self::NotMeasured => ("unknown", "?"),
        }
    }
}
