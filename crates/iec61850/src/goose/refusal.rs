//! Why a message was refused: which field, what was expected there, and what was found.
//!
//! A fixed set of fields and small `Copy` values, because messages come at the rate of the attacker
//! and the one who refuses them must be in time; words are made when somebody prints them.

use std::fmt;
use std::time::Duration;

use crate::time::SampleTime;
use crate::wire::UtcTime;

/// Without a refusal for the same field for this long, the next one begins a new run.
const RUN_GAP: Duration = Duration::from_secs(10);
/// As much of a text as is kept: names of the field's devices are shorter.
const TEXT_OCTETS: usize = 48;

/// The field for which a message is refused, as the standard writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The state is not newer than the last one.
    StNum,
    /// The message is not newer than the last one of its state.
    SqNum,
    /// The state is older than its number says.
    T,
    TimeAllowedToLive,
    DatSet,
    GoId,
    /// From a test set that is not expected, or from the device while one is.
    Simulation,
    ConfRev,
    /// The publisher needs commissioning.
    NdsCom,
    NumDatSetEntries,
    /// A value is of another kind than its entry.
    AllData,
}

impl Field {
    /// All of them, in the order of their counts.
    pub const ALL: [Self; 11] = [
        Self::StNum,
        Self::SqNum,
        Self::T,
        Self::TimeAllowedToLive,
        Self::DatSet,
        Self::GoId,
        Self::Simulation,
        Self::ConfRev,
        Self::NdsCom,
        Self::NumDatSetEntries,
        Self::AllData,
    ];

    /// Its name in IEC 61850-8-1.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StNum => "stNum",
            Self::SqNum => "sqNum",
            Self::T => "t",
            Self::TimeAllowedToLive => "timeAllowedtoLive",
            Self::DatSet => "datSet",
            Self::GoId => "goID",
            Self::Simulation => "simulation",
            Self::ConfRev => "confRev",
            Self::NdsCom => "ndsCom",
            Self::NumDatSetEntries => "numDatSetEntries",
            Self::AllData => "allData",
        }
    }

    /// Whether the message does not fit the settings, as opposed to what came before it.
    #[must_use]
    pub const fn is_of_settings(self) -> bool {
        !matches!(self, Self::StNum | Self::SqNum | Self::T | Self::Simulation)
    }
}

/// What was expected of a field, or found in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    Number(u32),
    /// Numbers that follow this one.
    After(u32),
    /// This time, or a later one.
    Since(UtcTime),
    Time(UtcTime),
    Text(ShortText),
    /// What is neither number nor text of a frame, in our own words.
    Words(&'static str),
    /// A value of another kind, by its place in the data set, which begins at 0.
    Value(u32),
}

impl Said {
    /// A text of a frame, the end of which is left out if it is long.
    #[must_use]
    pub fn text(text: &str) -> Self {
        let octets = text.len().min(TEXT_OCTETS);
        let mut kept = [0; TEXT_OCTETS];
        kept[..octets].copy_from_slice(&text.as_bytes()[..octets]);
        Self::Text(ShortText { kept, octets: octets as u8, is_cut: octets < text.len() })
    }
}

impl fmt::Display for Said {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::After(number) => write!(out, "above {number}"),
            Self::Since(time) => write!(out, "at least {time}"),
            Self::Time(time) => write!(out, "{time}"),
            Self::Text(text) => write!(out, "{text}"),
            Self::Words(words) => out.write_str(words),
            Self::Value(index) => write!(out, "another kind of value as number {}", index + 1),
        }
    }
}

/// The beginning of a text, without memory of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortText {
    kept: [u8; TEXT_OCTETS],
    octets: u8,
    is_cut: bool,
}

impl fmt::Display for ShortText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = &self.kept[..usize::from(self.octets)];
        // Texts of frames are ASCII; one of the settings may be cut within a character.
        let whole = kept.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        out.write_str(whole)?;
        out.write_str(if self.is_cut { "..." } else { "" })
    }
}

/// Why a message was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    pub field: Field,
    pub expected: Said,
    pub got: Said,
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: expected {}, got {}", self.field.name(), self.expected, self.got)
    }
}

/// Refusals by field, and which of them are worth a record: the first of each run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Refusals {
    counts: [u64; Field::ALL.len()],
    newest: [Option<SampleTime>; Field::ALL.len()],
    last: Option<Refusal>,
}

impl Refusals {
    /// How many there were for each field.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Field::ALL.iter().map(|field| field.name()).zip(self.counts)
    }

    /// The newest of all.
    #[must_use]
    pub const fn last(&self) -> Option<Refusal> {
        self.last
    }

    /// How many there were for this field.
    #[must_use]
    pub const fn of(&self, field: Field) -> u64 {
        self.counts[field as usize]
    }

    /// Counts one; says whether it begins a run.
    pub(super) fn note(&mut self, now: SampleTime, refusal: Refusal) -> bool {
        let index = refusal.field as usize;
        self.counts[index] += 1;
        self.last = Some(refusal);
        let before = self.newest[index].replace(now);
        before.is_none_or(|before| now.since(before) > RUN_GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_field_expected_and_got() {
        let long = "x".repeat(129);
        let (expected, got) = (Said::text("trips"), Said::text(&long));
        let said = Refusal { field: Field::GoId, expected, got }.to_string();
        assert_eq!(said, format!("goID: expected trips, got {}...", "x".repeat(TEXT_OCTETS)));
    }

    #[test]
    fn each_field_has_a_place_of_its_own() {
        for (index, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, index);
        }
    }
}
