//! A mapping that says only in what it differs from another one: another set of settings of the same
//! thing.
//!
//! Both are read as one mapping, so that all that holds for a whole one holds for this too. Each value
//! knows where it stands, so that what is wrong is reported there. A key without a value (`~`) takes
//! that of the other mapping away, as `null` does in a merge patch (RFC 7396).

use super::{Content, Cursor, Key, Mapping, Shape, Value, choose};
use crate::table::OFF;

impl Cursor<'_> {
    /// Whether `off` stands here in place of a mapping.
    pub fn is_off(&self) -> bool {
        matches!(&self.value.content, Content::Text(text) if text == OFF)
    }

    /// What `read` makes of the mapping at `base`, of one of several forms, with what stands here in
    /// place of what stands there. What is wrong with `base` alone is not reported again.
    pub fn over<T>(
        &self,
        base: &Cursor<'_>,
        read: impl FnOnce(&Mapping<'_>) -> Option<T>,
    ) -> Option<T> {
        let Shape::Changes(forms) = self.shape else {
            unreachable!("{:?}: no changes", self.shape)
        };
        let Content::Mapping(here) = &self.value.content else { return self.mismatch() };
        let Content::Mapping(there) = &base.value.content else { return None };
        let table = choose(forms, there).ok()?;
        let as_mapping = |entries| Mapping { entries, table, place: self.place.clone() };
        as_mapping(here).report_unknown(None);
        let is_here = |key: &Key| here.iter().any(|(own, _)| own.text == key.text);
        let is_given = |value: &Value| value.content != Content::Empty;
        let given = here.iter().filter(|(_, value)| is_given(value)).cloned().collect::<Vec<_>>();
        as_mapping(&given).check();
        let left = there.iter().filter(|(key, _)| !is_here(key)).cloned();
        let merged: Vec<(Key, Value)> = given.iter().cloned().chain(left).collect();
        let merged = Mapping { entries: &merged, table, place: self.place.clone() };
        merged.report_missing();
        read(&merged)
    }

    /// Names of the keys that stand here, each with its place, of a mapping with the keys that differ.
    pub fn keys(&self) -> impl Iterator<Item = (&str, super::Place<'_>)> {
        let entries = match &self.value.content {
            Content::Mapping(entries) => &entries[..],
            _ => &[],
        };
        entries.iter().map(|(key, _)| (key.text.as_str(), self.place.at_key(key.at, &key.text)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::table::Need::{Default, Optional, Required};
    use crate::table::Shape::{Changes, Choice, Named, Of, OneOf, Whole};
    use crate::table::{Forms, Table, key};

    static SPAN: Table = Table {
        what: "a span",
        name: "span",
        keys: &[
            key("kind", Choice(&["span"]), Required, "the word"),
            key("from", Whole { min: 0, max: 9 }, Required, "its begin"),
            key("to", Whole { min: 0, max: 9 }, Default("9"), "its end"),
            key("by", Whole { min: 1, max: 9 }, Optional, "its step"),
        ],
    };
    static FORMS: Forms = Forms { what: "kinds", item: "span", forms: &[&SPAN] };
    static TOP: Table = Table {
        what: "a file",
        name: "file",
        keys: &[
            key("base", Named(crate::names::Names::Foreign, &OneOf(&FORMS)), Required, "as it is"),
            key(
                "other",
                Named(crate::names::Names::Foreign, &Changes(&FORMS)),
                Required,
                "changed",
            ),
        ],
    };

    /// Begin, end and step of the other span, or what is wrong.
    fn read(other: &str) -> Result<Option<(u64, u64, Option<u64>)>, String> {
        let text =
            format!("base:\n  a: {{kind: span, from: 1, to: 5, by: 2}}\nother:\n  a: {other}\n");
        crate::cursor::read(Path::new("f"), &text, const { &Of(&TOP) }, |top| {
            let (base, other) = (&top.named("base")[0].1, &top.named("other")[0].1);
            if other.is_off() {
                return Some(None);
            }
            let read = other.over(base, |map| {
                let (from, to) = (map.whole("from")?.value, map.whole("to")?.value);
                if from > to {
                    map.wrong("from", "it is above `to`", "give less");
                }
                Some((from, to, map.whole("by").map(|by| by.value)))
            });
            Some(Some(read?))
        })
        .map_err(|problems| problems.to_string())
    }

    #[test]
    fn what_differs_stands_in_place_of_what_there_was() {
        assert_eq!(read("{from: 2}"), Ok(Some((2, 5, Some(2)))));
        assert_eq!(read("{to: ~, by: }"), Ok(Some((1, 9, None))));
        assert_eq!(read("off"), Ok(None));
    }

    #[test]
    fn what_is_wrong_is_told_where_it_stands() {
        for (other, said) in [
            (
                "{from: 12}",
                "f:4:13: other.a.from: `12` is not a whole number from 0 to 9; give 0 to 9",
            ),
            ("{form: 2}", "f:4:7: other.a.form: a span has no such key; did you mean `from`?"),
            ("{from: ~}", "f:4:6: other.a: `from` is missing; add `from`: a whole number"),
            (
                "on",
                "f:4:6: other.a: this is the text `on`; write `off`, or a mapping with the keys of \
                 this span that differ",
            ),
            // The cross check is that of a whole span, at the value that it is about.
            ("{from: 7}", "f:4:13: other.a.from: it is above `to`; give less"),
            ("{to: 0}", "f:2:25: other.a.from: it is above `to`; give less"),
        ] {
            assert_eq!(read(other).expect_err(other), said);
        }
    }
}
