//! A moment of UTC as RFC 3339 writes it, `2019-06-03T12:00:00Z`, to nanoseconds since 1970.
//!
//! Only UTC: programs see the time of day in UTC, and an offset in the file would suggest that
//! their time zone follows.

use jiff::Timestamp;
use jiff::tz::Offset;
use settings::problems::{Fault, quoted};

/// Years that leave room for settling before and running after, in 64 bits of nanoseconds.
const YEARS: std::ops::RangeInclusive<i16> = 1971..=2200;

/// Nanoseconds from 1970 to the moment that `text` names.
///
/// # Errors
/// What is wrong with it, and how to write it.
pub fn realtime_ns(text: &str) -> Result<i64, Fault> {
    parse(text).ok_or_else(|| {
        let what = format!("{} is not a UTC time between 1971 and 2200", quoted(text));
        Fault::new(what, "write it as `2019-06-03T12:00:00Z`")
    })
}

fn parse(text: &str) -> Option<i64> {
    let moment: Timestamp = text.parse().ok()?;
    // The parser also takes offsets, spaces and leap seconds; the formatter writes one form only.
    let fraction = text.strip_suffix('Z')?.split_once('.').map_or("", |(_, fraction)| fraction);
    let is_in_form = format!("{moment:.*}", fraction.len()) == text;
    let is_in_range = YEARS.contains(&Offset::UTC.to_datetime(moment).year());
    (is_in_form && is_in_range).then(|| i64::try_from(moment.as_nanosecond()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments() {
        // From `date -u -d ... +%s`.
        assert_eq!(realtime_ns("2019-06-03T12:00:00Z"), Ok(1_559_563_200_000_000_000));
        assert_eq!(realtime_ns("2000-02-29T23:59:59.5Z"), Ok(951_868_799_500_000_000));
        assert_eq!(realtime_ns("2100-03-01T00:00:00Z"), Ok(4_107_542_400_000_000_000));
    }

    #[test]
    fn what_is_no_moment_of_utc_is_refused() {
        for text in [
            "2019-06-03T12:00:00",
            "2019-06-03T12:00:00+02:00",
            "2019-06-03 12:00:00Z",
            "2019-02-29T12:00:00Z",
            "2100-02-29T12:00:00Z",
            "2019-06-03T24:00:00Z",
            "2019-06-03T12:00:60Z",
            "2019-6-3T12:00:00Z",
            "2019-06-03T12:00:00.Z",
            "2019-06-03T12:00:00.1234567890Z",
            "1970-01-01T00:00:00Z",
            "2201-01-01T00:00:00Z",
            "+019-06-03T12:00:00Z",
        ] {
            assert!(realtime_ns(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_follow_each_other() {
        const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;
        let mut expected = 365 * DAY_NS;
        for (year, month) in YEARS.flat_map(|year| (1..=12).map(move |month| (year, month))) {
            for day in 1..=31 {
                if let Ok(ns) = realtime_ns(&format!("{year}-{month:02}-{day:02}T00:00:00Z")) {
                    assert_eq!(ns, expected, "{year}-{month}-{day}");
                    expected += DAY_NS;
                }
            }
        }
        assert_eq!(expected, 7_289_654_400_000_000_000, "the year 2201");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*", near in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{0,20}Z") {
            let _ = (realtime_ns(&text), realtime_ns(&near));
        }
    }
}
