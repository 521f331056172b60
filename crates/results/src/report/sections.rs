//! What is written and tabulated. The answer comes first, then what one should look at before
//! trusting it, then the pictures, then how it came about.

use maud::{Markup, html};

use super::chart::{Chart, Marker, line_class};
use super::loaded::Loaded;
use super::svg::svg;
use crate::record::{EndedHow, Input};
use crate::verdict::beside;
use crate::{RunRecord, Verdict};
use domain::Pace;
use report_kit::figure::{figure, seconds};
use report_kit::machine::utc;
use report_kit::outcome::Outcome;
use report_kit::page::{self, distinct, heads, listed, number, row_head, table};
use runtime::intervention::Action;

/// The title: the scenarios, each once.
pub(super) fn title(runs: &[Loaded]) -> String {
    distinct(runs.iter().map(|run| run.record.scenario.name.as_str())).join(", ")
}

/// The name of a run with a piece of its line, by which readers recognise it wherever the page speaks of it.
pub(super) fn chip(run: &Loaded) -> Markup {
    html! {
        svg class={ "chip " (line_class(run.number)) } viewBox="0 0 28 6" aria-hidden="true" { path d="M0 3H28" {} }
        (run.label)
    }
}

fn outcome(outcome: Outcome, more: &Markup) -> Markup {
    let (class, sign) = outcome.sign();
    html! {
        td.outcome.(class) { span aria-hidden="true" { (sign) } " " (outcome.words()) (more) }
    }
}

/// What else tells a run from others.
fn identity(run: &Loaded) -> String {
    let scenario = &run.record.scenario;
    let variant = scenario.variant.as_ref().filter(|variant| !run.label.contains(*variant));
    let folder = Some(&run.folder).filter(|folder| **folder != run.label);
    let parts: Vec<&str> = folder.into_iter().chain(variant).map(String::as_str).collect();
    let before = if parts.is_empty() { String::new() } else { parts.join(", ") + ", " };
    let pace = match scenario.pace {
        Pace::Real => String::new(),
        other => format!(", pace {other}"),
    };
    format!("{before}seed {}, tdf {}{pace}", scenario.seed, figure(scenario.tdf))
}

pub(super) fn head(runs: &[Loaded]) -> Markup {
    let descriptions = runs.iter().map(|run| run.record.scenario.description.trim());
    let sections = [
        ("verdicts", "Verdicts"),
        ("charts", "Charts"),
        ("time", "Wall time"),
        ("programs", "Programs"),
        ("provenance", "Provenance"),
    ];
    html! {
        header {
            p.kind { "Does it act in time?" }
            h1 { (title(runs)) }
            @for description in distinct(descriptions.filter(|text| !text.is_empty())) { p.lead { (description) } }
            (page::sections(&sections))
        }
    }
}

pub(super) fn answers(runs: &[Loaded]) -> Markup {
    html! {
        section #verdicts {
            (all_verdicts(runs))
            @for run in runs {
                @let (class, answer) = answer(&run.verdicts);
                article.answer id={ "run" (run.number) } {
                    h2 { (chip(run)) span.folder { (identity(run)) } }
                    p.result.(class) { (answer) }
                    (ended(run))
                    (verdicts(&run.verdicts, run.record.scenario.pace))
                }
            }
        }
    }
}

/// The verdicts of several runs at a glance: a row for each requirement, a column for each run. Nothing
/// where there is one run, whose verdicts follow anyway.
fn all_verdicts(runs: &[Loaded]) -> Markup {
    let verdicts = runs.iter().flat_map(|run| &run.verdicts);
    let names = distinct(verdicts.map(|verdict| verdict.requirement.name.as_str()));
    if runs.len() < 2 || names.is_empty() {
        return html! {};
    }
    let heads = html! {
        th { "Requirement" }
        @for run in runs { th { a href={ "#run" (run.number) } { (chip(run)) } } }
    };
    let cell = |run: &Loaded, name| match run
        .verdicts
        .iter()
        .find(|verdict| verdict.requirement.name == name)
    {
        Some(verdict) => {
            let pace = run.record.scenario.pace;
            outcome(verdict.outcome, &html! { (beside(pace)) i { (verdict.value_text()) } })
        }
        None => html! { td.quiet { "not asked" } },
    };
    let rows = html! {
        @for name in names { tr { (row_head(name)) @for run in runs { (cell(run, name)) } } }
    };
    html! { h2 { "All verdicts" } (table("matrix", &heads, &rows)) }
}

