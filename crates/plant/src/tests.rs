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

pub(super) fn point(name: &str) -> PointName {
    PointName(name.into())
}

pub(super) fn ms(ms: i64) -> VirtualSpan {
    VirtualSpan::from_ms(ms)
}

fn case(record: &[&str]) -> plan::Plan {
    let folder = workspace().join("scenarios/voltage-stability");
    let load = |name: &str| (name.to_owned(), point(&format!("load.{name}.kW")));
    plan::Plan {
        circuit: folder.join("vt13.dss"),
        step: ms(1),
        profiles: vec![
            plan::Profile {
                file: folder.join("wind_kw.csv"),
                time_column: "t_s".into(),
                columns: BTreeMap::from([("kw".into(), point("generator.wind.kW"))]),
            },
            plan::Profile {
                file: folder.join("loads_kw.csv"),
                time_column: "t_s".into(),
                columns: BTreeMap::from(["d611", "d652", "d692"].map(load)),
            },
        ],
        record_every: ms(10),
        record: record.iter().map(|name| point(name)).collect(),
        unconverged_share: 0.0,
    }
}

pub(super) fn open(plan: &plan::Plan) -> Plant {
    let mut plant = Plant::open(plan, &search()).unwrap_or_else(|error| panic!("{error}"));
    plant.begin(plan).unwrap_or_else(|error| panic!("{error}"));
    plant
}

/// The controller of the case, with a path of 12 ms between sensor and storage, until
/// `frozen_from` (ms). Returns the recorded rows.
fn controlled(plant: &mut Plant, frozen_from: i64) -> Rows {
    let [wind, storage] = points(plant, ["generator.wind.kW", "storage.es.kW"]);
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

fn points<const N: usize>(plant: &mut Plant, names: [&str; N]) -> [PointId; N] {
    names.map(|name| plant.resolve(&point(name)).unwrap())
}

/// For rows that nobody looks at.
fn none(_: VirtualSpan, _: &[f64]) {}

type Rows = Vec<(VirtualSpan, Vec<f64>)>;

fn extremes(rows: &Rows, from: i64) -> ((f64, VirtualSpan), (f64, VirtualSpan)) {
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

#[test]
fn at_rest_it_can_be_read_and_written_but_no_time_passes() {
    let mut plant = open(&case(&["bus.680.v1"]));
    let [volts, power, energy] =
        points(&mut plant, ["bus.680.v1", "storage.es.kW", "storage.es.kWhstored"]);
    let mut none = |_: VirtualSpan, _: &[f64]| panic!("no rows before zero");
    plant.advance(ms(-5000), &mut none).unwrap();
    let (before, stored) = (plant.read(volts).unwrap(), plant.read(energy).unwrap());
    plant.write(power, 1159.71).unwrap();
    plant.advance(ms(-1), &mut none).unwrap();
    assert!(plant.read(volts).unwrap() > before + 40.0);
    assert_eq!(plant.read(power).unwrap(), 1159.71);
    assert_eq!(plant.read(energy).unwrap(), stored);
    assert_eq!(plant.stats().steps, 0);

    let mut rows = Vec::new();
    plant.advance(ms(1000), &mut |when, row| rows.push((when, row[0]))).unwrap();
    assert_eq!((rows[0].0, rows.len()), (VirtualSpan::ZERO, 101));
    assert!(rows[0].1 > before + 40.0);
    // A second at 1160 kW takes a third of a kilowatt-hour, whatever the losses.
    let taken = stored - plant.read(energy).unwrap();
    assert!((0.32..0.36).contains(&taken), "{taken} kWh");
}

#[test]
fn recorded_inputs_take_effect_at_their_own_time_and_writes_from_the_next_step() {
    let mut plan = case(&["generator.wind.kW", "bus.680.v1"]);
    plan.record_every = ms(1);
    let mut plant = open(&plan);
    let load = plant.resolve(&point("load.f671.kW")).unwrap();
    let mut rows = Vec::new();
    let mut record = |_: VirtualSpan, row: &[f64]| rows.push((row[0], row[1]));
    plant.advance(ms(40), &mut record).unwrap();
    plant.write(load, 2000.0).unwrap();
    // Half a step more solves nothing.
    plant.advance(ms(40) + VirtualSpan::from_ns(999_999), &mut record).unwrap();
    plant.advance(ms(42), &mut record).unwrap();
    plant.advance(ms(41), &mut record).unwrap();
    assert_eq!(rows.len(), 43);
    assert_eq!((rows[35].0, rows[36].0), (2000.29, 2010.56));
    assert!((rows[35].1 - rows[34].1).abs() < 1e-3 && (rows[36].1 - rows[35].1).abs() > 0.01);
    assert!((rows[40].1 - rows[39].1).abs() < 1e-3);
    assert!(rows[41].1 < rows[40].1 - 5.0, "{:?}", &rows[39..]);
}

#[test]
fn pieces_of_any_length_lead_to_the_same_grid() {
    let rows = |piece: i64| {
        let mut plant = open(&case(&["bus.680.v1", "bus.675.v3", "storage.es.kWhstored"]));
        let mut rows = Vec::new();
        for to in (0..=1500).step_by(usize::try_from(piece).unwrap()) {
            plant.advance(ms(to), &mut |when, row| rows.push((when, row.to_vec()))).unwrap();
        }
        rows
    };
    let (whole, single) = (rows(1500), rows(1));
    assert_eq!(whole.len(), single.len());
    for ((when, a), (_, b)) in whole.iter().zip(&single) {
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-6 * a.abs(), "{a} is not {b} at {when}");
        }
    }
}

