//! Numbers as people read them: five significant digits, and more where rounding would put a
//! value on the wrong side of its bound.

/// A number with up to five significant digits; whole numbers as they are.
pub fn figure(value: f64) -> String {
    with_digits(value, 5)
}

/// A measured number beside its bounds: with so many digits that the text lies on the same side
/// of each bound as the number does.
pub fn figure_beside(value: f64, bounds: &[Option<f64>]) -> String {
    let same_side = |text: &str| {
        let shown: f64 = text.parse().unwrap_or(value);
        bounds.iter().flatten().all(|bound| shown.partial_cmp(bound) == value.partial_cmp(bound))
    };
    (5..=17)
        .map(|digits| with_digits(value, digits))
        .find(|text| same_side(text))
        .unwrap_or_else(|| format!("{value:?}"))
}

fn with_digits(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "no number".into() } else { format!("{value}") };
    }
    let magnitude = value.abs();
    if value == value.trunc() && magnitude < 1e15 {
        // Adding zero turns -0 into 0.
        return format!("{:.0}", value + 0.0);
    }
    if !(1e-4..1e15).contains(&magnitude) {
        return format!("{value:.*e}", digits - 1);
    }
    #[expect(clippy::cast_possible_truncation, reason = "between -4 and 15")]
    let before_point = magnitude.log10().floor() as i64 + 1;
    let decimals = usize::try_from(i64::try_from(digits).unwrap_or(5) - before_point).unwrap_or(0);
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// A count with its thousands apart: `2,880,000`.
pub fn count_text(count: u64) -> String {
    let digits = count.to_string();
    let text = |group| std::str::from_utf8(group).expect("digits are ASCII");
    digits.as_bytes().rchunks(3).rev().map(text).collect::<Vec<_>>().join(",")
}

/// Nanoseconds as seconds, without zeros at the end: `22.5`.
pub fn seconds(ns: i64) -> String {
    seconds_to_ns(ns).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Nanoseconds as seconds with all nine decimals.
pub fn seconds_to_ns(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_digits_say_enough() {
        assert_eq!(figure(2_319.724_4), "2319.7");
        assert_eq!(figure(4.166_666_7), "4.1667");
        assert_eq!(figure(0.012_5), "0.0125");
        assert_eq!(figure(900.0), "900");
        assert_eq!(figure(-1260.0), "-1260");
        assert_eq!(figure(0.0), "0");
        assert_eq!(figure(123_456.7), "123457");
        assert_eq!(figure(1.5e-7), "1.5000e-7");
        assert_eq!(figure(f64::NAN), "no number");
        assert_eq!(seconds(22_500_000_000), "22.5");
        assert_eq!(seconds(-3_000_000_000), "-3");
        assert_eq!([7, 1_000, 2_880_000].map(count_text), ["7", "1,000", "2,880,000"]);
    }

    #[test]
    fn a_value_just_below_its_bound_is_not_rounded_onto_it() {
        assert_eq!(figure_beside(2_374.996, &[Some(2375.0)]), "2374.996");
        assert_eq!(figure_beside(2_374.996, &[Some(2300.0)]), "2375");
        assert_eq!(figure_beside(2375.0, &[Some(2375.0)]), "2375");
    }

    proptest! {
        #[test]
        fn text_and_number_lie_on_the_same_side(value in -1e6f64..1e6, bound in -1e6f64..1e6) {
            let shown: f64 = figure_beside(value, &[Some(bound)]).parse().unwrap();
            prop_assert_eq!(shown.partial_cmp(&bound), value.partial_cmp(&bound));
        }
    }
}