fn answer(verdicts: &[Verdict]) -> (&'static str, String) {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let (total, missed) = (verdicts.len(), count(Outcome::Missed));
    let of = if total == 1 { "requirement".into() } else { format!("of {total} requirements") };
    let parts = [Outcome::Disturbed, Outcome::NotMeasured].map(|one| (count(one), one.words()));
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
fn ended(run: &Loaded) -> Markup {
    let (record, reached) = (&run.record, run.data.covered_to.as_ns());
    if record.ended.how == EndedHow::Complete && reached >= record.scenario.duration_ns {
        return html! {};
    }
    html! {
        p.early {
            "The run is " (record.ended.how.words())
            @if !record.ended.reason.is_empty() { ": " (record.ended.reason) }
            ". It reached " (seconds(reached)) " s of " (seconds(record.scenario.duration_ns)) " s."
        }
    }
}

fn verdicts(verdicts: &[Verdict], pace: Pace) -> Markup {
    if verdicts.is_empty() {
        return html! {};
    }
    let rows = html! {
        @for verdict in verdicts {
            tr {
                (outcome(verdict.outcome, &html! { (beside(pace)) }))
                td.sentence { (verdict.requirement.name) }
                td.number.measured { (verdict.value_text()) }
                (number(verdict.bounds_text()))
                td.why { (verdict.reason) span.source { (verdict.source.file) ": " (verdict.source.query) } }
            }
        }
    };
    let columns = ["Verdict", "Requirement", "#Measured", "#Required", "Where and why"];
    table("verdicts", &heads(&columns), &rows)
}

pub(super) fn warnings(runs: &[Loaded]) -> Markup {
    let mut warnings: Vec<(&Loaded, String)> = Vec::new();
    for run in runs {
        let of_programs = run.record.programs.iter().flat_map(|program| {
            program.warnings.iter().map(|warning| format!("{}: {warning}", program.name))
        });
        let all = run.record.warnings.iter().cloned().chain(of_programs);
        warnings.extend(all.map(|warning| (run, warning)));
    }
    let head = match warnings.len() {
        0 => return html! { section #warnings { p.quiet { "No warnings." } } },
        1 => "1 warning: check it".to_owned(),
        count => format!("{count} warnings: check them"),
    };
    html! {
        section.warned #warnings {
            h2 { (head) " before you trust the result" }
            ul { @for (run, warning) in warnings { li { (chip(run)) span { (warning) } } } }
        }
    }
}

/// The charts, with what is needed to read them.
pub(super) fn charts(runs: &[Loaded], charts: &[Chart]) -> Markup {
    html! {
        section #charts {
            h2 { "Over scenario time" }
            @if let Some(first) = charts.first() {
                p.tools {
                    span { "Drag across a chart to zoom, double-click to see all. Hover to read values." }
                    button #reset type="button" disabled { "Show all" }
                }
                @for (number, chart) in charts.iter().enumerate() {
                    figure.chart data-series=(chart.traces.len()) {
                        figcaption {
                            b { "Figure " (number + 1) "." } " " (chart.title)
                            @if !chart.point.is_empty() { " " code { (chart.point) } }
                        }
                        (legend(runs, chart))
                        (svg(chart, number))
                    }
                }
                (events(runs, &first.markers))
            } @else {
                p { "No run recorded any points." }
            }
        }
    }
}

/// All events, also those for whose labels a picture has no room.
fn events(runs: &[Loaded], markers: &[Marker]) -> Markup {
    if markers.is_empty() {
        return html! {};
    }
    let of = |marker: &Marker| {
        let of = runs.iter().filter(|run| marker.runs.contains(&run.number));
        let of: Vec<Markup> = of.map(chip).collect();
        if of.len() == runs.len() {
            html! { "all" }
        } else {
            listed(of)
        }
    };
    let rows = html! {
        @for marker in markers {
            tr { (number(format_args!("{} s", seconds(marker.at_ns)))) td { (marker.text) } td { (of(marker)) } }
        }
    };
    html! {
        details #events { summary { "All events" } (table("", &heads(&["#Time", "Event", "Runs"]), &rows)) }
    }
}

