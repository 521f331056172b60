//! What the files of a run say about a measure: pure arithmetic on rows and frames.
//!
//! A run that ended early has seen only part of a window. What it saw still binds the final
//! value: a minimum can only fall further, a count only grow, a silence only get longer. So each
//! finding carries the range in which the final value must lie, and a bound outside that range is
//! missed whatever the rest would have brought. To be met takes the whole window.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use vtime::VirtualSpan;

use super::capture::{Capture, CapturedFrame};
use super::disturbance::Watched;
use super::doubt::{Loss, LostHost, PlantRecord};
use super::frame::Segment;
use super::series::Series;
use super::stream::Streams;
use super::told::{ReportedValues, draw};
use network::capture::Heading;
use plant::name::PointName;
use report_kit::figure::seconds;
use scenario::model::{Bounds, End, Measure, MeasureKind};
use scenario::told::Statistic;

/// What verdicts and charts are drawn from: the files of a run, read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunData {
    /// Name of the file that the series came from.
    pub series_file: String,
    pub series: Option<Series>,
    pub captures: BTreeMap<String, Capture>,
    pub addresses: BTreeMap<String, Option<Ipv4Addr>>,
    /// What programs reported of members that requirements name, by program and member.
    pub reported: BTreeMap<(String, String), ReportedValues>,
    /// What kept programs from acting in time; `None` if nobody watched.
    pub watched: Option<Watched>,
    pub plant: Option<PlantRecord>,
    pub losses: Vec<Loss>,
    /// Hosts without which the run went on.
    pub lost_hosts: Vec<LostHost>,
    /// What `CLOCK_REALTIME` showed at scenario time zero.
    pub realtime_zero_ns: i64,
    /// Planned end of the run: the end of windows that are open.
    pub planned_to: VirtualSpan,
    /// Scenario time that the run reached.
    pub covered_to: VirtualSpan,
    /// Whether it ended there because a part of it failed: the silence before may have come of that.
    pub failed: bool,
}

/// What the data say about a measure.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Finding {
    /// The value measured, over what there is of the window; `None` where it never came to pass.
    pub value: Option<f64>,
    /// Smallest value that it can have once the whole window is known.
    pub lowest: f64,
    /// Largest value that it may have had.
    pub highest: f64,
    /// Why the whole window is not known, if it is not.
    pub shortfall: Option<String>,
    /// Where the value was found, such as `at 44 s`.
    pub remark: String,
}

/// Measures.
///
/// # Errors
/// A sentence that says why there is nothing to measure.
pub(crate) fn measure(measure: &Measure, data: &RunData) -> Result<Finding, String> {
    let window = Bounds::of(measure.window, data.planned_to);
    if window.from_ns >= window.to_ns {
        return Err("the window is empty".into());
    }
    let rows = |point| rows(point, window, data);
    match &measure.kind {
        MeasureKind::Minimum { point } => extreme(&rows(point)?, Side::Low),
        MeasureKind::Maximum { point } => extreme(&rows(point)?, Side::High),
        MeasureKind::FirstBelow { point, value } => Ok(first_below(&rows(point)?, *value)),
        MeasureKind::LastBelow { point, value } => Ok(last_below(&rows(point)?, *value)),
        MeasureKind::Changes { point } => Ok(changes(&rows(point)?)),
        MeasureKind::Received { from, to } => received(from, to, window, data),
        MeasureKind::LongestGap { from, to, port, at } => {
            let polls = new_data_times((from, to, *port), *at, data)?;
            longest_gap(&polls, window, data)
        }
        MeasureKind::Told { member, program, statistic, above } => {
            reported((program, member), *statistic, *above, window, data)
        }
    }
}

impl Finding {
    fn exact(value: f64, remark: String) -> Self {
        Self { value: Some(value), lowest: value, highest: value, shortfall: None, remark }
    }

    fn never(stands_for: f64, remark: String) -> Self {
        Self { value: None, ..Self::exact(stands_for, remark) }
    }

