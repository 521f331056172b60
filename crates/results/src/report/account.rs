//! Where wall time went, as bars with numbers. Parts may overlap: programs run on several cores
//! and the plant may compute while the clock is held; so each part has a bar of its own on the
//! scale of the whole.

use std::fmt::Write as _;

use super::loaded::Loaded;
use super::signs::chip;
use crate::record::WallAccount;
use report_kit::figure::figure;
use report_kit::html::escape;

/// Parties that are shown of those that were kept from acting; the file has all.
const PARTIES_SHOWN: usize = 6;

/// The section.
pub(super) fn section(runs: &[Loaded]) -> String {
    let mut out = String::from(
        "<section id=\"time\"><h2>Wall time</h2><p class=\"lead\">Each bar is one part of the \
         wall time of its run. Parts may overlap: programs run on several cores, and the plant \
         may compute while the clock is held.</p><div class=\"columns\">",
    );
    for run in runs {
        let _ = write!(out, "<div class=\"column\"><h3>{}</h3>", chip(run));
        match &run.record.wall {
            Some(wall) => account(run, wall, &mut out),
            None => out.push_str("<p>Not available: the run did not write its time account.</p>"),
        }
        disturbances(run, &mut out);
        out.push_str("</div>");
    }
    out.push_str("</div></section>");
    out
}

fn account(run: &Loaded, wall: &WallAccount, out: &mut String) {
    let _ = write!(
        out,
        "<p><b>{} s</b> of wall time for <b>{} s</b> of virtual time{}.</p>",
        figure(wall.total_s),
        figure(wall.virtual_s),
        wall.ratio().map_or_else(String::new, |ratio| format!(
            ", <b>{} s</b> per virtual second",
            figure(ratio)
        ))
    );
    let colour = format!("run{}", run.number % super::chart::COLOURS);
    out.push_str("<table class=\"bars\"><tbody>");
    let mut bar = |name: &str, seconds: f64, class: &str| {
        out.push_str(&row(name, seconds, wall.total_s, class));
    };
    bar("clock running", (wall.total_s - wall.holds_s).max(0.0), &colour);
    let times = if wall.holds == 1 { "once".into() } else { format!("{} times", wall.holds) };
    bar(&format!("clock held, {times}"), wall.holds_s, &colour);
    bar("plant", wall.plant_s, "neutral");
    bar("agent, CPU", wall.agent_cpu_s, "neutral");
    for (program, seconds) in &wall.programs_cpu_s {
        bar(&format!("{program}, CPU"), *seconds, "neutral");
    }
    out.push_str("</tbody></table>");
    if let Some(stalls) = wall.stalls {
        let _ = write!(
            out,
            "<p>{} stalls of the host excluded from virtual time: {} s in total, the longest {} \
             ms.</p>",
            stalls.count,
            figure(stalls.total_ns as f64 / 1e9),
            figure(stalls.longest_ns as f64 / 1e6)
        );
    }
    if let Some(reads) = wall.reads {
        let _ = write!(
            out,
            "<p>{} reads of plant points by programs: median {} µs, 99th percentile {} µs of wall time.</p>",
            reads.count,
            figure(reads.median_us),
            figure(reads.p99_us)
        );
    }
    out.push_str("<p class=\"source\">run.json, wall</p>");
}

/// Who was kept from acting in time, most time lost first.
fn disturbances(run: &Loaded, out: &mut String) {
    let Some(record) = &run.record.disturbances else { return };
    if record.parties.is_empty() {
        return;
    }
    out.push_str("<p>Delays of programs, in virtual time:</p><ul>");
    for party in record.parties.iter().take(PARTIES_SHOWN) {
        let node = party.node.as_ref().map_or_else(String::new, |node| format!(" in {node}"));
        let _ = write!(
            out,
            "<li>{}{} {}: {} ms in total, at most {} ms at one moment</li>",
            escape(&party.who),
            escape(&node),
            party.cause.words(),
            figure(party.lost_ns as f64 / 1e6),
            figure(party.longest_ns as f64 / 1e6)
        );
    }
    out.push_str("</ul><p class=\"source\">disturbances.csv</p>");
}

fn row(name: &str, seconds: f64, total_s: f64, class: &str) -> String {
    let share = if total_s > 0.0 { seconds / total_s * 100.0 } else { 0.0 };
    let width = share.clamp(0.0, 100.0);
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"bar\"><span class=\"{class}\" style=\"width:{width:.2}%\"></span></td>\
         <td class=\"number\">{} s</td><td class=\"number\">{share:.1} %</td></tr>",
        escape(name),
        figure(seconds)
    )
}
