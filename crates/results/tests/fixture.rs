//! Two runs of a small voltage-stability case, made of sines and steps: in the one the
//! controller follows the wind, in the other it hears nothing from 22.5 s on and the storage
//! keeps its last set-point.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use domain::{Keeping, Kept, Pace, PaceStatus, Stalls};
use network::capture::{Heading, packet, section};
use plant::name::PointName;
use report_kit::machine::{Versions, sha256};
use results::output::{Channel, OutputLine};
use results::record::*;
use results::{RunFolder, RunRecord, exit, table};
use scenario::model::{Disturbed, End, Measure, MeasureKind, Order, Requirement, Sync, Window};
use vtime::VirtualSpan;

pub(crate) const POINTS: [&str; 6] = [
    "bus.680.v1",
    "bus.646.v2",
    "generator.wind.kW",
    "storage.es.kW",
    "load.d611.kW",
    "load.d692.kW",
];
/// Charts of the two runs: the loads share one, and the silence of the controller has one.
pub(crate) const CHARTS: usize = 6;
const MS: i64 = 1_000_000;
const ATTACK_MS: i64 = 22_500;
const END_MS: i64 = 90_000;
const REALTIME_ZERO_NS: i64 = 1_546_300_800_000_000_000;

const DESCRIPTION: &str = "A controller reads the wind power over Modbus every 100 ms and lets a \
    storage unit balance it. In the attack, its traffic is dropped from 22.5 s on.";

/// Writes a run as the runner does, verdicts included.
pub(crate) fn run(root: &Path, attacked: bool) -> RunFolder {
    let variant = if attacked { "attack" } else { "normal" };
    let folder = RunFolder::create(root, &format!("voltage-stability-{variant}")).unwrap();
    let mut record = begin(variant, attacked);
    folder.write_record(&record).unwrap();
    let points = POINTS.map(|point| PointName(point.into()));
    let mut series = folder.series_writer(&points).unwrap();
    for row in -200..END_MS / 10 {
        series.row(row * 10 * MS, &values(row * 10, attacked)).unwrap();
    }
    series.finish().unwrap();
    fs::write(folder.capture_path("controller"), capture(attacked)).unwrap();
    fs::write(folder.program_log("controller"), log(attacked)).unwrap();

    record.covered_ns = END_MS * MS;
    record.ended = RunEnd { how: EndedHow::Complete, reason: String::new() };
    record.wall = Some(account());
    record.network = serde_json::json!({
        "links": {
            "sensor–s1": { "frames": 1834, "bytes": 121_044, "dropped": 0 },
            "s1–s2": { "frames": 1834, "bytes": 121_044, "dropped": if attacked { 1350 } else { 0 } },
            "s4–controller": { "frames": 484, "bytes": 31_944, "dropped": 0 },
        },
        "delivery_late_ns_max": 0,
    });
    record.verdicts = RunFolder::judge_all(&record, &folder.data(&record).unwrap());
    print!("{}{:?}\n\n", table(&record.verdicts, record.scenario.pace), exit(&record.verdicts));
    folder.write_record(&record).unwrap();
    folder
}

fn begin(variant: &str, attacked: bool) -> RunRecord {
    let event = EventRecord {
        at_ns: ATTACK_MS * MS,
        what: "attacker poisons the ARP tables of sensor and controller".into(),
    };
    let address = |last| Some(Ipv4Addr::new(10, 0, 0, last));
    let scenario = ScenarioRecord {
        name: "voltage-stability".into(),
        variant: Some(variant.into()),
        description: DESCRIPTION.into(),
        file: "scenarios/voltage-stability/scenario.yaml".into(),
        sha256: sha256(variant.as_bytes()),
        seed: 42,
        tdf: 1.0,
        pace: Pace::Skip,
        sync: Sync::Granted,
        order: Order::default(),
        per_wakeup_ns: BTreeMap::new(),
        per_processor_time: BTreeMap::new(),
        settle_ns: 2000 * MS,
        duration_ns: END_MS * MS,
        nodes: [("sensor".to_owned(), address(1)), ("controller".to_owned(), address(2))].into(),
        events: if attacked { vec![event] } else { Vec::new() },
        requirements: demands(attacked),
    };
    let engine = "DSS C-API Library version 0.14.5";
    let versions = Versions { plant_engine: Some(engine.into()), ..Versions::default() };
    let mut record = RunRecord::begin(scenario, REALTIME_ZERO_NS, versions);
    let program = |name: &str, node: &str, command: &[&str]| ProgramRecord {
        name: name.into(),
        node: node.into(),
        command: command.iter().map(|&word| word.into()).collect(),
        end: ProgramEnd::Stopped,
        started_ns: None,
        ended_ns: None,
        warnings: Vec::new(),
        last_words: Vec::new(),
    };
    record.programs = vec![
        program("sensor", "sensor", &["/usr/bin/python3", "sensor.py", "--port", "502"]),
        program("controller", "controller", &["/usr/bin/python3", "controller.py", "10.0.0.1"]),
    ];
    record
}

