//! Requirements judged: met, missed, disturbed or not measured, each with the file and the query its figure
//! came from. Pure: files are read by the folder.
//!
//! A requirement is missed as soon as nothing that could follow would change that, also on a run that
//! ended early. It is met only if its whole window was seen. Where the machine kept programs from
//! acting in time it is disturbed, whatever it would have been ([`super::disturbance`]).

use serde::{Deserialize, Serialize};

use super::columns;
use super::disturbance::disturbed;
use super::measure::{Finding, RunData, measure};
use domain::Pace;
use report_kit::figure::{figure, figure_beside, seconds};
use report_kit::outcome::Outcome;
use scenario::model::{Bounds, End, Measure, MeasureKind, Requirement};
use terminal::exit::Exit;

/// A requirement and what became of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    pub requirement: Requirement,
    pub outcome: Outcome,
    /// The value measured, over what there is of the window.
    pub value: Option<f64>,
    /// Its unit; empty for counts.
    pub unit: String,
    /// Why, or where the value was found.
    pub reason: String,
    pub source: Source,
}

/// Where a figure came from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Source {
    pub file: String,
    pub query: String,
}

/// Judges a requirement by the files of a run.
pub fn judge(requirement: &Requirement, data: &RunData) -> Verdict {
    let ((outcome, reason), value) = match measure(&requirement.measure, data) {
        Ok(finding) => {
            let weighed = sound(requirement, data, weigh(requirement, &finding));
            (doubt(requirement, data, weighed), finding.value)
        }
        Err(reason) => ((Outcome::NotMeasured, reason), None),
    };
    let reason = with_lost_hosts(requirement, data, reason);
    Verdict {
        requirement: requirement.clone(),
        outcome,
        value,
        unit: requirement.measure.unit().to_owned(),
        reason,
        source: source_of(&requirement.measure, data),
    }
}

