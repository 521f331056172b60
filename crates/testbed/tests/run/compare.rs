//! `qcycle compare`: two real runs of a scenario, and copies of one in which one thing was changed.

use std::fs;
use std::path::{Path, PathBuf};

use network::capture::{Heading, packet, section};
use network::pcapng::CapturedFrame;
use plant::name::PointName;
use results::record::EndedHow;
use results::{RunFolder, RunRecord};
use serde_json::Value;

use crate::run::harness::{Finished, Place};

const POLLER: &str = "captures/poller.pcapng";
/// What a run may end with, whatever the machine does meanwhile.
const JUDGED: [i32; 4] = [0, 10, 11, 13];

/// A place with the smallest scenario, cut short.
fn place() -> Option<Place> {
    let place = Place::of_case("minimal")?;
    let text = fs::read_to_string(place.scenario().join("scenario.yaml")).unwrap();
    let (one_variant, _) = text.split_once("variants:").unwrap();
    let short = one_variant.replace("duration: 5 s", "duration: 2 s\nsettle: 100 ms");
    place.file("scenario.yaml", &short);
    Some(place)
}

fn run(place: &Place) -> PathBuf {
    let run = place.run(&[]).expect_one_of(&JUDGED);
    run.folder().path().to_owned()
}

fn compare(place: &Place, arguments: &[&str], runs: &[&Path]) -> Finished {
    let mut command = place.qcycle(&["compare"]);
    command.args(arguments).args(runs);
    place.start_command(command).finish()
}

/// A copy of the folder of a run.
fn copy_of(run: &Path, name: &str) -> RunFolder {
    let copy = run.with_file_name(name);
    for part in ["", "captures"] {
        fs::create_dir(copy.join(part)).unwrap();
        for entry in fs::read_dir(run.join(part)).unwrap().flatten() {
            if entry.file_type().unwrap().is_file() {
                fs::copy(entry.path(), copy.join(part).join(entry.file_name())).unwrap();
            }
        }
    }
    RunFolder::open(&copy).unwrap()
}

fn change_record(folder: &RunFolder, change: impl FnOnce(&mut RunRecord)) {
    let mut record = folder.record().unwrap();
    change(&mut record);
    folder.write_record(&record).unwrap();
}

/// Writes a capture of ten frames, changed.
fn write_frames(folder: &RunFolder, change: impl FnOnce(&mut Vec<CapturedFrame>)) {
    let zero_ns = folder.record().unwrap().realtime_zero_ns;
    let frame = |number| CapturedFrame {
        realtime_ns: zero_ns + number * 20_000_000,
        heading: Some(Heading::Outbound),
        bytes: vec![0xff; 52],
    };
    let mut frames = (0..10_i64).map(frame).collect();
    change(&mut frames);
    let mut octets = section("eth0", "of a test");
    for frame in frames {
        packet(&mut octets, frame.realtime_ns, frame.heading.unwrap(), &frame.bytes);
    }
    fs::write(folder.path().join(POLLER), octets).unwrap();
}

fn write_series(folder: &RunFolder, values: [f64; 3]) {
    let points = [PointName("bus.680.v1".into())];
    let mut series = folder.series_writer(&points).unwrap();
    for (row, value) in (0..).zip(values) {
        series.row(row * 10_000_000, &[value]).unwrap();
    }
    series.finish().unwrap();
}

#[test]
fn two_runs_in_real_time_differ_and_a_copy_does_not() {
    let Some(place) = place() else { return };
    let (first, second) = (run(&place), run(&place));
    let copy = copy_of(&first, "copy");
    let same = compare(&place, &["--payload"], &[&first, copy.path()]).expect(0);
    assert!(same.out.starts_with("1 verdict, 0 series, 2 captures with "), "{}", same.out);
    assert!(same.out.ends_with(" frames: the same\n") && same.err.is_empty(), "{same:?}");

    // Programs compute in real time, so no two frames have the same nanosecond.
    let different = compare(&place, &[], &[&first, &second]).expect(14);
    assert!(different.out.contains("different, first at "), "{}", different.out);
    let json = compare(&place, &["--json"], &[&first, &second, copy.path()]).expect(14);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["runs"][0]["same"], false);
    assert_eq!(json["runs"][0]["differences"][0]["part"], "capture");
    assert_eq!(json["runs"][1]["same"], true);
    assert_eq!(json["runs"][1]["compared"]["captures"], 2);

    let table = compare(&place, &[], &[&first, &second, copy.path()]).expect(14);
    let lines: Vec<_> = table.out.lines().collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[2].contains("different, first at") && lines[3].ends_with("  the same"));
    let all = compare(&place, &["--tolerance", "1h"], &[&first, &second]);
    assert!(!all.out.contains("  time  "), "{}", all.out);
}

