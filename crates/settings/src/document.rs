//! YAML as a tree in which every key and value knows its line and column.
//!
//! The tree is made from the events of the parser, not by its loader, so that duplicate keys
//! are reported with both places, scalars stay the text that was written (`1.10` is no float),
//! and nothing is expanded: aliases, tags and further documents are refused, which settings
//! never need. Nesting and size are bounded, so that no file can exhaust the machine.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::problems::{Collector, Fault, listed, quoted};
use super::table::Table;

/// Deepest nesting; a scenario needs seven.
const DEPTH_MAX: usize = 32;

/// A value and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// Line and column, each from 1.
    pub at: (usize, usize),
    pub content: Content,
}

/// What a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// Nothing, `~` or `null`.
    Empty,
    /// A scalar as written, without its quotes.
    Text(String),
    List(Vec<Value>),
    /// A mapping, in the order of the file.
    Mapping(Vec<(Key, Value)>),
}

/// A key of a mapping and where it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Line and column, each from 1.
    pub at: (usize, usize),
    pub text: String,
}

/// The tree of a file at whose top `table` stands; `None` when it is no YAML, with the reason
/// reported.
pub fn parse(text: &str, table: &'static Table, collector: &Collector) -> Option<Value> {
    let mut composer = Composer { open: Vec::new(), root: None, table, collector };
    for event in Parser::new_from_str(text) {
        match event {
            Ok((event, span)) => composer.take(event, span)?,
            Err(error) => {
                let at = (error.marker().line(), error.marker().col() + 1);
                let what = format!("not valid YAML: {}", error.info());
                let fix = "check indentation, brackets and quotes here and just above";
                collector.report(at, "", Fault::new(what, fix));
                return None;
            }
        }
    }
    if composer.root.is_none() {
        let fix = format!("write at least {}", listed(table.required().map(|key| key.name), ", "));
        collector.report((1, 1), "", Fault::new("the file is empty", fix));
    }
    composer.root
}

impl Value {
    /// An empty value has no place of its own, and a list or mapping below its key is found best
    /// by that key.
    fn stands_at_its_key(&self, key: &Key) -> bool {
        match self.content {
            Content::Empty => true,
            Content::List(_) | Content::Mapping(_) => self.at.0 > key.at.0,
            Content::Text(_) => false,
        }
    }
}

struct Composer<'a> {
    /// Lists and mappings that are still open, the innermost last.
    open: Vec<Open>,
    root: Option<Value>,
    table: &'static Table,
    collector: &'a Collector,
}

struct Open {
    at: (usize, usize),
    collection: Collection,
}

enum Collection {
    List(Vec<Value>),
    Mapping {
        entries: Vec<(Key, Value)>,
        /// The key whose value comes next.
        key: Option<Key>,
        /// Keys so far and their lines.
        seen: BTreeMap<String, usize>,
    },
}

