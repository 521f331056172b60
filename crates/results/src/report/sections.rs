//! What is written and tabulated. The answer comes first, then what one should look at before
//! trusting it, then the pictures, then how it came about.

use std::fmt::Write as _;

use super::chart::{Chart, Marker};
use super::loaded::Loaded;
use super::matrix;
use super::signs::{chip, outcome};
use super::svg::svg;
use crate::inputs::Input;
use crate::record::{EndedHow, ProgramRecord};
use crate::{RunRecord, Verdict};
use report_kit::figure::{figure, seconds};
use report_kit::html::escape;
use report_kit::machine::utc;
use report_kit::outcome::Outcome;
use runtime::intervention::Deed;

/// The title: the scenarios, each once.
pub(super) fn title(runs: &[Loaded]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for run in runs {
        let name = run.record.scenario.name.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// What else tells a run from others.
fn identity(run: &Loaded) -> String {
    let scenario = &run.record.scenario;
    let variant = scenario.variant.as_ref().filter(|variant| !run.label.contains(*variant));
    let variant = variant.map_or_else(String::new, |variant| format!("{}, ", escape(variant)));
    let folder = if run.label == run.folder { String::new() } else { escape(&run.folder) + ", " };
    format!("{folder}{variant}seed {}, tdf {}", scenario.seed, figure(scenario.tdf))
}

/// Title and what was run.
pub(super) fn head(runs: &[Loaded]) -> String {
    let mut out = format!(
        "<header><p class=\"kind\">Does it act in time?</p><h1>{}</h1>",
        escape(&title(runs))
    );
    let mut told: Vec<&str> = Vec::new();
    for run in runs {
        let description = run.record.scenario.description.trim();
        if !description.is_empty() && !told.contains(&description) {
            let _ = write!(out, "<p class=\"lead\">{}</p>", escape(description));
            told.push(description);
        }
    }
    out.push_str("<nav aria-label=\"sections\">");
    for (id, name) in [
        ("verdicts", "Verdicts"),
        ("charts", "Charts"),
        ("time", "Wall time"),
        ("programs", "Programs"),
        ("provenance", "Provenance"),
    ] {
        let _ = write!(out, "<a href=\"#{id}\">{name}</a>");
    }
    out.push_str("</nav></header>");
    out
}

/// The answer of each run, with its verdicts.
pub(super) fn answers(runs: &[Loaded]) -> String {
    let mut out = String::from("<section id=\"verdicts\">");
    out.push_str(&matrix::section(runs));
    for run in runs {
        let (class, answer) = answer(&run.verdicts);
        let _ = write!(
            out,
            "<article class=\"answer\" id=\"run{}\"><h2>{}<span class=\"folder\">{}</span></h2>\
             <p class=\"result {class}\">{answer}</p>{}{}</article>",
            run.number,
            chip(run),
            identity(run),
            ended(run),
            verdicts(&run.verdicts)
        );
    }
    out.push_str("</section>");
    out
}

fn answer(verdicts: &[Verdict]) -> (&'static str, String) {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let (total, missed, unmeasured, disturbed) = (
        verdicts.len(),
        count(Outcome::Missed),
        count(Outcome::NotMeasured),
        count(Outcome::Disturbed),
    );
    let of = if total == 1 { "requirement".into() } else { format!("of {total} requirements") };
    let parts = [(disturbed, "disturbed"), (unmeasured, "not measured")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let unknown: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    match (total, missed, unknown.len()) {
        (0, ..) => ("unknown", "This run has no requirements.".into()),
        (1, 0, 0) => ("met", "Yes: the requirement is met.".into()),
        (_, 0, 0) => ("met", format!("Yes: all {total} requirements are met.")),
        (_, 0, _) => (
            "unknown",
            format!("Cannot say: {}.", unknown.join(", ").replacen(' ', &format!(" {of} "), 1)),
        ),
        (_, _, 0) => ("missed", format!("No: {missed} {of} missed.")),
        _ => ("missed", format!("No: {missed} {of} missed, {}.", unknown.join(", "))),
    }
}

/// How far the run came, where it is not complete.
fn ended(run: &Loaded) -> String {
    let (record, reached) = (&run.record, run.data.covered_to.as_ns());
    if record.ended.how == EndedHow::Complete && reached >= record.scenario.duration_ns {
        return String::new();
    }
    let reason = match record.ended.reason.as_str() {
        "" => String::new(),
        reason => format!(": {}", escape(reason)),
    };
    format!(
        "<p class=\"early\">The run is {}{reason}. It reached {} s of {} s.</p>",
        record.ended.how.words(),
        seconds(reached),
        seconds(record.scenario.duration_ns)
    )
}

fn verdicts(verdicts: &[Verdict]) -> String {
    if verdicts.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<div class=\"scroll\"><table class=\"verdicts\"><thead><tr><th>Verdict</th><th>Requirement</th>\
         <th class=\"number\">Measured</th><th class=\"number\">Required</th><th>Where and why</th></tr></thead><tbody>",
    );
    for verdict in verdicts {
        let (class, sign) = outcome(verdict.outcome);
        let _ = write!(
            out,
            "<tr><td class=\"outcome {class}\"><span aria-hidden=\"true\">{sign}</span> {}</td><td class=\"sentence\">{}</td>\
             <td class=\"number measured\">{}</td><td class=\"number\">{}</td>\
             <td class=\"why\">{}<span class=\"source\">{}: {}</span></td></tr>",
            verdict.outcome.words(),
            escape(&verdict.requirement.name),
            escape(&verdict.value_text()),
            escape(&verdict.bounds_text()),
            escape(&verdict.reason),
            escape(&verdict.source.file),
            escape(&verdict.source.query)
        );
    }
    out.push_str("</tbody></table></div>");
    out
}

/// Every warning of every run and program.
pub(super) fn warnings(runs: &[Loaded]) -> String {
    let mut items = String::new();
    let mut count = 0_usize;
    for run in runs {
        let of_programs = run.record.programs.iter().flat_map(|program| {
            program.warnings.iter().map(|warning| format!("{}: {warning}", program.name))
        });
        for warning in run.record.warnings.iter().cloned().chain(of_programs) {
            count += 1;
            let _ = write!(items, "<li>{}<span>{}</span></li>", chip(run), escape(&warning));
        }
    }
    if count == 0 {
        return "<section id=\"warnings\"><p class=\"quiet\">No warnings.</p></section>".into();
    }
    let head = if count == 1 {
        "1 warning: check it".into()
    } else {
        format!("{count} warnings: check them")
    };
    format!(
        "<section id=\"warnings\" class=\"warned\"><h2>{head} before you trust the result</h2><ul>{items}</ul></section>"
    )
}

/// The charts, with what is needed to read them.
pub(super) fn charts(runs: &[Loaded], charts: &[Chart]) -> String {
    let mut out = String::from("<section id=\"charts\"><h2>Over scenario time</h2>");
    if charts.is_empty() {
        out.push_str("<p>No run recorded any points.</p></section>");
        return out;
    }
    out.push_str(
        "<p class=\"tools\"><span>Drag across a chart to zoom, double-click to see all. Hover to \
         read values.</span><button type=\"button\" id=\"reset\" disabled>Show all</button></p>",
    );
    for (number, chart) in charts.iter().enumerate() {
        let _ = write!(
            out,
            "<figure class=\"chart\" data-series=\"{}\"><figcaption><b>Figure {}.</b> {}{}</figcaption>{}{}</figure>",
            chart.traces.len(),
            number + 1,
            escape(&chart.title),
            point_name(chart),
            legend(runs, chart),
            svg(chart, number)
        );
    }
    out.push_str(&events(runs, &charts[0].markers));
    out.push_str("</section>");
    out
}

/// All events, also those for whose labels a picture has no room.
fn events(runs: &[Loaded], markers: &[Marker]) -> String {
    if markers.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<details id=\"events\"><summary>All events</summary><div class=\"scroll\"><table>\
         <thead><tr><th class=\"number\">Time</th><th>Event</th><th>Runs</th></tr></thead><tbody>",
    );
    for marker in markers {
        let of = runs.iter().filter(|run| marker.runs.contains(&run.number));
        let of: Vec<String> = of.map(chip).collect();
        let of = if of.len() == runs.len() { "all".into() } else { of.join(", ") };
        let _ = write!(
            out,
            "<tr><td class=\"number\">{} s</td><td>{}</td><td>{of}</td></tr>",
            seconds(marker.at_ns),
            escape(&marker.text)
        );
    }
    out.push_str("</tbody></table></div></details>");
    out
}

