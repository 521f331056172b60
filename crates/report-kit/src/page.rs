//! One page that asks nothing of anybody: style, data and script are in it, and it forbids itself
//! every other script and every request. So it can be kept beside the results, sent by mail, and
//! opened years later.

use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

/// The style sheet of all reports.
pub const STYLE: &str = include_str!("page.css");

/// The parts of a page that differ between reports.
pub struct Page {
    /// Its title, as plain text.
    pub title: String,
    pub body: Markup,
    /// Style besides that of all reports.
    pub style: &'static str,
    pub data: serde_json::Value,
    /// The only script that may run.
    pub script: &'static str,
}

impl Page {
    /// Writes it: readers see it complete or not at all.
    pub fn write(&self, out: &Path) -> Result<()> {
        os::files::replace(out, |to| to.write_all(self.html().as_bytes()))
    }

    fn html(&self) -> String {
        let Self { title, body, style, data, script } = self;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy(script));
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(style)) }
                }
                body {
                    main { (body) }
                    script type="application/json" id="data" { (PreEscaped(embedded(data))) }
                    script { (PreEscaped(script)) }
                }
            }
        };
        harmless(&page.into_string())
    }
}

/// Only the script of this page runs, and nothing is loaded from anywhere.
fn policy(script: &str) -> String {
    let hash = base64(&Sha256::digest(script));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}

/// JSON within a script element: nothing in it can end the element.
fn embedded(data: &serde_json::Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A page in which characters that control a terminal, or turn the direction of the text around
/// them, show as the replacement character; programs may have written them.
fn harmless(page: &str) -> String {
    let shown = |character: char| match character {
        '\t' | '\n' => character,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        control if control.is_control() => '\u{fffd}',
        other => other,
    };
    page.chars().map(shown).collect()
}

/// Base64 with the alphabet that has no slash (RFC 4648, clause 5), padded.
pub fn base64(bytes: &[u8]) -> String {
    URL_SAFE.encode(bytes)
}

/// Links to the sections of the page, by their `id` and name.
pub fn sections(sections: &[(&str, &str)]) -> Markup {
    html! {
        nav aria-label="sections" {
            @for (id, name) in sections { a href={ "#" (id) } { (name) } }
        }
    }
}

/// A table that can be scrolled where the page is narrow.
pub fn table(class: &str, heads: &Markup, rows: &Markup) -> Markup {
    html! {
        div.scroll {
            table class=[(!class.is_empty()).then_some(class)] {
                @if !heads.0.is_empty() { thead { tr { (heads) } } }
                tbody { (rows) }
            }
        }
    }
}

/// Heads of columns; one that begins with `#` is of a column of numbers.
pub fn heads(names: &[&str]) -> Markup {
    html! {
        @for name in names {
            @match name.strip_prefix('#') {
                Some(name) => { th.number { (name) } }
                None => { th { (name) } }
            }
        }
    }
}

/// A cell with a number, or what stands for one.
pub fn number(value: impl maud::Render) -> Markup {
    html! { td.number { (value) } }
}

/// The head of a row.
pub fn row_head(name: impl maud::Render) -> Markup {
    html! { th scope="row" { (name) } }
}

/// Pieces of HTML with commas between them.
pub fn listed(pieces: impl IntoIterator<Item = Markup>) -> Markup {
    let pieces: Vec<String> = pieces.into_iter().map(Markup::into_string).collect();
    PreEscaped(pieces.join(", "))
}

/// Each value once, in the order in which they first appear.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let page = |text: &str| {
            let body = html! { p title=(text) { (text) } };
            let data = serde_json::json!(text);
            Page { title: text.to_owned(), body, style: "", data, script: "" }.html()
        };
        let shown = page("<b a='1' c=\"2\">&</script>\u{1b}[31m\u{202e}x\n");
        assert!(!shown.contains("<b ") && !shown.contains("c=\"2") && !shown.contains("&</"));
        assert_eq!(shown.matches("</script>").count(), 2);
        assert_eq!(shown.matches("\u{fffd}[31m\u{fffd}x\n").count(), 3);
    }

    #[test]
    fn bytes_become_the_text_that_browsers_decode() {
        assert_eq!(base64(b"foob"), "Zm9vYg==");
        assert_eq!(base64(&[0xff, 0xef, 0xbf]), "_--_");
    }
}