    /// Widens the range by what the rest of the window could bring.
    fn short(mut self, shortfall: Option<&String>, lowest: f64, highest: f64) -> Self {
        if let Some(reason) = shortfall {
            self.shortfall = Some(reason.clone());
            (self.lowest, self.highest) = (lowest, highest);
        }
        self
    }
}

/// The rows of a point in a window.
struct Rows<'a> {
    times_ns: &'a [i64],
    /// What is no number is not known.
    values: &'a [f64],
    /// The value of the row before the window, if there is one.
    before: Option<f64>,
    /// Up to where the rows speak for the window.
    covered_ns: i64,
    begins_late: Option<String>,
    /// Why some of it is no figure, whatever comes.
    unknown: Option<String>,
    shortfall: Option<String>,
}

fn rows<'a>(point: &PointName, window: Bounds, data: &'a RunData) -> Result<Rows<'a>, String> {
    let series = data.series.as_ref().ok_or("no points were recorded")?;
    let column = series.column(point).ok_or_else(|| format!("{} was not recorded", point.0))?;
    let first = series.time_ns.partition_point(|time| *time < window.from_ns);
    let end = series.time_ns.partition_point(|time| *time < window.to_ns);
    if first >= end {
        return Err(format!("there are no rows from {} s on", seconds(window.from_ns)));
    }
    let covered_ns = series.covered_ns().unwrap_or(0).min(data.covered_to.as_ns());
    let covered_ns = covered_ns.min(window.to_ns);
    let begins_late = begins_late(series, window);
    let values = &column.values[first..end];
    let unknown = unknown(point, &series.time_ns[first..end], values, window, data);
    let ends_early = ends_early(covered_ns, window);
    Ok(Rows {
        times_ns: &series.time_ns[first..end],
        values,
        before: column.values[..first].iter().rev().copied().find(|value| value.is_finite()),
        covered_ns,
        shortfall: unknown.clone().or(begins_late.clone()).or(ends_early),
        begins_late,
        unknown,
    })
}

/// Why the rows of a window are not all figures. Where the plant is known to have failed to converge,
/// that is the reason, and it may be allowed.
fn unknown(
    point: &PointName,
    times_ns: &[i64],
    values: &[f64],
    window: Bounds,
    data: &RunData,
) -> Option<String> {
    let unsolved = data.plant.as_ref().and_then(|plant| plant.shortfall(window));
    let explained = data.plant.as_ref().is_some_and(|plant| !plant.unconverged_ns.is_empty());
    let at = values.iter().position(|value| !value.is_finite()).filter(|_| !explained);
    unsolved.or_else(|| {
        let time = seconds(times_ns[at?]);
        Some(format!("there are no values for {} from {time} s on", point.0))
    })
}

fn begins_late(series: &Series, window: Bounds) -> Option<String> {
    let first = *series.time_ns.first()?;
    let late = first > window.from_ns.saturating_add(series.interval_ns());
    let (first, from) = (seconds(first), seconds(window.from_ns));
    late.then(|| format!("the data start at {first} s, the window at {from} s"))
}

fn ends_early(covered_ns: i64, window: Bounds) -> Option<String> {
    let (end, to) = (seconds(covered_ns), seconds(window.to_ns));
    (covered_ns < window.to_ns).then(|| format!("the data end at {end} s, the window at {to} s"))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Low,
    High,
}

fn extreme(rows: &Rows<'_>, side: Side) -> Result<Finding, String> {
    let known = rows.times_ns.iter().zip(rows.values).filter(|(_, value)| value.is_finite());
    let found = match side {
        Side::Low => known.min_by(|a, b| a.1.total_cmp(b.1)),
        // The first of equal values, as for the minimum.
        Side::High => known.rev().max_by(|a, b| a.1.total_cmp(b.1)),
    };
    let (time, value) = found.ok_or("the window contains no values")?;
    let (lowest, highest) = match side {
        Side::Low => (f64::NEG_INFINITY, *value),
        Side::High => (*value, f64::INFINITY),
    };
    let finding = Finding::exact(*value, format!("at {} s", seconds(*time)));
    Ok(finding.short(rows.shortfall.as_ref(), lowest, highest))
}

