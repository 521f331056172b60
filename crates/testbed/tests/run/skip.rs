//! Runs that skip time in which no program can run. That a busy host keeps a program from running makes a
//! verdict disturbed, and is no failure here; that the clock jumps over what a program waits for is one.

use std::fs;

use domain::Pace;
use report_kit::outcome::Outcome;
use results::RunRecord;
use serde_json::Value;

use crate::common::machine::{Busy, alone};
use crate::run::harness::{Place, are_the_same, repeats};

/// What a run may end with, whatever the machine does meanwhile.
const JUDGED: [i32; 4] = [0, 10, 11, 13];

fn run(variant: &str) -> Option<(RunRecord, Vec<String>)> {
    let place = Place::of_case("minimal")?;
    let run = place.run(&["--variant", variant, "--pace", "skip"]).expect_one_of(&JUDGED);
    let folder = run.folder();
    let log = fs::read_to_string(folder.path().join("programs/poller.log")).unwrap();
    Some((folder.record().unwrap(), log.lines().map(str::to_owned).collect()))
}

#[test]
fn a_run_skips_most_of_its_time_and_says_so() {
    let Some((record, unanswered)) = run("fine") else { return };
    let wall = record.wall.as_ref().unwrap();
    assert_eq!((record.scenario.pace, wall.pace.pace), (Pace::Skip, Pace::Skip));
    assert!((wall.virtual_s - 8.0).abs() < 1e-6, "{}", wall.virtual_s);
    // A poll every 20 ms, or every 100 ms where the host kept the server from answering: of each there
    // is a wait of the poller, and a frame under way in each direction.
    let ran_s = wall.virtual_s - wall.pace.skipped_ns as f64 / 1e9;
    let polls_least = (8.0 - ran_s) / 0.1;
    assert!(wall.pace.jumps as f64 > polls_least, "{:?}", wall.pace);
    let kept_s = wall.pace.kept_ns.ns().values().sum::<i64>() as f64 / 1e9;
    assert!(kept_s <= ran_s + 1e-3, "{kept_s} s of {ran_s} s");
    let network: &Value = &record.network;
    let sent = network["nodes"]["poller"]["sent"].as_u64().unwrap();
    assert!(sent as f64 > polls_least, "{network}");
    // Who was not answered in time was kept from it by somebody who took as long.
    let late_s = unanswered.iter().filter(|line| line.contains("no answer")).count() as f64 * 0.09;
    assert!(late_s <= ran_s, "{} polls without an answer in {ran_s} s", unanswered.len());
}

#[test]
fn time_passes_for_what_does_not_come() {
    let Some((record, unanswered)) = run("outage") else { return };
    assert!(record.wall.unwrap().pace.jumps > 0);
    let given_up = unanswered.iter().filter(|line| line.contains("no answer")).count();
    // Down for half a second, in which each poll waits for 100 ms.
    assert!(given_up >= 4, "{unanswered:?}");
    let gap = record.verdicts[0].value.unwrap();
    assert!(gap >= 0.1, "{gap} s");
}

/// Whether a kernel has asked for an address in vain for seconds of the host, as all of these were one instant:
/// then it gives up. Nothing else is withheld where no program uses TCP.
fn has_given_up(record: &RunRecord) -> bool {
    repeats(record).iter().any(|repeats| *repeats >= 2)
}

/// Frames to the nanosecond, on a quiet machine and on one that is busy, and nobody disturbed.
#[test]
fn two_runs_in_jumps_alone_are_the_same_however_busy_the_machine_is() {
    alone();
    for (variant, outcome) in [("fine", Outcome::Met), ("outage", Outcome::Missed)] {
        let Some(place) = Place::of_case("minimal") else { return };
        let run = || place.run(&["--variant", variant, "--pace", "events"]).expect_one_of(&JUDGED);
        let mut folders = vec![run().folder().path().to_owned()];
        let busy = Busy::start();
        folders.extend((0..2).map(|_| run().folder().path().to_owned()));
        drop(busy);
        let records =
            folders.iter().map(|folder| results::RunFolder::open(folder).unwrap().record());
        let records: Vec<RunRecord> = records.map(Result::unwrap).collect();
        if records.iter().any(has_given_up) {
            println!("not measured: this machine needs seconds to start a program");
            continue;
        }
        for record in &records {
            let wall = record.wall.as_ref().unwrap();
            assert_eq!(record.verdicts[0].outcome, outcome, "{:?}", record.verdicts);
            assert_eq!(wall.pace.skipped_ns, 8_000_000_000, "{:?}", wall.pace);
            assert!(wall.pace.overran.is_empty(), "{:?}", wall.pace);
        }
        are_the_same(&folders);
    }
}

