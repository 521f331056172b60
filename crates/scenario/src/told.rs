//! Numbers that programs report: in which unit they are judged, and what can be drawn from them.

use serde::{Deserialize, Serialize};

use report_kit::statistics::percentile::samples_needed;

/// What is drawn from such numbers.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    Count,
    Minimum,
    Mean,
    Maximum,
    /// The smallest number that this share of all does not exceed (nearest rank).
    Percentile(f64),
}

const WORDS: [(&str, Statistic); 9] = [
    ("count", Statistic::Count),
    ("minimum", Statistic::Minimum),
    ("mean", Statistic::Mean),
    ("maximum", Statistic::Maximum),
    ("median", Statistic::Percentile(0.5)),
    ("p99", Statistic::Percentile(0.99)),
    ("p99.9", Statistic::Percentile(0.999)),
    ("p99.99", Statistic::Percentile(0.9999)),
    ("p99.999", Statistic::Percentile(0.999_99)),
];

impl Statistic {
    /// The words, as scenarios write them.
    pub const NAMES: [&str; WORDS.len()] = {
        let mut names = [""; WORDS.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = WORDS[index].0;
            index += 1;
        }
        names
    };

    /// The statistic of a word; `None` if it is none.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        WORDS.iter().find(|(name, _)| *name == word).map(|(_, statistic)| *statistic)
    }

    /// How many lines it takes to say it: as many that the largest one is not likely to lie below
    /// the true percentile.
    #[must_use]
    pub fn lines_needed(self) -> u64 {
        match self {
            Self::Count => 0,
            Self::Minimum | Self::Mean | Self::Maximum => 1,
            Self::Percentile(share) => samples_needed(share),
        }
    }

    /// The word for it in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = WORDS.iter().find(|(_, statistic)| *statistic == self);
        found.map_or("percentile", |(name, _)| name)
    }
}

/// The unit in which a member is judged.
#[must_use]
pub fn unit(member: &str) -> &'static str {
    if scale_ms(member).is_some() { "ms" } else { "" }
}

/// Milliseconds of one of a member's own units; `None` if it is no time.
#[must_use]
pub fn scale_ms(member: &str) -> Option<f64> {
    match member.rsplit_once('_')?.1 {
        "ns" => Some(1e-6),
        "us" => Some(1e-3),
        "ms" => Some(1.0),
        "s" => Some(1e3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_means_itself() {
        for name in Statistic::NAMES {
            assert_eq!(Statistic::named(name).map(Statistic::name), Some(name));
        }
        assert_eq!(Statistic::named("p98"), None);
    }

    #[test]
    fn the_end_of_a_name_is_its_unit() {
        let units = ["latency_us", "other", "at_s", "ms"].map(unit);
        assert_eq!(units, ["ms", "", "ms", ""]);
        assert_eq!(scale_ms("latency_ns"), Some(1e-6));
    }
}
