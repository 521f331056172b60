//! What kept programs from acting in time though they wanted to, and whether it is too much for a
//! verdict. Pure.
//!
//! A verdict about a deadline speaks of the software under test only if the machine below it did
//! what it should. Programs that wait for a processor while others have it, timed waits that end
//! late, and frames that the emulated network hands over late all look like slow software. So a
//! verdict is **disturbed** if in its window
//!
//! - at one moment the longest delays of all who count add up to more than its bound: one delay may
//!   make another one later, so they are added; or
//! - what one of them has lost adds up to more than a share of the window: nobody waits for long, but
//!   a loop in fifty is missing; or
//! - somebody changed how fast time runs, or calls failed because the testbed lacked something.
//!
//! It is then disturbed whatever it says: a late program may make a missed deadline of a good one,
//! and may as well hide a bad one. The bound is a tenth of the requirement's own scale: of the bound
//! where that is a time, of the width between the bounds where these are moments.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use report_kit::figure::{figure, seconds};
use scenario::model::{Bounds, MeasureKind, Requirement};

/// Bound of what has no time of its own: a tenth of the 100 ms in which a control centre polls.
pub const BOUND_DEFAULT: VirtualSpan = VirtualSpan::from_ms(10);
/// A bound is this part of the scale of a requirement.
const BOUND_PART: f64 = 0.1;
/// Share of a window that one may lose in all. A host with nothing else to do takes a tenth of it.
const LOST_SHARE: f64 = 0.02;

/// Something that kept somebody from acting in time. Times are scenario time in the results of a run,
/// and virtual time of the domain where agents report them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Disturbance {
    /// Begin of the time in which it lay.
    pub from_ns: i64,
    /// End of that time.
    pub to_ns: i64,
    /// Node of the program; `None` for the testbed itself.
    pub node: Option<String>,
    /// Who was late: a program, or a part of the testbed.
    pub who: String,
    pub cause: Cause,
    /// Virtual time of the longest delay.
    pub longest_ns: i64,
    /// Virtual time of all delays.
    pub lost_ns: i64,
}

/// Why somebody was late.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Debug,
    Serialize,
    Deserialize,
    strum::EnumIter,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// It was ready to run, and others had the processors.
    Waited,
    /// A timed wait ended late, for whatever reason.
    WokeLate,
    /// At a time dilation factor below 1 it computed for longer than it would natively.
    Computed,
    /// The testbed let it wait at an exec, for the answer to a call about a timer, or for a timer.
    Served,
    /// A part of the testbed was late with what it does for programs.
    Late,
    /// Somebody changed the time dilation factor during the run.
    Rate,
    /// Calls failed because the testbed lacked something, not the program.
    Refused,
    /// It was in the kernel and could not be waken, as while it waits for a disk or for memory.
    Blocked,
    /// It was stopped, by a signal or by who traces it.
    Stopped,
    /// Lines that it wrote were read late, so they have later stamps than they should.
    Stamped,
    /// A table that this kernel has for all had no room for it.
    Full,
}

impl Cause {
    /// Whether it is no delay, and disturbs however short it was.
    pub const fn is_no_delay(self) -> bool {
        matches!(self, Self::Rate | Self::Refused | Self::Full)
    }

    /// The word in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What befell whom, without how long.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Waited => "waited for a processor while others had it",
            Self::WokeLate => "woke up late",
            Self::Computed => "computed for longer than at a tdf of 1",
            Self::Served => "was served late by the testbed",
            Self::Late => "was late",
            Self::Rate => "had its tdf changed from outside",
            Self::Refused => "had calls of timers fail because the testbed lacked descriptors",
            Self::Blocked => "was blocked in the kernel, by a disk or for memory",
            Self::Stopped => "was stopped by a signal or a tracer",
            Self::Stamped => "had its lines stamped late",
            Self::Full => "was full and dropped or rejected entries",
        }
    }
}

impl Disturbance {
    /// Who it befell, with the node.
    pub fn whom(&self) -> String {
        match &self.node {
            Some(node) => format!("`{}` in {node}", self.who),
            None => self.who.clone(),
        }
    }

    fn befalls(&self, requirement: &Requirement, window: Bounds) -> bool {
        let nodes = requirement.disturbed.nodes.as_ref();
        let counts = self.node.as_ref().zip(nodes).is_none_or(|(node, nodes)| nodes.contains(node));
        // Nothing but its lines is late.
        let is_read = matches!(&requirement.measure.kind,
            MeasureKind::Told { program, .. } if *program == self.who);
        let counts = counts && (self.cause != Cause::Stamped || is_read);
        counts && self.from_ns < window.to_ns && self.to_ns > window.from_ns
    }

    /// Cuts off what lay before a moment. No delay is then longer than the time that is left.
    pub fn begin_at(&mut self, from_ns: i64) {
        if self.from_ns >= from_ns {
            return;
        }
        let lost_ns = self.lost_within(Bounds { from_ns, to_ns: i64::MAX });
        (self.from_ns, self.to_ns) = (from_ns, self.to_ns.max(from_ns.saturating_add(1)));
        self.longest_ns = self.longest_ns.min(self.to_ns - from_ns);
        self.lost_ns = lost_ns.max(self.longest_ns);
    }

