//! Counters of the network as tables: a row for each link, with both its directions, and for each
//! switch, attacker and node. What is of another form, because another version wrote it, is shown
//! as it is: objects of objects become tables, anything else rows of name and value.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::loaded::Loaded;
use super::signs::chip;
use report_kit::figure::figure;
use report_kit::html::escape;

/// The section; nothing where no run has counters.
pub(super) fn section(runs: &[Loaded]) -> String {
    let with: Vec<&Loaded> = runs.iter().filter(|run| !is_empty(&run.record.network)).collect();
    if with.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"network\"><h2>Network</h2>");
    let count = with.len();
    for run in with {
        let open = if count > 2 { "" } else { " open" };
        let _ = write!(out, "<details{open}><summary>{}</summary>", chip(run));
        tables(&run.record.network, &mut out);
        out.push_str("<p class=\"source\">run.json, network</p></details>");
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
    for (name, value) in nested.into_iter().filter(|(_, value)| !is_empty(value)) {
        let known = match name.as_str() {
            "links" => links(value),
            "lateness" => lateness(value),
            _ => None,
        };
        let _ = write!(out, "<h4>{}</h4>", escape(&name));
        match known {
            Some(table) => out.push_str(&table),
            None => tables(value, out),
        }
    }
}

/// A row for each link; `None` where these are no links.
fn links(value: &Value) -> Option<String> {
    let rows: Option<Vec<String>> = value.as_array()?.iter().map(link).collect();
    let columns = "<th class=\"number\">sent</th><th class=\"number\">arrived</th>\
                   <th class=\"number\">octets</th><th>dropped</th>";
    Some(format!(
        "<div class=\"scroll\"><table class=\"figures\"><thead>\
         <tr><th rowspan=\"2\">a</th><th rowspan=\"2\">b</th>\
         <th colspan=\"4\">frames from a to b</th><th colspan=\"4\">frames from b to a</th></tr>\
         <tr>{columns}{columns}</tr></thead><tbody>{}</tbody></table></div>",
        rows?.concat()
    ))
}

fn link(value: &Value) -> Option<String> {
    let name = |key: &str| value.get(key)?.as_str().map(escape);
    Some(format!(
        "<tr><th scope=\"row\">{}</th><th scope=\"row\">{}</th>{}{}</tr>",
        name("from")?,
        name("to")?,
        direction(value.get("forward")?)?,
        direction(value.get("backward")?)?
    ))
}

/// Cells of a direction: what was dropped is told with its causes.
fn direction(value: &Value) -> Option<String> {
    let count = |key: &str| value.get(key)?.as_u64();
    let causes = [
        ("dropped_queue_full", "queue full"),
        ("dropped_link_down", "link down"),
        ("dropped_cut", "lost when a link went down"),
        ("in_flight", "still in transit"),
    ];
    let known = causes.iter().map(|(key, words)| Some((count(key)?, *words)));
    let known: Vec<(u64, &str)> = known.collect::<Option<_>>()?;
    let said = known.iter().filter(|(count, _)| *count > 0);
    let said: Vec<String> = said.map(|(count, words)| format!("{count} {words}")).collect();
    let dropped = if said.is_empty() { "none".to_owned() } else { said.join(", ") };
    Some(format!(
        "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td>{dropped}</td>",
        count("offered")?,
        count("delivered")?,
        count("delivered_octets")?
    ))
}

/// How late frames were handed over, in a sentence; `None` where this is something else.
fn lateness(value: &Value) -> Option<String> {
    let count = |key: &str| value.get(key)?.as_u64();
    #[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
    let us = |key: &str| Some(figure(count(key)? as f64 / 1e3));
    Some(format!(
        "<p>Delay between arrival of a frame and its delivery: median {} µs, 99th percentile {} \
         µs, maximum {} µs, of {} frames.</p>",
        us("median_ns")?,
        us("p99_ns")?,
        us("max_ns")?,
        count("frames")?
    ))
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
    fn a_link_is_a_row_with_both_its_directions() {
        let of = |offered: u64, full: u64| {
            json!({ "offered": offered, "delivered": offered - full, "delivered_octets": 60,
                "dropped_queue_full": full, "dropped_link_down": 0, "dropped_cut": 0,
                "in_flight": 0 })
        };
        let link = |to: &str| json!({ "from": "<a>", "to": to, "forward": of(9, 2), "backward": of(4, 0) });
        let lateness = json!({ "frames": 13, "median_ns": 1500, "p99_ns": 2500, "max_ns": 9_000 });
        let whole = json!({ "links": [link("b"), link("c")], "lateness": lateness,
            "attackers": {} });
        let shown = shown(&whole);
        assert_eq!(shown.matches("<tr><th scope=\"row\">&lt;a&gt;</th>").count(), 2, "{shown}");
        assert!(shown.contains("2 queue full") && shown.contains("none"), "{shown}");
        assert!(shown.contains("median 1.5 µs") && !shown.contains("median_ns"), "{shown}");
        assert!(!shown.contains("attackers"), "{shown}");
        // What another version wrote is shown all the same.
        assert!(links(&json!([{ "from": "a" }])).is_none());
    }

    #[test]
    fn any_json_is_shown_and_escaped() {
        let deep = shown(&json!({ "<b>": [{ "x": ["<i>", 2.5, null, true] }], "n": 1 }));
        assert!(!deep.contains("<b>") && !deep.contains("<i>"), "{deep}");
        assert!(deep.contains("2.5") && deep.contains("true"));
    }
}