#[test]
fn storage_asked_for_nothing_rests() {
    let mut plant = open(&case(&[]));
    let [storage, volts] = points(&mut plant, ["storage.es.kW", "bus.675.v1"]);
    let mut seen = Vec::new();
    for (second, power) in [-800.0, 0.0, 800.0, 0.0].iter().enumerate() {
        plant.write(storage, *power).unwrap();
        plant.advance(ms(1 + i64::try_from(second).unwrap()), &mut none).unwrap();
        seen.push(plant.read(volts).unwrap());
    }
    assert!(seen[0] < seen[1] - 10.0 && seen[2] > seen[1] + 10.0, "{seen:?}");
    assert!((seen[1] - seen[3]).abs() < 0.01, "{seen:?}");
}

#[test]
fn storage_at_its_reserve_goes_idle_until_it_is_written_again() {
    let mut plant = open(&case(&[]));
    let [storage, energy, volts] =
        points(&mut plant, ["storage.es.kW", "storage.es.kWhstored", "bus.675.v1"]);
    // A tenth of a watt-hour above the reserve of 5 % of 5000 kWh: a third of a millisecond
    // at a megawatt.
    plant.write(energy, 250.0001).unwrap();
    plant.write(storage, 1000.0).unwrap();
    plant.advance(ms(1), &mut none).unwrap();
    let fed = plant.read(volts).unwrap();
    plant.advance(ms(10), &mut none).unwrap();
    assert_eq!(plant.read(storage).unwrap().to_string(), "0");
    assert!(plant.read(volts).unwrap() < fed - 10.0);
    plant.write(energy, 2500.0).unwrap();
    plant.write(storage, 1000.0).unwrap();
    plant.advance(ms(11), &mut none).unwrap();
    assert!((plant.read(volts).unwrap() - fed).abs() < 1.0);
}

#[test]
fn wrong_points_are_named_with_names_that_come_near() {
    let mut plant = open(&case(&[]));
    for (name, near) in [
        ("bus.689.v1", "bus.680.v1"),
        ("bus.611.v1", "bus.611.v3"),
        ("load.d61.kW", "load.d611.kW"),
        ("storage.es.kWh", "storage.es.kWhStored"),
        ("storage.es.bus1", "not a number"),
        ("wind", "<class>.<element>.<property>"),
        ("wind.generator.kW", "no element wind.generator"),
    ] {
        let text = plant.resolve(&point(name)).unwrap_err().to_string();
        println!("{text}");
        assert!(text.contains(name) && text.contains(near), "{text}");
    }
    // After all these errors of the engine it still works.
    let volts = plant.resolve(&point("BUS.680.V1")).unwrap();
    assert!(plant.read(volts).unwrap() > 2300.0);
    assert_eq!(plant.resolve(&point("bus.680.v1")).unwrap(), volts);
}

