//! Names of logical nodes (IEC 61850-7-2, clause 22): prefix, class, instance.
//!
//! The prefix is the name in the settings, in the letters that a prefix may have: letters, digits and
//! `_` stay, `>` becomes `H` and `<` becomes `L`, others are left out; one that begins with a digit, or
//! has nothing left, gets an `N` in front. So a node keeps its name when others are added. The
//! instance is 1, and counts on where two names of one class have become the same.

use std::collections::BTreeMap;

/// Prefix and instance have 12 characters at most, and the instance may need two.
const PREFIX_CHARACTERS_MAX: usize = 10;
/// A domain of MMS has 64 characters at most.
const DEVICE_CHARACTERS_MAX: usize = 61;
/// The logical device of a relay has this instance.
const DEVICE_INSTANCE: &str = "LD0";

/// Names that were given.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, u32>);

impl Names {
    /// The name of a logical node for what has this name in the settings.
    pub(crate) fn node(&mut self, setting: &str, class: &str) -> String {
        let stem = format!("{}{class}", prefix(setting));
        let instance = self.0.entry(stem.clone()).or_default();
        *instance += 1;
        format!("{stem}{instance}")
    }
}

fn prefix(setting: &str) -> String {
    let letter = |letter: char| match letter {
        '>' => Some('H'),
        '<' => Some('L'),
        other => (other.is_ascii_alphanumeric() || other == '_').then_some(other),
    };
    begun_with_a_letter(setting.chars().filter_map(letter), PREFIX_CHARACTERS_MAX)
}

/// The name of the logical device: that of the relay, and its instance.
pub(crate) fn device(relay: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name = begun_with_a_letter(relay.chars().map(letter), DEVICE_CHARACTERS_MAX);
    format!("{name}{DEVICE_INSTANCE}")
}

fn begun_with_a_letter(letters: impl Iterator<Item = char>, max: usize) -> String {
    let mut letters = letters.peekable();
    let is_legal = letters.peek().is_some_and(char::is_ascii_alphabetic);
    (!is_legal).then_some('N').into_iter().chain(letters).take(max).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_settings_become_prefixes() {
        for (setting, expected) in [
            ("I>", "IHPTOC1"),
            ("I>>", "IHHPTOC1"),
            ("Z1", "Z1PTOC1"),
            ("3I0>", "N3I0HPTOC1"),
            ("earth fault", "earthfaultPTOC1"),
            ("ΔI", "IPTOC1"),
            ("--", "NPTOC1"),
            ("overcurrent stage 1", "overcurrenPTOC1"),
        ] {
            assert_eq!(Names::default().node(setting, "PTOC"), expected);
        }
    }

    #[test]
    fn two_names_that_become_the_same_are_counted_by_class() {
        let mut names = Names::default();
        let given = [("a b", "PTOC"), ("ab", "PTOC"), ("ab", "PIOC")];
        let given = given.map(|(setting, class)| names.node(setting, class));
        assert_eq!(given, ["abPTOC1", "abPTOC2", "abPIOC1"]);
    }

    #[test]
    fn a_device_is_named_after_its_relay() {
        assert_eq!(device("BAYQ01"), "BAYQ01LD0");
        assert_eq!(device("bay 1/east"), "bay_1_eastLD0");
        assert_eq!(device("7"), "N7LD0");
        assert_eq!(device(&"x".repeat(200)).len(), 64);
    }
}
