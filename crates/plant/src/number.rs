//! Which numbers a property of an element takes.
//!
//! The engine answers each of its three getters for any property: NaN, -1 or a word where it is of
//! another kind, and no error. So the kind is what all three say together. Words (`conn=delta`),
//! names and lists are no numbers and no points.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    Real,
    /// Whole ones: `regcontrol.*.tapnum`, `load.*.model`.
    Whole,
    /// 1 for yes, 0 for no: `load.*.enabled`.
    YesNo,
}

impl Number {
    /// The kind of a property of which the engine says this as a real number, as a whole one and
    /// as a word.
    pub(super) fn of(real: f64, whole: i32, word: &str) -> Option<Self> {
        if real.is_finite() {
            Some(Self::Real)
        } else if word.parse() == Ok(whole) {
            Some(Self::Whole)
        } else if [(-1, "Yes"), (1, "Yes"), (0, "No")].contains(&(whole, word)) {
            Some(Self::YesNo)
        } else {
            None
        }
    }

    /// What to write instead of a value that it does not take; `None` if it takes it.
    pub(super) fn refuses(self, value: f64) -> Option<&'static str> {
        let is_whole = value.fract() == 0.0 && value.abs() <= f64::from(i32::MAX);
        match self {
            Self::Whole if !is_whole => Some("a whole number"),
            Self::YesNo if value != 0.0 && value != 1.0 => Some("1 for yes or 0 for no"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_kind_is_what_all_three_getters_say_together() {
        let nan = f64::NAN;
        assert_eq!(Number::of(1155.0, -1, "1155"), Some(Number::Real));
        assert_eq!(Number::of(nan, -3, "-3"), Some(Number::Whole));
        assert_eq!(Number::of(nan, -1, "Yes"), Some(Number::YesNo));
        assert_eq!(Number::of(nan, 0, "No"), Some(Number::YesNo));
        // A bus that is called 671, a word of a list, a list.
        for (whole, word) in [(-1, "671"), (1, "delta"), (-1, "[ 400]"), (-1, "")] {
            assert_eq!(Number::of(nan, whole, word), None, "{word}");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_reaches_the_engine_as_it_is(value in -1e12..1e12f64, whole: i32) {
            if Number::Whole.refuses(value).is_none() {
                #[expect(clippy::cast_possible_truncation, reason = "this is what is looked at")]
                let passed = value as i32;
                prop_assert_eq!(f64::from(passed), value);
            }
            prop_assert_eq!(Number::Whole.refuses(f64::from(whole)), None);
            prop_assert_eq!(Number::YesNo.refuses(f64::from(whole)).is_none(), whole == 0 || whole == 1);
            prop_assert_eq!(Number::Real.refuses(value), None);
        }
    }
}