/// Never counts as later than any bound.
fn first_below(rows: &Rows<'_>, value: f64) -> Finding {
    let found = rows.values.iter().position(|row| row.is_finite() && *row < value);
    let Some(time_s) = found.map(|index| in_seconds(rows.times_ns[index])) else {
        let never = Finding::never(f64::INFINITY, format!("never below {value}"));
        // If it ever comes to pass, then later than what is known, unless that was where nothing is known.
        let known_s =
            if rows.unknown.is_some() { f64::NEG_INFINITY } else { in_seconds(rows.covered_ns) };
        return Finding { lowest: known_s, shortfall: rows.shortfall.clone(), ..never };
    };
    // What comes after the first time changes nothing.
    let shortfall = rows.unknown.as_ref().or(rows.begins_late.as_ref());
    Finding::exact(time_s, String::new()).short(shortfall, f64::NEG_INFINITY, time_s)
}

/// Never counts as earlier than any bound.
fn last_below(rows: &Rows<'_>, value: f64) -> Finding {
    let found = rows.values.iter().rposition(|row| row.is_finite() && *row < value);
    let (finding, lowest) = match found.map(|index| in_seconds(rows.times_ns[index])) {
        Some(time_s) => (Finding::exact(time_s, String::new()), time_s),
        None => {
            let never = Finding::never(f64::NEG_INFINITY, format!("never below {value}"));
            (never, f64::NEG_INFINITY)
        }
    };
    finding.short(rows.shortfall.as_ref(), lowest, f64::INFINITY)
}

fn changes(rows: &Rows<'_>) -> Finding {
    let known = rows.values.iter().copied().filter(|value| value.is_finite());
    let all: Vec<f64> = rows.before.into_iter().chain(known).collect();
    let count = all.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    Finding::exact(count, String::new()).short(rows.shortfall.as_ref(), count, f64::INFINITY)
}

fn received(from: &str, to: &str, window: Bounds, data: &RunData) -> Result<Finding, String> {
    let capture = capture_of(to, data)?;
    let source = address_of(from, data)?;
    let frames = new_data(capture, Heading::Inbound, data);
    let known = Known::of_capture(to, capture, data).heeding_plant(window, data);
    let known = known.heeding_lost_hosts([from, to], data);
    let count = frames
        .filter(|(time_ns, segment)| *segment.source.ip() == source && window.holds(*time_ns))
        .filter(|(time_ns, _)| *time_ns < known.sound_to_ns)
        .count();
    let (count, shortfall) = (count as f64, known.shortfall(window));
    Ok(Finding::exact(count, String::new()).short(shortfall.as_ref(), count, f64::INFINITY))
}

/// When a node sent new payload to a port of another, and how far that is known.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Polls {
    /// Scenario time of each frame, in the order of time.
    pub times_ns: Vec<i64>,
    /// Up to where frames would be known.
    pub covered_ns: i64,
    known: Known,
    at: End,
}

/// When a node sent new payload to a port of another, or when it arrived: from the capture of that
/// end.
///
/// # Errors
/// When there is no capture, or a node has no address.
pub(crate) fn new_data_times(
    (from, to, port): (&str, &str, u16),
    at: End,
    data: &RunData,
) -> Result<Polls, String> {
    let (node, heading) = match at {
        End::Sender => (from, Heading::Outbound),
        End::Receiver => (to, Heading::Inbound),
    };
    let capture = capture_of(node, data)?;
    let (source, destination) = (address_of(from, data)?, address_of(to, data)?);
    let polls = |segment: &Segment| {
        *segment.source.ip() == source
            && *segment.destination.ip() == destination
            && segment.destination.port() == port
    };
    let frames = new_data(capture, heading, data);
    let mut times_ns: Vec<i64> =
        frames.filter(|(_, segment)| polls(segment)).map(|(time_ns, _)| time_ns).collect();
    times_ns.sort_unstable();
    let known = Known::of_capture(node, capture, data).heeding_lost_hosts([from, to], data);
    Ok(Polls { times_ns, covered_ns: known.to_ns, known, at })
}

