//! What programs tell in numbers: lines of their standard output that are JSON objects.
//!
//! A program that measures itself, or a device under test, prints one object a line, such as
//! `{"action": 7, "latency_us": 812.5}`, and a scenario sets bounds on a member of it. Members that
//! end in `_ns`, `_us`, `_ms` or `_s` are times, which are judged in ms; all others are plain
//! numbers. Lines that are no objects, or objects without that member, are text for people.

use std::io::{self, BufRead};

use super::doubt::Loss;
use super::output::{Channel, OutputLine};
use crate::scenario::told::{Statistic, scale_ms};

/// Scenario time and number, in the order of lines.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Told {
    /// When each line came.
    pub times_ns: Vec<i64>,
    /// What it said, in ms where it is a time.
    pub values: Vec<f64>,
    /// From when on lines are missing, as the log itself says.
    pub lost: Option<Loss>,
}

/// A statistic of numbers in rising order.
///
/// # Errors
/// When there are none, or fewer than a percentile can be judged by.
pub fn draw(statistic: Statistic, sorted: &[f64]) -> Result<f64, String> {
    #[expect(clippy::cast_precision_loss, reason = "no run has 2^53 lines")]
    let count = sorted.len() as f64;
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return if statistic == Statistic::Count {
            Ok(0.0)
        } else {
            Err("nothing was told".into())
        };
    };
    match statistic {
        Statistic::Count => Ok(count),
        Statistic::Minimum => Ok(*first),
        Statistic::Mean => Ok(sorted.iter().sum::<f64>() / count),
        Statistic::Maximum => Ok(*last),
        Statistic::Percentile(share) => {
            let (needed, there) = (statistic.lines_needed() as usize, sorted.len());
            if there < needed {
                return Err(format!("{} needs {needed} lines, {there} came", statistic.name()));
            }
            Ok(sorted[((share * count).ceil() as usize).clamp(1, there) - 1])
        }
    }
}

/// Reads the log of a program, the file `name`, for one member.
///
/// # Errors
/// Those of reading.
pub fn read(name: &str, log: impl BufRead, member: &str) -> io::Result<Told> {
    let mut told = Told::default();
    for line in log.lines() {
        let Some(line) = OutputLine::parse(&line?) else { continue };
        if line.channel == Channel::Lost && told.lost.is_none() {
            let reason = format!("{name} lacks lines: {}", line.text);
            told.lost = Some(Loss { file: name.to_owned(), from_ns: line.time_ns, reason });
        }
        if let Some((time_ns, value)) = number(&line, member) {
            told.times_ns.push(time_ns);
            told.values.push(value * scale_ms(member).unwrap_or(1.0));
        }
    }
    Ok(told)
}

fn number(line: &OutputLine, member: &str) -> Option<(i64, f64)> {
    if line.channel != Channel::Out || !line.text.starts_with('{') {
        return None;
    }
    let object: serde_json::Value = serde_json::from_str(&line.text).ok()?;
    Some((line.time_ns, object.get(member)?.as_f64()?))
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
        let told = read("p.log", log.as_bytes(), "latency_us").unwrap();
        assert_eq!(told.times_ns, [1_500_000_000, 2_000_000_000]);
        assert_eq!(told.values, [0.8125, 4.2]);
        assert_eq!(read("p.log", log.as_bytes(), "other").unwrap().values, [3.0]);
    }

    #[test]
    fn a_percentile_is_one_of_the_numbers_and_needs_enough_of_them() {
        let sorted: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(draw(Statistic::Percentile(0.99), &sorted), Ok(990.0));
        assert_eq!(draw(Statistic::Percentile(0.5), &sorted), Ok(500.0));
        let few = draw(Statistic::Percentile(0.999), &sorted).unwrap_err();
        assert_eq!(few, "p99.9 needs 3688 lines, 1000 came");
        assert_eq!(draw(Statistic::Mean, &sorted), Ok(500.5));
        assert_eq!(draw(Statistic::Count, &[]), Ok(0.0));
        assert!(draw(Statistic::Maximum, &[]).is_err());
    }
}