fn point_name(chart: &Chart) -> String {
    match chart.point.as_str() {
        "" => String::new(),
        point => format!(" <code>{}</code>", escape(point)),
    }
}

/// Each run with its colour; the script writes the values under the pointer beside them.
fn legend(runs: &[Loaded], chart: &Chart) -> String {
    let mut out = String::from("<p class=\"legend\">");
    for run in runs {
        let drawn = chart.traces.iter().position(|trace| trace.run == run.number);
        let note = match drawn {
            Some(index) => format!("<output data-trace=\"{index}\"></output>"),
            None => "<i>no data</i>".into(),
        };
        let _ = write!(out, "<span>{}{note}</span>", chip(run));
    }
    out.push_str("<span class=\"at\"></span></p>");
    out
}

/// Programs, how they ended, and their last words.
pub(super) fn programs(runs: &[Loaded]) -> String {
    let mut out = String::from("<section id=\"programs\"><h2>Programs</h2>");
    for run in runs {
        let _ = write!(out, "<h3>{}</h3>", chip(run));
        if run.record.programs.is_empty() {
            out.push_str("<p>None.</p>");
            continue;
        }
        out.push_str(
            "<div class=\"scroll\"><table><thead><tr><th>Program</th><th>Node</th><th>Command</th><th>End</th></tr></thead><tbody>",
        );
        for program in &run.record.programs {
            let at =
                program.ended_ns.map_or_else(String::new, |ns| format!(" at {} s", seconds(ns)));
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td><code>{}</code></td><td>{}{at}</td></tr>",
                escape(&program.name),
                escape(&program.node),
                escape(&program.command.join(" ")),
                program.end
            );
        }
        out.push_str("</tbody></table></div>");
        for (name, lines) in &run.outputs {
            if !lines.is_empty() {
                // What a program that failed said last is what one looks for.
                let failed = |p: &ProgramRecord| p.name == *name && !p.last_words.is_empty();
                let open = if run.record.programs.iter().any(failed) { " open" } else { "" };
                let _ = write!(
                    out,
                    "<details{open}><summary>Last lines of {0} <span class=\"source\">programs/{0}.log</span></summary><pre>{1}</pre></details>",
                    escape(name),
                    escape(&lines.join("\n"))
                );
            }
        }
    }
    out.push_str("</section>");
    out
}

