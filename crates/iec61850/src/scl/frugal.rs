//! Whether an XML text can be read in a time that grows with its length alone.
//!
//! The parser compares each attribute of an element with all others of it, and looks each prefix up
//! among all namespaces that are in force. Both are quick for what tools write and take for ever
//! for a file that has a million of either. So these are counted first, in one pass that knows no
//! more of XML than where elements begin and end.

use std::collections::BTreeSet;

/// Attributes of one element; IEC 61850-6 has none with more than twenty.
const ATTRIBUTES_MAX: usize = 64;
/// Prefixes of namespaces in a file: a handful of private ones.
const PREFIXES_MAX: usize = 64;

/// Looks through a text.
///
/// # Errors
/// With the line of what is too much.
pub(super) fn check(text: &str) -> Result<(), String> {
    let mut prefixes = BTreeSet::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let line = || text[..text.len() - rest.len()].matches('\n').count() + 1;
        let end = match rest {
            _ if rest.starts_with("<!--") => after(rest, "-->"),
            _ if rest.starts_with("<![CDATA[") => after(rest, "]]>"),
            _ if rest.starts_with("<?") => after(rest, "?>"),
            _ => {
                let element = element(rest);
                if element.attributes > ATTRIBUTES_MAX {
                    let (line, many) = (line(), element.attributes);
                    return Err(format!(
                        "line {line}: an element has {many} attributes, more than {ATTRIBUTES_MAX}"
                    ));
                }
                prefixes.extend(element.prefixes);
                if prefixes.len() > PREFIXES_MAX {
                    let line = line();
                    return Err(format!("line {line}: more than {PREFIXES_MAX} namespaces"));
                }
                element.length
            }
        };
        rest = &rest[end..];
    }
    Ok(())
}

/// The number of octets up to the end of a mark, or of the text.
fn after(text: &str, mark: &str) -> usize {
    text.find(mark).map_or(text.len(), |at| at + mark.len())
}

/// What a tag has.
struct Element<'t> {
    length: usize,
    attributes: usize,
    prefixes: Vec<&'t str>,
}

/// Of a text that begins with a tag.
fn element(text: &str) -> Element<'_> {
    let octets = text.as_bytes();
    let mut element = Element { length: octets.len(), attributes: 0, prefixes: Vec::new() };
    let (mut at, mut name) = (1, 1);
    while at < octets.len() {
        match octets[at] {
            b'>' => {
                element.length = at + 1;
                break;
            }
            b'=' => {
                element.attributes += 1;
                let word = text[name..at].trim();
                if word == "xmlns" || word.starts_with("xmlns:") {
                    element.prefixes.push(word);
                }
                name = at + 1;
            }
            quote @ (b'"' | b'\'') => {
                let close = octets[at + 1..].iter().position(|octet| *octet == quote);
                at = close.map_or(octets.len(), |close| at + 1 + close);
                name = at + 1;
            }
            b' ' | b'\t' | b'\r' | b'\n'
                if octets.get(at + 1).is_some_and(|next| is_name(*next)) =>
            {
                name = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    element
}

const fn is_name(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || matches!(octet, b'_' | b':' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_write_is_read() {
        let text = "<?xml version='1.0'?>\n<!-- <a b=''> --><SCL xmlns='a' xmlns:x=\"b > c\">\n\
                    <![CDATA[<x y=1>]]><x:P type='MAC=1'/>text = 1</SCL>";
        assert_eq!(check(text), Ok(()));
        let tag = "<SCL xmlns='a' xmlns:x = \"b > c\" name='x=\"y\"'>";
        let text = format!("{tag}rest");
        let found = element(&text);
        assert_eq!((found.attributes, found.prefixes), (3, vec!["xmlns", "xmlns:x"]));
        assert_eq!(found.length, tag.len());
    }

    #[test]
    fn too_much_is_named_with_its_line() {
        let attributes: String = (0..65).map(|number| format!(" a{number}='x'")).collect();
        let said = check(&format!("<SCL>\n<IED{attributes}/></SCL>")).unwrap_err();
        assert_eq!(said, "line 2: an element has 65 attributes, more than 64");
        let elements: String =
            (0..65).map(|number| format!("<a xmlns:n{number}='x'/>\n")).collect();
        assert_eq!(check(&elements).unwrap_err(), "line 65: more than 64 namespaces");
        let same: String = (0..1000).map(|_| "<a xmlns:n='x' xmlns='y'/>".to_owned()).collect();
        assert_eq!(check(&same), Ok(()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_looked_through(text in "[<>!?='\"a x:\\-\\[\\]äß\n]{0,60}") {
            let _ = check(&text);
        }
    }
}
