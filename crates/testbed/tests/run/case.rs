//! The voltage-stability case, in short by default and whole on request.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use network::capture::Heading;
use report_kit::outcome::Outcome;
use results::frame::Segment;
use results::output::OutputLine;
use results::record::{EndedHow, ProgramEnd};
use results::stream::Streams;
use results::{RunFolder, Verdict};

use crate::common::guests::is_there;
use crate::common::machine::alone;
use crate::run::harness::{Finished, Place};

const POLLS: &str = "the controller polls every 100 ms";
const POLLS_AT_MOST_MS: f64 = 130.0;
/// A measurement on a machine that others use is given so many chances.
const CHANCES: u32 = 3;

#[test]
#[ignore = "long: it has the machine to itself for ten seconds"]
fn ten_seconds_of_the_case_are_recorded_whole() {
    let Some(place) = Place::of_case("voltage-stability") else { return };
    alone();
    let run = place.run(&["--variant", "normal", "--duration", "10 s", "--csv"]);
    // The storage unit has not begun to charge after ten seconds.
    let run = run.expect_one_of(&[10, 11]);
    let mut record = run.record();
    assert_eq!(record.ended.how, EndedHow::Complete);
    assert_eq!(record.covered_ns, 10_000_000_000);
    assert_eq!(record.realtime_zero_ns, 1_559_563_200_000_000_000);
    assert!(record.programs.iter().all(|program| program.end == ProgramEnd::Stopped));
    let disturbed = record.verdicts.iter().any(|one| one.outcome == Outcome::Disturbed);
    record.warnings.retain(|warning| !(disturbed && warning.starts_with("disturbed")));
    assert_eq!(record.warnings, Vec::<String>::new());
    let wall = record.wall.unwrap();
    assert!((13.0..13.1).contains(&wall.virtual_s), "{wall:?}");
    assert!(wall.ratio().unwrap() > 0.99, "{wall:?}");
    assert!(wall.reads.unwrap().count > 150 && wall.holds > 150, "{wall:?}");
    assert_eq!(wall.programs_cpu_s.len(), 2);
    let folder = run.folder();
    assert_series_is_whole(&folder, 10_000);
    let csv = std::fs::read_to_string(folder.path().join("series.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 1001);
    for node in ["sensor", "controller"] {
        let capture = folder.capture(node).unwrap().unwrap();
        assert!(!capture.torn && capture.frames.len() > 300, "{}", capture.frames.len());
    }
    for program in ["sensor", "controller"] {
        let log = run.log(program);
        let lines: Vec<_> = log.lines().map(|line| OutputLine::parse(line).unwrap()).collect();
        assert!(!lines.is_empty());
        // What a program says when it is asked to end, it says at the end.
        assert!(lines.iter().all(|line| (-3_000_000_000..=10_000_000_000).contains(&line.time_ns)));
        assert!(lines.is_sorted_by_key(|line| line.time_ns));
    }
    eprintln!("10 s of the case: {wall:?}");
}

/// A second process stops the domain for a second, every second; nobody in it may notice.
#[test]
#[ignore = "long: a run of a minute"]
fn holds_cannot_be_seen_from_within() {
    let Some(place) = Place::of_case("voltage-stability") else { return };
    alone();
    let mut longest = Vec::new();
    for _ in 0..CHANCES {
        let run = while_being_held(&place, &["--variant", "normal", "--duration", "9 s"]);
        let record = run.record();
        let wall = record.wall.unwrap();
        assert!(wall.holds_s > 5.0, "it was not held: {wall:?}");
        assert_series_is_whole(&run.folder(), 9_000);
        let polls = verdict(&record.verdicts, POLLS);
        eprintln!(
            "held {:.1} s of {:.1} s: longest gap between polls {:?} ms ({}); {} retransmissions",
            wall.holds_s,
            wall.total_s,
            polls.value,
            polls.reason,
            retransmissions(&run.folder())
        );
        // Whatever else kept programs from acting on this machine: the holds have not.
        if polls.value.is_some_and(|longest_ms| longest_ms <= POLLS_AT_MOST_MS) {
            return;
        }
        longest.push(polls.value);
    }
    // A controller that is late without holds as well says something of the machine only.
    let plain = place.run(&["--variant", "normal", "--duration", "9 s"]).record();
    let plain = verdict(&plain.verdicts, POLLS);
    let is_late = plain.value.is_none_or(|longest_ms| longest_ms > POLLS_AT_MOST_MS);
    assert!(is_late, "held {longest:?} ms, otherwise {:?} ms", plain.value);
    eprintln!("not judged: this machine is too busy: {:?} ms without holds", plain.value);
}

#[test]
fn the_whole_case_meets_its_requirements() {
    if std::env::var_os("QCYCLE_FULL").is_none() {
        eprintln!("not run: it takes three minutes; set QCYCLE_FULL=1");
        return;
    }
    let Some(place) = Place::of_case("voltage-stability") else { return };
    alone();
    for variant in ["normal", "denial-of-service"] {
        let run = place.run(&["--variant", variant, "--repeat-disturbed", "3"]).expect(0);
        eprintln!("{}", run.out);
        let record = run.record();
        assert!(record.verdicts.iter().all(|verdict| verdict.outcome == Outcome::Met));
        assert_series_is_whole(&run.folder(), 90_000);
    }
}

/// The same seed gives rows at the same times. Values may differ by when programs came to run:
/// they take host time for what they compute.
#[test]
fn two_runs_have_rows_at_the_same_times() {
    let Some(place) = Place::of_case("voltage-stability") else { return };
    let options = ["--variant", "normal", "--duration", "3 s", "--seed", "7"];
    let (first, second) = (place.start(&options), place.start(&options));
    let series = [first, second].map(|run| run.finish().folder().series().unwrap().unwrap());
    assert_eq!(series[0].time_ns, series[1].time_ns);
    let wind = |index: usize| {
        let columns = &series[index].columns;
        &columns.iter().find(|column| column.point.0 == "generator.wind.kW").unwrap().values
    };
    assert_eq!(wind(0), wind(1), "what follows recorded data does not depend on programs");
    assert_eq!(place.runs().len(), 2);
}

fn while_being_held(place: &Place, options: &[&str]) -> Finished {
    let mut run = place.start(options);
    let domain = run.begun().name;
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let call = |what: &str| {
                let mut call = place.qcycle(&[what, &domain]);
                let _ = call.output();
                thread::sleep(Duration::from_secs(1));
            };
            while !over.load(Ordering::Relaxed) {
                call("hold");
                call("release");
            }
        });
        let finished = run.finish();
        over.store(true, Ordering::Relaxed);
        finished
    })
}

