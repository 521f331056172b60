//! `qcmerge` over a cable: every frame of every stream, in order and at its time, as settings have
//! it, and as decoders of others see it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use iec61850::wire::{SampledValues, Synchronisation, Validity, Value};
use iec61850_sv::{SvFrame, decode_sav_pdu};
use os::packet::{Batch, PacketSocket, wait};

use crate::support::{self, goose, running};

struct Came {
    octets: Vec<u8>,
    at_ns: i64,
}

/// Starts it, with these arguments between blanks.
fn qcmerge(arguments: &str) -> Child {
    running::start(env!("CARGO_BIN_EXE_qcmerge"), Path::new("."), arguments.split(' '))
}

/// Everything that comes until the program has ended, and what it said.
fn run(arguments: &str) -> (Vec<Came>, serde_json::Value) {
    let socket = PacketSocket::open("west", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    socket.join_all().expect("it joins");
    let mut child = qcmerge(arguments);
    let (mut came, mut batch) = (Vec::new(), Batch::new(256));
    let mut is_running = true;
    while is_running {
        is_running = child.try_wait().expect("it is ours").is_none();
        wait(&[&socket], Duration::from_millis(20)).expect("it waits");
        while socket.receive(&mut batch).expect("it receives") > 0 {
            came.extend(batch.frames().map(|frame| Came {
                octets: frame.octets.to_vec(),
                at_ns: frame.received_realtime_ns,
            }));
        }
    }
    assert_eq!(socket.kernel_counters().expect("it counts").dropped, 0);
    (came, running::summary(child).0)
}

fn count(summary: &serde_json::Value, what: &str) -> u64 {
    summary["frames"][what].as_u64().expect("it is a number")
}

#[test]
fn twenty_streams_come_whole_in_order_and_paced() {
    if !support::cable("twenty streams over a cable") {
        return;
    }
    let (came, summary) =
        run("stream --interface east --streams 20 --rate 4800 --duration 1s --json");
    assert_eq!(summary["streams"], 20);
    let (published, dropped) = (count(&summary, "published"), count(&summary, "dropped"));
    assert_eq!((published, published + dropped), (came.len() as u64, 48_000));
    let mut samples: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    for frame in &came {
        let frame = SampledValues::decode(&frame.octets).expect("it is a frame");
        assert_eq!(frame.count(), 2);
        for asdu in frame.asdus() {
            samples.entry(asdu.sv_id.to_owned()).or_default().push(asdu.smp_cnt);
        }
    }
    assert_eq!(samples.len(), 20);
    for counts in samples.values() {
        assert!(counts.is_sorted(), "in order");
        assert!(dropped > 0 || counts.iter().copied().eq(0..4800));
    }
    // The first sample of a second is taken at a whole second of the host, and none is sent before it
    // is taken: they are paced, however late a busy host lets them go.
    let early_ns = |frame: &Came| {
        let first = SampledValues::decode(&frame.octets).expect("it is a frame").asdus().next();
        let taken_ns = i64::from(first.expect("it has samples").smp_cnt) * 1_000_000_000 / 4800;
        frame.at_ns - taken_ns
    };
    let second_ns = early_ns(&came[0]) / 1_000_000_000 * 1_000_000_000;
    for frame in &came {
        assert!(early_ns(frame) >= second_ns, "{} ns", early_ns(frame) - second_ns);
    }
}

#[test]
fn decoders_of_others_see_the_same() {
    if !support::cable("frames for other decoders") {
        return;
    }
    for (rate, asdus) in [("4000", 1), ("4800", 2), ("14400", 6)] {
        let (came, _) =
            run(&format!("stream --interface east --rate {rate} --duration 50ms --json"));
        assert!(!came.is_empty());
        for frame in &came {
            let ours = SampledValues::decode(&frame.octets).expect("it is a frame");
            let theirs = SvFrame::decode(&frame.octets).expect("they decode it");
            let theirs = decode_sav_pdu(&theirs.pdu_bytes).expect("they decode it");
            assert_eq!(theirs.asdus.len(), asdus);
            for (ours, theirs) in ours.asdus().zip(&theirs.asdus) {
                assert_eq!((ours.sv_id, ours.smp_cnt), (&theirs.sv_id[..], theirs.smp_cnt));
                let channels = theirs.sample.chunks(8).zip(ours.channels.iter());
                assert!(channels.into_iter().all(|(theirs, ours)| theirs == ours.to_octets()));
            }
        }
        compare_with_tshark(&came);
    }
}

/// Names and numbers of samples as tshark reads them from a capture.
fn compare_with_tshark(came: &[Came]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("came.pcap");
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 1] {
        capture.extend(word.to_be_bytes());
    }
    for Came { octets, .. } in came {
        let length = octets.len() as u32;
        capture.extend([0, 0, length, length].map(u32::to_be_bytes).as_flattened());
        capture.extend(octets);
    }
    std::fs::write(&path, capture).expect("it is written");
    let fields = ["-T", "fields", "-E", "aggregator=,", "-e", "sv.svID", "-e", "sv.smpCnt"];
    let Ok(output) = Command::new("tshark").arg("-r").arg(&path).args(fields).output() else {
        support::not_measured("tshark", "it is not installed");
        return;
    };
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let told: Vec<&str> = listed.lines().collect();
    let ours: Vec<String> = came
        .iter()
        .map(|frame| {
            let frame = SampledValues::decode(&frame.octets).expect("it is a frame");
            let (names, numbers): (Vec<_>, Vec<_>) =
                frame.asdus().map(|asdu| (asdu.sv_id, asdu.smp_cnt.to_string())).unzip();
            format!("{}\t{}", names.join(","), numbers.join(","))
        })
        .collect();
    assert_eq!(told, ours);
}

