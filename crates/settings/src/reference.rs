//! Tables of keys in Markdown, for reference pages.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::table::{Forms, Key, Need, Shape, Table};

/// Writes the keys of a mapping.
pub fn write_table(page: &mut String, table: &Table) {
    page.push_str("\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
    for Key { name, shape, need, meaning } in table.keys {
        let (kind, default) = (kind(shape), default(*need));
        let _ = writeln!(page, "| `{name}` | {kind} | {default} | {meaning} |");
    }
}

/// The keys that tell the forms apart, then the others, each once with the forms it goes with.
pub fn write_forms(page: &mut String, forms: &Forms) {
    page.push_str("\n| Key | With | Type | Default | Meaning |\n|---|---|---|---|---|\n");
    for form in forms.forms {
        let Key { name, shape, meaning, .. } = &form.keys[0];
        let _ = writeln!(page, "| `{name}` | | {} | one of these | {meaning} |", kind(shape));
    }
    let mut written = BTreeSet::new();
    for Key { name, shape, need, meaning } in forms.forms.iter().flat_map(|form| &form.keys[1..]) {
        if !written.insert(name) {
            continue;
        }
        let with = forms.forms.iter().filter(|form| form.find(name).is_some());
        let with: Vec<String> = with.map(|form| format!("`{}`", form.tag())).collect();
        let with = if with.len() == forms.forms.len() { "each".into() } else { with.join(", ") };
        let (kind, default) = (kind(shape), default(*need));
        let _ = writeln!(page, "| `{name}` | {with} | {kind} | {default} | {meaning} |");
    }
}

fn default(need: Need) -> String {
    match need {
        Need::Required => "required".into(),
        Need::Optional => "none".into(),
        Need::Default("") => "empty".into(),
        Need::Default(text) => format!("`{text}`"),
    }
}

/// The type of a key, in few words.
fn kind(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".into(),
        Shape::Name(_) => "name".into(),
        Shape::Time => "time".into(),
        Shape::Rate => "rate".into(),
        Shape::Quantity => "value".into(),
        Shape::Whole { min, max: u64::MAX } => format!("whole number from {min}"),
        Shape::Whole { min, max } => format!("whole number, {min} to {max}"),
        Shape::Factor => "number".into(),
        Shape::Share => "share, 0 to less than 1".into(),
        Shape::Freeze => "`off`, `strict` or time".into(),
        Shape::Instant => "UTC time".into(),
        Shape::Point => "point".into(),
        Shape::File => "path".into(),
        Shape::Address => "address".into(),
        Shape::Words => "words".into(),
        Shape::Choice(_) | Shape::Written(_) => shape.what(),
        Shape::Within(dimension, ..) => dimension.name().into(),
        Shape::Several(item) => format!("{}s", kind(item)),
        Shape::List(item) => format!("list of {}s", kind(item)),
        Shape::Pair(item) => format!("list of two {}s", kind(item)),
        Shape::Named(_, value) => format!("mapping from name to {}", kind(value)),
        Shape::Of(table) => table.what.split_once(' ').map_or("", |(_, noun)| noun).into(),
        Shape::OneOf(forms) => forms.item.into(),
    }
}