fn verdict<'v>(verdicts: &'v [Verdict], name: &str) -> &'v Verdict {
    verdicts.iter().find(|verdict| verdict.requirement.name == name).unwrap()
}

/// Segments with payload that repeat what was sent before, at both ends.
fn retransmissions(folder: &RunFolder) -> usize {
    let mut count = 0;
    for node in ["sensor", "controller"] {
        let mut streams = Streams::default();
        for frame in folder.capture(node).unwrap().unwrap().frames {
            if frame.heading == Some(Heading::Outbound)
                && let Some(segment) = Segment::parse(&frame.bytes)
                && !streams.is_new(&segment)
                && segment.payload > 0
            {
                count += 1;
            }
        }
    }
    count
}

fn assert_series_is_whole(folder: &RunFolder, until_ms: i64) {
    assert!(folder.path().join("series.parquet").exists());
    let series = folder.series().unwrap().unwrap();
    let expected: Vec<i64> = (0..=until_ms / 10).map(|row| row * 10_000_000).collect();
    assert_eq!(series.time_ns, expected);
    let voltage = &series.columns[0];
    assert_eq!(voltage.point.0, "bus.680.v1");
    assert!(voltage.values.iter().all(|volts| (2300.0..2450.0).contains(volts)));
}

#[test]
fn tshark_reads_the_captures_of_a_run() {
    if !is_there("tshark") {
        return;
    }
    let Some(place) = Place::of_case("voltage-stability") else { return };
    let run = place.run(&["--variant", "normal", "--duration", "1 s"]);
    let mut tshark = Command::new("tshark");
    tshark.args(["-d", "tcp.port==5020,mbtcp", "-Y", "modbus", "-r"]);
    let read = tshark.arg(run.folder().capture_path("sensor")).output().unwrap();
    let text = String::from_utf8_lossy(&read.stdout);
    assert!(text.lines().count() > 10, "{text}");
}