fn weigh(requirement: &Requirement, finding: &Finding) -> (Outcome, String) {
    let too_low = requirement.at_least.is_some_and(|bound| finding.highest < bound);
    let too_high = requirement.at_most.is_some_and(|bound| finding.lowest > bound);
    let within = requirement.at_least.is_none_or(|bound| finding.lowest >= bound)
        && requirement.at_most.is_none_or(|bound| finding.highest <= bound);
    let outcome = if too_low || too_high {
        Outcome::Missed
    } else if within && finding.shortfall.is_none() {
        Outcome::Met
    } else {
        Outcome::NotMeasured
    };
    let parts = [Some(finding.remark.clone()), finding.shortfall.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (outcome, parts.join("; "))
}

/// What is left of a verdict that no run could miss: a gap is as long as its window at most.
fn sound(
    requirement: &Requirement,
    data: &RunData,
    (outcome, reason): (Outcome, String),
) -> (Outcome, String) {
    let window = Bounds::of(requirement.measure.window, data.planned_to);
    let length_ms = (window.to_ns - window.from_ns) as f64 / 1e6;
    let is_gap = matches!(requirement.measure.kind, MeasureKind::LongestGap { .. });
    match requirement.at_most {
        Some(most) if is_gap && outcome == Outcome::Met && most >= length_ms => {
            let (length, most) = (figure(length_ms), figure(most));
            (Outcome::NotMeasured, format!("no gap in {length} ms is longer than {most} ms"))
        }
        _ => (outcome, reason),
    }
}

/// What is left of a verdict where programs were kept from acting in time. Data that do not say are no
/// better for that.
fn doubt(
    requirement: &Requirement,
    data: &RunData,
    (outcome, reason): (Outcome, String),
) -> (Outcome, String) {
    let Some(watched) = &data.watched else { return (outcome, reason) };
    let window = Bounds::of(requirement.measure.window, data.planned_to);
    let seen_to_ns = window.to_ns.min(data.covered_to.as_ns());
    let (outcome, why) = match disturbed(requirement, window, watched) {
        Some(why) if outcome == Outcome::NotMeasured => (outcome, why),
        Some(why) => (Outcome::Disturbed, format!("{why}; would be {}", outcome.words())),
        None if watched.to_ns < seen_to_ns => {
            let to = seconds(watched.to_ns);
            (Outcome::NotMeasured, format!("disturbances were not recorded after {to} s"))
        }
        None => return (outcome, reason),
    };
    (outcome, if reason.is_empty() { why } else { format!("{why}; {reason}") })
}

/// The reason, with the hosts behind it without which the run went on within the window: whatever was measured, somebody was
/// not there.
fn with_lost_hosts(requirement: &Requirement, data: &RunData, reason: String) -> String {
    let window = Bounds::of(requirement.measure.window, data.planned_to);
    let lost = data.lost_hosts.iter().filter(|lost| lost.at_ns < window.to_ns);
    let lost =
        lost.map(|lost| format!("without host `{}` after {} s", lost.host, seconds(lost.at_ns)));
    let parts = Some(reason).into_iter().filter(|reason| !reason.is_empty()).chain(lost);
    parts.collect::<Vec<_>>().join("; ")
}

fn source_of(measure: &Measure, data: &RunData) -> Source {
    let window = Bounds::of(measure.window, data.planned_to);
    let (from, to) = (seconds(window.from_ns), seconds(window.to_ns));
    let series = |what: String| Source {
        file: data.series_file.clone(),
        query: format!("{what}, {from} s ≤ time_ns < {to} s"),
    };
    let address = |node: &str| {
        let address = data.addresses.get(node).copied().flatten();
        address.map_or_else(|| node.to_owned(), |address| address.to_string())
    };
    let within =
        |file, what: String| Source { file, query: format!("{what}, {from} s ≤ time < {to} s") };
    let capture = |node: &str, what| within(format!("captures/{node}.pcapng"), what);
    match &measure.kind {
        MeasureKind::Minimum { point } => series(format!("minimum of {}", point.0)),
        MeasureKind::Maximum { point } => series(format!("maximum of {}", point.0)),
        MeasureKind::FirstBelow { point, value } => {
            series(format!("first row with {} < {value}", point.0))
        }
        MeasureKind::LastBelow { point, value } => {
            series(format!("last row with {} < {value}", point.0))
        }
        MeasureKind::Changes { point } => {
            series(format!("rows where {} differs from the previous row", point.0))
        }
        MeasureKind::Received { from, to } => {
            capture(to, format!("frames inbound with new payload, ip.src == {}", address(from)))
        }
        MeasureKind::LongestGap { from, to, port, at } => {
            let (node, way, end, peer) = match at {
                End::Sender => (from, "outbound", "dst", to),
                End::Receiver => (to, "inbound", "src", from),
            };
            let frames = format!("{way} with new payload, ip.{end} == {}", address(peer));
            capture(node, format!("longest time between frames {frames}, port {port}"))
        }
        MeasureKind::Told { member, program, statistic, above } => {
            let above = above.map_or_else(String::new, |above| format!(" > {}", figure(above)));
            let what = format!("{} of {member}{above}", statistic.name());
            within(format!("programs/{program}.log"), what)
        }
    }
}

/// How `qcycle` ends with these verdicts.
pub fn exit(verdicts: &[Verdict]) -> Exit {
    let any = |outcome| verdicts.iter().any(|verdict| verdict.outcome == outcome);
    if any(Outcome::Missed) {
        Exit::Missed
    } else if any(Outcome::Disturbed) {
        Exit::Disturbed
    } else if any(Outcome::NotMeasured) {
        Exit::NotMeasured
    } else {
        Exit::Done
    }
}

impl Verdict {
    /// The value with its unit; a dash where there is none.
    pub fn value_text(&self) -> String {
        let bounds = [self.requirement.at_least, self.requirement.at_most];
        let text = self.value.map(|value| figure_beside(value, &bounds));
        text.map_or_else(|| "–".to_owned(), |text| with_unit(text, &self.unit))
    }

    /// The bounds with their unit.
    pub fn bounds_text(&self) -> String {
        let text = match (self.requirement.at_least, self.requirement.at_most) {
            (None, None) => return "none".to_owned(),
            (Some(low), None) => format!("≥ {}", figure(low)),
            (None, Some(high)) => format!("≤ {}", figure(high)),
            (Some(low), Some(high)) if low == high => format!("= {}", figure(low)),
            (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
        };
        with_unit(text, &self.unit)
    }
}

fn with_unit(text: String, unit: &str) -> String {
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// Verdicts as a table for a terminal.
///
/// A verdict of a clock that stood while programs computed is one about what they do, not about how fast
/// they compute; it says so.
pub fn table(verdicts: &[Verdict], pace: Pace) -> String {
    let head = ["verdict", "requirement", "measured", "bounds", "where and why"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(verdicts.iter().map(|verdict| {
        [
            format!("{}{}", verdict.outcome.words(), beside(pace)),
            verdict.requirement.name.clone(),
            verdict.value_text(),
            verdict.bounds_text(),
            verdict.reason.clone(),
        ]
    }));
    columns::aligned(&rows, &[2])
}

/// What stands beside a verdict of a run of this pace.
pub(crate) const fn beside(pace: Pace) -> &'static str {
    match pace {
        Pace::Events => " (events)",
        Pace::Real | Pace::Skip => "",
    }
}
