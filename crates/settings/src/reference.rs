//! Tables of keys in Markdown, for reference pages: a page is written as a whole, or the tables within
//! a page that somebody wrote are drawn again.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::table::{Forms, Key, Need, OFF, Shape, Table};

/// Writes the keys of a mapping.
pub fn write_table(page: &mut String, table: &Table) {
    page.push_str("\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
    for Key { name, shape, need, meaning } in table.keys {
        let (kind, default) = (kind(shape), default(*need));
        let _ = writeln!(page, "| `{name}` | {kind} | {default} | {meaning} |");
    }
}

/// Begins and ends a table of keys within a page: the name of the table is between.
const BEGIN: &str = "<!-- keys of ";
const NAMED: &str = " -->\n";
const END: &str = "<!-- end of keys -->";

/// The page with each of these tables drawn again where a mark has its name.
///
/// # Errors
/// A mark without one of these tables, or without its end; a table without a mark.
pub fn fill(page: &str, tables: &[&Table]) -> Result<String, String> {
    let mut parts = page.split(BEGIN);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    let mut missing: Vec<&&Table> = tables.iter().collect();
    for part in parts {
        let (name, rest) = part.split_once(NAMED).ok_or("a mark does not end its line")?;
        let (_, behind) = rest.split_once(END).ok_or_else(|| format!("{name}: no `{END}`"))?;
        let place = missing.iter().position(|table| table.name == name);
        let table = missing.remove(place.ok_or_else(|| format!("there is no table {name}"))?);
        let mut keys = String::new();
        write_table(&mut keys, table);
        let _ = write!(filled, "{BEGIN}{name}{NAMED}{}\n{END}{behind}", keys.trim_start());
    }
    let missing: Vec<&str> = missing.iter().map(|table| table.name).collect();
    if missing.is_empty() { Ok(filled) } else { Err(format!("no marks: {}", missing.join(", "))) }
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
        Shape::Within(dimension, min, max) => {
            format!("{}, {}", dimension.name(), dimension.range(*min, *max))
        }
        Shape::Several(item) => format!("{}; or a list of such", kind(item)),
        Shape::List(item) => format!("list of {}s", kind(item)),
        Shape::Pair(item) => format!("list of two {}s", kind(item)),
        Shape::Named(_, value) => format!("mapping from name to {}", kind(value)),
        Shape::Of(table) => table.what.split_once(' ').map_or("", |(_, noun)| noun).into(),
        Shape::OneOf(forms) => forms.item.into(),
        Shape::Changes(forms) => format!("keys of that {} that differ, or `{OFF}`", forms.item),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::key;
    use super::super::units::Dimension::Time;
    use super::*;

    static SPAN: Table = Table {
        what: "a span",
        name: "span",
        keys: &[key("lasts", Shape::Within(Time, 0.001, 2.0), Need::Default("1 s"), "how long")],
    };

    #[test]
    fn tables_within_a_page_are_drawn_again_and_none_is_forgotten() {
        let page = "before\n<!-- keys of span -->\nold\n<!-- end of keys -->\nbehind\n";
        let filled = fill(page, &[&SPAN]).unwrap();
        let row =
            "| `lasts` | time, 0.001 to 2 s | `1 s` | how long |\n\n<!-- end of keys -->\nbehind\n";
        assert!(filled.starts_with("before\n<!-- keys of span -->\n| Key |"), "{filled}");
        assert!(filled.ends_with(row), "{filled}");
        assert_eq!(fill(&filled, &[&SPAN]), Ok(filled));
        assert_eq!(fill(page, &[]), Err("there is no table span".into()));
        assert_eq!(fill("", &[&SPAN]), Err("no marks: span".into()));
        assert!(fill("<!-- keys of span -->\n", &[&SPAN]).is_err_and(|why| why.contains("no `")));
    }
}
