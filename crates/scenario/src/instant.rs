//! A moment of UTC as RFC 3339 writes it, `2019-06-03T12:00:00Z`, to nanoseconds since 1970.
//!
//! Only UTC: programs see the time of day in UTC, and an offset in the file would suggest that
//! their time zone follows. Days are counted in years that begin in March, so that the leap day
//! comes last.

use settings::problems::{Fault, quoted};

/// Years that leave room for settling before and running after, in 64 bits of nanoseconds.
const YEARS: std::ops::RangeInclusive<i64> = 1971..=2200;

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
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = fields(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = fields(clock, ':', [2, 2, 2])?;
    let in_range = YEARS.contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_of_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !in_range || fraction.len() > 9 {
        return None;
    }
    let ns = number(fraction)? * 10i64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let seconds = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    Some(seconds * 1_000_000_000 + ns)
}

/// Three numbers of so many digits each.
fn fields(text: &str, separator: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; 3];
    for (value, length) in numbers.iter_mut().zip(lengths) {
        *value = number(parts.next().filter(|part| part.len() == length)?)?;
    }
    parts.next().is_none().then_some(numbers)
}

fn number(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
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
        let mut expected = days_since_1970(1971, 1, 1);
        assert_eq!(expected, 365);
        for year in YEARS {
            for month in 1..=12 {
                for day in 1..=days_of_month(year, month) {
                    assert_eq!(days_since_1970(year, month, day), expected);
                    expected += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*", near in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{0,20}Z") {
            let _ = (realtime_ns(&text), realtime_ns(&near));
        }
    }
}
