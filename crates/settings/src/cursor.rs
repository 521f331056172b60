//! A place in the tree, from which readers take typed values.
//!
//! Whatever is wrong is reported where it stands, and the reader gets `None` and carries on, so
//! that one pass finds everything. `None` therefore means: absent or wrong, and if it is wrong,
//! it is reported. The table of a mapping decides which keys there are; to ask for another is a
//! bug of the reader.

mod over;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::document::{self, Content, Key, Value, item_path, key_path};
use super::problems::{Collector, Fault, Problems, Spot, listed, quoted};
use super::table::{self, Forms, Need, Shape, Table};
use super::{names, suggest, units};

/// Reads a whole file that has this shape at its top.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn read<T>(
    file: &Path,
    text: &str,
    top: &'static Shape,
    read: impl FnOnce(&Mapping<'_>) -> Option<T>,
) -> Result<T, Problems> {
    let Shape::Of(table) = top else { unreachable!("{top:?} is no mapping") };
    let collector = Collector::new(file);
    let tree = document::parse(text, table, &collector);
    let whole = tree.and_then(|tree| read(&Cursor::top(&tree, top, &collector).mapping()?));
    collector.finish(|| whole.expect("what is not read is reported"))
}

/// Where something stands, for reports.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    at: (usize, usize),
    path: String,
    collector: &'a Collector,
}

impl<'a> Place<'a> {
    /// Reports what is wrong here.
    pub fn wrong(&self, what: impl Into<String>, fix: impl Into<String>) {
        self.report(Fault::new(what, fix));
    }

    /// Reports what is wrong here.
    pub fn report(&self, fault: Fault) {
        self.collector.report(self.at, &self.path, fault);
    }

    /// Where problems of files that the scenario names are reported.
    pub fn collector(&self) -> &'a Collector {
        self.collector
    }

    /// This place, to be kept longer than the tree.
    pub fn spot(&self) -> Spot {
        Spot { line: self.at.0, column: self.at.1, key: self.path.clone() }
    }

    /// Line in the scenario.
    pub fn line(&self) -> usize {
        self.at.0
    }

    fn at_key(&self, at: (usize, usize), key: &str) -> Self {
        Self { at, path: key_path(&self.path, key), ..self.clone() }
    }

    /// What `parser` makes of `text`; what it refuses is reported here.
    pub fn parse<T>(
        self,
        text: &str,
        parser: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<Placed<'a, T>> {
        let value = parser(text).map_err(|fault| self.report(fault)).ok()?;
        Some(Placed { value, place: self })
    }
}

/// A value that was read, and where it stood.
#[derive(Clone, Debug)]
pub struct Placed<'a, T> {
    pub value: T,
    pub place: Place<'a>,
}

/// A value to be read.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    value: &'a Value,
    shape: &'static Shape,
    pub place: Place<'a>,
}

impl<'a> Cursor<'a> {
    /// The top of a tree.
    pub fn top(value: &'a Value, shape: &'static Shape, collector: &'a Collector) -> Self {
        Self { value, shape, place: Place { at: value.at, path: String::new(), collector } }
    }

