//! Steps that are no solutions of the grid: each is found, none makes a figure.

use super::tests::{self, ms, point};
use super::*;

/// A source and a load of constant power at the end of a line that carries 3 MW at most.
fn weak_line(more: &str) -> String {
    format!(
        "clear
new circuit.weak basekv=4.16 pu=1.0 phases=3 bus1=source
new line.l phases=3 bus1=source bus2=far length=10 units=km r1=0.5 x1=1.0 r0=0.5 x0=1 c1=0 c0=0
new load.heavy phases=3 bus1=far kv=4.16 kw=100 kvar=0 model=1 vminpu=0
{more}
set voltagebases=[4.16]
calcvoltagebases
"
    )
}

/// More than the line carries: the solver wanders about.
const TOO_MUCH_KW: f64 = 1000.0;

/// As much as it carries, almost: solutions come nearer but slowly.
const ALMOST_TOO_MUCH_KW: f64 = 532.0;

type Rows = Vec<(VirtualSpan, f64)>;

/// The plant of a circuit with a row each 10 ms.
fn open(circuit: &str) -> (Plant, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan::Plan {
        circuit: folder.path().join("grid.dss"),
        step: ms(1),
        profiles: Vec::new(),
        record_every: ms(10),
        record: vec![point("bus.far.v1")],
        unconverged_share: 0.0,
    };
    std::fs::write(&plan.circuit, circuit).unwrap();
    (tests::open(&plan), folder)
}

fn set(plant: &mut Plant, name: &str, value: f64) {
    let point = plant.resolve(&point(name)).unwrap();
    plant.write(point, value).unwrap();
}

fn advance(plant: &mut Plant, to: i64, rows: &mut Rows) {
    plant.advance(ms(to), &mut |at, row| rows.push((at, row[0]))).unwrap();
}

fn spans(plant: &Plant) -> Vec<(VirtualSpan, VirtualSpan)> {
    plant.unsolved().iter().collect()
}

#[test]
fn steps_without_a_solution_make_no_figures_and_have_their_times() {
    let (mut plant, _folder) = open(&weak_line(""));
    let volts = plant.resolve(&point("bus.far.v1")).unwrap();
    let mut rows = Rows::new();
    advance(&mut plant, 25, &mut rows);
    set(&mut plant, "load.heavy.kW", TOO_MUCH_KW);
    advance(&mut plant, 85, &mut rows);
    let refused = plant.read(volts).unwrap_err().to_string();
    assert!(refused.contains("bus.far.v1") && refused.contains("did not converge"), "{refused}");
    set(&mut plant, "load.heavy.kW", 100.0);
    advance(&mut plant, 120, &mut rows);
    assert_eq!(spans(&plant), [(ms(26), ms(86))]);
    assert_eq!(plant.stats().unconverged, 60);
    let unknown: Vec<_> = rows.iter().filter(|row| !row.1.is_finite()).map(|row| row.0).collect();
    // The row at 90 ms follows steps without a solution; those before and after are figures.
    assert_eq!(unknown, (3..=9).map(|row| ms(10 * row)).collect::<Vec<_>>());
    assert!((plant.read(volts).unwrap() - rows[0].1).abs() < 1.0);
}

/// The engine says only of the last of many steps whether it converged.
#[test]
fn a_step_that_fails_among_quiet_ones_that_are_solved_together_is_found() {
    let (mut plant, _folder) = open(&weak_line(""));
    let mut rows = Rows::new();
    advance(&mut plant, 5, &mut rows);
    let calls = plant.stats().solves;
    set(&mut plant, "load.heavy.kW", ALMOST_TOO_MUCH_KW);
    advance(&mut plant, 10, &mut rows);
    // One call; its first step has not come near enough yet, its last ones have.
    assert_eq!(plant.stats().solves, calls + 1);
    let all = spans(&plant);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0].0, ms(6));
    assert!(all[0].1 < ms(10), "{all:?}");
    assert!(plant.is_solved && rows[1].1.is_nan(), "{rows:?}");
}

#[test]
fn controls_that_do_not_settle_are_no_solution_and_the_run_goes_on() {
    let (mut plant, _folder) = open(&weak_line(
        "new capacitor.c phases=3 bus1=far kv=4.16 kvar=900
new capcontrol.cc capacitor=c element=line.l type=voltage terminal=2 ptratio=20 onsetting=80 \
         offsetting=150 delay=0 delayoff=0 deadtime=0",
    ));
    let mut rows = Rows::new();
    advance(&mut plant, 20, &mut rows);
    assert_eq!(spans(&plant), []);
    // On below a voltage that it reaches only while it is off.
    set(&mut plant, "capcontrol.cc.offsetting", 100.0);
    set(&mut plant, "capcontrol.cc.onsetting", 130.0);
    advance(&mut plant, 40, &mut rows);
    assert_eq!(spans(&plant), [(ms(21), ms(41))]);
    set(&mut plant, "capcontrol.cc.offsetting", 150.0);
    set(&mut plant, "capcontrol.cc.onsetting", 80.0);
    advance(&mut plant, 60, &mut rows);
    assert_eq!((spans(&plant), plant.stats().steps), (vec![(ms(21), ms(41))], 60));
}

#[test]
fn a_grid_at_rest_without_a_solution_is_none_of_time_zero_unless_it_lasts() {
    let (mut plant, _folder) = open(&weak_line(""));
    let volts = plant.resolve(&point("bus.far.v1")).unwrap();
    let mut rows = Rows::new();
    set(&mut plant, "load.heavy.kW", TOO_MUCH_KW);
    assert!(plant.read(volts).is_err());
    set(&mut plant, "load.heavy.kW", 100.0);
    advance(&mut plant, 10, &mut rows);
    assert_eq!((spans(&plant), plant.stats().unconverged_at_rest), (vec![], 1));
    assert!(rows.iter().all(|row| row.1.is_finite()));

    let (mut plant, _folder) = open(&weak_line(""));
    set(&mut plant, "load.heavy.kW", TOO_MUCH_KW);
    advance(&mut plant, 0, &mut rows);
    assert_eq!(spans(&plant), [(ms(0), ms(1))]);
    assert!(rows.last().unwrap().1.is_nan());
}

/// An island without a source has a voltage, and that is zero.
#[test]
fn a_dead_island_is_a_solution() {
    let (mut plant, _folder) = open(&weak_line(""));
    let volts = plant.resolve(&point("bus.far.v1")).unwrap();
    let mut rows = Rows::new();
    set(&mut plant, "line.l.closed", 0.0);
    advance(&mut plant, 20, &mut rows);
    assert_eq!(spans(&plant), []);
    assert!(plant.read(volts).unwrap().abs() < 1e-3);
}

/// What solves nothing, because its numbers overflow, does not pass for a solution.
#[test]
fn voltages_that_are_no_numbers_are_no_solution() {
    let (mut plant, _folder) = open(&weak_line(""));
    let volts = plant.resolve(&point("bus.far.v1")).unwrap();
    let line = plant.resolve(&point("line.l.length")).unwrap();
    // Not by a program's write, which is bounded.
    plant.engine.write(plant.points[line.0].1, f64::NAN).unwrap();
    let solved = plant.advance(ms(10), &mut |_, row| assert!(!row[0].is_finite() || row[0] > 0.0));
    assert!(solved.is_err() || plant.read(volts).is_err(), "{:?}", plant.read(volts));
}
