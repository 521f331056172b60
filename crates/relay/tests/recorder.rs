//! Disturbance records: of a fault that a merging unit plays, read back by this project's reader and by
//! one of others, and played to another relay, which trips again.

use std::fs;
use std::path::{Path, PathBuf};

use iec61850::comtrade::Record;
use serde_json::Value;

use crate::process_bus::longest_stall_ns;
use crate::support::running::{Relay, count, parse, publish, run, summary};
use crate::support::{self, not_measured};

const FAULT_A: f64 = 8000.0;
const LOAD_A: f64 = 300.0;
/// A merging unit that is kept from its work for longer sends samples too late to be used, and a relay notes
/// what it finds as late.
const LATENESS_NS_MAX: u64 = 15_000_000;

fn relay(folder: &Path, format: &str) -> impl FnOnce(&str, &str) -> String {
    let folder = folder.display().to_string();
    move |records: &str, metrics: &str| {
        format!(
            "relay: 'bay, north'
frequency: 50 Hz
streams:
  line: {{sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4800 Hz, late_max: 20 ms}}
elements:
  I>: {{function: overcurrent, stream: line, pick_up: 2 kA, delay: 20 ms}}
trips: {{breakers: {{Q0: [I>]}}}}
goose:
  trips:
    reference: FEEDER/LLN0$GO$gcb01
    data_set: FEEDER/LLN0$trips
    go_id: FEEDER_trips
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    repeat_min: 4 ms
    repeat_max: 1 s
    signals: [trip Q0]
recorder: {{folder: {folder}, before: 100 ms, after: 150 ms, format: {format}}}
locator: {{stream: line, impedance: 4 ohm, angle: 80 deg, earth_factor: 0.7, length: 10}}
host: {{interface: west, records: {records}, metrics: '{metrics}'}}
"
        )
    }
}

/// A three-phase fault at the zero of a voltage, until the breaker opens 40 ms after the trip.
fn unit(source: &str) -> String {
    format!(
        "merging_unit: feeder
frequency: 50 Hz
sources:
  feeder: {source}
streams:
  line: {{sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4800 Hz, source: feeder}}
breaker:
  reference: FEEDER/LLN0$GO$gcb01
  destination: 01:0c:cd:01:00:01
  app_id: 1
  value: 0
  opening: 40 ms
"
    )
}

fn fault() -> String {
    unit(&format!(
        "{{kind: waveform, voltage: 63.5 kV, current: {LOAD_A} A, lag: 20 deg, fault: {{at: 700 ms, every: 60 \
         s, phases: abc, current: {FAULT_A} A, lag: 80 deg, voltage_left: 20 %, inception: 0 deg, tau: \
         45 ms}}}}"
    ))
}

/// Plays these settings of a merging unit to a relay; answers whether this host let it, the summary
/// and the events of the relay.
fn play(settings: &Path, relay: Relay) -> (bool, Value, Vec<Value>) {
    let (published, _) = summary(publish(settings, "1500ms"));
    relay.interrupt();
    let (summary, events) = relay.finish();
    let is_measured = count(&published, "/lateness_ns/max") < LATENESS_NS_MAX
        && longest_stall_ns(&summary) < LATENESS_NS_MAX;
    (is_measured, summary, events)
}

/// The only record of a folder, without ending.
fn only(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).expect("it is there").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    let endings: Vec<_> = files.iter().map(|file| file.extension().expect("an ending")).collect();
    assert_eq!(endings, ["cfg", "dat"], "{files:?}");
    files[0].with_extension("")
}

fn read(name: &Path) -> Record {
    let text = fs::read_to_string(name.with_extension("cfg")).expect("a text");
    let data = fs::read(name.with_extension("dat")).expect("data");
    Record::parse(&text, &data).expect("it is one")
}

/// When a digital channel was first true, in s since the first sample.
fn rise_s(record: &Record, name: &str) -> f64 {
    let channels = &record.configuration.digital;
    let channel = channels.iter().position(|channel| channel.name == name).expect(name);
    let rise = record.digital[channel].iter().position(|state| *state);
    record.time_s[rise.unwrap_or_else(|| panic!("{name} is never true"))]
}

