//! `qcprobe` as others use it: a program that writes a stream, and may be ended in any way.

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use common::{HOUR_NS, measure, outcome, qcprobe, read, signal, to_its_end};
use probe::stream::{Counts, Item, Note, Outcome, Reader, Samples, Stamps};
use probe::{Kind, Plan};

fn modest() -> Plan {
    common::modest(300_000_000)
}

fn samples(items: &[Item]) -> Vec<&Samples> {
    let blocks = items.iter().filter_map(|item| match item {
        Item::Samples(block) => Some(block),
        _ => None,
    });
    blocks.collect()
}

fn last_counts(items: &[Item]) -> Counts {
    let of = |item: &Item| match item {
        Item::Note(note) => match &**note {
            Note::Counts { threads, .. } => threads.first().cloned(),
            _ => None,
        },
        _ => None,
    };
    items.iter().rev().find_map(of).expect("counts are written at the end")
}

/// Waits until this many samples are in the file, however long that takes.
fn wait_for_samples(file: &Path, count: usize) -> Vec<Item> {
    loop {
        let items = read(&std::fs::read(file).unwrap_or_default());
        if samples(&items).iter().map(|block| block.samples.len()).sum::<usize>() >= count {
            return items;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn each_period_is_a_sample_or_a_miss_and_the_counts_say_so() {
    let (octets, code) = to_its_end(measure(&modest(), "-"));
    assert_eq!(code, Some(0));
    let reader = Reader::new(octets.as_slice()).unwrap();
    assert_eq!(reader.header().plan, modest());
    assert!(!reader.header().facts.kernel_release.is_empty());
    let items: Vec<Item> = reader.collect();
    assert_eq!(outcome(&items), &Outcome::Finished);
    let counts = last_counts(&items);
    let mut next = 0;
    for block in samples(&items) {
        assert_eq!(block.first, next, "nothing is lost in so short a time");
        next += block.samples.len() as u64;
        assert!(block.samples.iter().all(|sample| sample.at_ns % 1_000_000 == 0));
        assert!(block.samples.iter().all(|sample| sample.latency_ns >= 0));
    }
    assert_eq!((counts.taken, counts.lost, counts.taken + counts.missed), (next, 0, 300));
    assert!(counts.cpu_ns > 0 && counts.voluntary_switches > 0);
}

#[test]
fn killed_in_the_middle_it_leaves_all_that_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.qcs");
    let mut child = measure(&common::modest(HOUR_NS), &file);
    let before = wait_for_samples(&file, 700);
    child.kill().unwrap();
    child.wait().unwrap();
    let after = read(&std::fs::read(&file).unwrap());
    assert!(matches!(after.last(), Some(Item::Cut(_))), "{:?}", after.last());
    assert_eq!(after[..before.len() - 1], before[..before.len() - 1]);
}

#[test]
fn asked_to_end_it_ends_its_stream() {
    for (name, code) in [("-INT", 130), ("-TERM", 130), ("-HUP", 130)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ended.qcs");
        let mut child = measure(&common::modest(HOUR_NS), &file);
        wait_for_samples(&file, 1);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        let items = read(&std::fs::read(&file).unwrap());
        assert_eq!(outcome(&items), &Outcome::Interrupted);
    }
}

#[test]
fn a_core_that_is_not_there_is_not_measured_and_the_stream_says_why() {
    let (octets, code) = to_its_end(measure(&Plan { cores: vec![4000], ..modest() }, "-"));
    assert_eq!(code, Some(11));
    let items = read(&octets);
    let Outcome::NotMeasured(reason) = outcome(&items) else { panic!("{items:?}") };
    assert!(reason.starts_with("core 4000: "), "{reason}");
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let mut child = measure(&common::modest(HOUR_NS), "-");
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(12));
    let said = String::from_utf8(ended.stderr).unwrap();
    let expected =
        "writing the stream to -: Broken pipe (os error 32); fix: have its reader read it";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_stream_is_shown_and_what_is_none_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shown.qcs");
    assert!(measure(&modest(), &file).wait().unwrap().success());
    let shown = qcprobe().arg("show").arg(&file).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.starts_with("timer every 1000 µs, ordinary threads\n"), "{text}");
    assert!(text.ends_with("finished\n"), "{text}");
    std::fs::write(&file, "PAR1").unwrap();
    let refused = qcprobe().arg("show").arg(&file).output().unwrap();
    assert_eq!(refused.status.code(), Some(65));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("does not begin with `QCS1`"));
    let refused = qcprobe().arg("show").arg(folder.path()).output().unwrap();
    assert_eq!(refused.status.code(), Some(69), "a folder");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.ends_with("(os error 21); fix: give a file that `qcprobe run` wrote\n"), "{said}");
}

#[test]
fn an_option_out_of_range_is_refused_with_its_name_and_range() {
    for (option, value, range) in [
        ("--priority", "0", "1 to 99, or `none`"),
        ("--priority", "null", "1 to 99, or `none`"),
        ("--period", "0s", "from 10us to 87600h"),
        ("--duration", "87601h", "from 10us to 87600h"),
        ("--cores", "", "at least one core"),
    ] {
        let refused = qcprobe().args(["run", option, value]).output().expect("it starts");
        let said = String::from_utf8(refused.stderr).expect("text");
        assert_eq!(refused.status.code(), Some(64), "{option} {value}: {said}");
        assert!(said.contains(option) && said.contains(range), "{said}");
    }
    let refused = qcprobe().args(["keep", "--parent", "x", "--", "true"]).output();
    let said = String::from_utf8(refused.expect("it starts").stderr).expect("text");
    assert!(said.contains("give the number of a process"), "{said}");
}

