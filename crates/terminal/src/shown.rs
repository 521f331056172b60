//! Text of others as characters that a terminal shows and does not obey.
//!
//! Control characters (C0, DEL, C1), the line separators of Unicode, and what changes the direction
//! of writing or takes no room become escapes, as Rust writes them. Unicode TR 36, section 2.

use std::fmt::{self, Write as _};

/// Text on one line, without a character that a terminal would obey.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'t> {
    text: &'t str,
    lines: bool,
}

/// Text as one line: a name, a path, a command line.
pub const fn shown(text: &str) -> Shown<'_> {
    Shown { text, lines: false }
}

/// Text as lines, whose ends stay.
pub(crate) const fn lines(text: &str) -> Shown<'_> {
    Shown { text, lines: true }
}

impl Shown<'_> {
    fn put(self, out: &mut impl fmt::Write) -> fmt::Result {
        for character in self.text.chars() {
            match character {
                '\n' if self.lines => out.write_char('\n')?,
                _ if is_obeyed(character) => write!(out, "{}", character.escape_default())?,
                _ => out.write_char(character)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if out.width().is_none() && out.precision().is_none() {
            return self.put(out);
        }
        // So that it can be padded, as a string can.
        let mut text = String::new();
        self.put(&mut text)?;
        out.pad(&text)
    }
}

/// JSON with such characters as escapes of JSON, so that it means the same. They can only stand
/// within strings, where the writer of the text has escaped those below a space already.
pub fn json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '\n' && is_obeyed(character) {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Whether a terminal may do something else with a character than to show it.
fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVIL: &str = "a\x1b[2J\x07b\u{9b}31m\nc\td\u{202e}e\u{7f}\rß";

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        let one = shown(EVIL).to_string();
        assert_eq!(one, "a\\u{1b}[2J\\u{7}b\\u{9b}31m\\nc\\td\\u{202e}e\\u{7f}\\rß");
        assert_eq!(lines("a\nb\r\n").to_string(), "a\nb\\r\n");
        assert_eq!(format!("{:<6}|{:.1}", shown("a\n"), shown("xyz")), "a\\n   |x");
    }

    #[test]
    fn every_character_is_shown_or_shows_itself() {
        for character in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let text = character.to_string();
            let seen = shown(&text).to_string();
            assert!(!seen.chars().any(is_obeyed));
            assert!(seen == text || seen.is_ascii());
        }
    }

    #[test]
    fn json_stays_json() {
        let quoted = format!("{{\n  \"a\": \"{}\"\n}}", "x\u{7f}\u{9b}\u{202e}y");
        assert_eq!(json(&quoted), "{\n  \"a\": \"x\\u007f\\u009b\\u202ey\"\n}");
    }
}