#[test]
fn a_fault_is_recorded_and_its_record_trips_another_relay() {
    let of_what = "disturbance records";
    for format in ["binary32", "binary", "float32", "ascii"] {
        if !support::cable(of_what) {
            return;
        }
        assert!(support::ip("link set dev lo up"));
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("records");
        let settings = place.path().join("unit.yaml");
        fs::write(&settings, fault()).expect("it writes");
        let (is_measured, summary, events) =
            play(&settings, Relay::start(relay(&folder, format), "600s"));
        if !is_measured {
            not_measured(of_what, "the merging unit or the relay was kept from its work");
            continue;
        }
        assert_eq!(count(&summary, "/recorder/lost"), 0, "{summary}");
        assert_eq!(count(&summary, "/recorder/missed"), 0, "{summary}");
        assert_eq!(count(&summary, "/recorder/written"), 1, "{summary}");
        let name = only(&folder);
        let record = read(&name);
        assert_eq!(record.configuration.station, "bay  north");
        let current = record.channel("line IA").expect("it is recorded");
        let missing = current.iter().filter(|value| value.is_nan()).count();
        assert!(missing * 100 < current.len(), "{missing} of {} are missing", current.len());
        // Load in the first 60 ms, and then a fault with its offset.
        let peak =
            |values: &[f64]| values.iter().fold(0.0_f64, |peak, value| peak.max(value.abs()));
        let (before, all) = (peak(&current[..288]), peak(current));
        assert!((before / (LOAD_A * 2.0_f64.sqrt()) - 1.0).abs() < 0.01, "{before}");
        assert!((1.0..2.0).contains(&(all / (FAULT_A * 2.0_f64.sqrt()))), "{all}");
        let [start_s, operate_s, trip_s] =
            ["I> start", "I> operate", "Q0 trip"].map(|channel| rise_s(&record, channel));
        assert!((0.099..0.102).contains(&start_s), "{start_s}");
        assert!((0.019..0.05).contains(&(operate_s - start_s)), "{operate_s}");
        assert!((0.0..0.002).contains(&(trip_s - operate_s)), "{trip_s}");
        report(&events, &name);
        assert_eq!(events[0]["begin"], "bay, north");
        assert_eq!(events[0]["settings_sha256"].as_str().map(str::len), Some(64));
        assert_eq!(events.last().expect("an end")["reason"], "interrupted");
        assert!(events.iter().all(|line| line["time_quality"].is_u64()), "{events:?}");
        read_by_others(&name, &record);
        // Again.
        let channels = ["IA", "IB", "IC", "IN", "UA", "UB", "UC", "UN"];
        let channels = channels.map(|channel| format!("line {channel}")).join(", ");
        let source = format!(
            "{{kind: comtrade, configuration: {0}.cfg, data: {0}.dat, channels: [{channels}]}}",
            name.display()
        );
        fs::write(&settings, unit(&source)).expect("it writes");
        let again = place.path().join("again");
        let (is_measured, _, events) = play(&settings, Relay::start(relay(&again, format), "600s"));
        let trip = |line: &Value| line["trip"] == "Q0" && line["on"] == true;
        assert!(events.iter().any(trip) || !is_measured, "{events:?}");
    }
}

/// What the events say of the fault.
fn report(events: &[Value], record: &Path) {
    let fault = events.iter().find(|line| line.get("fault").is_some()).expect("it is reported");
    let name = record.file_name().and_then(|name| name.to_str()).expect("a name");
    assert_eq!(fault["records"], serde_json::json!([name]));
    assert_eq!(fault["elements"][0]["element"], "I>");
    assert_eq!(fault["elements"][0]["start_ms"], 0.0);
    let number = |path: &str| {
        fault.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {fault}"))
    };
    assert!((19.0..50.0).contains(&number("/elements/0/operate_ms")), "{fault}");
    assert!((19.0..51.0).contains(&number("/trips/0/trip_ms")), "{fault}");
    let before_a = number("/streams/line/before/currents_a/A/rms");
    assert!((before_a - LOAD_A).abs() < 3.0, "{fault}");
    let fault_a = number("/streams/line/at_operation/currents_a/positive/rms");
    assert!((fault_a / FAULT_A - 1.0).abs() < 0.05, "{fault}");
    // 40 ms until the contacts part, and the zeros of the currents.
    assert!((60.0..150.0).contains(&number("/streams/line/duration_ms")), "{fault}");
    // 12.7 kV over 8 kA are 1.59 ohm of 4.
    assert_eq!(fault["location"]["phases"], "ABC", "{fault}");
    assert!((number("/location/km") - 3.97).abs() < 0.2, "{fault}");
}

fn read_by_others(name: &Path, record: &Record) {
    if !support::has("comtrade") {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/comtrade_reader.py");
    let files = ["cfg", "dat"].map(|ending| name.with_extension(ending));
    let arguments = [script.as_os_str(), files[0].as_os_str(), files[1].as_os_str()];
    let (code, out, said) = run("python3", Path::new("."), arguments);
    assert_eq!(code, Some(0), "{said}");
    let theirs = parse(&out);
    assert_eq!(theirs["revision"], "2013");
    assert_eq!(theirs["samples"], record.time_s.len());
    assert_eq!(theirs["rates"][0][0], 4800.0);
    assert!((theirs["before_s"].as_f64().expect("a number") - 0.1).abs() < 0.001, "{theirs}");
    assert_eq!(theirs["units"][0], "A");
    assert_eq!(theirs["units"][4], "V");
    assert!(theirs["sides"].as_array().expect("a list").iter().all(|side| side == "P"));
    for (about, values) in record.configuration.analog.iter().zip(&record.analog) {
        for (sample, value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let their = theirs["analog"][&about.name][sample].as_f64().expect("a number");
            assert!((their - value).abs() <= value.abs() * 1e-6 + 1e-6, "{their}, not {value}");
        }
    }
    for (about, states) in record.configuration.digital.iter().zip(&record.digital) {
        for (sample, state) in states.iter().enumerate() {
            assert_eq!(theirs["digital"][&about.name][sample], i32::from(*state), "{}", about.name);
        }
    }
}