    /// A scalar as `parser` reads it.
    pub fn parse<T>(&self, parser: impl FnOnce(&str) -> Result<T, Fault>) -> Option<Placed<'a, T>> {
        match &self.value.content {
            Content::Text(text) => self.place.clone().parse(text, parser),
            _ => self.mismatch(),
        }
    }

    fn check(&self) {
        match self.shape {
            Shape::List(_) | Shape::Pair(_) | Shape::Several(_) => {
                self.items().iter().flatten().for_each(Self::check);
            }
            Shape::Named(..) => {
                for (name, value) in self.named().into_iter().flatten() {
                    name.place.clone().parse(name.value, |text| names::shown(text).map(drop));
                    value.check();
                }
            }
            Shape::Of(_) => self.mapping().iter().for_each(Mapping::check),
            Shape::OneOf(_) => self.form().iter().for_each(Mapping::check),
            // Its form is that of another place: it is checked where both are read.
            Shape::Changes(_) => {}
            scalar => drop(self.parse(|text| scalar.check(text))),
        }
    }

    /// Items of a list; a single text where several may stand is its only item.
    pub fn items(&self) -> Option<Vec<Self>> {
        let (Shape::List(shape) | Shape::Pair(shape) | Shape::Several(shape)) = self.shape else {
            unreachable!("{:?} is no list", self.shape)
        };
        let items = match (&self.value.content, self.shape) {
            (Content::Text(_), Shape::Several(_)) => return Some(vec![self.as_shape(shape)]),
            (Content::List(items), Shape::Several(_)) if items.is_empty() => {
                return self.mismatch();
            }
            (Content::List(items), _) => items,
            _ => return self.mismatch(),
        };
        let cursor = |(index, value): (usize, &'a Value)| {
            let path = item_path(&self.place.path, index);
            Self { value, shape, place: Place { at: value.at, path, ..self.place.clone() } }
        };
        Some(items.iter().enumerate().map(cursor).collect())
    }

    /// A list of exactly two.
    pub fn pair(&self) -> Option<[Self; 2]> {
        let items = self.items()?;
        <[Self; 2]>::try_from(items).map_or_else(|_| self.mismatch(), Some)
    }

    /// Entries of a mapping whose keys the user names: each name where it stands, and its value.
    pub fn named(&self) -> Option<Vec<(Placed<'a, &'a str>, Self)>> {
        let Shape::Named(_, shape) = self.shape else {
            unreachable!("{:?} has no names", self.shape)
        };
        let Content::Mapping(entries) = &self.value.content else { return self.mismatch() };
        let entry = |(key, value): &'a (Key, Value)| {
            let place = self.place.at_key(key.at, &key.text);
            let cursor = Self { value, shape, place: Place { at: value.at, ..place.clone() } };
            (Placed { value: key.text.as_str(), place }, cursor)
        };
        Some(entries.iter().map(entry).collect())
    }

    /// A mapping with the keys of a table.
    pub fn mapping(&self) -> Option<Mapping<'a>> {
        let Shape::Of(table) = self.shape else { unreachable!("{:?} has no table", self.shape) };
        let entries: &[(Key, Value)] = match &self.value.content {
            Content::Mapping(entries) => entries,
            Content::Empty if table.required().next().is_none() => &[],
            _ => return self.mismatch(),
        };
        let mapping = Mapping { entries, table, place: self.place.clone() };
        mapping.report_unknown(None);
        mapping.report_missing();
        Some(mapping)
    }

    /// A mapping of one of several forms.
    pub fn form(&self) -> Option<Mapping<'a>> {
        let Shape::OneOf(forms) = self.shape else { unreachable!("{:?} has no forms", self.shape) };
        let Content::Mapping(entries) = &self.value.content else { return self.mismatch() };
        let table = choose(forms, entries).map_err(|fault| self.place.report(fault)).ok()?;
        let mapping = Mapping { entries, table, place: self.place.clone() };
        mapping.report_unknown(Some(forms));
        mapping.report_missing();
        Some(mapping)
    }

    /// A value in its base unit, within the limits of the shape.
    pub fn quantity(&self) -> Option<f64> {
        self.parse(self.shape.quantity()).map(|read| read.value)
    }

    /// Whether nothing stands here.
    pub fn is_empty(&self) -> bool {
        matches!(self.value.content, Content::Empty)
    }

    /// Whether a list stands here.
    pub fn is_list(&self) -> bool {
        matches!(self.value.content, Content::List(_))
    }

    /// This value read as if its shape were `shape`.
    pub fn as_shape(&self, shape: &'static Shape) -> Self {
        Self { shape, ..self.clone() }
    }

    /// Reports that something else stands here than should.
    fn mismatch<T>(&self) -> Option<T> {
        let what = match &self.value.content {
            Content::Empty => "this has no value".into(),
            Content::Text(text) => format!("this is the text {}", quoted(text)),
            Content::List(items) => match items.len() {
                0 => "this is an empty list".into(),
                1 => "this is a list of one".into(),
                count => format!("this is a list of {count}"),
            },
            Content::Mapping(_) => "this is a mapping".into(),
        };
        self.place.wrong(what, format!("write {}", self.shape.what()));
        None
    }
}

