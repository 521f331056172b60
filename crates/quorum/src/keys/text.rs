//! The texts of key files: a line `key value` for each key, in one order, blank lines and lines
//! that begin with `#` between them.
//!
//! So simple because nothing may be left behind: values are looked at where the file's text lies,
//! and the reader of the file wipes that. Errors name the line and the key, never the value.

use std::fmt;

use crate::hex;

/// What is wrong with the text of a key file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextError {
    /// Line, from 1; one after the last if something is missing.
    pub line: usize,
    /// The key that should stand there with its value.
    pub key: &'static str,
    pub fault: TextFault,
}

/// What can be wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextFault {
    /// Another key stands there, or none.
    Key,
    /// The value is not what the key needs, which is this.
    Value(&'static str),
    /// Something follows the last key.
    Trailing,
}

impl fmt::Display for TextError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, key, fault } = self;
        match fault {
            TextFault::Key => write!(
                out,
                "line {line}: `{key}` is expected here; use the file as `qcrelay keys` wrote it"
            ),
            TextFault::Value(needs) => write!(out, "line {line}: {key}: give {needs}"),
            TextFault::Trailing => {
                write!(out, "line {line}: nothing may follow `{key}`; remove it")
            }
        }
    }
}

impl std::error::Error for TextError {}

/// Takes lines from a text.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// Number of the line taken last, and its key.
    line: usize,
    key: &'static str,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { lines: text.lines().enumerate(), line: 0, key: "" }
    }

    fn next_line(&mut self) -> Option<&'a str> {
        for (index, line) in self.lines.by_ref() {
            self.line = index + 1;
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                return Some(line);
            }
        }
        self.line += 1;
        None
    }

    /// The value of the next key, which must be this one, as `read` takes it; `needs` says what
    /// it takes.
    pub(super) fn value<T>(
        &mut self,
        key: &'static str,
        needs: &'static str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, TextError> {
        let line = self.next_line();
        self.key = key;
        let (word, value) = line.and_then(|line| line.split_once(' ')).unwrap_or_default();
        if word != key {
            return Err(self.error(TextFault::Key));
        }
        read(value.trim()).ok_or_else(|| self.error(TextFault::Value(needs)))
    }

    /// The value of a key, in hexadecimal digits.
    pub(super) fn octets<const N: usize>(
        &mut self,
        key: &'static str,
    ) -> Result<[u8; N], TextError> {
        let needs = if N == 32 { "64 hexadecimal digits" } else { "192 hexadecimal digits" };
        self.value(key, needs, hex::decode)
    }

    pub(super) fn number<T: std::str::FromStr>(
        &mut self,
        key: &'static str,
        needs: &'static str,
    ) -> Result<T, TextError> {
        self.value(key, needs, |value| value.parse().ok())
    }

    pub(super) fn finish(mut self) -> Result<(), TextError> {
        match self.next_line() {
            None => Ok(()),
            Some(_) => Err(self.error(TextFault::Trailing)),
        }
    }

    const fn error(&self, fault: TextFault) -> TextError {
        TextError { line: self.line, key: self.key, fault }
    }
}

/// Appends a line with digits.
pub(super) fn line(key: &str, octets: &[u8], out: &mut String) {
    out.push_str(key);
    out.push(' ');
    hex::encode(octets, out);
    out.push('\n');
}
