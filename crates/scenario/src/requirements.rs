//! Reads `requirements`: bounds on what is measured.
//!
//! Bounds carry the unit of their measure, so a voltage is never compared with a power. A
//! window must lie within the run as the file has it; when a shorter run is asked for on the
//! command line, what lies beyond its end is for the verdict to call not measured.

use ::plant::name;
use std::collections::BTreeMap;

use super::check::World;
use super::model::{Disturbed, End, Measure, MeasureKind, Requirement, Window};
use super::network::Part;
use super::told::{self, Statistic};
use plant::name::PointName;
use settings::cursor::{Cursor, Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::units;

/// Largest count that a bound may name; up to there floating point counts exactly.
const COUNT_MAX: u64 = 1 << 53;

pub(super) fn read<'a>(
    cursors: &[Cursor<'a>],
    taken: &mut BTreeMap<String, usize>,
    world: &World<'_>,
) -> Vec<Requirement> {
    let mappings = cursors.iter().filter_map(Cursor::mapping);
    mappings.filter_map(|mapping| read_requirement(&mapping, taken, world)).collect()
}

fn read_requirement(
    requirement: &Mapping<'_>,
    taken: &mut BTreeMap<String, usize>,
    world: &World<'_>,
) -> Option<Requirement> {
    let name = requirement.text("name");
    if let Some(name) = &name
        && let Some(line) = taken.insert(name.value.clone(), name.place.line())
    {
        let what = format!("the requirement on line {line} is also called {}", quoted(&name.value));
        name.place.wrong(what, "give each requirement a name of its own");
    }
    let form = requirement.cursor("measure").and_then(|cursor| cursor.form());
    let measure = form.and_then(|form| read_measure(&form, world));
    if !requirement.has("at_least") && !requirement.has("at_most") {
        let what = "neither `at_least` nor `at_most` is given";
        requirement.place.wrong(what, "give one bound or both");
    }
    let disturbed = read_disturbed(requirement, measure.as_ref(), world);
    let measure = measure?;
    let bound = |key| requirement.parse(key, |text| read_bound(text, &measure));
    let (at_least, at_most) = (bound("at_least"), bound("at_most"));
    if let (Some(least), Some(most)) = (&at_least, &at_most)
        && least.value > most.value
    {
        let fix = "swap the bounds, or correct one";
        most.place.wrong("`at_most` is smaller than `at_least`, so no value meets both", fix);
    }
    if let Some(least) = &at_least {
        refuse_too_late(least, &measure, world);
    }
    let value = |bound: Option<Placed<'_, f64>>| bound.map(|bound| bound.value);
    Some(Requirement {
        name: name?.value,
        measure,
        at_least: value(at_least),
        at_most: value(at_most),
        disturbed: disturbed?,
    })
}

fn read_disturbed(
    requirement: &Mapping<'_>,
    measure: Option<&Measure>,
    world: &World<'_>,
) -> Option<Disturbed> {
    let above = requirement.parse("disturbed_above", units::time_positive);
    let nodes = requirement.items("depends_on");
    let is_empty = requirement.has("depends_on") && nodes.is_empty();
    if is_empty {
        let fix = "name the nodes that count, or remove it to count all of them";
        requirement.place.wrong("`depends_on` is empty", fix);
    }
    let names = nodes.iter().map(|node| node.parse(|name| Ok(name.to_owned())));
    let nodes: Vec<_> = names.flatten().collect();
    // Each of them, so that all mistakes are reported.
    let wrong = nodes.iter().filter(|node| !world.expect(node, Part::Node)).count();
    let mut named: Vec<String> = nodes.into_iter().map(|node| node.value).collect();
    // What is measured of a node depends on that, whatever else is named.
    for node in measure.map(|measure| measured_at(measure, world)).unwrap_or_default() {
        if !named.contains(node) {
            named.push(node.clone());
        }
    }
    (wrong == 0 && !is_empty).then(|| Disturbed {
        above: above.map(|above| above.value),
        nodes: requirement.has("depends_on").then_some(named),
    })
}

/// The nodes whose programs do what is measured.
fn measured_at<'w>(measure: &'w Measure, world: &'w World<'_>) -> Vec<&'w String> {
    match &measure.kind {
        MeasureKind::Received { from, to } => vec![from, to],
        MeasureKind::LongestGap { from, .. } => vec![from],
        MeasureKind::Told { program, .. } => world.programs.get(program).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn read_bound(text: &str, measure: &Measure) -> Result<f64, Fault> {
    match measure.kind {
        MeasureKind::Changes { .. }
        | MeasureKind::Received { .. }
        | MeasureKind::Told { statistic: Statistic::Count, .. } => {
            units::whole(text, 0, COUNT_MAX).map(|count| count as f64)
        }
        _ => units::value(text, measure.unit()),
    }
}

/// Reports a time that nothing in the run can reach.
fn refuse_too_late(least: &Placed<'_, f64>, measure: &Measure, world: &World<'_>) {
    let is_moment =
        matches!(measure.kind, MeasureKind::FirstBelow { .. } | MeasureKind::LastBelow { .. });
    if let Some(duration) = world.duration
        && is_moment
        && least.value >= duration.as_ns() as f64 / 1e9
    {
        let what = format!("this is after the end of the run, at {duration}");
        least.place.wrong(what, "use an earlier time, or increase `duration`");
    }
}

fn read_measure(form: &Mapping<'_>, world: &World<'_>) -> Option<Measure> {
    let window = read_window(form, world);
    let point = || recorded_point(form, world);
    let kind = match form.table.tag() {
        "minimum" => MeasureKind::Minimum { point: point()? },
        "maximum" => MeasureKind::Maximum { point: point()? },
        "first_below" => {
            let (point, value) = point_and_value(form, world)?;
            MeasureKind::FirstBelow { point, value }
        }
        "last_below" => {
            let (point, value) = point_and_value(form, world)?;
            MeasureKind::LastBelow { point, value }
        }
        "changes" => MeasureKind::Changes { point: point()? },
        "received" => {
            let (from, to) = ends(&form.mapping("received")?, world)?;
            MeasureKind::Received { from, to }
        }
        "told" => read_told(form, world)?,
        _ => {
            let flow = form.mapping("longest_gap")?;
            let (port, at) = (flow.whole("port"), flow.choice("at"));
            let (from, to) = ends(&flow, world)?;
            let port = u16::try_from(port?.value).expect("the table bounds it to 16 bits");
            let at = if at?.value == "receiver" { End::Receiver } else { End::Sender };
            MeasureKind::LongestGap { from, to, port, at }
        }
    };
    Some(Measure { kind, window })
}

fn read_told(form: &Mapping<'_>, world: &World<'_>) -> Option<MeasureKind> {
    let (member, program) = (form.text("told"), form.text("by"));
    let statistic = form.choice("statistic").and_then(|word| Statistic::named(word.value));
    let member = member?.value;
    let above = form.parse("above", |text| units::value(text, told::unit(&member)));
    let program = program.filter(|program| world.expect_program(program))?.value;
    let above = above.map(|above| above.value);
    Some(MeasureKind::Told { member, program, statistic: statistic?, above })
}

fn recorded_point(form: &Mapping<'_>, world: &World<'_>) -> Option<PointName> {
    let point = form.parse(form.table.tag(), name::point)?;
    world.expect_recorded(&point);
    Some(point.value)
}

fn point_and_value(form: &Mapping<'_>, world: &World<'_>) -> Option<(PointName, f64)> {
    let point = recorded_point(form, world)?;
    let value = form.parse("value", |text| units::value(text, point.unit()))?.value;
    Some((point, value))
}

fn ends(flow: &Mapping<'_>, world: &World<'_>) -> Option<(String, String)> {
    world.expect_captures(flow);
    let (from, to) = (flow.text("from"), flow.text("to"));
    let (from, to) = (from?, to?);
    world.expect_connected_nodes([&from, &to]).then_some((from.value, to.value))
}

/// The window of a measure; reports one that is empty or reaches beyond the run.
fn read_window(form: &Mapping<'_>, world: &World<'_>) -> Window {
    let from = form.parse("from", units::time_not_negative);
    let to = form.parse("to", units::time_positive);
    if let (Some(from), Some(to)) = (&from, &to)
        && from.value >= to.value
    {
        let what = format!("the window ends at {}, which is not after its start", to.value);
        to.place.wrong(what, "make `to` later than `from`");
    }
    let fix = "keep the window within the run, or increase `duration`";
    if let Some(duration) = world.duration {
        if let Some(from) = from.as_ref().filter(|from| from.value >= duration) {
            let what = format!("the window starts at the end of the run ({duration}) or later");
            from.place.wrong(what, fix);
        }
        if let Some(to) = to.as_ref().filter(|to| to.value > duration) {
            to.place.wrong(format!("the window ends after the run, which ends at {duration}"), fix);
        }
    }
    Window { from: from.map(|from| from.value), to: to.map(|to| to.value) }
}