fn demands(attacked: bool) -> Vec<Requirement> {
    let all = Window::default();
    let since_attack = Window { from: Some(VirtualSpan::from_ms(ATTACK_MS)), to: None };
    let demand = |name: &str, kind, window, at_least, at_most| Requirement {
        name: name.into(),
        measure: Measure { kind, window },
        at_least,
        at_most,
        disturbed: Disturbed::default(),
    };
    let minimum = || MeasureKind::Minimum { point: PointName("bus.680.v1".into()) };
    let (from, to) = (String::from("controller"), String::from("sensor"));
    let received = MeasureKind::Received { from: from.clone(), to: to.clone() };
    let gap = MeasureKind::LongestGap { from, to, port: 502, at: End::Sender };
    let above = "The voltage at bus 680 stays above 2360 V";
    let fall = "Under attack the voltage falls as published";
    let silence = "The sensor hears nothing from the controller";
    let mut demands = vec![
        demand(above, minimum(), all, Some(2360.0), None),
        demand("The controller asks at least every 150 ms", gap, all, None, Some(150.0)),
    ];
    if attacked {
        demands.push(demand(fall, minimum(), since_attack, Some(2315.0), Some(2325.0)));
        demands.push(demand(silence, received, since_attack, None, Some(0.0)));
    }
    demands
}

/// Wind of several sines and a gust; the storage fills up to 3160 kW while it hears of it.
fn values(at_ms: i64, attacked: bool) -> [f64; 6] {
    let seconds = |ms: i64| ms as f64 / 1000.0;
    let wind_at = |ms: i64| {
        let t = seconds(ms - ms.rem_euclid(36)).max(0.0);
        let gust = if (17.92..21.01).contains(&t) { 420.0 } else { 0.0 };
        let dip = -620.0 * (-((t - 44.0) / 4.5).powi(2)).exp();
        let waves = 260.0 * (t / 9.0).sin() + 90.0 * (t * 1.7).sin() + 35.0 * (t * 7.3).sin();
        2350.0 + waves + gust + dip
    };
    let heard_ms = if attacked { at_ms.min(ATTACK_MS) } else { at_ms };
    let storage = 3160.0 - wind_at(heard_ms - heard_ms.rem_euclid(100) - 12);
    let wind = wind_at(at_ms);
    let t = seconds(at_ms - at_ms.rem_euclid(500)).max(0.0);
    let loads = [175.0 + 18.0 * (t * 0.9).sin(), 300.0 + 25.0 * (t * 0.37).cos()];
    let balance = wind + storage - 3160.0 - 0.35 * (loads[0] + loads[1] - 475.0);
    let v680 = 2394.0 + 0.062 * balance;
    [v680, 2421.0 + 0.03 * balance, wind, storage, loads[0], loads[1]]
}

fn log(attacked: bool) -> String {
    let line = |ms: i64, channel, text: &str| {
        format!("{}\n", OutputLine::new(ms * MS, channel, text.as_bytes()))
    };
    let mut text = line(12, Channel::Out, "sensor answers: 2000.3 kW, storage to 1159.7 kW");
    if attacked {
        let silence = "no answer for 3 s <sensor & co>, keeping the set-point";
        text.push_str(&line(25_612, Channel::Err, silence));
    }
    text
}

fn account() -> WallAccount {
    WallAccount {
        total_s: 104.317,
        virtual_s: 92.0,
        plant_s: 3.882,
        holds_s: 12.317,
        holds: 9204,
        stalls: Some(Stalls { count: 3, total_ns: 61_500_000, longest_ns: 40_250_000 }),
        pace: pace(),
        reads: Some(ReadAccount { count: 2604, median_us: 41.7, p99_us: 160.25 }),
        agent_cpu_s: 6.41,
        programs_cpu_s: [("sensor".to_owned(), 1.733), ("controller".to_owned(), 1.261)].into(),
    }
}

fn pace() -> PaceStatus {
    let mut kept_ns = Kept::default();
    kept_ns.add(Keeping::Program, VirtualSpan::from_ms(2_750));
    kept_ns.add(Keeping::KernelTimers, VirtualSpan::from_ms(4_500));
    let method = "a look at each thread".to_owned();
    let (pace, skipped_ns, late_kernels_ns) = (Pace::Skip, 84_750_000_000, 0);
    PaceStatus {
        pace,
        method,
        jumps: 1234,
        skipped_ns,
        late_kernels_ns,
        kept_ns,
        ..PaceStatus::default()
    }
}

/// Polls of the controller every 100 ms; under attack the last one is sent again and again.
fn capture(attacked: bool) -> Vec<u8> {
    let mut file = section("eth0", "controller");
    let mut number = 0_u32;
    for poll in 0..END_MS / 100 {
        let at_ms = poll * 100 + 12;
        if !attacked || at_ms < ATTACK_MS {
            number += 1;
        }
        let realtime_ns = REALTIME_ZERO_NS + at_ms * MS;
        packet(&mut file, realtime_ns, Heading::Outbound, &poll_frame(number));
    }
    file
}

fn poll_frame(number: u32) -> Vec<u8> {
    let ip = [0x45, 0, 0, 52, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1];
    let sequence = (1000 + 12 * number).to_be_bytes();
    let tcp =
        [&[0x9c, 0x40, 0x01, 0xf6], &sequence[..], &[0, 0, 0, 0, 0x50, 0x18, 0, 0, 0, 0, 0, 0]];
    [&[2; 12][..], &[8, 0], &ip, &tcp.concat(), &[0; 12]].concat()
}