/// A load behind a transformer with taps and a switch.
const TAPS: &str = "clear
new circuit.c basekv=4.16 bus1=s
new transformer.t phases=3 windings=2 buses=(s,a) kvs=(4.16,4.16) kvas=(5000,5000) xhl=1
new regcontrol.r transformer=t winding=2 vreg=120 band=2 ptratio=20
new line.l bus1=a bus2=b r1=0.1 x1=0.2
new load.d bus1=b kv=4.16 kw=1000 kvar=300 model=1
";

#[test]
fn whole_numbers_and_yes_and_no_are_points_too() {
    let folder = tempfile::tempdir().unwrap();
    let circuit = folder.path().join("taps.dss");
    std::fs::write(&circuit, TAPS).unwrap();
    let mut plant = open(&plan::Plan { circuit, profiles: Vec::new(), ..case(&[]) });
    let names =
        ["bus.b.v1", "regcontrol.r.tapnum", "load.d.model", "load.d.enabled", "load.d.phases"];
    let [volts, taps, kind, enabled, phases] = points(&mut plant, names);
    let read = |plant: &mut Plant, id| plant.read(id).unwrap();
    assert_eq!((read(&mut plant, taps), read(&mut plant, kind)), (0.0, 1.0));
    assert_eq!((read(&mut plant, enabled), read(&mut plant, phases)), (1.0, 3.0));
    let after = |plant: &mut Plant, id, value: f64, to| {
        plant.write(id, value).unwrap();
        assert_eq!(plant.read(id).unwrap(), value);
        plant.advance(ms(to), &mut none).unwrap();
        plant.read(volts).unwrap()
    };
    let at_rest = after(&mut plant, taps, 0.0, 1);
    // A tap is 0.625 % of the nominal voltage.
    let raised = after(&mut plant, taps, 5.0, 2);
    assert!((1.025..1.04).contains(&(raised / at_rest)), "{at_rest} V to {raised} V");
    assert!(after(&mut plant, enabled, 0.0, 3) > raised + 10.0);
    assert!((after(&mut plant, enabled, 1.0, 4) - raised).abs() < 1.0);
    assert!((after(&mut plant, kind, 2.0, 5) - raised).abs() > 0.1);

    for (id, value, wanted) in
        [(taps, 2.5, "whole number"), (taps, 4e9, "1e9"), (enabled, 2.0, "1 for yes")]
    {
        let text = plant.write(id, value).unwrap_err().to_string();
        assert!(text.contains(wanted) && text.contains(&value.to_string()), "{text}");
    }
    // What the engine does not take is the mistake of who writes it, and the plant goes on.
    let error = plant.write(phases, 0.0).unwrap_err();
    assert!(matches!(error, PlantError::Refused { .. }), "{error:?}");
    assert!(error.to_string().contains("cannot be zero"), "{error}");
    assert_eq!(read(&mut plant, phases), 3.0);
    // Words, names and lists are no numbers.
    for name in ["load.d.conn", "load.d.bus1", "transformer.t.taps"] {
        let text = plant.resolve(&point(name)).unwrap_err().to_string();
        assert!(text.contains("is not a number"), "{text}");
    }
}

