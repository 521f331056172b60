//! Frames that no decoder takes, by the field at which they were refused.
//!
//! Fields are those of the decoders, some thirty names that are fixed; whoever sends such frames cannot
//! make more of them. All of it is one small value, so that the thread that must be in time copies it.

use iec61850::wire::WireError;
use serde::{Serialize, Serializer};

/// Fields that are told apart; those beyond are counted together.
const FIELDS_MAX: usize = 32;
const OTHERS: &str = "others";

/// How many there were of each field, in the order in which they came up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Malformed {
    counts: [(&'static str, u64); FIELDS_MAX],
    last: Option<WireError>,
}

impl Malformed {
    pub(crate) fn note(&mut self, error: WireError) {
        self.last = Some(error);
        let (last, others) = self.counts.split_last_mut().expect("there are some");
        let known = others.iter_mut().find(|(field, _)| *field == error.field || field.is_empty());
        let (place, field) = known.map_or((last, OTHERS), |known| (known, error.field));
        *place = (field, place.1 + 1);
    }

    /// Of each field that there was.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts.into_iter().filter(|(_, count)| *count > 0)
    }

    /// What was wrong with the newest.
    pub(crate) const fn last(&self) -> Option<WireError> {
        self.last
    }
}

impl Serialize for Malformed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.counts())
    }
}

#[cfg(test)]
mod tests {
    use iec61850::wire::Fault;

    use super::*;

    #[test]
    fn fields_are_counted_apart_and_there_is_an_end_of_them() {
        let names: Vec<String> = (0..100).map(|number| format!("field{number}")).collect();
        let mut malformed = Malformed::default();
        for name in names.iter().chain(&names[..2]) {
            let field: &'static str = name.clone().leak();
            malformed.note(WireError { field, octet: 7, fault: Fault::Missing });
        }
        let counts: Vec<_> = malformed.counts().collect();
        assert_eq!((counts.len(), counts[0], counts[1].1, counts[2].1), (32, ("field0", 2), 2, 1));
        assert_eq!(counts[31], (OTHERS, 100 - 31));
        assert_eq!(malformed.last().map(|error| error.field), Some("field1"));
    }
}