impl Composer<'_> {
    /// Takes one event; `None` when the file is refused.
    fn take(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let at = (span.start.line(), span.start.col() + 1);
        match event {
            Event::Scalar(.., Some(_))
            | Event::SequenceStart(_, Some(_))
            | Event::MappingStart(_, Some(_)) => {
                self.refuse(at, "tags (`!name`) have no meaning here", "leave the tag out")
            }
            Event::Alias(_) => {
                self.refuse(at, "aliases (`*name`) are not expanded", "write the value out")
            }
            Event::DocumentStart(_) if self.root.is_some() => {
                let fix = format!("keep one {} per file", self.table.name);
                self.refuse(at, "a second document starts here", &fix)
            }
            Event::Scalar(text, style, ..) => self.scalar(at, &text, style),
            Event::SequenceStart(..) => self.open(at, Collection::List(Vec::new())),
            Event::MappingStart(..) => {
                let seen = BTreeMap::new();
                self.open(at, Collection::Mapping { entries: Vec::new(), key: None, seen })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            _ => Some(()),
        }
    }

    fn scalar(&mut self, at: (usize, usize), text: &str, style: ScalarStyle) -> Option<()> {
        let plain = style == ScalarStyle::Plain;
        if let Some(Collection::Mapping { key: key @ None, .. }) = self.innermost() {
            *key = Some(Key { at, text: text.to_owned() });
            return Some(());
        }
        let empty = plain && matches!(text, "" | "~" | "null" | "Null" | "NULL");
        let content = if empty { Content::Empty } else { Content::Text(text.to_owned()) };
        self.place(Value { at, content });
        Some(())
    }

    fn open(&mut self, at: (usize, usize), collection: Collection) -> Option<()> {
        if matches!(self.innermost(), Some(Collection::Mapping { key: None, .. })) {
            return self.refuse(at, "a list or mapping is used as a key", "use text as the key");
        }
        if self.open.len() == DEPTH_MAX {
            let fix = format!("{} does not need this much nesting", self.table.what);
            return self.refuse(at, "nested too deeply", &fix);
        }
        self.open.push(Open { at, collection });
        Some(())
    }

    fn close(&mut self) -> Option<()> {
        let Open { at, collection } = self.open.pop().expect("the parser closes what it opened");
        let content = match collection {
            Collection::List(items) => Content::List(items),
            Collection::Mapping { entries, .. } => Content::Mapping(entries),
        };
        self.place(Value { at, content });
        Some(())
    }

    /// Puts a finished value where it belongs.
    fn place(&mut self, mut value: Value) {
        let path = self.path();
        let collector = self.collector;
        match self.innermost() {
            None => self.root = Some(value),
            Some(Collection::List(items)) => items.push(value),
            Some(Collection::Mapping { entries, key, seen }) => {
                let key = key.take().expect("a value of a mapping follows its key");
                if value.stands_at_its_key(&key) {
                    value.at = key.at;
                }
                match seen.insert(key.text.clone(), key.at.0) {
                    None => entries.push((key, value)),
                    Some(line) => {
                        let what = format!("this key is already on line {line}");
                        collector.report(key.at, &path, Fault::new(what, "keep one of them"));
                        seen.insert(key.text, line);
                    }
                }
            }
        }
    }

    fn innermost(&mut self) -> Option<&mut Collection> {
        self.open.last_mut().map(|open| &mut open.collection)
    }

    /// Path of the value that comes next.
    fn path(&self) -> String {
        self.open.iter().fold(String::new(), |path, open| match &open.collection {
            Collection::List(items) => item_path(&path, items.len()),
            Collection::Mapping { key: Some(key), .. } => key_path(&path, &key.text),
            Collection::Mapping { key: None, .. } => path,
        })
    }

    fn refuse(&self, at: (usize, usize), what: &str, fix: &str) -> Option<()> {
        self.collector.report(at, &self.path(), Fault::new(what, fix));
        None
    }
}

/// Path of an item of the list at `path`, counted from 0.
pub fn item_path(path: &str, index: usize) -> String {
    format!("{path}[{index}]")
}

/// Path of a key of the mapping at `path`.
pub fn key_path(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let key = if key.chars().all(plain) { key.to_owned() } else { quoted(key) };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    static TABLE: Table = Table { what: "a scenario", name: "scenario", keys: &[] };

    fn problems(text: &str) -> String {
        let collector = Collector::new(Path::new("s"));
        parse(text, &TABLE, &collector);
        collector.finish(|| ()).unwrap_err().to_string()
    }

    #[test]
    fn values_know_where_they_stand_and_stay_as_written() {
        let collector = Collector::new(Path::new("s"));
        let tree = parse("a: 1.10\nb:\n  - {c: \"~\", d: }\n", &TABLE, &collector).unwrap();
        let Content::Mapping(entries) = &tree.content else { panic!("{tree:?}") };
        assert_eq!(entries[0].1, Value { at: (1, 4), content: Content::Text("1.10".into()) });
        let Content::List(items) = &entries[1].1.content else { panic!("{tree:?}") };
        let Content::Mapping(inner) = &items[0].content else { panic!("{tree:?}") };
        assert_eq!(inner[0].1, Value { at: (3, 9), content: Content::Text("~".into()) });
        assert_eq!(inner[1].1, Value { at: (3, 14), content: Content::Empty });
        assert_eq!(inner[1].0.at, (3, 14));
    }

    #[test]
    fn every_duplicate_key_is_reported() {
        let text = "a: 1\na: 2\nb: [{c: 1, c: 2, c: 3}]\n";
        assert_eq!(problems(text).lines().count(), 3);
        assert!(problems(text).starts_with("s:2:1: a: this key is already on line 1"));
        assert!(problems(text).contains("s:3:12: b[0].c: "));
    }

    #[test]
    fn what_settings_never_need_is_refused() {
        assert!(problems("a: &x 1\nb: *x\n").contains("s:2:4: b: aliases"));
        assert!(problems("a: !!int 1\n").contains("tags"));
        assert!(problems("a: 1\n---\nb: 1\n").contains("second document"));
        assert!(problems("[a]: 1\n").contains("as a key"));
        assert!(problems(&"[".repeat(40)).contains("nested too deeply"));
        assert!(problems("# nothing\n").contains("the file is empty"));
        assert!(problems("a: [1\nb: 2").contains("not valid YAML"));
    }
}