    /// The part of its delays that lay in a window, if they were spread evenly.
    fn lost_within(&self, window: Bounds) -> i64 {
        let length_ns = self.to_ns.saturating_sub(self.from_ns);
        let within_ns = self.to_ns.min(window.to_ns) - self.from_ns.max(window.from_ns);
        if within_ns >= length_ns {
            return self.lost_ns;
        }
        part_of(self.lost_ns, within_ns as f64 / length_ns as f64)
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whom, cause, at) = (self.whom(), self.cause.words(), seconds(self.from_ns));
        if self.cause.is_no_delay() {
            return write!(out, "{whom} {cause} at {at} s");
        }
        write!(out, "{whom} {cause}, {} at {at} s", ms(self.longest_ns))
    }
}

/// What is known of disturbances of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Watched {
    /// Scenario time up to which they are known.
    pub to_ns: i64,
    pub disturbances: Vec<Disturbance>,
}

/// The bound of a requirement: how long somebody may be kept from acting at one moment.
pub fn bound_of(requirement: &Requirement) -> VirtualSpan {
    if let Some(above) = requirement.disturbed.above {
        return above;
    }
    let (least, most) = (requirement.at_least, requirement.at_most);
    let scale_s = match requirement.measure.kind {
        MeasureKind::FirstBelow { .. } | MeasureKind::LastBelow { .. } => {
            least.zip(most).map(|(least, most)| most - least)
        }
        _ if requirement.measure.unit() == "ms" => most.or(least).map(|bound| bound.abs() / 1e3),
        _ => None,
    };
    let bound = scale_s.filter(|scale| *scale > 0.0).map(|scale| scale * BOUND_PART);
    // The conversion saturates, far beyond any run.
    bound.map_or(BOUND_DEFAULT, |bound| VirtualSpan::from_ns((bound * 1e9).round() as i64))
}

/// Why a requirement cannot be judged by what happened in its window; `None` if it can.
pub fn disturbed(requirement: &Requirement, window: Bounds, watched: &Watched) -> Option<String> {
    let bound_ns = bound_of(requirement).as_ns();
    let all = watched.disturbances.iter();
    let befell: Vec<_> = all.filter(|one| one.befalls(requirement, window)).collect();
    if let Some(changed) = befell.iter().find(|one| one.cause.is_no_delay()) {
        return Some(changed.to_string());
    }
    if let Some(moment) = worst_moment(&befell).filter(|moment| moment.sum_ns > bound_ns) {
        let others = match moment.count {
            1 => String::new(),
            2 => format!(" ({} together with 1 other)", ms(moment.sum_ns)),
            count => format!(" ({} together with {} others)", ms(moment.sum_ns), count - 1),
        };
        return Some(format!("{}{others}; the limit is {}", moment.worst, ms(bound_ns)));
    }
    let length_ns = window.to_ns.saturating_sub(window.from_ns);
    let (worst, lost_ns) = most_lost(&befell, window)?;
    let allowed_ns = bound_ns.max(part_of(length_ns, LOST_SHARE));
    (lost_ns > allowed_ns).then(|| {
        format!(
            "{} {} for {} in total, {} % of the time; the limit is {}",
            worst.whom(),
            worst.cause.words(),
            ms(lost_ns),
            figure((lost_ns as f64 / length_ns as f64 * 1000.0).round() / 10.0),
            ms(allowed_ns)
        )
    })
}

/// A moment at which delays of several add up.
struct Moment<'a> {
    worst: &'a Disturbance,
    sum_ns: i64,
    count: usize,
}

/// The moment at which the longest delays of all add up to most. Several delays of one count as the
/// longest of them.
fn worst_moment<'a>(befell: &[&'a Disturbance]) -> Option<Moment<'a>> {
    let mut ordered = befell.to_vec();
    ordered.sort_by_key(|one| one.from_ns);
    let mut present: Vec<&Disturbance> = Vec::new();
    let mut worst: Option<Moment<'a>> = None;
    for one in ordered {
        present.retain(|other| other.to_ns > one.from_ns);
        present.push(one);
        let mut longest: BTreeMap<(&Option<String>, &str), &'a Disturbance> = BTreeMap::new();
        for other in &present {
            let known = longest.entry((&other.node, &other.who)).or_insert(other);
            if other.longest_ns > known.longest_ns {
                *known = other;
            }
        }
        let sum_ns = longest.values().fold(0, |sum: i64, one| sum.saturating_add(one.longest_ns));
        if worst.as_ref().is_none_or(|worst| sum_ns > worst.sum_ns) {
            let count = longest.len();
            let most = longest.into_values().max_by_key(|one| one.longest_ns);
            worst = most.map(|worst| Moment { worst, sum_ns, count });
        }
    }
    worst
}

/// Who has lost most in a window, for what, and how much. What a wait for a processor made late is lost
/// once, so reasons and what they led to are added up apart.
fn most_lost<'a>(befell: &[&'a Disturbance], window: Bounds) -> Option<(&'a Disturbance, i64)> {
    let mut lost = BTreeMap::new();
    for one in befell {
        let is_reason = !matches!(one.cause, Cause::WokeLate | Cause::Late);
        let entry = lost.entry((&one.node, &one.who, is_reason)).or_insert((*one, 0_i64));
        entry.1 = entry.1.saturating_add(one.lost_within(window));
        if one.lost_ns > entry.0.lost_ns {
            entry.0 = one;
        }
    }
    lost.into_values().max_by_key(|(_, lost_ns)| *lost_ns)
}

fn part_of(ns: i64, part: f64) -> i64 {
    (ns as f64 * part) as i64
}

/// In milliseconds to the hundredth; in microseconds what would be none of them.
fn ms(ns: i64) -> String {
    if ns.abs() < 10_000 {
        return format!("{} us", figure(ns as f64 / 1e3));
    }
    format!("{} ms", figure((ns as f64 / 1e4).round() / 100.0))
}