#[test]
fn a_table_with_a_value_that_its_point_does_not_take_is_reported_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (circuit, file) = (folder.path().join("taps.dss"), folder.path().join("taps.csv"));
    std::fs::write(&circuit, TAPS).unwrap();
    std::fs::write(&file, "t_s,tap\n0,1\n\n1,2.5\n").unwrap();
    let columns = BTreeMap::from([("tap".into(), point("regcontrol.r.tapnum"))]);
    let profiles = vec![plan::Profile { file, time_column: "t_s".into(), columns }];
    let plan = plan::Plan { circuit, profiles, ..case(&[]) };
    let error = Plant::open(&plan, &search()).unwrap().begin(&plan).unwrap_err().to_string();
    let expected = "taps.csv:4: 2.5 is not a valid value for regcontrol.r.tapnum";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn values_that_no_grid_has_are_refused() {
    let mut plant = open(&case(&[]));
    let load = plant.resolve(&point("load.d611.kW")).unwrap();
    let before = plant.read(load).unwrap();
    for value in [f64::NAN, f64::INFINITY, -1e12] {
        let text = plant.write(load, value).unwrap_err().to_string();
        assert!(text.contains("load.d611.kW") && text.contains("1e9"), "{text}");
    }
    assert_eq!(plant.read(load).unwrap(), before);
    let volts = plant.resolve(&point("bus.680.v1")).unwrap();
    assert!(matches!(plant.write(volts, 1.0), Err(PlantError::ReadOnly { .. })));
}

#[test]
fn a_wrong_circuit_is_an_error_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = case(&[]);
    plan.profiles.clear();
    let mut refused = |text: &str| {
        plan.circuit = folder.path().join("a circuit.dss");
        std::fs::write(&plan.circuit, text).unwrap();
        let error = Plant::open(&plan, &search()).unwrap_err().to_string();
        println!("{error}");
        error
    };
    let start = "clear\nnew circuit.a basekv=4.16 bus1=s\n";
    let error = refused(&format!("{start}new line.l bus1=s bus2=t lngth=1\n"));
    assert!(error.contains("a circuit.dss") && error.contains("lngth"), "{error}");
    assert!(error.contains('3'), "{error}");
    assert!(refused("clear\n").contains("no circuit"));
    assert!(refused(&format!("{start}redirect other.dss\n")).contains("other.dss"));
    plan.circuit = "/nowhere/x.dss".into();
    let error = Plant::open(&plan, &search()).unwrap_err().to_string();
    assert!(error.contains("/nowhere/x.dss"), "{error}");
}

#[test]
fn a_plant_can_move_to_the_thread_that_runs_it() {
    let plant = open(&case(&[]));
    std::thread::spawn(move || drop(plant)).join().unwrap();
}

#[test]
fn the_working_directory_stays() {
    let before = std::env::current_dir().unwrap();
    drop(open(&case(&[])));
    assert_eq!(std::env::current_dir().unwrap(), before);
}

#[test]
fn steps_must_fit_each_other() {
    for (step, every) in
        [(ms(0), ms(1)), (VirtualSpan::from_ns(1), ms(1)), (ms(2), ms(3)), (ms(1), ms(0))]
    {
        let mut plan = case(&[]);
        (plan.step, plan.record_every) = (step, every);
        assert!(matches!(Plant::open(&plan, &search()), Err(PlantError::Steps { .. })));
    }
}

#[test]
fn two_engines_in_two_threads_give_the_same() {
    let run = || {
        std::thread::spawn(|| {
            let mut plant = open(&case(&["bus.680.v1"]));
            controlled(&mut plant, 22_500)
        })
    };
    let (one, other) = (run(), run());
    assert_eq!(one.join().unwrap(), other.join().unwrap());
}

/// The IEEE 13 node test feeder.
fn feeder() -> plan::Plan {
    let mut plan = case(&[]);
    plan.profiles.clear();
    plan.circuit = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cases/ieee13/feeder.dss");
    plan
}