const DISTURBED: &str = "
merging_unit: test
frequency: 50 Hz
sources:
  bay: {kind: waveform, voltage: 60 kV, current: 400 A}
streams:
  MU01: {sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4000 Hz, source: bay}
disturbances:
  lost: {kind: loss, share: 5 %, at: 100 ms, lasts: 100 ms}
  doubled: {kind: duplicate, share: 5 %, at: 200 ms, lasts: 100 ms}
  swapped: {kind: reorder, share: 5 %, at: 300 ms, lasts: 100 ms}
  clock: {kind: unsynchronised, at: 400 ms, lasts: 100 ms}
  bad: {kind: invalid, at: 500 ms, lasts: 100 ms}
";

#[test]
fn disturbances_are_seen_on_the_wire_as_they_are_counted() {
    if !support::cable("disturbed frames over a cable") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bay.yaml");
    std::fs::write(&path, DISTURBED).expect("it is written");
    let path = path.display();
    let (came, summary) = run(&format!("run {path} --interface east --duration 700ms --json"));
    if count(&summary, "dropped") > 0 {
        println!("disturbed frames: not measured: this host stood still meanwhile");
        return;
    }
    let asdus: Vec<(u16, Synchronisation, Validity)> = came
        .iter()
        .map(|frame| {
            let frame = SampledValues::decode(&frame.octets).expect("it is a frame");
            let first = frame.first();
            let sample = first.channels.get(0).expect("there are eight");
            (first.smp_cnt, first.smp_synch, sample.quality.validity())
        })
        .collect();
    let steps = |wanted: std::ops::Range<u16>, is: fn(i32) -> bool| {
        let inside = asdus.windows(2).filter(|pair| wanted.contains(&pair[0].0));
        inside.filter(|pair| is(i32::from(pair[1].0) - i32::from(pair[0].0))).count() as u64
    };
    let whole: std::collections::BTreeSet<u16> = asdus.iter().map(|asdu| asdu.0).collect();
    let lost = (0..2800).filter(|number| !whole.contains(number)).count() as u64;
    assert_eq!(lost, count(&summary, "lost_on_purpose"));
    assert!(
        (1..=60).contains(&lost)
            && (400..800).contains(&(0..2800).find(|n| !whole.contains(n)).unwrap_or(0))
    );
    assert_eq!(steps(800..1200, |step| step == 0), count(&summary, "doubled_on_purpose"));
    let held_back = count(&summary, "held_back_on_purpose");
    assert!((1..=held_back).contains(&steps(1200..1610, |step| step < 0)));
    for (number, synchronisation, validity) in asdus {
        let is_lost = (1600..2000).contains(&number);
        assert_eq!(synchronisation == Synchronisation::None, is_lost, "{number}");
        assert_eq!(validity == Validity::Invalid, (2000..2400).contains(&number), "{number}");
    }
}

