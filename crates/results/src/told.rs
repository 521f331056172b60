//! Numbers that programs report: lines of their standard output that are JSON objects.
//!
//! A program that measures itself, or a device under test, prints one object a line, such as
//! `{"action": 7, "latency_us": 812.5}`, and a scenario sets bounds on a member of it. Members that
//! end in `_ns`, `_us`, `_ms` or `_s` are times, which are judged in ms; all others are plain
//! numbers. Lines without that member are text for people. A line that names it (`"latency_us":`) and says
//! no number by which anybody could judge (`null`, `NaN`, half an object, one behind other text) is a
//! hole: what it was about may have been late without bound.

use std::io::{self, BufRead};

use super::doubt::Loss;
use super::output::{Channel, OutputLine};
use scenario::told::{Statistic, scale_ms};

/// What a program reported of a member.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ReportedValues {
    /// Scenario time of each line and its number, in ms where it is a time; in the order of lines.
    pub rows: Vec<(i64, f64)>,
    /// From when on numbers are missing: the log says that it lacks lines, or one says no number.
    pub lost: Option<Loss>,
}

/// A statistic of numbers in rising order.
///
/// # Errors
/// When there are none, or fewer than a percentile can be judged by.
pub fn draw(statistic: Statistic, sorted: &[f64]) -> Result<f64, String> {
    let count = sorted.len() as f64;
    match (statistic, sorted) {
        (Statistic::Count, _) => Ok(count),
        (_, []) => Err("nothing was reported".into()),
        (Statistic::Minimum, [first, ..]) => Ok(*first),
        (Statistic::Mean, _) => Ok(sorted.iter().sum::<f64>() / count),
        (Statistic::Maximum, [.., last]) => Ok(*last),
        (Statistic::Percentile(share), _) => {
            let (needed, there) = (statistic.lines_needed() as usize, sorted.len());
            if there < needed {
                let name = statistic.name();
                return Err(format!("{name} needs {needed} lines, and there are {there}"));
            }
            Ok(sorted[((share * count).ceil() as usize).clamp(1, there) - 1])
        }
    }
}

/// Reads the log of a program, the file `name`, for one member.
pub fn read(name: &str, log: impl BufRead, member: &str) -> io::Result<ReportedValues> {
    let mut reported = ReportedValues::default();
    for line in log.lines() {
        let Some(line) = OutputLine::parse(&line?) else { continue };
        let reason = match said(&line, member) {
            _ if line.channel == Channel::Lost => format!("{name} lacks lines: {}", line.text),
            Said::Nothing => continue,
            Said::Number(value) => {
                reported.rows.push((line.time_ns, value * scale_ms(member).unwrap_or(1.0)));
                continue;
            }
            Said::NoNumber => {
                let text: String = line.text.chars().take(SHOWN).collect();
                format!("{name} has a line about `{member}` without a number: {text}")
            }
        };
        let file = name.to_owned();
        reported.lost.get_or_insert(Loss { file, from_ns: line.time_ns, reason });
    }
    Ok(reported)
}

/// Of a line that says no number, in characters.
const SHOWN: usize = 80;

enum Said {
    Nothing,
    Number(f64),
    NoNumber,
}

fn said(line: &OutputLine, member: &str) -> Said {
    if line.channel != Channel::Out {
        return Said::Nothing;
    }
    let object = serde_json::from_str::<serde_json::Value>(&line.text);
    match object.as_ref().ok().and_then(|object| object.get(member)) {
        Some(value) => match value.as_f64() {
            Some(number) if number.is_finite() => Said::Number(number),
            _ => Said::NoNumber,
        },
        None if names(&line.text, member) => Said::NoNumber,
        None => Said::Nothing,
    }
}

/// Whether a member is named somewhere in a line, as objects name it.
fn names(text: &str, member: &str) -> bool {
    let name = format!("\"{member}\"");
    text.split(&name).skip(1).any(|rest| rest.trim_start().starts_with(':'))
        // Cut off behind its name.
        || text.ends_with(&name) && text.contains('{')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_with_the_member_count_and_times_are_in_ms() {
        let log = "    1.000000000 out| begun\n\
                   \x20   1.500000000 out| {\"latency_us\": 812.5}\n\
                   \x20   1.600000000 err| {\"latency_us\": 1}\n\
                   \x20   1.700000000 out| {\"latency_us\": \"much\"}\n\
                   \x20   1.800000000 out| {broken\n\
                   \x20   2.000000000 out| {\"other\": 3, \"latency_us\": 4200}\n";
        let reported = read("p.log", log.as_bytes(), "latency_us").unwrap();
        assert_eq!(reported.rows, [(1_500_000_000, 0.8125), (2_000_000_000, 4.2)]);
        let lost = reported.lost.unwrap();
        assert_eq!(lost.from_ns, 1_700_000_000);
        assert!(lost.reason.ends_with("without a number: {\"latency_us\": \"much\"}"), "{lost:?}");
        let other = read("p.log", log.as_bytes(), "other").unwrap();
        assert_eq!(other.rows, [(2_000_000_000, 3.0)]);
    }

    /// What Python writes of what never came, and lines that were cut.
    #[test]
    fn a_line_that_names_the_member_and_says_no_number_is_a_hole() {
        let holes = [
            r#"{"answer_ms": Infinity}"#,
            r#"{"answer_ms": 5000.0, "volt": NaN}"#,
            r#"{"answer_ms": null}"#,
            r#"{"answer_ms": "4"}"#,
            r#"{"answer_ms": 1e400}"#,
            r#"{"answer_ms": 6"#,
            "\u{feff}{\"answer_ms\": 6}",
            r#"{"volt": 1, "answer_ms""#,
            r#"retrying... {"answer_ms": 99}"#,
            r#"INFO {"answer_ms" : 99}"#,
            r#"[{"answer_ms":99}]"#,
            r#"{"volt": 1}{"answer_ms": 99}"#,
            r#"{"all": {"answer_ms": 99}}"#,
        ];
        for hole in holes {
            let log =
                format!("    1.000000000 out| {{\"answer_ms\": 1}}\n    2.000000000 out| {hole}\n");
            let reported = read("p.log", log.as_bytes(), "answer_ms").unwrap();
            assert_eq!(reported.rows, [(1_000_000_000, 1.0)], "{hole}");
            assert_eq!(reported.lost.map(|lost| lost.from_ns), Some(2_000_000_000), "{hole}");
        }
        for text in [
            "answer_ms: 6",
            r#"{"answer": 6"#,
            r#"["answer_ms"]"#,
            r#"{"other_ms": NaN}"#,
            r#"{"text": "answer_ms"}"#,
        ] {
            let log = format!("    1.000000000 out| {text}\n");
            let reported = read("p.log", log.as_bytes(), "answer_ms").unwrap();
            assert_eq!((reported.rows.len(), reported.lost), (0, None), "{text}");
        }
    }

    #[test]
    fn a_percentile_is_one_of_the_numbers_and_needs_enough_of_them() {
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(draw(Statistic::Percentile(0.99), &sorted), Ok(990.0));
        assert_eq!(draw(Statistic::Percentile(0.5), &sorted), Ok(500.0));
        let few = draw(Statistic::Percentile(0.999), &sorted).unwrap_err();
        assert_eq!(few, "p99.9 needs 3688 lines, and there are 1000");
        assert_eq!(draw(Statistic::Mean, &sorted), Ok(500.5));
        assert_eq!(draw(Statistic::Count, &[]), Ok(0.0));
        assert!(draw(Statistic::Maximum, &[]).is_err());
    }
}