type Change<'a> = &'a dyn Fn(&RunFolder);

/// Each copy of a run has one change. What `qcycle compare` says of it, and its exit code.
#[test]
fn one_change_of_a_copy_is_found_and_named() {
    let Some(place) = place() else { return };
    let run = run(&place);
    let reference = copy_of(&run, "reference");
    write_frames(&reference, |_| ());
    let unchanged = copy_of(reference.path(), "unchanged");
    write_series(&reference, [2400.0, 2399.5, 2400.0]);
    let record = |change: fn(&mut RunRecord)| move |copy: &RunFolder| change_record(copy, change);
    let frames =
        |change: fn(&mut Vec<CapturedFrame>)| move |copy: &RunFolder| write_frames(copy, change);
    let cut = |copy: &RunFolder| {
        let file = fs::File::options().write(true).open(copy.path().join(POLLER)).unwrap();
        file.set_len(file.metadata().unwrap().len() - 3).unwrap();
    };
    let changes: [(&str, Change<'_>, i32, &[&str]); 12] = [
        (
            "nothing",
            &|_| (),
            0,
            &["1 verdict, 1 series with 3 points, 2 captures with ", "the same"],
        ),
        (
            "point",
            &|copy| write_series(copy, [2400.0, 2399.5, 2300.25]),
            14,
            &["first at 0.020000000 s", "bus.680.v1, row 3  value  2400 V  2300.25 V"],
        ),
        (
            "verdict",
            &record(|record| record.verdicts[0].value = Some(40.5)),
            14,
            &["verdict `the poller keeps asking`  value", " 40.5 ms"],
        ),
        (
            "dropped",
            &frames(|frames| drop(frames.remove(6))),
            14,
            &[
                "first at 0.120000000 s",
                "captures/poller.pcapng, frame 7   time     0.120000000 s  0.140000000 s     2\n",
                "captures/poller.pcapng, frame 10  missing  there          –",
            ],
        ),
        (
            "longer",
            &frames(|frames| frames[4].bytes.extend([0; 1000])),
            14,
            &["captures/poller.pcapng, frame 5  length  52 octets  1052 octets"],
        ),
        (
            "turned",
            &frames(|frames| frames[0].heading = Some(Heading::Inbound)),
            14,
            &["captures/poller.pcapng, frame 1  direction  outbound  inbound"],
        ),
        (
            "octet",
            &frames(|frames| frames[1].bytes[14] = 0x45),
            14,
            &["captures/poller.pcapng, frame 2  payload  octet 14 is 0xff  octet 14 is 0x45"],
        ),
        (
            "missing",
            &|copy| fs::remove_file(copy.path().join(POLLER)).unwrap(),
            14,
            &["captures/poller.pcapng  missing  there", " 1 capture "],
        ),
        (
            "variant",
            &record(|record| record.scenario.variant = Some("outage".into())),
            14,
            &["0 verdicts, 0 series, 0 captures: different\n", "scenario  variant  –      outage"],
        ),
        (
            "torn",
            &cut,
            69,
            &["torn/captures/poller.pcapng: at octet ", "the file ends within this block"],
        ),
        (
            "unfinished",
            &record(|record| record.ended.how = EndedHow::Unfinished),
            69,
            &["unfinished has not ended"],
        ),
        ("unjudged", &record(|record| record.verdicts.clear()), 69, &["unjudged has no verdicts"]),
    ];
    for (name, change, code, wanted) in changes {
        let copy = copy_of(unchanged.path(), name);
        change(&copy);
        if !copy.path().join("series.parquet").exists() {
            write_series(&copy, [2400.0, 2399.5, 2400.0]);
        }
        let found = compare(&place, &["--payload"], &[reference.path(), copy.path()]).expect(code);
        let said = format!("{}{}", found.out, found.err);
        for wanted in wanted {
            assert!(said.contains(wanted), "{name}: no {wanted:?} in\n{said}");
        }
    }
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_fix() {
    let Some(place) = place() else { return };
    let refused = |runs: &[&str], arguments: &[&str], code, wanted: &str| {
        let runs: Vec<_> = runs.iter().map(Path::new).collect();
        let found = compare(&place, arguments, &runs).expect(code);
        assert!(found.err.contains(wanted) && found.out.is_empty(), "{found:?}");
    };
    refused(&["scenario"], &[], 64, "2 values required");
    refused(&["scenario", "nowhere"], &["--tolerance", "-1us"], 64, "is negative");
    refused(&["scenario", "nowhere"], &[], 69, "is not a run folder");
}