const TRIPPED: &str = "
merging_unit: test
frequency: 50 Hz
sources:
  bay:
    kind: waveform
    voltage: 60 kV
    current: 400 A
    fault: {at: 200 ms, phases: abc, current: 8 kA, voltage_left: 10 %, tau: 20 ms}
streams:
  MU01: {sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4000 Hz, source: bay}
breaker: {reference: Q0, destination: 01:0c:cd:01:00:01, app_id: 1, opening: 40 ms}
";

/// Trips as soon as the current is a fault's, as a relay would.
fn trip_at_fault() {
    let samples = PacketSocket::open("west", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    samples.join_all().expect("it joins");
    let trips = PacketSocket::open("west", ETHERTYPE_GOOSE).expect("it opens");
    let (mut batch, mut frame) = (Batch::new(16), goose::frame(&[Value::Boolean(true)], |_| ()));
    frame[6..12].copy_from_slice(&trips.address());
    while wait(&[&samples], Duration::from_secs(10)).expect("it waits") {
        samples.receive(&mut batch).expect("it receives");
        let is_fault = |octets: &[u8]| {
            let frame = SampledValues::decode(octets).expect("it is a frame");
            frame.first().channels.iter().take(3).any(|sample| sample.value.abs() > 4_000_000)
        };
        if batch.frames().any(|frame| is_fault(frame.octets)) {
            assert_eq!(trips.send(&[&frame]).expect("it sends"), 1);
            return;
        }
    }
    panic!("no fault came");
}

#[test]
fn a_trip_ends_the_fault_after_the_time_of_the_breaker() {
    if !support::cable("a trip over a cable") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bay.yaml");
    std::fs::write(&path, TRIPPED).expect("it is written");
    let child = running::publish(&path, "800ms");
    trip_at_fault();
    let (summary, said) = running::summary(child);
    let fault = &summary["faults"][0];
    let span_ns = |what: &str| fault[what].as_i64().unwrap_or_else(|| panic!("{summary}"));
    let (trip_ns, interrupted_ns) = (span_ns("trip_after_ns"), span_ns("interrupted_after_ns"));
    assert!(trip_ns > 0, "{summary}");
    // The contacts part 40 ms after the trip, and within a period and a half all arcs are out,
    // the offset included; how late the host was is in both.
    let after_trip_ns = interrupted_ns - trip_ns;
    if summary["lateness_ns"]["max"].as_u64() > Some(10_000_000) {
        println!("a trip over a cable: not measured: this host stood still meanwhile");
        return;
    }
    assert!((39_000_000..80_000_000).contains(&after_trip_ns), "{summary}");
    // A begin within half a period of `at`, at a whole-second grid of samples.
    let within_ns = fault["inception_realtime_ns"].as_i64().expect("a number") % 1_000_000_000;
    assert!((190_000_000..230_000_000).contains(&within_ns), "{summary}");
    assert!(said.contains("fault 1 of bay: inception"));
}

#[test]
fn a_fault_that_trips_nothing_has_one_exit_code_and_is_told_in_json_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let relay = "relay: bay\nfrequency: 50 Hz\nstreams: {s: {sv_id: MU01, destination: \
                 '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}\nelements: {I>>: {function: \
                 overcurrent, stream: s, pick_up: 90 kA, delay: 0 s}}\ntrips: {breakers: {Q0: [I>>]}}\n";
    std::fs::write(folder.path().join("bay.yaml"), TRIPPED).expect("it is written");
    std::fs::write(folder.path().join("relay.yaml"), relay).expect("it is written");
    let expect = |how: &[&str]| {
        let arguments = ["expect", "bay.yaml", "relay.yaml"].iter().chain(how);
        running::run(env!("CARGO_BIN_EXE_qcmerge"), folder.path(), arguments)
    };
    let ((code, out, said), (code_json, json, said_json)) = (expect(&[]), expect(&["--json"]));
    assert_eq!((code, code_json, out.as_str()), (Some(69), Some(69), ""), "{said}{said_json}");
    assert!(said == said_json && said.contains("no fault of these sources trips"), "{said}");
    assert_eq!(running::parse(&json)["breakers"]["Q0"]["trip_ns"], serde_json::Value::Null);
}

