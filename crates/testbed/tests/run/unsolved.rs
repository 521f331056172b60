//! A grid that has no solution for a while: no requirement is met by figures of then, and programs
//! are not told any.

use crate::run::harness::{Finished, Place};
use report_kit::outcome::Outcome;

/// The same case with a load that the line can carry, and one that it cannot.
const CIRCUIT: &str = "clear
new circuit.weak basekv=4.16 pu=1.0 phases=3 bus1=source
new line.l phases=3 bus1=source bus2=far length=10 units=km r1=0.5 x1=1.0 r0=0.5 x0=1 c1=0 c0=0
new load.heavy phases=3 bus1=far kv=4.16 kw=100 kvar=0 model=1 vminpu=0
set voltagebases=[4.16]
calcvoltagebases
";

fn scenario(too_much_kw: f64, share: &str) -> String {
    format!(
        "scenario: unsolved
duration: 3 s
settle: 200 ms
plant:
  circuit: weak.dss
  unconverged_share: {share}
  record: {{every: 10 ms, points: [bus.far.v1]}}
nodes:
  meter:
    files:
      - {{point: bus.far.v1}}
    programs:
      - {{name: meter, run: python3 meter.py}}
events:
  - {{at: 1 s, set: load.heavy.kW, value: {too_much_kw} kW}}
  - {{at: 1100 ms, set: load.heavy.kW, value: 100 kW}}
requirements:
  - name: before
    measure: {{maximum: bus.far.v1, to: 1 s}}
    at_most: 1000 kV
    disturbed_above: 1000 s
  - name: all of it
    measure: {{maximum: bus.far.v1}}
    at_most: 1000 kV
    disturbed_above: 1000 s
  - name: after
    measure: {{maximum: bus.far.v1, from: 2 s}}
    at_most: 1000 kV
    disturbed_above: 1000 s
  - name: told
    measure: {{told: volts, by: meter, statistic: maximum}}
    at_most: 1000000
    disturbed_above: 1000 s
"
    )
}

/// Reads each 20 ms, as a program does that goes on when its sensor fails.
const METER: &str = "import time
while True:
    try:
        with open('/plant/bus.far.v1') as file:
            print('{\"volts\": %s}' % file.read().strip(), flush=True)
    except OSError as error:
        print('no value:', error.errno, flush=True)
    time.sleep(0.02)
";

fn place(too_much_kw: f64, share: &str) -> Option<Place> {
    let place = Place::for_root(&scenario(too_much_kw, share))?;
    place.file("weak.dss", CIRCUIT);
    place.file("meter.py", METER);
    Some(place)
}

fn run(place: &Place, code: i32) -> (Vec<Outcome>, Finished) {
    let run = place.run(&[]).expect(code);
    let outcomes = run.record().verdicts.iter().map(|verdict| verdict.outcome).collect();
    // The report of it can be drawn.
    let folder = run.folder().path().display().to_string();
    place.says(&["report", &folder]);
    (outcomes, run)
}

#[test]
fn steps_that_do_not_converge_are_no_figures_and_no_verdict_is_drawn_from_them() {
    let Some(pure) = place(150.0, "0") else { return };
    let (met, run_pure) = run(&pure, 0);
    assert_eq!(met, [Outcome::Met; 4]);
    assert_eq!(run_pure.record().warnings, Vec::<String>::new());

    let Some(place) = place(1000.0, "0") else { return };
    let (outcomes, run) = run(&place, 11);
    let (met, unknown) = (Outcome::Met, Outcome::NotMeasured);
    assert_eq!(outcomes, [met, unknown, met, unknown]);
    let record = run.record();
    let verdict = &record.verdicts[1];
    assert!(verdict.reason.contains("did not converge from 1.001 s on"), "{verdict:?}");
    assert!(record.verdicts[3].reason.contains("could not read the plant"), "{record:?}");
    let plant = record.plant.unwrap();
    assert_eq!(plant.unconverged_ns, [(1_001_000_000, 1_101_000_000)]);
    assert_eq!(plant.unconverged, 100);
    // EIO, and never a number that is none. A read when the run is over has the same answer,
    // which is no refusal of the plant.
    let log = run.log("meter");
    let refused = log.lines().filter_map(|line| line.strip_suffix(" out| no value: 5"));
    let refused = refused.filter(|stamp| stamp.trim().parse::<f64>().unwrap() < 3.0).count();
    assert!(refused > 0 && refused as u64 == plant.refused.unwrap().count, "{log}");
    assert!(record.warnings.iter().any(|warning| warning.contains("100 of 3000 steps")));
    assert!(record.warnings.iter().any(|warning| warning.contains("did not converge (")));
    // The rows of then hold no number: from 1.01 to 1.1 s, each for the ten steps before it.
    let series = run.folder().series().unwrap().unwrap();
    let unknown = series.columns[0].values.iter().filter(|value| value.is_nan()).count();
    assert_eq!(unknown, 10);
}

#[test]
fn a_share_of_steps_without_a_solution_may_be_allowed() {
    // A tenth of a second of three.
    let Some(allowing) = place(1000.0, "0.04") else { return };
    assert_eq!(run(&allowing, 0).0, [Outcome::Met; 4]);
    let Some(strict) = place(1000.0, "0.03") else { return };
    let (outcomes, _) = run(&strict, 11);
    assert_eq!(outcomes[1], Outcome::NotMeasured);
}