/// While octets are under way the host needs longer for an instant than a kernel waits: what it sends again is withheld, but
/// from then on it may do as after a loss.
#[test]
fn that_a_kernel_took_a_long_instant_for_a_loss_is_told() {
    const SCENARIO: &str = "scenario: instant
duration: 15 s
settle: 0 s
pace: events
switches: [s]
links:
  - {from: a, to: s, delay: 5 ms}
  - {from: b, to: s, delay: 5 ms}
nodes:
  a:
    address: 10.0.0.1/24
    programs: [{name: sender, run: python3 instant.py send, on_exit: ignore}]
  b:
    address: 10.0.0.2/24
    programs: [{name: answerer, run: python3 instant.py answer, on_exit: ignore}]
  c:
    programs: [{name: computer, run: python3 instant.py compute, on_exit: ignore}]
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = place.run(&[]).expect(0);
    assert_eq!(run.lines("sender"), ["answered 20 ms"]);
    let record = run.record();
    assert!(repeats(&record).iter().any(|repeats| *repeats > 0), "{}", record.network);
    let told = |warning: &String| warning.contains("node `a`") && warning.contains("sent again");
    assert!(record.warnings.iter().any(told), "{:?}", record.warnings);
}

/// Its programs end before it does.
#[test]
fn a_run_goes_on_to_its_end_when_nobody_is_left() {
    const SCENARIO: &str = "scenario: left
duration: 1000 s
nodes:
  a:
    programs:
      - {name: one, run: \"true\", on_exit: ignore}
      - {name: two, run: sleep 1, on_exit: ignore}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    for pace in ["skip", "events"] {
        let record = place.run(&["--pace", pace]).expect(0).record();
        let wall = record.wall.unwrap();
        assert!((wall.virtual_s - 1003.0).abs() < 1e-6, "{}", wall.virtual_s);
        assert!(wall.pace.skipped_ns > 900_000_000_000, "{:?}", wall.pace);
    }
}

/// What is random in two nodes: by calls, and in files, which are devices elsewhere.
#[test]
fn what_is_random_follows_from_the_seed_of_the_scenario() {
    const SCENARIO: &str = "scenario: random
duration: 1 s
settle: 0 s
pace: events
nodes:
  a:
    programs:
      - {name: one, run: python3 random_files.py, on_exit: ignore}
      - {name: two, run: python3 random_files.py, on_exit: ignore}
  b:
    programs:
      - {name: three, run: python3 random_files.py, on_exit: ignore}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = |options: &[&str]| {
        let run = place.run(options).expect(0);
        ["one", "two", "three"].map(|program| run.lines(program))
    };
    let first = run(&[]);
    assert_eq!(first, run(&[]));
    let other = run(&["--seed", "2"]);
    let [one, two, three] = &first;
    assert_eq!(one.len(), 9, "{one:?}");
    assert_eq!(one.last().unwrap(), "mode 0o666");
    for others in [two, three, &other[0]] {
        assert!(one[..8].iter().zip(others).all(|(one, other)| one != other), "{one:?} {others:?}");
    }
    let numbers = |line: &str| line.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
    let files = [numbers(&one[0]), numbers(&one[1])].concat();
    let different: std::collections::BTreeSet<&String> = files.iter().collect();
    assert_eq!(different.len(), 4, "{one:?}");
    let real = place.run(&["--pace", "real"]).expect(0);
    assert!(real.lines("one")[..8].iter().zip(one).all(|(real, one)| real != one));
    assert!(!fs::metadata("/dev/urandom").unwrap().is_file());
}