/// The scheduling policy of each thread of a process (`proc_pid_stat(5)`, field 41).
fn policies(process: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let policy = |task: std::io::Result<std::fs::DirEntry>| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(41 - 3)?.parse().ok()
    };
    tasks.filter_map(policy).collect()
}

#[test]
fn a_file_keeps_no_real_time_thread() {
    if !support::cable("a file keeps no real-time thread") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("steps.jsonl");
    let mut child = qcmerge(&format!(
        "alternate --interface east --actions 1000000 --interval 5ms --settle 10ms --priority 10 \
         --records {}",
        records.display()
    ));
    let begin = Instant::now();
    while std::fs::metadata(&records).map_or(0, |file| file.len()) == 0 {
        assert!(child.try_wait().expect("it is ours").is_none(), "it ended");
        assert!(begin.elapsed() < Duration::from_secs(60), "it has not stepped yet");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut policies = policies(child.id());
    policies.sort_unstable();
    child.kill().expect("it is ours");
    let output = child.wait_with_output().expect("it ends");
    let warned = String::from_utf8_lossy(&output.stderr);
    if warned.contains("priority 10:") {
        println!("a file keeps no real-time thread: not measured: {}", warned.trim());
        return;
    }
    assert_eq!(policies, [libc::SCHED_OTHER, libc::SCHED_FIFO], "one publishes and one writes");
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |text: &str, [command, with]: [&str; 2]| {
        std::fs::write(folder.path().join("bay.yaml"), text).expect("it is written");
        let arguments = [command, "bay.yaml"].into_iter().chain(with.split_whitespace());
        let (code, _, told) = running::run(env!("CARGO_BIN_EXE_qcmerge"), folder.path(), arguments);
        (code, told)
    };
    let (code, told) = said(&DISTURBED.replace("5 %", "5"), ["check", ""]);
    assert_eq!((code, told.lines().count()), (Some(65), 3), "{told}");
    assert!(told.contains("bay.yaml:9:29: disturbances.lost.share: `5` has no unit"), "{told}");
    let (code, told) = said(DISTURBED, ["run", ""]);
    assert!(code == Some(69) && told.contains("no interface; give one with"), "{told}");
    let (code, told) = said(DISTURBED, ["run", "--interface nowhere"]);
    assert!(code == Some(69) && told.contains("interface nowhere"), "{told}");
    let record = DISTURBED.replace(
        "{kind: waveform, voltage: 60 kV, current: 400 A}",
        "{kind: capture, file: none.pcap, sv_id: MU01, rate: 4000 Hz}",
    );
    let (code, told) = said(&record, ["check", ""]);
    assert_eq!(code, Some(65), "{told}");
    assert!(told.contains("bay.yaml:5:8: sources.bay: "), "{told}");
    assert!(told.contains("none.pcap cannot be read (No such file"), "{told}");
    assert_eq!(said(DISTURBED, ["check", ""]), (Some(0), String::new()));
}