fn longest_gap(polls: &Polls, window: Bounds, data: &RunData) -> Result<Finding, String> {
    let known = polls.known.clone().heeding_plant(window, data);
    let known_to_ns = known.to_ns.min(window.to_ns);
    let shortfall = known.shortfall(window);
    if known_to_ns <= window.from_ns {
        return Err(shortfall.unwrap_or_default());
    }
    let known_window = Bounds { to_ns: known_to_ns, ..window };
    let within = polls.times_ns.iter().copied().filter(|time| known_window.holds(*time));
    let mut edges = vec![window.from_ns];
    edges.extend(within);
    // The silence up to the end of what is known is one too, unless who was to speak may have been gone
    // before that was noticed.
    if !(data.failed && known_to_ns == data.covered_to.as_ns()) {
        edges.push(known_to_ns);
    } else if edges.len() < 2 {
        return Err(shortfall.unwrap_or_default());
    }
    let gaps = edges.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
    let (gap_ns, begin_ns) = gaps.rev().max_by_key(|gap| gap.0).expect("two edges make a gap");
    let gap_ms = gap_ns as f64 / 1e6;
    let remark = format!("from {} s on, at the {}", seconds(begin_ns), polls.at.name());
    Ok(Finding::exact(gap_ms, remark).short(shortfall.as_ref(), gap_ms, f64::INFINITY))
}

/// Numbers that a program reported in a window, those above a bound only.
fn reported(
    (program, member): (&str, &str),
    statistic: Statistic,
    above: Option<f64>,
    window: Bounds,
    data: &RunData,
) -> Result<Finding, String> {
    let reported = data.reported.get(&(program.to_owned(), member.to_owned()));
    let reported = reported.ok_or_else(|| format!("there is no log of {program}"))?;
    let known = Known::of_log(program, reported, data).heeding_plant(window, data);
    let within = |time| window.holds(time) && time < known.sound_to_ns;
    let all = reported.rows.iter().filter(|(time, _)| within(*time));
    let all: Vec<f64> = all.map(|(_, value)| *value).collect();
    if all.is_empty() {
        return Err(format!("{program} reported no {member}"));
    }
    let is_above = |value: &f64| above.is_none_or(|above| *value > above);
    let mut some: Vec<f64> = all.iter().copied().filter(is_above).collect();
    some.sort_by(f64::total_cmp);
    let value = draw(statistic, &some)?;
    let shortfall = known.shortfall(window);
    let (lowest, highest) = match statistic {
        Statistic::Count | Statistic::Maximum => (value, f64::INFINITY),
        Statistic::Minimum => (f64::NEG_INFINITY, value),
        Statistic::Mean | Statistic::Percentile(_) => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let remark = format!("of {} line{}", all.len(), if all.len() == 1 { "" } else { "s" });
    Ok(Finding::exact(value, remark).short(shortfall.as_ref(), lowest, highest))
}

/// Frames that carry payload for the first time, with their scenario time.
fn new_data<'a>(
    capture: &'a Capture,
    heading: Heading,
    data: &'a RunData,
) -> impl Iterator<Item = (i64, Segment)> + 'a {
    let mut streams = Streams::default();
    let frames = capture.frames.iter().filter(move |frame| frame.heading == Some(heading));
    frames.filter_map(move |frame| {
        let segment = Segment::parse(&frame.bytes)?;
        streams.is_new(&segment).then(|| (scenario_ns(frame, data), segment))
    })
}

