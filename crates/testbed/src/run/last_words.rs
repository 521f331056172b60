//! What a program said last, where it failed: the lines that a user would look for first.
//!
//! They come from the log of the program, where they stand in full, and go to a terminal, so they
//! are few, short and without control characters.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use results::output::{Channel, OutputLine};
use results::record::{ProgramEnd, ProgramRecord};
use results::{RunFolder, RunRecord};

/// The last lines of a traceback; more would push the verdicts off the screen.
const LINES_MAX: usize = 8;
/// A line that is longer than a few rows of a terminal is cut.
const LINE_CHARS_MAX: usize = 240;
const TAIL_OCTETS: u64 = 64 * 1024;

/// Records the last words of each program that failed.
pub(super) fn record(record: &mut RunRecord, folder: &RunFolder) {
    for program in record.programs.iter_mut().filter(|program| has_failed(program)) {
        program.last_words = last_lines(&tail(&folder.program_log(&program.name)));
    }
}

/// As they are shown to the user, with the file that has all of them; nothing where no program failed.
pub(super) fn for_user(record: &RunRecord, folder: &RunFolder) -> String {
    let mut text = String::new();
    for program in record.programs.iter().filter(|program| has_failed(program)) {
        let log = folder.program_log(&program.name);
        let (name, end, log) = (&program.name, &program.end, log.display());
        let said = match program.last_words.is_empty() {
            true => format!("it wrote nothing to {log}"),
            false => format!("the last lines of {log}:"),
        };
        writeln!(text, "program `{name}` {end}; {said}").expect("a string takes all");
        for line in &program.last_words {
            writeln!(text, "  | {line}").expect("a string takes all");
        }
    }
    text
}

fn has_failed(program: &ProgramRecord) -> bool {
    match program.end {
        ProgramEnd::Exited { code } => code != 0,
        ProgramEnd::Killed { .. } => true,
        _ => false,
    }
}

/// The last lines of standard error, or of standard output where nothing was written there.
fn last_lines(log: &str) -> Vec<String> {
    let lines: Vec<OutputLine> = log.lines().filter_map(OutputLine::parse).collect();
    let of = |channel: Channel| -> Vec<String> {
        let texts = lines.iter().filter(|line| line.channel == channel).map(|line| &line.text);
        let mut last: Vec<String> = texts.rev().take(LINES_MAX).map(|text| shown(text)).collect();
        last.reverse();
        last
    };
    let errors = of(Channel::Err);
    if errors.is_empty() { of(Channel::Out) } else { errors }
}

/// A line as it may stand on a terminal.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for character in text.chars().take(LINE_CHARS_MAX) {
        match character {
            '\t' => shown.push(' '),
            // These turn the direction of the text around them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                shown.extend(character.escape_unicode());
            }
            control if control.is_control() => shown.extend(control.escape_unicode()),
            other => shown.push(other),
        }
    }
    if text.chars().nth(LINE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// The end of a file, as far as it can be read.
fn tail(path: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_OCTETS)))?;
        let mut octets = Vec::new();
        file.take(TAIL_OCTETS).read_to_end(&mut octets)?;
        Ok(octets)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_of_standard_error_are_reported_and_those_of_output_only_without_any() {
        let line = |channel: &str, text: &str| format!("    1.000000000 {channel}| {text}\n");
        let many: String = (0..20).map(|n| line("err", &format!("error {n}"))).collect();
        let log = format!("cut off{many}{}", line("out", "bye"));
        let lines = last_lines(&log);
        assert_eq!((lines.len(), &*lines[0], &*lines[7]), (LINES_MAX, "error 12", "error 19"));
        assert_eq!(last_lines(&line("out", "bye")), ["bye"]);
        assert!(last_lines("").is_empty());
    }

    #[test]
    fn no_line_paints_the_terminal() {
        assert_eq!(shown("a\x1b[31m\tb\u{202e}"), "a\\u{1b}[31m b\\u{202e}");
        assert_eq!(shown(&"x".repeat(500)).chars().count(), LINE_CHARS_MAX + 1);
    }
}
