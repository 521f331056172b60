//! What is wrong with settings, all of it at once, each with its place and the way out.

use std::cell::RefCell;
use std::fmt;

/// Longest text of the user that is quoted in full.
const QUOTED_CHARS_MAX: usize = 40;

/// Everything that is wrong; never empty; in the order of the lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problems(Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Path of keys, such as `elements.I>.pick_up`; empty at the top.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub way_out: String,
}

impl Problems {
    /// The problems one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(out, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "line {}: ", self.line)?;
        if !self.key.is_empty() {
            write!(out, "{}: ", self.key)?;
        }
        write!(out, "{}; {}", self.what, self.way_out)
    }
}

impl std::error::Error for Problems {}

/// Where readers put problems.
#[derive(Debug, Default)]
pub(super) struct Collector(RefCell<Vec<Problem>>);

impl Collector {
    pub(super) fn report(
        &self,
        line: usize,
        key: &str,
        what: impl Into<String>,
        way_out: impl Into<String>,
    ) {
        let problem = Problem { line, key: key.into(), what: what.into(), way_out: way_out.into() };
        self.0.borrow_mut().push(problem);
    }

    /// What was read, if nothing was wrong.
    pub(super) fn finish<T>(self, read: Option<T>) -> Result<T, Problems> {
        let mut problems = self.0.into_inner();
        problems.sort();
        if problems.is_empty() {
            Ok(read.expect("what is not read is reported"))
        } else {
            Err(Problems(problems))
        }
    }
}

/// A text of the user, short and without control characters.
pub(super) fn quoted(text: &str) -> String {
    let mut short: String =
        text.chars().take(QUOTED_CHARS_MAX).flat_map(char::escape_default).collect();
    if text.chars().count() > QUOTED_CHARS_MAX {
        short.push_str("...");
    }
    format!("`{short}`")
}

/// Words in a row.
pub(super) fn listed<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    if words.is_empty() {
        "there are none".into()
    } else {
        format!("there are: {}", words.join(", "))
    }
}