fn scenario_ns(frame: &CapturedFrame, data: &RunData) -> i64 {
    frame.realtime_ns.saturating_sub(data.realtime_zero_ns)
}

/// How far a file is known to hold all that it should.
#[derive(Clone, PartialEq, Debug)]
struct Known {
    /// Up to where it is whole.
    to_ns: i64,
    /// Up to where what is in it counts: beyond a hole there are facts, though not all.
    sound_to_ns: i64,
    /// Why it is not whole any further, unless that is because the run went no further.
    reason: Option<String>,
}

impl Known {
    /// A file without a hole speaks as far as the run came.
    fn of_file(file: &str, data: &RunData) -> Self {
        let reached = data.covered_to.as_ns();
        let whole = Self { to_ns: reached, sound_to_ns: i64::MAX, reason: None };
        let losses = data.losses.iter().filter(|loss| loss.file == file);
        losses.fold(whole, Self::up_to)
    }

    /// One that is torn, as far as its last frame.
    fn of_capture(node: &str, capture: &Capture, data: &RunData) -> Self {
        let file = format!("captures/{node}.pcapng");
        let whole = Self::of_file(&file, data);
        if !capture.torn {
            return whole;
        }
        let last = capture.frames.last().map_or(i64::MIN, |last| scenario_ns(last, data));
        let reason = format!("the capture of {node} is cut off");
        whole.up_to(&Loss { file, from_ns: last, reason })
    }

    /// The log of a program says itself what is missing in it.
    fn of_log(program: &str, reported: &ReportedValues, data: &RunData) -> Self {
        let known = Self::of_file(&format!("programs/{program}.log"), data);
        reported.lost.as_ref().map_or(known.clone(), |loss| known.up_to(loss))
    }

    fn up_to(self, loss: &Loss) -> Self {
        if loss.from_ns >= self.to_ns {
            return self;
        }
        Self { to_ns: loss.from_ns, reason: Some(loss.reason.clone()), ..self }
    }

    /// What programs do once they got no answer from the plant is not what they would do.
    fn heeding_plant(self, window: Bounds, data: &RunData) -> Self {
        let lost = data.plant.as_ref().and_then(|plant| plant.programs_lost(window));
        let Some(lost) = lost else { return self };
        Self { sound_to_ns: self.sound_to_ns.min(lost.from_ns), ..self.up_to(&lost) }
    }

    /// What two nodes say to each other is not what they would say once the host of one is lost, or one with a switch.
    fn heeding_lost_hosts(self, nodes: [&str; 2], data: &RunData) -> Self {
        let is_between = |lost: &&LostHost| {
            !lost.switches.is_empty() || lost.nodes.iter().any(|node| nodes.contains(&&**node))
        };
        data.lost_hosts.iter().filter(is_between).fold(self, |known, lost| {
            let loss = Loss {
                file: String::new(),
                from_ns: lost.at_ns,
                reason: format!("host `{}` was lost", lost.host),
            };
            Self { sound_to_ns: known.sound_to_ns.min(lost.at_ns), ..known.up_to(&loss) }
        })
    }

    fn shortfall(&self, window: Bounds) -> Option<String> {
        let known_to_ns = self.to_ns.min(window.to_ns);
        let ends = ends_early(known_to_ns, window)?;
        Some(self.reason.as_ref().map_or(ends.clone(), |reason| format!("{reason}: {ends}")))
    }
}

fn capture_of<'a>(node: &str, data: &'a RunData) -> Result<&'a Capture, String> {
    data.captures.get(node).ok_or_else(|| format!("there is no capture for {node}"))
}

fn address_of(node: &str, data: &RunData) -> Result<Ipv4Addr, String> {
    let address = data.addresses.get(node).copied().flatten();
    address.ok_or_else(|| format!("{node} has no address"))
}

/// Exact to the nanosecond for 104 days.
pub(crate) fn in_seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}