/// Each run with its colour; the script writes the values under the pointer beside them.
fn legend(runs: &[Loaded], chart: &Chart) -> Markup {
    html! {
        p.legend {
            @for run in runs {
                span {
                    (chip(run))
                    @match chart.traces.iter().position(|trace| trace.run == run.number) {
                        Some(index) => { output data-trace=(index) {} }
                        None => { i { "no data" } }
                    }
                }
            }
            span.at {}
        }
    }
}

pub(super) fn programs(runs: &[Loaded]) -> Markup {
    html! {
        section #programs {
            h2 { "Programs" }
            @for run in runs {
                h3 { (chip(run)) }
                @if run.record.programs.is_empty() { p { "None." } } @else { (programs_of(run)) }
            }
        }
    }
}

fn programs_of(run: &Loaded) -> Markup {
    let rows = html! {
        @for program in &run.record.programs {
            tr {
                (row_head(&program.name)) td { (program.node) } td { code { (program.command.join(" ")) } }
                td {
                    (maud::display(&program.end))
                    @if let Some(ns) = program.ended_ns { " at " (seconds(ns)) " s" }
                }
            }
        }
    };
    // What a program that failed said last is what one looks for.
    let failed =
        |name| run.record.programs.iter().any(|of| of.name == name && !of.last_words.is_empty());
    html! {
        (table("", &heads(&["Program", "Node", "Command", "End"]), &rows))
        @for (name, lines) in run.outputs.iter().filter(|(_, lines)| !lines.is_empty()) {
            details open[failed(name.as_str())] {
                summary { "Last lines of " (name) " " span.source { "programs/" (name) ".log" } }
                pre { (lines.join("\n")) }
            }
        }
    }
}

/// What one needs to repeat or doubt a run, and where each figure came from.
pub(super) fn provenance(runs: &[Loaded], charts: &[Chart]) -> Markup {
    let facts: Vec<Vec<(&str, String)>> = runs.iter().map(facts).collect();
    let columns = html! { th {} @for run in runs { th { (chip(run)) } } };
    let shown = |value: &str| if value.is_empty() { "not known".to_owned() } else { value.into() };
    let rows = html! {
        @for row in 0..facts.first().map_or(0, Vec::len) {
            tr {
                (row_head(facts[0][row].0))
                @for of_run in &facts { td { (shown(&of_run[row].1)) } }
            }
        }
    };
    html! {
        section #provenance {
            h2 { "Provenance" }
            (table("facts", &columns, &rows))
            (sources(runs, charts))
            p.source {
                "The table above: run.json of each run. Generated by qcycle " (env!("CARGO_PKG_VERSION"))
                "; this page is self-contained and makes no network requests."
            }
        }
    }
}

/// How many files a run was made of; where they are listed.
fn inputs(record: &RunRecord) -> String {
    let (count, without) = (record.inputs.len(), |input: &&Input| input.sha256.is_none());
    let is_copied = record.inputs.iter().any(|input| input.copy.is_some());
    let copied = if is_copied { ", copied" } else { "" };
    match record.inputs.iter().filter(without).count() {
        0 => format!("{count}, with their SHA-256 in run.json{copied}"),
        unread => format!("{count}, {unread} of them unreadable; SHA-256 in run.json{copied}"),
    }
}

fn facts(run: &Loaded) -> Vec<(&'static str, String)> {
    let record = &run.record;
    let (scenario, machine, versions) = (&record.scenario, &record.machine, &record.versions);
    let gibibytes = figure(machine.memory_bytes as f64 / f64::from(1 << 30));
    let reached = seconds(run.data.covered_to.as_ns());
    vec![
        ("Run", run.folder.clone()),
        ("Scenario file", scenario.file.clone()),
        ("SHA-256 of its text", scenario.sha256.clone()),
        ("Files it was made of", inputs(record)),
        ("Seed", scenario.seed.to_string()),
        ("Time dilation factor", format!("{}{}", figure(scenario.tdf), changed(run))),
        ("Pace", scenario.pace_words()),
        ("Settling before zero", format!("{} s", seconds(scenario.settle_ns))),
        ("Reached / planned", format!("{reached} s / {} s", seconds(scenario.duration_ns))),
        ("Ended", record.ended.how.words().to_owned()),
        ("Started (host, UTC)", record.started.clone()),
        ("CLOCK_REALTIME at zero", utc(record.realtime_zero_ns)),
        ("qcycle", versions.qcycle.clone()),
        ("Commit", versions.git_commit.clone().unwrap_or_default()),
        ("Plant engine", versions.plant_engine.clone().unwrap_or_default()),
        ("Hosts of nodes", hosts(record)),
        ("Lost hosts", lost_hosts(record)),
        ("Clocks of hosts", clocks(record)),
        ("CPU", machine.cpu_model.clone()),
        ("Cores", machine.cores.to_string()),
        ("Memory", format!("{gibibytes} GiB")),
        ("Clock source", machine.clock_source.clone()),
        ("Kernel", format!("{} {}", machine.kernel, machine.kernel_version).trim().to_owned()),
    ]
}