/// What one needs to repeat or doubt a run, and where each figure came from.
pub(super) fn provenance(runs: &[Loaded], charts: &[Chart]) -> String {
    let mut out = String::from("<section id=\"provenance\"><h2>Provenance</h2>");
    out.push_str("<div class=\"scroll\"><table class=\"facts\"><thead><tr><th></th>");
    for run in runs {
        let _ = write!(out, "<th>{}</th>", chip(run));
    }
    out.push_str("</tr></thead><tbody>");
    let facts: Vec<Vec<(&str, String)>> = runs.iter().map(facts).collect();
    for row in 0..facts.first().map_or(0, Vec::len) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", facts[0][row].0);
        for of_run in &facts {
            let value = &of_run[row].1;
            let shown = if value.is_empty() { "not known".into() } else { escape(value) };
            let _ = write!(out, "<td>{shown}</td>");
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    out.push_str(&sources(runs, charts));
    let _ = write!(
        out,
        "<p class=\"source\">The table above: run.json of each run. Generated by qcycle {}; this \
         page is self-contained and makes no network requests.</p></section>",
        env!("CARGO_PKG_VERSION")
    );
    out
}

/// How many files a run was made of; where they are told in full.
fn inputs(record: &RunRecord) -> String {
    let (count, without) = (record.inputs.len(), |input: &&Input| input.sha256.is_none());
    let copied =
        if record.inputs.iter().any(|input| input.copy.is_some()) { ", copied" } else { "" };
    match record.inputs.iter().filter(without).count() {
        0 => format!("{count}, with their SHA-256 in run.json{copied}"),
        unread => format!("{count}, {unread} of them unreadable; SHA-256 in run.json{copied}"),
    }
}

fn facts(run: &Loaded) -> Vec<(&'static str, String)> {
    let record = &run.record;
    let (scenario, machine, versions) = (&record.scenario, &record.machine, &record.versions);
    let gibibytes = |bytes: u64| {
        #[expect(clippy::cast_precision_loss, reason = "five digits are shown")]
        let bytes = bytes as f64;
        figure(bytes / f64::from(1 << 30))
    };
    let reached = seconds(run.data.covered_to.as_ns());
    vec![
        ("Run", run.folder.clone()),
        ("Scenario file", scenario.file.clone()),
        ("SHA-256 of its text", scenario.sha256.clone()),
        ("Files it was made of", inputs(record)),
        ("Seed", scenario.seed.to_string()),
        ("Time dilation factor", format!("{}{}", figure(scenario.tdf), changed(run))),
        ("Settling before zero", format!("{} s", seconds(scenario.settle_ns))),
        ("Reached / planned", format!("{reached} s / {} s", seconds(scenario.duration_ns))),
        ("Ended", record.ended.how.words().to_owned()),
        ("Started (host, UTC)", record.started.clone()),
        ("CLOCK_REALTIME at zero", utc(record.realtime_zero_ns)),
        ("qcycle", versions.qcycle.clone()),
        ("Commit", versions.git_commit.clone().unwrap_or_default()),
        ("Plant engine", versions.plant_engine.clone().unwrap_or_default()),
        ("CPU", machine.cpu_model.clone()),
        ("Cores", machine.cores.to_string()),
        ("Memory", format!("{} GiB", gibibytes(machine.memory_bytes))),
        ("Clock source", machine.clock_source.clone()),
        ("Kernel", format!("{} {}", machine.kernel, machine.kernel_version).trim().to_owned()),
    ]
}

/// What others made of the factor that was asked for.
fn changed(run: &Loaded) -> String {
    let deeds = run.record.interventions.iter().map(|one| &one.deed);
    match deeds.filter(|deed| !matches!(deed, Deed::Hold | Deed::Release)).count() {
        0 => String::new(),
        1 => ", changed from outside once".into(),
        count => format!(", changed from outside {count} times"),
    }
}

fn sources(runs: &[Loaded], charts: &[Chart]) -> String {
    let mut out = String::from(
        "<h3>Files behind the figures</h3><div class=\"scroll\"><table><thead><tr><th>Figure</th><th>Run</th>\
         <th>File and query</th><th class=\"number\">Rows</th></tr></thead><tbody>",
    );
    for (number, chart) in charts.iter().enumerate() {
        for trace in &chart.traces {
            let run = runs.iter().find(|run| run.number == trace.run);
            let _ = write!(
                out,
                "<tr><td>Figure {}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>",
                number + 1,
                run.map_or_else(String::new, chip),
                escape(&trace.source),
                trace.rows.len()
            );
        }
    }
    out.push_str("</tbody></table></div>");
    out
}