#[test]
fn real_time_priority_is_had_or_its_lack_is_named() {
    let plan = Plan { priority: Some(80), lock_memory: true, hold_awake: true, ..modest() };
    let items = read(&to_its_end(measure(&plan, "-")).0);
    match outcome(&items) {
        Outcome::Finished => assert!(!samples(&items).is_empty()),
        Outcome::NotMeasured(reason) => {
            assert!(reason.starts_with("SCHED_FIFO 80: ") && reason.contains("CAP_SYS_NICE"));
        }
        other => panic!("{other:?}"),
    }
}

/// Runs a plan on the first core to its end; `None`, and a note, where this machine lacks
/// something.
fn measured(plan: &Plan) -> Option<Vec<u8>> {
    let (octets, _) = to_its_end(measure(plan, "-"));
    match outcome(&read(&octets)) {
        Outcome::Finished => Some(octets),
        Outcome::NotMeasured(reason) => {
            eprintln!("not tested: {reason}");
            None
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn datagrams_and_frames_are_split_by_the_stamps_of_the_kernel_if_that_is_asked_for() {
    for probe in [Kind::Udp, Kind::Ethernet] {
        let plan = Plan { probe, split: true, ..modest() };
        let Some(octets) = measured(&plan) else { continue };
        let items = read(&octets);
        let samples: Vec<_> = samples(&items).iter().flat_map(|block| &block.samples).collect();
        let whole = |parts: &[Option<i64>]| parts.iter().copied().sum::<Option<i64>>();
        let mut split = 0;
        for sample in &samples {
            let parts: Vec<_> = sample.stamps.parts(sample.latency_ns, 3).collect();
            if let Some(sum_ns) = whole(&parts) {
                assert_eq!(sum_ns, sample.latency_ns, "{probe}");
                assert!(parts.iter().all(|part| part.is_some_and(|ns| ns >= 0)), "{parts:?}");
                split += 1;
            }
        }
        // The kernel begins to stamp a moment after it is asked to; then it leaves nothing out.
        let count = samples.len();
        assert!(split > 0 && split * 2 >= count, "{probe}: {split} of {count}");
        let unsplit = measured(&Plan { split: false, ..plan }).unwrap();
        for block in self::samples(&read(&unsplit)) {
            assert!(block.samples.iter().all(|sample| sample.stamps == Stamps::default()));
        }
    }
}

#[test]
fn parts_are_shown_below_the_cores() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("split.qcs");
    let plan = Plan { probe: Kind::Udp, split: true, ..modest() };
    let Some(octets) = measured(&plan) else { return };
    std::fs::write(&file, octets).unwrap();
    let shown = qcprobe().arg("show").arg(&file).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    for part in Kind::Udp.parts() {
        let line = text.lines().find(|line| line.trim_start().starts_with(part));
        let figures = line.map_or(0, |line| line.split_whitespace().count());
        assert_eq!(figures, 3 + 4, "{part}: {text}");
    }
}

#[test]
fn every_kind_of_probe_takes_a_sample_or_a_miss_each_period() {
    for kind in <Kind as strum::IntoEnumIterator>::iter() {
        let plan = Plan { probe: kind, duration_ns: 100_000_000, ..modest() };
        println!("{kind}");
        let measured = || read(&to_its_end(measure(&plan, "-")).0);
        let mut items = measured();
        // A host that is gone for 100 ms takes each sample of them.
        for _ in 0..5 {
            if !matches!(outcome(&items), Outcome::Finished) || last_counts(&items).taken > 0 {
                break;
            }
            items = measured();
        }
        match outcome(&items) {
            Outcome::Finished => {
                let counts = last_counts(&items);
                assert_eq!((counts.taken + counts.missed, counts.lost), (100, 0), "{kind}");
                let samples = samples(&items);
                let mut latencies =
                    samples.iter().flat_map(|block| &block.samples).map(|one| one.latency_ns);
                assert!(counts.taken > 0, "{kind}: {counts:?}");
                assert_eq!(latencies.find(|ns| *ns < 0), None, "{kind}");
                let has_gaps = items.iter().any(
                    |item| matches!(item, Item::Note(note) if matches!(**note, Note::Gaps(_))),
                );
                assert_eq!(has_gaps, kind == Kind::Noise, "{kind}");
            }
            // What a machine may lack.
            Outcome::NotMeasured(reason) => {
                assert!(matches!(kind, Kind::Ethernet | Kind::Gpio | Kind::Udp), "{reason}");
                assert!(reason.starts_with(kind.name()) && reason.len() > 20, "{reason}");
            }
            other => panic!("{kind}: {other:?}"),
        }
    }
}

/// As with `| head`.
#[test]
fn a_closed_output_is_no_reason_to_abort() {
    let folder = tempfile::tempdir().expect("a folder");
    let stream = folder.path().join("stream");
    let ended = measure(&Plan { duration_ns: 20_000_000, ..modest() }, &stream).wait();
    assert!(ended.expect("it was started").success());
    let stream = stream.display().to_string();
    let commands: [(&[&str], i32); 5] = [
        (&["facts"], 0),
        (&["show", &stream], 0),
        (&["show", "/nowhere"], 69),
        (&["--help"], 0),
        (&["run", "--probe", "timer", "--duration", "20ms", "--output", "-"], 12),
    ];
    for (arguments, code) in commands {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = qcprobe();
        command.args(arguments).stdin(Stdio::null());
        command.stderr(writer.try_clone().expect("a descriptor")).stdout(writer);
        let status = command.status().expect("it starts");
        println!("{arguments:?}: {status}");
        assert_eq!(status.code(), Some(code), "{arguments:?}: {status}");
    }
}