/// The form whose first key is there, if it is the only one.
fn choose(forms: &Forms, entries: &[(Key, Value)]) -> Result<&'static Table, Fault> {
    if let Some(key) = forms.chosen_by() {
        return choose_by_word(key.name, forms, entries);
    }
    let tags = || forms.tags();
    let given = |form: &&&'static Table| entries.iter().any(|(key, _)| key.text == form.tag());
    let chosen: Vec<&'static Table> = forms.forms.iter().filter(given).copied().collect();
    match chosen[..] {
        [form] => Ok(form),
        [] => {
            let near = entries.iter().find_map(|(key, _)| {
                suggest::nearest(&key.text, tags()).map(|tag| (&key.text, tag))
            });
            let fix = match near {
                Some((key, tag)) => format!("did you mean `{tag}` by {}?", quoted(key)),
                None => suggest::all(forms.what, tags()),
            };
            Err(Fault::new(format!("one of {} is needed", listed(tags(), ", ")), fix))
        }
        [one, another, ..] => {
            let what = format!("`{}` and `{}` exclude each other", one.tag(), another.tag());
            Err(Fault::new(what, "split it into two entries"))
        }
    }
}

/// The form that has the word of this key as its name.
fn choose_by_word(
    key: &str,
    forms: &Forms,
    entries: &[(Key, Value)],
) -> Result<&'static Table, Fault> {
    let all = || suggest::all(forms.what, forms.tags());
    let (what, fix) = match entries.iter().find(|(given, _)| given.text == key) {
        Some((_, Value { content: Content::Text(word), .. })) => {
            if let Some(form) = forms.forms.iter().find(|form| form.name == word) {
                return Ok(form);
            }
            let fix = suggest::instead_of(word, forms.what, forms.tags());
            (format!("is {}", quoted(word)), fix)
        }
        Some(_) => ("is no word".into(), all()),
        None => ("is missing".into(), all()),
    };
    Err(Fault::new(format!("`{key}` {what}"), fix))
}

/// A mapping whose keys were checked against its table.
#[derive(Clone, Debug)]
pub struct Mapping<'a> {
    entries: &'a [(Key, Value)],
    pub table: &'static Table,
    pub place: Place<'a>,
}

impl<'a> Mapping<'a> {
    /// Whether a key is there, right or wrong.
    pub fn has(&self, key: &str) -> bool {
        self.cursor(key).is_some()
    }