/// What the clocks of hosts differed by, where each ran by itself.
fn clocks(record: &RunRecord) -> String {
    let of = |clock: &serde_json::Value, keys: [&str; 2]| {
        clock[keys[0]][keys[1]].as_f64().unwrap_or(f64::NAN) / 1e3
    };
    let all = record.network["free_clocks"].as_array().into_iter().flatten().enumerate();
    let all = all.map(|(number, clock)| {
        let host = clock["host"].as_str().unwrap_or_default();
        let late = format!(
            "{} frames late, by {:.1} us at most",
            clock["late_frames"]["frames"],
            of(clock, ["late_frames", "max_ns"]),
        );
        if number == 0 {
            return format!("{host}: the others follow it; {late}");
        }
        format!(
            "{host}: apart from the first host's by {:.1} us in the median, {:.1} us at most of {} comparisons, right to \
             {:.1} us, put right {} times; {late}",
            of(clock, ["differed", "median_ns"]),
            of(clock, ["differed", "max_ns"]),
            clock["differed"]["frames"],
            clock["within_ns"].as_f64().unwrap_or(f64::NAN) / 1e3,
            clock["put_right"],
        )
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { "one".to_owned() } else { all.join(" | ") }
}

/// The machines that nodes ran on, where that was not the one of the rows below.
fn hosts(record: &RunRecord) -> String {
    let hosts = record.hosts.iter().map(|host| {
        let machine = &host.machine;
        let reached =
            host.ssh.as_ref().map_or_else(|| "here".to_owned(), |ssh| format!("ssh {ssh}"));
        let bus = match host.bus.as_deref() {
            Some("module") => ", on a signal bus through the kernel module",
            Some(_) => ", on a signal bus through its lines",
            None => "",
        };
        format!(
            "{} ({reached}): {}; {}, {} cores, {}, {}{bus}",
            host.name,
            host.nodes.join(", "),
            machine.cpu_model,
            machine.cores,
            machine.kernel,
            machine.clock_source
        )
    });
    let hosts: Vec<String> = hosts.collect();
    if hosts.is_empty() { "this one".to_owned() } else { hosts.join(" | ") }
}

/// The hosts without which the run went on.
fn lost_hosts(record: &RunRecord) -> String {
    let lost = record.lost_hosts.iter().map(|lost| {
        let (at, nodes) = (seconds(lost.at_ns), lost.nodes.join(", "));
        format!("{} after {at} s ({nodes}): {}", lost.host, lost.reason)
    });
    let lost: Vec<String> = lost.collect();
    if lost.is_empty() { "none".to_owned() } else { lost.join(" | ") }
}

/// What others made of the factor that was asked for.
fn changed(run: &Loaded) -> String {
    let actions = run.record.interventions.iter().map(|one| &one.action);
    match actions.filter(|action| !matches!(action, Action::Hold | Action::Release)).count() {
        0 => String::new(),
        1 => ", changed from outside once".into(),
        count => format!(", changed from outside {count} times"),
    }
}

fn sources(runs: &[Loaded], charts: &[Chart]) -> Markup {
    let rows = html! {
        @for (index, chart) in charts.iter().enumerate() {
            @for trace in &chart.traces {
                tr {
                    td { "Figure " (index + 1) }
                    td { @if let Some(run) = runs.iter().find(|run| run.number == trace.run) { (chip(run)) } }
                    td { (trace.source) }
                    (number(trace.rows.len()))
                }
            }
        }
    };
    let columns = heads(&["Figure", "Run", "File and query", "#Rows"]);
    html! { h3 { "Files behind the figures" } (table("", &columns, &rows)) }
}
