//! The picture of the page: holds and their release by hosts and programs, and host time for virtual time, each beside
//! its bar and what was published. It stands alone, so it has a style of its own.

use std::fmt::Write as _;

use report_kit::figure::figure;
use report_kit::plot::{Frame, path, rect, text};

use crate::measured::{Results, Row};
use crate::{case, holds};

const STYLE: &str = "text{font:12px system-ui,'Liberation Sans',Arial,sans-serif;fill:#5b636d}\
                     .name,.title{fill:#1a1d21}.title{font-weight:600}path{fill:none}.grid{stroke:#e7eaee}\
                     .axis{stroke:#5b636d}.bar{stroke:#d1480f;stroke-dasharray:5 3}.spread{stroke:#1b5fae;stroke-width:1.6}\
                     .value{fill:#1b5fae}.published{stroke:#a07a00;stroke-width:2}.key{fill:#a07a00}.limit{fill:#d1480f}";
const WIDTH: f64 = 960.0;
/// Of a panel, with its title and the words below.
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 64.0;

pub(crate) fn draw(results: &Results) -> String {
    let of = |part: &str, name: &str| -> Vec<&Row> {
        let mut rows: Vec<&Row> = results
            .rows
            .iter()
            .filter(|row| row.part == part && row.name.contains(name) && row.value.is_some())
            .collect();
        rows.sort_by_key(|row| {
            if part == holds::PART { (row.programs, row.hosts) } else { (None, None) }
        });
        rows
    };
    let panels = [
        (
            "Hold: from the request until all clocks stand, µs",
            of(holds::PART, holds::HOLD),
            "programs",
        ),
        (
            "Release: from the request until all clocks are seen to run, µs",
            of(holds::PART, holds::RESUME),
            "programs",
        ),
        ("Voltage-stability case: host seconds for a virtual one", of(case::PART, ""), ""),
    ];
    let height = HEIGHT * panels.len() as f64 + 24.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Hold, release and wall time by hosts and programs\"><style>{STYLE}</style>\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>"
    );
    for (number, (title, rows, unit)) in panels.iter().enumerate() {
        panel(&mut svg, number as f64 * HEIGHT, title, rows, unit);
    }
    let key =
        "Squares are medians, lines reach to the 99th percentile; below, the number of hosts.";
    svg.push_str(&text("tick", LEFT, height - 10.0, "start", key).0);
    svg.push_str(&text("limit", 620.0, height - 10.0, "start", "- - bar").0);
    svg.push_str(&text("key", 690.0, height - 10.0, "start", "— published (Hannon et al. 2019)").0);
    svg + "</svg>\n"
}

/// A panel with a logarithmic axis: a column for each row.
fn panel(svg: &mut String, top: f64, title: &str, rows: &[&Row], unit: &str) {
    let frame =
        Frame { left: LEFT, right: WIDTH - 12.0, top: top + 30.0, bottom: top + HEIGHT - 50.0 };
    let all = rows.iter().flat_map(|row| {
        let published = row.published.as_ref().map(|one| one.value);
        [row.value, row.bar, published, row.spread.map(|spread| spread.p99)].into_iter().flatten()
    });
    let all: Vec<f64> = all.filter(|value| *value > 0.0).map(f64::log10).collect();
    let (low, high) =
        all.iter().fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(*one), high.max(*one)));
    svg.push_str(&text("title", LEFT, top + 20.0, "start", title).0);
    if all.is_empty() {
        svg.push_str(&text("name", LEFT, top + 60.0, "start", "not measured").0);
        return;
    }
    // Room for the number below the lowest value.
    let span = (high - low).max(0.5);
    let (low, high) = (low - 0.15 * span, high + 0.05 * span);
    let y = |value: f64| {
        frame.bottom - (frame.bottom - frame.top) * (value.log10() - low) / (high - low)
    };
    for power in -3..7 {
        for step in [1.0, 2.0, 5.0] {
            let value = step * 10f64.powi(power);
            if (low..=high).contains(&value.log10()) {
                svg.push_str(&frame.level(y(value), &figure(value)).0);
            }
        }
    }
    svg.push_str(&frame.axes("").0);
    let width = (frame.right - frame.left) / rows.len() as f64;
    for (column, row) in rows.iter().enumerate() {
        let left = frame.left + column as f64 * width;
        let x = left + width / 2.0;
        let across = |svg: &mut String, class: &str, value: f64| {
            svg.push_str(
                &path(class, format_args!("M{:.1} {:.1}h{:.1}", left + 2.0, y(value), width - 4.0))
                    .0,
            );
        };
        if let Some(bar) = row.bar {
            across(svg, "bar", bar);
        }
        if let Some(published) = &row.published {
            across(svg, "published", published.value);
        }
        let Some(value) = row.value else { continue };
        if let Some(spread) = row.spread {
            svg.push_str(
                &path("spread", format_args!("M{x:.1} {:.1}V{:.1}", y(value), y(spread.p99))).0,
            );
        }
        svg.push_str(&rect("value", [x - 4.0, y(value) - 4.0, 8.0, 8.0], &row.line()).0);
        svg.push_str(&text("name", x, y(value) + 17.0, "middle", &short(value)).0);
        names(svg, &frame, rows, column, (left, width, unit));
    }
}

/// What a column is: its hosts, and once for all columns of the same kind, what these have in common.
fn names(
    svg: &mut String,
    frame: &Frame,
    rows: &[&Row],
    column: usize,
    (left, width, unit): (f64, f64, &str),
) {
    let kind = |row: &Row| match unit {
        "" => row.name.clone(),
        _ => format!("{} {unit}", row.programs.unwrap_or(0)),
    };
    let row = rows[column];
    let hosts = row.hosts.unwrap_or(0);
    svg.push_str(
        &text("tick", left + width / 2.0, frame.bottom + 15.0, "middle", &hosts.to_string()).0,
    );
    if column > 0 && kind(rows[column - 1]) == kind(row) {
        return;
    }
    let alike = rows[column..].iter().take_while(|other| kind(other) == kind(row)).count();
    let middle = left + width * alike as f64 / 2.0;
    // A narrow column has its words below each other.
    for (line, words) in kind(row).split(", ").enumerate() {
        let y = frame.bottom + 30.0 + 13.0 * line as f64;
        svg.push_str(&text("name", middle, y, "middle", words).0);
    }
    if column > 0 {
        let _ = write!(
            svg,
            "{}",
            path("grid", format_args!("M{left:.1} {}V{}", frame.top, frame.bottom + 36.0)).0
        );
    }
}

fn short(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
