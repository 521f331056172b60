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
//! - `axis`: ticks at round numbers
//! - `svg`: a chart drawn
//! - `embed`: a chart's numbers for the script
//! - `sections`, `account`, `network`: what is written and tabulated
//! - `html`: escaping

mod account;
mod axis;
mod chart;
mod decimate;
mod embed;
mod html;
mod loaded;
mod network;
mod sections;
mod svg;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use html::escape;
use loaded::Loaded;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    /// Charts in the report.
    pub charts: usize,
    /// Lines in them.
    pub traces: usize,
}

/// Writes a report on runs, in the order given; the first is drawn in the first colour.
///
/// # Errors
/// When there is no run, a folder is none of a run, or the report cannot be written.
pub fn write(runs: &[&Path], out: &Path) -> Result<Written> {
    if runs.is_empty() {
        bail!("a report needs at least one folder of a run");
    }
    let runs = loaded::load_all(runs)?;
    let charts = chart::all(&runs);
    let page = page(&runs, &charts);
    let temporary = out.with_extension("html.tmp");
    fs::write(&temporary, page).with_context(|| format!("writing {}", temporary.display()))?;
    fs::rename(&temporary, out).with_context(|| format!("writing {}", out.display()))?;
    let traces = charts.iter().map(|chart| chart.traces.len()).sum();
    Ok(Written { charts: charts.len(), traces })
}

fn page(runs: &[Loaded], charts: &[chart::Chart]) -> String {
    let title = escape(&sections::title(runs));
    let policy = policy();
    let body = [
        sections::head(runs),
        sections::answers(runs),
        sections::warnings(runs),
        sections::charts(runs, charts),
        account::section(runs),
        sections::programs(runs),
        network::section(runs),
        sections::provenance(runs, charts),
    ]
    .concat();
    let data = embed::json(charts);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Only the script of this page runs, and nothing is loaded from anywhere.
fn policy() -> String {
    let hash = html::base64(&Sha256::digest(SCRIPT));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}
