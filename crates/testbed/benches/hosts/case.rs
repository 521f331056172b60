//! How long a second of the voltage-stability case takes, spread over four hosts and on one: its two nodes are on hosts
//! of their own, and two nodes without programs draw the switches between them to the other two, so that each frame
//! passes through all four.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use report_kit::outcome::Outcome;

use crate::measured::Row;
use crate::published::{RATIO, published};
use crate::run::Place;

pub(crate) const PART: &str = "case";
const CASE: &str = "../../scenarios/voltage-stability";
/// Host seconds for a virtual one.
const BARS: [(&str, f64); 2] = [("real", 1.3), ("skip", 0.3)];
/// Nodes that are nearer to these switches than anything else is.
const BETWEEN: [(&str, &str, usize); 2] = [("west", "s2", 3), ("east", "s3", 4)];

/// A run of the case.
#[derive(Clone, Copy)]
pub(crate) struct Case<'c> {
    pub(crate) variant: &'c str,
    pub(crate) pace: &'c str,
    /// Four or one.
    pub(crate) hosts: usize,
    pub(crate) duration: &'c str,
}

pub(crate) fn row(place: &Place, case: Case<'_>) -> Result<Row> {
    let Case { variant, pace, hosts, duration } = case;
    let scenario = spread(place, hosts)?;
    let options = ["--variant", variant, "--pace", pace, "--duration", duration];
    let run = place.start(hosts, &scenario, &options)?;
    let (folder, status) = run.finish()?;
    let record = folder.record()?;
    ensure!(
        status.code().is_some_and(|code| [0, 10, 11, 13].contains(&code)),
        "it ended with {status}"
    );
    let ratio = record.wall.and_then(|wall| wall.ratio()).context("a run without time")?;
    let count =
        |outcome| record.verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let all = record.verdicts.len();
    let note = format!(
        "{} of {all} requirements met, {} disturbed",
        count(Outcome::Met),
        count(Outcome::Disturbed)
    );
    let row = Row::of(PART, format!("{variant}, {pace}"), "host s / virtual s", ratio)
        .sized(hosts, 2)
        .noted(note);
    let row = if hosts > 1 { row.beside(published(RATIO)) } else { row };
    Ok(match BARS.iter().find(|(of, _)| *of == pace && hosts > 1) {
        Some((_, bar)) => row.at_most(*bar),
        None => row,
    })
}

/// A copy of the case with its nodes on hosts.
fn spread(place: &Place, hosts: usize) -> Result<PathBuf> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(CASE);
    let text = fs::read_to_string(from.join("scenario.yaml"))?;
    let to = place.scenario(&of_hosts(place, hosts, &text)?)?;
    for entry in fs::read_dir(&from)?.flatten() {
        if entry.file_type()?.is_file() && entry.file_name() != "scenario.yaml" {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(to)
}

fn of_hosts(place: &Place, hosts: usize, text: &str) -> Result<String> {
    let on = |host: usize| host.min(hosts);
    let named: String = (1..=hosts).map(|host| place.lab.yaml(host)).collect();
    let between = BETWEEN.map(|(node, _, host)| {
        format!("  {node}:\n    host: h{}\n    address: 10.0.0.{}/24\n", on(host), 10 + host)
    });
    let links = BETWEEN
        .map(|(node, switch, _)| format!("  - {{from: {node}, to: {switch}, delay: 500 us}}\n"));
    let changes = [
        ("\nnodes:\n", format!("\nhosts:\n{named}\nnodes:\n{}", between.concat())),
        ("\n  sensor:\n", format!("\n  sensor:\n    host: h{}\n", on(1))),
        ("\n  controller:\n", format!("\n  controller:\n    host: h{}\n", on(2))),
        ("\nlinks:\n", format!("\nlinks:\n{}", links.concat())),
    ];
    changes.into_iter().try_fold(text.to_owned(), |text, (before, after)| {
        if text.matches(before).count() != 1 {
            bail!("the case has not one {before:?}");
        }
        Ok(text.replace(before, &after))
    })
}
