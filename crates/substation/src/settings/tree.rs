//! YAML as a tree in which every value knows its line. Scalars stay the text that was written.
//! Aliases, tags and further documents are refused, and nesting is bounded.

use saphyr_parser::{Event, Parser};

use super::problems::Collector;

/// Deepest nesting; settings need four.
const DEPTH_MAX: usize = 16;

/// A value and its line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub(super) line: usize,
    pub(super) content: Content,
}

/// What a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Text(String),
    List(Vec<Value>),
    /// Keys with their lines, and values.
    Mapping(Vec<(String, usize, Value)>),
}

/// The tree of a text; `None` when it is none, with the reason reported.
pub(super) fn parse(text: &str, collector: &Collector) -> Option<Value> {
    let mut open: Vec<Value> = Vec::new();
    // The keys of open mappings whose values come next.
    let mut keys: Vec<Option<(String, usize)>> = Vec::new();
    let mut root = None;
    let refuse = |line: usize, what: String, way_out: &str| {
        collector.report(line, "", what, way_out);
        None
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let what = format!("not valid YAML: {}", error.info());
                return refuse(
                    error.marker().line(),
                    what,
                    "check indentation, brackets and quotes",
                );
            }
        };
        let line = span.start.line();
        let finished = match event {
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                return refuse(line, "tags are not supported".into(), "leave the tag out");
            }
            Event::Alias(_) => {
                return refuse(line, "aliases are not supported".into(), "write the value out");
            }
            Event::DocumentStart(_) if root.is_some() => {
                return refuse(
                    line,
                    "a second document starts here".into(),
                    "keep one relay per file",
                );
            }
            Event::Scalar(text, ..) => {
                if let (Some(Value { content: Content::Mapping(_), .. }), Some(key @ None)) =
                    (open.last(), keys.last_mut())
                {
                    *key = Some((text.into_owned(), line));
                    None
                } else {
                    Some(Value { line, content: Content::Text(text.into_owned()) })
                }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEPTH_MAX => {
                return refuse(
                    line,
                    "nested too deeply".into(),
                    "settings do not need this much nesting",
                );
            }
            Event::MappingStart(..) | Event::SequenceStart(..)
                if matches!(
                    (open.last(), keys.last()),
                    (Some(Value { content: Content::Mapping(_), .. }), Some(None))
                ) =>
            {
                return refuse(line, "a key is not text".into(), "write a word as the key");
            }
            Event::SequenceStart(..) => {
                open.push(Value { line, content: Content::List(Vec::new()) });
                keys.push(None);
                None
            }
            Event::MappingStart(..) => {
                open.push(Value { line, content: Content::Mapping(Vec::new()) });
                keys.push(None);
                None
            }
            Event::SequenceEnd | Event::MappingEnd => {
                keys.pop();
                open.pop()
            }
            _ => None,
        };
        let Some(finished) = finished else { continue };
        match open.last_mut() {
            None => root = Some(finished),
            Some(Value { content: Content::List(items), .. }) => items.push(finished),
            Some(Value { content: Content::Mapping(entries), .. }) => {
                let (key, line) =
                    keys.last_mut().and_then(Option::take).expect("a value follows its key");
                if entries.iter().any(|(other, ..)| *other == key) {
                    collector.report(line, &key, "this key is given twice", "keep one of them");
                }
                entries.push((key, line, finished));
            }
            Some(Value { content: Content::Text(_), .. }) => unreachable!("a text has no parts"),
        }
    }
    if root.is_none() {
        return refuse(1, "the text is empty".into(), "write at least `relay` and `streams`");
    }
    root
}