#[test]
fn the_ieee_13_node_feeder_has_its_published_voltages() {
    let mut plant = open(&feeder());
    let folder = feeder().circuit.parent().unwrap().to_owned();
    let published = std::fs::read_to_string(folder.join("published_voltages.csv")).unwrap();
    let (mut farthest, mut count) = ((0.0, String::new()), 0);
    for line in published.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let name = format!("bus.{}.v{}", cells[0], cells[1]);
        let id = plant.resolve(&point(&name)).unwrap();
        let base_v = if cells[0] == "634" { 480.0 } else { 4160.0 } / f64::sqrt(3.0);
        let off = (plant.read(id).unwrap() / base_v - cells[2].parse::<f64>().unwrap()).abs();
        count += 1;
        if off > farthest.0 {
            farthest = (off, name);
        }
    }
    println!("{count} nodes, farthest {farthest:?} per unit");
    assert_eq!(count, 35);
    assert!(farthest.0 < 0.0015, "{farthest:?}");
}

/// Prints what a step costs; it fails only if steps do.
#[test]
fn what_a_step_costs() {
    let mut plan = case(&["bus.680.v1"]);
    plan.profiles.clear();
    plan.record_every = ms(1000);
    let mut plant = open(&plan);
    let [load, storage, volts] =
        points(&mut plant, ["load.d611.kW", "storage.es.kW", "bus.680.v1"]);
    let mut now = 0;
    let mut measured = |name: &str, piece: i64, work: &mut dyn FnMut(&mut Plant, i64)| {
        let (begun, steps) = (std::time::Instant::now(), 5000);
        for _ in 0..steps / piece {
            work(&mut plant, now);
            now += piece;
            plant.advance(ms(now), &mut none).unwrap();
        }
        let each = begun.elapsed().as_secs_f64() / steps as f64;
        println!("{name}: {:.1} us a step", each * 1e6);
    };
    measured("quiet, 1000 steps a call", 1000, &mut |_, _| ());
    measured("quiet, step by step", 1, &mut |_, _| ());
    measured("a load written each step", 1, &mut |plant, now| {
        plant.write(load, 170.0 + (now % 7) as f64).unwrap();
    });
    measured("a storage unit written each step", 1, &mut |plant, now| {
        plant.write(storage, 500.0 + (now % 7) as f64).unwrap();
    });
    measured("a voltage read each step", 1, &mut |plant, _| {
        plant.read(volts).unwrap();
    });
}

/// IEEE 13 node test feeder, radial flow summary: currents from the regulator to node 632.
#[test]
fn currents_and_angles_are_those_published() {
    let mut plant = open(&feeder());
    let mut read = |name: &str| {
        let point = plant.resolve(&point(name)).unwrap();
        plant.read(point).unwrap()
    };
    let published = [(558.40, -28.58), (414.87, -140.91), (586.60, 93.59)];
    for (phase, (amperes, degrees)) in (1..).zip(published) {
        let found = read(&format!("line.650632.i{phase}"));
        assert!((found / amperes - 1.0).abs() < 0.005, "phase {phase}: {found} A");
        let angle = read(&format!("line.650632.ia{phase}"));
        assert!((angle - degrees).abs() < 0.5, "phase {phase}: {angle} degrees");
    }
    assert!((read("bus.632.va2") - -121.72).abs() < 0.5);
}

#[test]
fn an_open_line_carries_nothing_and_closes_again() {
    let mut plant = open(&feeder());
    let [closed, current, voltage] =
        points(&mut plant, ["line.650632.closed", "line.650632.i1", "bus.671.v1"]);
    let before = plant.read(voltage).unwrap();
    assert_eq!(plant.read(closed).unwrap(), 1.0);
    assert!(plant.is_writable(closed) && !plant.is_writable(current));
    plant.write(closed, 0.0).unwrap();
    assert_eq!(plant.read(closed).unwrap(), 0.0);
    assert!(plant.read(current).unwrap() < 0.1, "{:?}", plant.read(current));
    assert!(plant.read(voltage).unwrap() < 0.01 * before);
    plant.write(closed, 1.0).unwrap();
    assert!((plant.read(voltage).unwrap() / before - 1.0).abs() < 1e-3);
}

#[test]
fn a_phase_that_an_element_lacks_is_refused() {
    let mut plant = open(&feeder());
    let error = plant.resolve(&point("line.645646.i1")).unwrap_err().to_string();
    assert!(error.contains("has no phase 1"), "{error}");
}
