//! The word somebody probably meant, and lists of the words there are.

use super::problems::quoted;

/// Longest word that is compared; longer ones are no slips of the keyboard.
const WORD_CHARS_MAX: usize = 64;

/// The word of `words` nearest to `written`, if it is near: at most a third of its letters
/// differ, whatever their case.
pub fn nearest<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if written.chars().count() > WORD_CHARS_MAX {
        return None;
    }
    let written = written.to_lowercase();
    let near = words.into_iter().filter_map(|word| {
        let distance = strsim::damerau_levenshtein(&written, &word.to_lowercase());
        let distance_max = word.chars().count() / 3;
        (distance <= distance_max && distance < written.chars().count()).then_some((distance, word))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

/// The fix when `written` is none of `words`: `did you mean ...?`, or all of them.
/// `what` names them in the plural.
pub fn instead_of<'a>(
    written: &str,
    what: &str,
    words: impl IntoIterator<Item = &'a str> + Clone,
) -> String {
    match nearest(written, words.clone()) {
        Some(word) => format!("did you mean {}?", quoted(word)),
        None => all(what, words),
    }
}

/// `the nodes are: a, b`, or that there are none.
pub fn all<'a>(what: &str, words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    if words.is_empty() {
        format!("there are no {what}")
    } else {
        format!("the {what} are: {}", words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_keyboard_are_recognised() {
        let keys = ["from", "to", "delay", "rate", "queue"];
        assert_eq!(nearest("dealy", keys), Some("delay"));
        assert_eq!(nearest("Rate", keys), Some("rate"));
        assert_eq!(nearest("latency", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("x", keys), None);
        assert_eq!(nearest("s4", ["s1", "s2"]), None);
    }

    #[test]
    fn without_a_near_word_all_are_listed() {
        assert_eq!(instead_of("mallory", "nodes", ["a", "b"]), "the nodes are: a, b");
        assert_eq!(instead_of("mallory", "nodes", []), "there are no nodes");
    }
}
