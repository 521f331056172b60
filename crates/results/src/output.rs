//! Lines of programs with the virtual time at which they came:
//!
//! ```text
//!    12.345678901 out| polling the sensor
//!    12.347000000 err| no answer
//!    12.350000000 lost| 3 lines are missing from here on: No space left on device
//! ```
//!
//! The time is scenario time in seconds to the nanosecond, aligned so that columns line up for
//! runs of up to 99,999 s. One line here is one line of the program; who calls collects the
//! pieces of a line and gives it as a whole.

use std::fmt;

use report_kit::figure::seconds_to_ns;

/// Where a program wrote to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, strum::Display, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Channel {
    Out,
    Err,
    /// Not the program: lines are missing from here on.
    Lost,
}

/// One line of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputLine {
    pub time_ns: i64,
    pub channel: Channel,
    /// The text, without the line feed.
    pub text: String,
}

impl OutputLine {
    /// A line from the bytes of a program, which need not be UTF-8.
    pub fn new(time_ns: i64, channel: Channel, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        // A carriage return would let a later part of the line cover the time in a terminal.
        let text = text.trim_end_matches(['\n', '\r']).replace(['\n', '\r'], "\u{240d}");
        Self { time_ns, channel, text }
    }

    /// Reads a line of a log; `None` if it is none.
    pub fn parse(line: &str) -> Option<Self> {
        let (head, text) = line.split_once("| ").or_else(|| line.split_once('|'))?;
        let (time, channel) = head.trim_start().split_once(' ')?;
        let channel = channel.parse().ok()?;
        Some(Self { time_ns: parse_seconds(time)?, channel, text: text.to_owned() })
    }
}

impl fmt::Display for OutputLine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:>15} {}| {}", seconds_to_ns(self.time_ns), self.channel, self.text)
    }
}

fn parse_seconds(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, rest) = digits.split_once('.')?;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if rest.len() != 9 || !plain(whole) || !plain(rest) {
        return None;
    }
    let ns = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    Some(sign * ns.checked_add(rest.parse().ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_shows_when_it_came_and_where_it_was_written_to() {
        let line = OutputLine::new(12_345_678_901, Channel::Out, b"text\n");
        assert_eq!(line.to_string(), "   12.345678901 out| text");
        let before = OutputLine::new(-5, Channel::Err, b"");
        assert_eq!(before.to_string(), "   -0.000000005 err| ");
    }

    #[test]
    fn a_program_cannot_write_over_the_time() {
        let line = OutputLine::new(0, Channel::Out, b"0%\r100%\xff\r\n");
        assert_eq!(line.text, "0%\u{240d}100%\u{fffd}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ns in -1_000_000_000_000_000i64..1_000_000_000_000_000, text in "[^\n\r]{0,30}") {
            let line = OutputLine::new(ns, Channel::Err, text.as_bytes());
            prop_assert_eq!(OutputLine::parse(&line.to_string()), Some(line));
        }

        #[test]
        fn any_text_is_a_line_or_none(text in ".{0,40}") {
            let _ = OutputLine::parse(&text);
        }
    }
}
