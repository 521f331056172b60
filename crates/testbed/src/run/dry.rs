//! A scenario checked as before a run, and nothing started: its file, its data, its circuit with
//! every point, and what this machine must have.

use std::fmt::Write as _;
use std::path::Path;

use super::failure::Failure;
use super::grid::Grid;
use super::{engine, parts};
use crate::nodes::needs::Needs;
use scenario::model::Scenario;
use scenario::{self, Options};

/// Checks a scenario, in all its variants if none is chosen. Returns what there is, in a line. Must
/// be called while the process has one thread.
///
/// # Errors
/// What would keep a run from beginning: first all that is wrong with the scenario.
pub fn check(file: &Path, options: &Options) -> Result<String, Failure> {
    let variants = match &options.variant {
        Some(_) => Vec::new(),
        None => scenario::variants(file).map_err(Failure::Scenario)?,
    };
    let chosen = match variants.is_empty() {
        true => vec![options.variant.clone()],
        false => variants.iter().cloned().map(Some).collect(),
    };
    let mut scenarios = Vec::new();
    for variant in chosen {
        let options = Options { variant, ..options.clone() };
        scenarios.push(scenario::read(file, &options).map_err(Failure::Scenario)?);
    }
    // The engine may start threads, and namespaces are for processes with one; but what is wrong
    // with the scenario is reported first, as it is so on every machine.
    let needs: Result<Vec<()>, _> =
        scenarios.iter().filter_map(parts::needs_here).map(Needs::check).collect();
    // Points are those of all variants, so one plant answers for all.
    if let Some((scenario, plan)) = scenarios.first().and_then(|s| Some((s, s.plant.as_ref()?))) {
        Grid::open(scenario, plan, &engine::folders())?;
    }
    needs.map_err(Failure::Setup)?;
    Ok(scenarios.first().map(|scenario| summary(scenario, &variants)).unwrap_or_default())
}

fn summary(scenario: &Scenario, variants: &[String]) -> String {
    let programs = scenario.nodes.iter().map(|node| node.programs.len()).sum();
    let counts = [
        (scenario.nodes.len(), "node"),
        (programs, "program"),
        (scenario.network.links.len(), "link"),
        (scenario.unchecked.points.len(), "mention of points"),
        (scenario.requirements.len(), "requirement"),
    ];
    let counts: Vec<String> = counts.into_iter().map(|(n, what)| counted(n, what)).collect();
    let mut text = format!("{}: no errors", scenario.unchecked.file.display());
    let _ = write!(text, " ({})", counts.join(", "));
    if !variants.is_empty() {
        let _ = write!(text, "; variants: {}", variants.join(", "));
    }
    text + "; nothing was started"
}

fn counted(count: usize, what: &str) -> String {
    match (count, what.split_once(' ')) {
        (1, _) => format!("1 {what}"),
        (_, Some((noun, rest))) => format!("{count} {noun}s {rest}"),
        (_, None) => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_is_counted_in_words() {
        assert_eq!(counted(1, "node"), "1 node");
        assert_eq!(counted(0, "link"), "0 links");
        assert_eq!(counted(2, "mention of points"), "2 mentions of points");
    }
}
