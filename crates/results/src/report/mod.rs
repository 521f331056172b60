//! One HTML page drawn from run folders: does it act in time?
//!
//! The page is a single file that asks nothing of the network and nothing of a running system.
//! Every figure in it is read from a file of a run and says from which. Charts are drawn here as
//! SVG, so that they are there on paper and without scripts; a small script draws them again at
//! the width of the window and lets one zoom. Whatever came from programs or files is escaped,
//! and the page forbids itself every other script and every request.
//!
//! - `loaded`: a run as the report sees it
//! - `chart`: which charts there are, and what is in them
//! - `decimate`: fewer points without losing a peak
//! - `lanes`: labels that do not stand on each other
//! - `svg`: a chart drawn
//! - `embed`: a chart's numbers for the script
//! - `sections`, `account`, `network`: what is written and tabulated

mod account;
mod chart;
mod decimate;
mod embed;
mod lanes;
mod loaded;
mod network;
mod sections;
mod svg;

use std::path::Path;

use anyhow::{Result, bail};
use loaded::Loaded;
use maud::html;
use report_kit::page::Page;

const SCRIPT: &str = include_str!("page.js");

/// How much a report shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    pub charts: usize,
    pub traces: usize,
}

/// Writes a report on runs, in the order given; the first is drawn in the first colour.
///
/// # Errors
/// When there is no run, a folder is none of a run, or the report cannot be written.
pub fn write(runs: &[&Path], out: &Path) -> Result<Written> {
    if runs.is_empty() {
        bail!("a report needs at least one run folder");
    }
    let runs = loaded::load_all(runs)?;
    let charts = chart::all(&runs);
    page(&runs, &charts).write(out)?;
    let traces = charts.iter().map(|chart| chart.traces.len()).sum();
    Ok(Written { charts: charts.len(), traces })
}

fn page(runs: &[Loaded], charts: &[chart::Chart]) -> Page {
    let body = html! {
        (sections::head(runs))
        (sections::answers(runs))
        (sections::warnings(runs))
        (sections::charts(runs, charts))
        (account::section(runs))
        (sections::programs(runs))
        (network::section(runs))
        (sections::provenance(runs, charts))
    };
    Page {
        title: sections::title(runs),
        body,
        style: "",
        data: embed::json(charts),
        script: SCRIPT,
    }
}
