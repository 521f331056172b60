//! The plant with its real engine, on the voltage stability case and against published voltages.

use super::*;
use std::collections::BTreeMap;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The engine of the workspace; without it these tests fail and say what to do.
fn search() -> Vec<PathBuf> {
    vec![workspace().join(".venv")]
}

fn point(name: &str) -> PointName {
    PointName(name.into())
}

fn ms(ms: i64) -> VirtualSpan {
    VirtualSpan::from_ms(ms)
}

/// The voltage stability case.
fn case(record: &[&str]) -> model::Plant {
    let folder = workspace().join("scenarios/voltage-stability");
    let load = |name: &str| (name.to_owned(), point(&format!("load.{name}.kW")));
    model::Plant {
        circuit: folder.join("vt13.dss"),
        step: ms(1),
        profiles: vec![
            model::Profile {
                file: folder.join("wind_kw.csv"),
                time_column: "t_s".into(),
                columns: BTreeMap::from([("kw".into(), point("generator.wind.kW"))]),
            },
            model::Profile {
                file: folder.join("loads_kw.csv"),
                time_column: "t_s".into(),
                columns: BTreeMap::from(["d611", "d652", "d692"].map(load)),
            },
        ],
        record_every: ms(10),
        record: record.iter().map(|name| point(name)).collect(),
    }
}

fn open(plan: &model::Plant) -> Plant {
    Plant::open(plan, &search()).unwrap_or_else(|error| panic!("{error}"))
}

/// The controller of the case, with a path of 12 ms between sensor and storage, until
/// `frozen_from` (ms). Answers the recorded rows.
fn controlled(plant: &mut Plant, frozen_from: i64) -> Vec<(VirtualSpan, Vec<f64>)> {
    let wind = plant.resolve(&point("generator.wind.kW")).unwrap();
    let storage = plant.resolve(&point("storage.es.kW")).unwrap();
    let mut rows = Vec::new();
    let mut record = |when: VirtualSpan, row: &[f64]| rows.push((when, row.to_vec()));
    for sensed_at in (0..90_000).step_by(100) {
        plant.advance(ms(sensed_at), &mut record).unwrap();
        let command = 3160.0 - plant.read(wind).unwrap();
        plant.advance(ms(sensed_at + 12), &mut record).unwrap();
        if sensed_at < frozen_from {
            plant.write(storage, command).unwrap();
        }
    }
    plant.advance(ms(90_000), &mut record).unwrap();
    rows
}

fn extremes(
    rows: &[(VirtualSpan, Vec<f64>)],
    from: i64,
) -> ((f64, VirtualSpan), (f64, VirtualSpan)) {
    let seen = rows.iter().filter(|(when, _)| *when >= ms(from)).map(|(when, row)| (row[0], *when));
    let least = seen.clone().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    (least, seen.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap())
}

#[test]
fn the_case_holds_its_voltage_under_control_and_charges_once() {
    let mut plant = open(&case(&["bus.680.v1", "storage.es.kW"]));
    let begun = std::time::Instant::now();
    let rows = controlled(&mut plant, i64::MAX);
    println!("90 s in {:?}: {:?}", begun.elapsed(), plant.stats());
    assert_eq!(rows.len(), 9001);
    let ((least, _), (most, _)) = extremes(&rows, 1000);
    println!("bus 680: {least} to {most} V; first rows {:?}", &rows[..3]);
    assert!(least > 2376.0 && most < 2412.0, "{least} to {most} V");
    let charging: Vec<VirtualSpan> =
        rows.iter().filter(|(_, row)| row[1] < 0.0).map(|(when, _)| *when).collect();
    let (first, last) = (charging[0], *charging.last().unwrap());
    println!("charging from {first} to {last}");
    assert!(first >= ms(17_900) && first <= ms(17_940), "{first}");
    assert!(last >= ms(20_980) && last <= ms(21_020), "{last}");
    assert_eq!(plant.stats().steps, 90_000);
    assert_eq!(plant.stats().unconverged, 0);
}

#[test]
fn the_case_sags_when_its_set_point_is_frozen() {
    let mut plant = open(&case(&["bus.680.v1", "storage.es.kW"]));
    let rows = controlled(&mut plant, 22_500);
    let ((least, when), _) = extremes(&rows, 22_500);
    println!("least {least} V at {when}");
    assert!((2315.0..=2325.0).contains(&least), "{least} V at {when}");
    assert!(when > ms(43_000) && when < ms(45_000), "{when}");
}
