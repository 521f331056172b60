//! Values of points as text: what a program reads, and what it may write.
//!
//! A read gives the shortest decimal that reads back as the same number, and a newline. A write
//! is one decimal number and nothing else, so that a program that writes by accident what it
//! did not mean (half a line, two lines, `nan`) gets an error and sets nothing.

pub(super) fn format(value: f64) -> String {
    format!("{value}\n")
}

/// The number that a write consists of, if it is one.
pub(super) fn parse(written: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(written).ok()?;
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    // Words that Rust reads as numbers (`inf`, `nan`) are not decimal ones.
    if !text.chars().all(|letter| letter.is_ascii_digit() || "+-.eE".contains(letter)) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_with_space_around_it_is_a_write() {
        for (text, value) in
            [("5\n", 5.0), (" -3.25 \r\n", -3.25), ("1e3", 1000.0), ("+.5", 0.5), ("5.", 5.0)]
        {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text:?}");
        }
    }

    #[test]
    fn anything_else_is_not() {
        for text in [
            "",
            "\n",
            "5 6",
            "5\n6\n",
            "5kW",
            "0x10",
            "nan",
            "inf",
            "-infinity",
            "1e999",
            "1,5",
            "1_0",
            "e",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse(b"5\0"), None);
        assert_eq!(parse(b"\xff"), None);
    }

    #[test]
    fn a_value_is_short_and_ends_its_line() {
        assert_eq!(format(2413.1), "2413.1\n");
        assert_eq!(format(-5.0), "-5\n");
        assert_eq!(format(1e-3), "0.001\n");
    }

    proptest! {
        #[test]
        fn what_is_read_can_be_written_back(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse(format(value).as_bytes()).unwrap().to_bits(), value.to_bits());
        }

        #[test]
        fn no_octets_are_too_wild(written in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(value) = parse(&written) {
                prop_assert!(value.is_finite());
            }
        }
    }
}
