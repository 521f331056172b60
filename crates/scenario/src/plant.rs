//! Reads `plant`: the circuit, the data that drives it, and what is recorded.

use std::collections::BTreeMap;

use super::files::Places;
use super::profile;
use ::plant::name::{self, PointName};
use ::plant::plan::{Plan, Profile};
use settings::cursor::{Mapping, Placed};
use settings::problems::Spot;
use settings::units;

/// What was read, and what others must hold against it.
#[derive(Debug, Default)]
pub(super) struct Read<'a> {
    /// The plant, if all of it is right.
    pub(super) plant: Option<Plan>,
    pub(super) circuit: Option<Spot>,
    pub(super) driven: Vec<Placed<'a, PointName>>,
    pub(super) recorded: Vec<Placed<'a, PointName>>,
}

pub(super) fn read<'a>(plant: &Mapping<'a>, places: &Places) -> Read<'a> {
    plant.choice("engine");
    let circuit = plant.parse("circuit", |text| places.file(text));
    let step = plant.parse("step", units::time_whole_ms);
    let share = plant.parse("unconverged_share", units::share);
    let (mut profiles, mut driven) = (Vec::new(), Vec::new());
    for cursor in plant.items("profiles") {
        if let Some(mapping) = cursor.mapping() {
            let (profile, points) = read_profile(&mapping, places);
            profiles.extend(profile);
            driven.extend(points);
        }
    }
    driven.iter().for_each(refuse_results);
    refuse_twice(&driven, "two columns drive", "drive it by one of them");
    let record = plant.mapping("record");
    let recorded: Vec<_> = record.iter().flat_map(|record| record.items("points")).collect();
    let recorded: Vec<_> = recorded.iter().filter_map(|item| item.parse(name::point)).collect();
    refuse_twice(&recorded, "two entries record", "list it once");
    let every = match &record {
        None => step.clone(),
        Some(record) => record.parse("every", units::time_positive),
    };
    if let (Some(step), Some(every)) = (&step, &every)
        && every.value.as_ns() % step.value.as_ns() != 0
    {
        let what = format!("{} is not a multiple of the step {}", every.value, step.value);
        every.place.wrong(what, "use the step or a multiple of it");
    }
    let circuit_at = circuit.as_ref().map(|circuit| circuit.place.spot());
    let whole = || {
        Some(Plan {
            circuit: circuit?.value,
            step: step?.value,
            profiles,
            record_every: every?.value,
            record: recorded.iter().map(|point| point.value.clone()).collect(),
            unconverged_share: share?.value,
        })
    };
    Read { plant: whole(), circuit: circuit_at, driven, recorded }
}

fn read_profile<'a>(
    mapping: &Mapping<'a>,
    places: &Places,
) -> (Option<Profile>, Vec<Placed<'a, PointName>>) {
    let written = mapping.text("file");
    let file = mapping.parse("file", |text| places.file(text));
    let time = mapping.text("time");
    let (mut columns, mut points, mut names) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (name, cursor) in mapping.named("columns") {
        if let Some(point) = cursor.parse(name::point) {
            columns.insert(name.value.to_owned(), point.value.clone());
            points.push(point);
        }
        names.push(name);
    }
    if let (Some(written), Some(file), Some(time)) = (&written, &file, &time) {
        profile::check(&file.value, &places.shown(&written.value), time, &names);
    }
    let whole = || Some(Profile { file: file?.value, time_column: time?.value, columns });
    (whole(), points)
}

/// Reports a point that something shall set although it is a result of the simulation.
pub(super) fn refuse_results(point: &Placed<'_, PointName>) {
    if name::is_result(&point.value) {
        let what = format!("`{}` is a result of the simulation and cannot be set", point.value.0);
        point.place.wrong(what, "set a load, generator or storage unit, such as `load.d611.kW`");
    }
}

/// Reports points that come twice in a list.
pub(super) fn refuse_twice(points: &[Placed<'_, PointName>], what: &str, fix: &str) {
    let mut lines = BTreeMap::new();
    for point in points {
        if let Some(line) = lines.insert(name::point_key(&point.value), point.place.line()) {
            let what = format!("{what} `{}`, the other one on line {line}", point.value.0);
            point.place.wrong(what, fix);
        }
    }
}
