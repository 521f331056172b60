//! Where wall time went, as bars with numbers. Parts may overlap: programs run on several cores
//! and the plant may compute while the clock is held; so each part has a bar of its own on the
//! scale of the whole.

use maud::{Markup, html};

use super::loaded::Loaded;
use super::sections::chip;
use crate::record::WallAccount;
use domain::Pace;
use report_kit::figure::figure;
use report_kit::page::{number, row_head};

/// Parties that are shown of those that were kept from acting; the file has all.
const PARTIES_SHOWN: usize = 6;

pub(super) fn section(runs: &[Loaded]) -> Markup {
    html! {
        section #time {
            h2 { "Wall time" }
            p.lead {
                "Each bar is one part of the wall time of its run. Parts may overlap: programs run on \
                 several cores, and the plant may compute while the clock is held."
            }
            div.columns {
                @for run in runs {
                    div.column {
                        h3 { (chip(run)) }
                        @match &run.record.wall {
                            Some(wall) => { (account(run, wall)) }
                            None => { p { "Not available: the run did not write its time account." } }
                        }
                        (disturbances(run))
                    }
                }
            }
        }
    }
}

fn account(run: &Loaded, wall: &WallAccount) -> Markup {
    let colour = format!("run{}", run.number % super::chart::COLOURS);
    let times = if wall.holds == 1 { "once".into() } else { format!("{} times", wall.holds) };
    let mut bars = vec![
        ("clock running".to_owned(), (wall.total_s - wall.holds_s).max(0.0), colour.as_str()),
        (format!("clock held, {times}"), wall.holds_s, &colour),
        ("plant".to_owned(), wall.plant_s, "neutral"),
        ("agent, CPU".to_owned(), wall.agent_cpu_s, "neutral"),
    ];
    let of_programs = wall.programs_cpu_s.iter();
    bars.extend(of_programs.map(|(program, s)| (format!("{program}, CPU"), *s, "neutral")));
    html! {
        p {
            b { (figure(wall.total_s)) " s" } " of wall time for " b { (figure(wall.virtual_s)) " s" } " of virtual time"
            @if let Some(ratio) = wall.ratio() { ", " b { (figure(ratio)) " s" } " per virtual second" }
            "."
        }
        table.bars { tbody { @for (name, seconds, class) in bars { (bar(&name, seconds, wall.total_s, class)) } } }
        @if wall.pace.pace != Pace::Real {
            p {
                "Pace " (wall.pace.words(|ns| format!("{} s", figure(ns as f64 / 1e9))))
                @if let Some(s) = wall.untimed_s() {
                    "; programs computed " (figure(s)) " s that took no virtual time"
                }
                "."
            }
        }
        @if let Some(stalls) = wall.stalls {
            p {
                (stalls.count) " stalls of the host excluded from virtual time: " (figure(stalls.total_ns as f64 / 1e9))
                " s in total, the longest " (figure(stalls.longest_ns as f64 / 1e6)) " ms."
            }
        }
        @if let Some(reads) = wall.reads {
            p {
                (reads.count) " reads of plant points by programs: median " (figure(reads.median_us))
                " µs, 99th percentile " (figure(reads.p99_us)) " µs of wall time."
            }
        }
        p.source { "run.json, wall" }
    }
}

/// Who was kept from acting in time, most time lost first.
fn disturbances(run: &Loaded) -> Markup {
    let parties = run.record.disturbances.iter().flat_map(|record| &record.parties);
    let parties: Vec<_> = parties.take(PARTIES_SHOWN).collect();
    html! {
        @if !parties.is_empty() {
            p { "Delays of programs, in virtual time:" }
            ul {
                @for party in parties {
                    li {
                        (party.who) @if let Some(node) = &party.node { " in " (node) }
                        " " (party.cause.words()) ": " (figure(party.lost_ns as f64 / 1e6))
                        " ms in total, at most " (figure(party.longest_ns as f64 / 1e6)) " ms at one moment"
                    }
                }
            }
            p.source { "disturbances.csv" }
        }
    }
}

fn bar(name: &str, seconds: f64, total_s: f64, class: &str) -> Markup {
    let share = if total_s > 0.0 { seconds / total_s * 100.0 } else { 0.0 };
    let width = format!("width:{:.2}%", share.clamp(0.0, 100.0));
    html! {
        tr {
            (row_head(name))
            td.bar { span class=(class) style=(width) {} }
            (number(format_args!("{} s", figure(seconds)))) (number(format_args!("{share:.1} %")))
        }
    }
}
