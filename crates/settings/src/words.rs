//! A command line in words, as a POSIX shell splits it (Shell Command Language, 2.2): blanks
//! separate, quotes and backslashes keep together. Nothing is expanded, so what a shell would
//! expand or run (`$HOME`, `*`, `a | b`) reaches the program as it stands.

use super::problems::{Fault, quoted};

/// The words of `text`.
pub fn split(text: &str) -> Result<Vec<String>, Fault> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => single_quoted(&mut characters, word.get_or_insert_default())
                .ok_or_else(|| unclosed(text, '\''))?,
            '"' => double_quoted(&mut characters, word.get_or_insert_default())
                .ok_or_else(|| unclosed(text, '"'))?,
            '\\' => match characters.next() {
                Some('\n') => (),
                Some(escaped) => word.get_or_insert_default().push(escaped),
                None => {
                    let what = format!("{} ends in a backslash", quoted(text));
                    return Err(Fault::new(what, "write `\\\\` for a backslash"));
                }
            },
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Appends what stands up to the closing quote; `None` if there is none.
fn single_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    let (quoted, rest) = characters.as_str().split_once('\'')?;
    word.push_str(quoted);
    *characters = rest.chars();
    Some(())
}

/// As [`single_quoted`], but a backslash escapes what is special between double quotes.
fn double_quoted(characters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match characters.next()? {
            '"' => return Some(()),
            '\\' => match characters.next()? {
                '\n' => (),
                special @ ('"' | '\\' | '$' | '`') => word.push(special),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
}

fn unclosed(text: &str, quote: char) -> Fault {
    let what = format!("a {quote} in {} is not closed", quoted(text));
    Fault::new(what, "close it, or write the command as a list of words")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, words) in [
            ("", vec![]),
            (" \t\n", vec![]),
            ("python3 sensor.py  --port 5020", vec!["python3", "sensor.py", "--port", "5020"]),
            (r#"a 'b c' "d e"f"#, vec!["a", "b c", "d ef"]),
            (r"a\ b \'c", vec!["a b", "'c"]),
            (r#"'\' "\"\x\$" ''"#, vec![r"\", r#""\x$"#, ""]),
            ("a\\\nb", vec!["ab"]),
            ("$HOME *|~", vec!["$HOME", "*|~"]),
        ] {
            assert_eq!(split(text).unwrap(), words, "{text}");
        }
    }

    #[test]
    fn what_is_left_open_is_refused() {
        for text in ["'a", "\"a", "a\\", "\"a\\", "'a\\'b'"] {
            assert!(split(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(words in proptest::collection::vec("[^']*", 0..5)) {
            let text: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            prop_assert_eq!(split(&text.join(" ")).unwrap(), words);
        }

        #[test]
        fn no_text_makes_it_panic(text in r#"[ab'"\\\n ]{0,12}"#) {
            let _ = split(&text);
        }
    }
}
