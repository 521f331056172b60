//! Counters of the network as tables. The network part gives JSON of its own form: objects of
//! objects become tables with a row each, anything else rows of name and value.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::html::escape;
use super::loaded::Loaded;
use super::sections::chip;

/// The section; nothing where no run has counters.
pub(super) fn section(runs: &[Loaded]) -> String {
    let with: Vec<&Loaded> = runs.iter().filter(|run| !is_empty(&run.record.network)).collect();
    if with.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"network\"><h2>Network</h2>");
    for run in with {
        let _ = write!(out, "<h3>{}</h3>", chip(run));
        tables(&run.record.network, &mut out);
        out.push_str("<p class=\"source\">run.json, network</p>");
    }
    out.push_str("</section>");
    out
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(members) => members.is_empty(),
        _ => false,
    }
}

fn tables(value: &Value, out: &mut String) {
    let named: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, v)| (name.clone(), v)).collect(),
        Value::Array(members) => {
            members.iter().enumerate().map(|(index, v)| (index.to_string(), v)).collect()
        }
        scalar => {
            let _ = write!(out, "<p>{}</p>", cell(scalar));
            return;
        }
    };
    if let Some(rows) = flat_rows(&named) {
        matrix(&rows, matches!(value, Value::Object(_)), out);
        return;
    }
    let (nested, scalars): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, value)| value.is_object() || value.is_array());
    if !scalars.is_empty() {
        out.push_str("<div class=\"scroll\"><table class=\"figures\"><tbody>");
        for (name, value) in scalars {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>{}</tr>", escape(&name), td(value));
        }
        out.push_str("</tbody></table></div>");
    }
    for (name, value) in nested {
        let _ = write!(out, "<h4>{}</h4>", escape(&name));
        tables(value, out);
    }
}

/// The members as rows, if each is an object of plain values.
fn flat_rows<'a>(named: &[(String, &'a Value)]) -> Option<Vec<(String, &'a Map<String, Value>)>> {
    let flat = |value: &'a Value| {
        let members = value.as_object()?;
        let plain = |value: &Value| !value.is_object() && !value.is_array();
        members.values().all(plain).then_some(members)
    };
    let rows = named.iter().map(|(name, value)| Some((name.clone(), flat(value)?)));
    rows.collect::<Option<Vec<_>>>().filter(|rows| !rows.is_empty())
}

fn matrix(rows: &[(String, &Map<String, Value>)], named: bool, out: &mut String) {
    let mut columns: Vec<&String> = Vec::new();
    for key in rows.iter().flat_map(|(_, members)| members.keys()) {
        if !columns.contains(&key) {
            columns.push(key);
        }
    }
    // Names come before counters, whatever order the file has.
    columns.sort_by_key(|key| {
        !rows.iter().any(|(_, row)| row.get(*key).is_some_and(Value::is_string))
    });
    out.push_str("<div class=\"scroll\"><table class=\"figures\"><thead><tr>");
    if named {
        out.push_str("<th></th>");
    }
    for column in &columns {
        let _ = write!(out, "<th>{}</th>", escape(&column.replace('_', " ")));
    }
    out.push_str("</tr></thead><tbody>");
    for (name, members) in rows {
        out.push_str("<tr>");
        if named {
            let _ = write!(out, "<th scope=\"row\">{}</th>", escape(name));
        }
        for column in &columns {
            out.push_str(&td(members.get(*column).unwrap_or(&Value::Null)));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

fn td(value: &Value) -> String {
    let class = if value.is_number() { " class=\"number\"" } else { "" };
    format!("<td{class}>{}</td>", cell(value))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => escape(text),
        other => escape(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(value: &Value) -> String {
        let mut out = String::new();
        tables(value, &mut out);
        out
    }

    #[test]
    fn objects_of_objects_are_a_table_with_all_columns() {
        let table = shown(&json!({ "a-b": { "frames": 3 }, "b-c": { "frames": 4, "dropped": 1 } }));
        assert!(table.contains("<th>dropped</th>") && table.contains("<td>–</td>"), "{table}");
        assert_eq!(table.matches("<tr>").count(), 3);
    }

    #[test]
    fn any_json_is_shown_and_escaped() {
        let deep = shown(&json!({ "<b>": [{ "x": ["<i>", 2.5, null, true] }], "n": 1 }));
        assert!(!deep.contains("<b>") && !deep.contains("<i>"), "{deep}");
        assert!(deep.contains("2.5") && deep.contains("true"));
    }
}
