//! What is wrong with a scenario, all of it at once.
//!
//! Somebody who writes a scenario wants to correct it at once, so readers report and carry on.
//! Each problem names its place and the fix; a problem without a fix cannot be made.
//! Texts of the user are quoted short and without control characters, since problems end up on
//! terminals.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// Longest text of the user that is quoted in full.
const QUOTED_CHARS_MAX: usize = 60;

/// Everything that is wrong with a scenario; never empty; in the order of the lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problems(Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// The file it is in: the scenario, or data that it names.
    pub file: PathBuf,
    /// Line, from 1; `None` when it is about the file as a whole.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Path of keys, such as `nodes.sensor.address`; empty at the top.
    pub key: String,
    pub fault: Fault,
}

/// Where something stands in the scenario, as in a [`Problem`], for what is found wrong only later.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spot {
    pub line: usize,
    pub column: usize,
    pub key: String,
}

/// What is wrong with a text, and the fix, wherever the text stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Fault {
    pub what: String,
    pub fix: String,
}

impl Problems {
    /// The problems one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// What was found wrong after the scenario was read, in the order of the lines; `None` if
    /// nothing was.
    pub fn at_spots(file: &Path, found: Vec<(&Spot, Fault)>) -> Option<Self> {
        let mut problems: Vec<Problem> = found
            .into_iter()
            .map(|(spot, fault)| Problem {
                file: file.into(),
                line: Some(spot.line),
                column: Some(spot.column),
                key: spot.key.clone(),
                fault,
            })
            .collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// What was found wrong in a line of a file that the scenario names, or in the file as a
    /// whole.
    pub fn of_data(file: &Path, line: Option<usize>, fault: Fault) -> Self {
        Self(vec![Problem { file: file.into(), line, column: None, key: String::new(), fault }])
    }

    /// A problem of a file as a whole.
    pub fn of_file(file: &Path, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::of_data(file, None, Fault::new(what, fix))
    }
}

impl Fault {
    /// What is wrong, and the fix.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Problem::to_string).collect();
        out.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.file.display())?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(out, ":{number}")?;
        }
        if !self.key.is_empty() {
            write!(out, ": {}", self.key)?;
        }
        write!(out, ": {}", self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}; {}", self.what, self.fix)
    }
}

impl std::error::Error for Problems {}
impl std::error::Error for Fault {}

/// Where readers put problems.
#[derive(Debug)]
pub struct Collector {
    file: PathBuf,
    problems: RefCell<Vec<Problem>>,
}

impl Collector {
    /// Collects problems of this file.
    pub fn new(file: &Path) -> Self {
        Self { file: file.into(), problems: RefCell::default() }
    }

    /// Reports a problem of the scenario itself; `at` is line and column.
    pub fn report(&self, at: (usize, usize), key: &str, fault: Fault) {
        let file = self.file.clone();
        self.push(Problem { file, line: Some(at.0), column: Some(at.1), key: key.into(), fault });
    }

    /// Reports a problem of a file that the scenario names.
    pub fn report_data(&self, file: &Path, line: Option<usize>, fault: Fault) {
        self.push(Problem { file: file.into(), line, column: None, key: String::new(), fault });
    }

    /// Whether nothing was reported so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    /// `whole` if nothing was reported, the problems otherwise. Those of the scenario come
    /// first, by line; those of its data follow, by file and line.
    pub fn finish<T>(self, whole: impl FnOnce() -> T) -> Result<T, Problems> {
        let mut problems = self.problems.into_inner();
        if problems.is_empty() {
            return Ok(whole());
        }
        problems
            .sort_by_cached_key(|of| (of.file != self.file, of.file.clone(), of.line, of.column));
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert(problem.clone()));
        Err(Problems(problems))
    }

    fn push(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }
}

/// A text of the user between backticks: short, on one line, without control characters.
pub fn quoted(text: &str) -> String {
    let mut shown: String = text.chars().take(QUOTED_CHARS_MAX).map(visible).collect();
    if text.chars().nth(QUOTED_CHARS_MAX).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Words or signs of ours, each between backticks.
pub(crate) fn listed(
    words: impl IntoIterator<Item = impl fmt::Display>,
    separator: &str,
) -> String {
    let words: Vec<String> = words.into_iter().map(|word| format!("`{word}`")).collect();
    words.join(separator)
}

fn visible(character: char) -> char {
    if character.is_control() { char::REPLACEMENT_CHARACTER } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_one_a_line_those_of_the_scenario_first() {
        let collector = Collector::new(Path::new("scenario.yaml"));
        collector.report_data(Path::new("a.csv"), Some(7), Fault::new("no number", "correct it"));
        collector.report((31, 5), "links[0]", Fault::new("one end is missing", "add `to`"));
        collector.report((2, 1), "", Fault::new("a key twice", "drop one"));
        let problems = collector.finish(|| ()).unwrap_err();
        assert_eq!(
            problems.to_string(),
            "scenario.yaml:2:1: a key twice; drop one\n\
             scenario.yaml:31:5: links[0]: one end is missing; add `to`\n\
             a.csv:7: no number; correct it"
        );
    }

    #[test]
    fn quoted_text_cannot_paint_the_terminal() {
        assert_eq!(quoted("a\x1b[31m\nb"), "`a\u{fffd}[31m\u{fffd}b`");
        assert_eq!(quoted(&"x".repeat(61)), format!("`{}…`", "x".repeat(60)));
    }
}