    /// The value of a key, if it is there.
    pub fn cursor(&self, key: &str) -> Option<Cursor<'a>> {
        let shape = &self.known(key).shape;
        let (_, value) = self.entries.iter().find(|(given, _)| given.text == key)?;
        Some(Cursor { value, shape, place: self.place.at_key(value.at, key) })
    }

    /// A scalar as `parser` reads it, or its default.
    pub fn parse<T>(
        &self,
        key: &str,
        parser: impl FnOnce(&str) -> Result<T, Fault>,
    ) -> Option<Placed<'a, T>> {
        if let Some(cursor) = self.cursor(key) {
            return cursor.parse(parser);
        }
        let Need::Default(text) = self.known(key).need else { return None };
        self.place.at_key(self.place.at, key).parse(text, parser)
    }

    /// A text as it stands.
    pub fn text(&self, key: &str) -> Option<Placed<'a, String>> {
        self.parse(key, |text| Ok(text.to_owned()))
    }

    /// One of the words of the key's table, or its default.
    pub fn choice(&self, key: &str) -> Option<Placed<'a, &'static str>> {
        let Shape::Choice(words) = self.known(key).shape else { unreachable!("{key}: no choice") };
        self.parse(key, |text| table::choice(text, words))
    }

    /// Whether a key, or its default, is this word.
    pub fn is(&self, key: &str, word: &str) -> bool {
        self.choice(key).is_some_and(|given| given.value == word)
    }

    /// A value in its base unit, within the limits of the key's table, or its default.
    pub fn quantity(&self, key: &str) -> Option<f64> {
        let parser = self.known(key).shape.quantity();
        self.parse(key, parser).map(|read| read.value)
    }

    /// A time within the limits of the key's table, or its default.
    pub fn time(&self, key: &str) -> Option<Duration> {
        self.quantity(key).map(units::nanoseconds)
    }

    /// A whole number within the limits of the key's table, or its default.
    pub fn whole(&self, key: &str) -> Option<Placed<'a, u64>> {
        let Shape::Whole { min, max } = self.known(key).shape else {
            unreachable!("{key}: no whole number")
        };
        self.parse(key, |text| units::whole(text, min, max))
    }

    /// Items of a list; none if it is not there.
    pub fn items(&self, key: &str) -> Vec<Cursor<'a>> {
        self.cursor(key).and_then(|cursor| cursor.items()).unwrap_or_default()
    }

    /// Entries that the user names; none if the mapping is not there.
    pub fn named(&self, key: &str) -> Vec<(Placed<'a, &'a str>, Cursor<'a>)> {
        self.cursor(key).and_then(|cursor| cursor.named()).unwrap_or_default()
    }

    /// What `read` makes of the entries that the user names, without those that are wrong.
    pub fn by_name<T>(
        &self,
        key: &str,
        read: impl Fn(&Cursor<'a>) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let entry = |(name, cursor): &(Placed<'a, &str>, Cursor<'a>)| {
            Some((name.value.to_owned(), read(cursor)?))
        };
        self.named(key).iter().filter_map(entry).collect()
    }

    /// What `parser` makes of the items of a list, without those that are wrong.
    pub fn parse_all<T>(&self, key: &str, parser: impl Fn(&str) -> Result<T, Fault>) -> Vec<T> {
        let parse = |item: &Cursor<'_>| Some(item.parse(&parser)?.value);
        self.items(key).iter().filter_map(parse).collect()
    }

    /// A mapping below a key.
    pub fn mapping(&self, key: &str) -> Option<Mapping<'a>> {
        self.cursor(key)?.mapping()
    }

    /// A mapping below a key; one without entries if the key is not there.
    pub fn mapping_or_empty(&self, key: &str) -> Option<Mapping<'a>> {
        let Shape::Of(table) = self.known(key).shape else { unreachable!("{key}: no mapping") };
        let empty = || Some(Mapping { entries: &[], table, place: self.place.clone() });
        self.cursor(key).map_or_else(empty, |cursor| cursor.mapping())
    }

    /// Reports something about a key, or about the mapping if the key is not there.
    pub fn wrong(&self, key: &str, what: impl Into<String>, fix: impl Into<String>) {
        let place = self.cursor(key).map_or_else(|| self.place.clone(), |cursor| cursor.place);
        place.wrong(what, fix);
    }

    /// Reports keys that mean nothing in this file, because of what is said elsewhere.
    pub fn refuse(&self, keys: &[&str], what: &str) {
        for key in keys.iter().filter(|key| self.has(key)) {
            self.wrong(key, what, "leave it out");
        }
    }

    /// Reports a key that is missing, because of what is said elsewhere.
    pub fn require(&self, keys: &[&str]) {
        for key in keys.iter().filter(|key| !self.has(key)) {
            self.report_absent(self.known(key));
        }
    }

    /// Reports all that is wrong here and below as far as tables can say. A reader that calls it
    /// first may stop at the first value that is not there: it is reported.
    pub fn check(&self) {
        let given = self.table.names().filter_map(|name| self.cursor(name));
        given.for_each(|cursor| cursor.check());
    }

    fn known(&self, key: &str) -> &'static table::Key {
        self.table.find(key).expect("readers ask for keys of the table")
    }

    /// Reports keys that are not in the table.
    fn report_unknown(&self, forms: Option<&Forms>) {
        for (key, _) in self.entries {
            if self.table.find(&key.text).is_none() {
                let what = format!("{} has no such key", self.table.what);
                let place = self.place.at_key(key.at, &key.text);
                place.wrong(what, self.fix_of_unknown(&key.text, forms));
            }
        }
    }

    /// Reports keys of the table that must be there and are not.
    fn report_missing(&self) {
        let missing = self.table.required().filter(|key| !self.has(key.name));
        missing.for_each(|key| self.report_absent(key));
    }

    fn report_absent(&self, key: &table::Key) {
        let what = format!("`{}` is missing", key.name);
        self.place.wrong(what, format!("add `{}`: {}", key.name, key.shape.what()));
    }

    fn fix_of_unknown(&self, key: &str, forms: Option<&Forms>) -> String {
        let absent = self.table.names().filter(|name| !self.has(name));
        if let Some(name) = suggest::nearest(key, absent) {
            return format!("did you mean `{name}`?");
        }
        let others = forms.map_or(&[][..], |forms| forms.forms);
        if let Some(other) = others.iter().find(|form| form.find(key).is_some()) {
            return format!("`{key}` is a key of `{}`", other.tag());
        }
        suggest::all("keys", self.table.names())
    }
}
