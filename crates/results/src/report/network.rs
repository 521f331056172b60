//! Counters of the network as tables: a row for each link, with both its directions, and for each
//! switch, attacker and node. What is of another form, because another version wrote it, is shown
//! as it is: objects of objects become tables, anything else rows of name and value.

use maud::{Markup, html};
use serde_json::{Map, Value};

use super::loaded::Loaded;
use super::sections::chip;
use report_kit::figure::figure;
use report_kit::page::{distinct, heads, number, row_head, table};

/// The section; nothing where no run has counters.
pub(super) fn section(runs: &[Loaded]) -> Markup {
    let with: Vec<&Loaded> = runs.iter().filter(|run| !is_empty(&run.record.network)).collect();
    let open = with.len() <= 2;
    html! {
        @if !with.is_empty() {
            section #network {
                h2 { "Network" }
                @for run in with {
                    details open[open] {
                        summary { (chip(run)) }
                        (tables(&run.record.network))
                        p.source { "run.json, network" }
                    }
                }
            }
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(members) => members.is_empty(),
        _ => false,
    }
}

fn tables(value: &Value) -> Markup {
    let named: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, v)| (name.clone(), v)).collect(),
        Value::Array(members) => {
            members.iter().enumerate().map(|(index, v)| (index.to_string(), v)).collect()
        }
        scalar => return html! { p { (cell(scalar)) } },
    };
    if let Some(rows) = flat_rows(&named) {
        return matrix(&rows, matches!(value, Value::Object(_)));
    }
    let (nested, scalars): (Vec<_>, Vec<_>) =
        named.into_iter().partition(|(_, value)| value.is_object() || value.is_array());
    let rows = html! { @for (name, value) in &scalars { tr { (row_head(name)) (td(value)) } } };
    html! {
        @if !scalars.is_empty() { (table("figures", &html! {}, &rows)) }
        @for (name, value) in nested.iter().filter(|(_, value)| !is_empty(value)) {
            h4 { (name) }
            @let known = match name.as_str() {
                "links" => links(value),
                "lateness" => lateness(value),
                _ => None,
            };
            (known.unwrap_or_else(|| tables(value)))
        }
    }
}

/// A row for each link; `None` where these are no links.
fn links(value: &Value) -> Option<Markup> {
    let rows: Vec<Markup> = value.as_array()?.iter().map(link).collect::<Option<_>>()?;
    let columns = heads(&["#sent", "#arrived", "#octets", "dropped"]);
    Some(html! {
        div.scroll { table.figures {
            thead {
                tr {
                    th rowspan="2" { "a" } th rowspan="2" { "b" }
                    th colspan="4" { "frames from a to b" } th colspan="4" { "frames from b to a" }
                }
                tr { (columns) (columns) }
            }
            tbody { @for row in rows { (row) } }
        } }
    })
}

fn link(value: &Value) -> Option<Markup> {
    let name = |key: &str| value.get(key)?.as_str().map(row_head);
    let (from, to) = (name("from")?, name("to")?);
    let [forward, backward] = ["forward", "backward"].map(|way| direction(value.get(way)?));
    let (forward, backward) = (forward?, backward?);
    Some(html! { tr { (from) (to) (forward) (backward) } })
}

/// Cells of a direction: what was dropped, with its causes.
fn direction(value: &Value) -> Option<Markup> {
    let count = |key: &str| value.get(key)?.as_u64();
    let causes = [
        ("dropped_queue_full", "queue full"),
        ("dropped_link_down", "link down"),
        ("dropped_cut", "lost when a link went down"),
        ("in_flight", "still in transit"),
    ];
    let counts = causes.iter().map(|(key, words)| Some((count(key)?, *words)));
    let mut counts: Vec<(u64, &str)> = counts.collect::<Option<_>>()?;
    // Records of older versions do not have the first, and most have no lost host.
    counts.extend(count("dropped_loss").map(|count| (count, "lost on the wire")));
    counts.extend(count("dropped_host_lost").map(|count| (count, "to a lost host")));
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some.map(|(count, words)| format!("{count} {words}")).collect();
    let dropped = if some.is_empty() { "none".to_owned() } else { some.join(", ") };
    let [sent, arrived, octets] = ["offered", "delivered", "delivered_octets"].map(count);
    Some(html! { (number(sent?)) (number(arrived?)) (number(octets?)) td { (dropped) } })
}

/// How late frames were handed over, in a sentence; `None` where this is something else.
fn lateness(value: &Value) -> Option<Markup> {
    let count = |key: &str| value.get(key)?.as_u64();
    let us = |key: &str| Some(figure(count(key)? as f64 / 1e3));
    let (median, p99, max) = (us("median_ns")?, us("p99_ns")?, us("max_ns")?);
    let frames = count("frames")?;
    Some(html! {
        p {
            "Delay between arrival of a frame and its delivery: median " (median) " µs, 99th percentile " (p99)
            " µs, maximum " (max) " µs, of " (frames) " frames."
        }
    })
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

fn matrix(rows: &[(String, &Map<String, Value>)], named: bool) -> Markup {
    let mut columns = distinct(rows.iter().flat_map(|(_, members)| members.keys()));
    // Names come before counters, whatever order the file has.
    columns.sort_by_key(|key| {
        !rows.iter().any(|(_, row)| row.get(*key).is_some_and(Value::is_string))
    });
    let heads = html! {
        @if named { th {} }
        @for column in &columns { th { (column.replace('_', " ")) } }
    };
    let rows = html! {
        @for (name, members) in rows {
            tr {
                @if named { (row_head(name)) }
                @for column in &columns { (td(members.get(*column).unwrap_or(&Value::Null))) }
            }
        }
    };
    table("figures", &heads, &rows)
}

fn td(value: &Value) -> Markup {
    if value.is_number() {
        number(cell(value))
    } else {
        html! { td { (cell(value)) } }
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "–".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shown(value: &Value) -> String {
        tables(value).into_string()
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
