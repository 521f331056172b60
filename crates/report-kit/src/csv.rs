//! Fields of CSV (RFC 4180).

use std::borrow::Cow;

/// A field, in quotes where it needs them.
pub fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}

/// The fields of a line.
pub fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut within_quotes = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if within_quotes && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => within_quotes = !within_quotes,
            ',' if !within_quotes => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}
