//! The recorder without threads: samples and events with times as a test wants them, and what becomes of
//! them in a folder.

use std::fs;
use std::path::Path;

use iec61850::SampleTime;
use iec61850::comtrade::Record;
use iec61850::wire::sampled_values::{Asdu, Channels};
use iec61850::wire::{Header, MacAddress, Quality, Sample, Synchronisation};
use quorum::CommonTime;
use rtrb::{Producer, RingBuffer};
use substation::engine::{Arrival, Change};
use substation::settings;

use super::*;
use crate::event::{Event, What};

const MS: u64 = 1_000_000;
/// A clock of the host that is right is so far ahead of its own.
const AHEAD_NS: i64 = 1_600_000_000_000_000_000;

/// A relay with two rates, single poles, reclosing and groups, and these lines more.
pub(super) fn relay(more: &str) -> Relay {
    let text = format!(
        "relay: bay
frequency: 50 Hz
streams:
  line: {{sv_id: L, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
  fast: {{sv_id: F, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4800 Hz}}
elements:
  I>: {{function: overcurrent, stream: line, pick_up: 1 kA, delay: 0 ms}}
  AR: {{function: reclosing, breaker: Q0, initiate_by: I>, shots: [400 ms], dead_time_single: 600 ms, \
         reclaim: 30 s}}
trips: {{breakers: {{Q0: I>}}, single_pole: Q0}}
subscriptions:
  breaker: {{reference: R, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [position \
         Q0 A, position Q0 B, position Q0 C]}}
groups: {{2: {{I>: {{pick_up: 2 kA}}}}}}
{more}"
    );
    settings::read("relay.yaml", &text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A recorder at work, by hand.
struct Bench {
    folder: tempfile::TempDir,
    recording: Recording,
    tape: Producer<Entry>,
    reports: Receiver<Value>,
    account: Arc<Account>,
    /// How far the host's clock is ahead of its own now.
    ahead_ns: i64,
    clock: ClockState,
}

impl Bench {
    /// One with these keys of `recorder`, and a clock that may be off by so much.
    fn new(keys: &str, error_us_max: u64) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display();
        let relay = relay(&format!("recorder: {{folder: {path}, {keys}}}\n"));
        let (tape, tape_out) = RingBuffer::new(100_000);
        let (told, reports) = channel();
        let account = Arc::<Account>::default();
        let writer = Writer::start(&relay, Arc::clone(&account)).expect("it starts");
        Self {
            recording: Recording::new(&relay, tape_out, told, writer),
            clock: ClockState { is_synchronised: true, error_us_max, ..ClockState::default() },
            ahead_ns: AHEAD_NS,
            folder,
            tape,
            reports,
            account,
        }
    }

    /// A sample of the stream `line` that is of such an own time, and arrives 2 ms later.
    fn sample(&mut self, number: u64, value: i32, synchronisation: Synchronisation) {
        let octets = [Sample { value, quality: Quality::GOOD }.to_octets(); 8];
        let address = MacAddress::default();
        let header = Header {
            destination: address,
            source: address,
            tag: None,
            app_id: 0x4000,
            reserved: [0, 0],
        };
        let asdu = Asdu {
            sv_id: "L",
            dat_set: None,
            smp_cnt: (number % 4000) as u16,
            conf_rev: 1,
            refr_tm: None,
            smp_synch: synchronisation,
            smp_rate: None,
            channels: Channels::new(&octets),
            smp_mod: None,
            gm_identity: None,
        };
        let at = SampleTime::from_ns(number * 250_000 + 2 * MS);
        // `fast` comes before `line` by name.
        let arrival = Arrival::new(1, at, header, &asdu);
        self.tape.push(Entry::Sample(arrival)).expect("there is room");
    }

    fn event(&mut self, own_ns: u64, change: Change) {
        let at = CommonTime::from_ns(own_ns.strict_add_signed(self.ahead_ns));
        let event = Event { at, what: What::Change(change) };
        self.tape.push(Entry::Event(event)).expect("there is room");
    }

    fn look(&mut self, own_ns: u64) {
        let common = CommonTime::from_ns(own_ns.strict_add_signed(self.ahead_ns));
        let now = Now { common, own: SampleTime::from_ns(own_ns) };
        self.recording.look(now, &self.clock, false);
    }

    /// Samples of these ms, zero before and one A from `fault_ms` on, and looks between them.
    fn samples(&mut self, ms: std::ops::Range<u64>, fault_ms: u64, synch: Synchronisation) {
        for number in ms.start * 4..ms.end * 4 {
            self.sample(number, if number >= fault_ms * 4 { 1000 } else { 0 }, synch);
            if number % 80 == 79 {
                self.look(number * 250_000 + 2 * MS + 100_000);
            }
        }
    }

    /// The configurations that were written, in order.
    fn written(&mut self) -> Vec<String> {
        self.recording.writer.finish();
        let files = fs::read_dir(self.folder.path()).expect("it is there");
        let names = files.map(|file| file.expect("a file").file_name().into_string());
        let mut names: Vec<String> = names.map(|name| name.expect("a text")).collect();
        names.retain(|name| name.ends_with(".cfg"));
        names.sort();
        names
    }

    fn record(&self, name: &str) -> Record {
        read(&self.folder.path().join(name))
    }
}

fn read(configuration: &Path) -> Record {
    let text = fs::read_to_string(configuration).expect("a text");
    let data = fs::read(configuration.with_extension("dat")).expect("data");
    Record::parse(&text, &data).expect("it is one")
}

/// The first sample of a fault, and the first one at which an element has started.
fn inception_and_start(record: &Record) -> (usize, usize) {
    let current = record.channel("line IA").expect("it is recorded");
    let channels = &record.configuration.digital;
    let start = channels.iter().position(|channel| channel.name == "I> start").expect("it is");
    let inception = current.iter().position(|value| *value > 0.5).expect("there is one");
    (inception, record.digital[start].iter().position(|on| *on).expect("there is one"))
}

const I_START: usize = 1;

#[test]
fn an_event_stands_at_its_sample_whatever_the_clocks_say() {
    let kinds = [Synchronisation::Global, Synchronisation::Local, Synchronisation::None];
    for (off_ms, synchronisation) in
        [0_i64, 60, -60].into_iter().flat_map(|off| kinds.map(|k| (off, k)))
    {
        let mut bench = Bench::new("before: 100 ms, after: 100 ms", 90_000);
        bench.ahead_ns = AHEAD_NS + off_ms * MS as i64;
        bench.samples(0..1000, 1000, synchronisation);
        // The fault of 1000 ms is here at 1002 ms, and is seen at once.
        bench.event(1002 * MS, Change::Start(I_START, true));
        bench.samples(1000..1040, 1000, synchronisation);
        bench.event(1042 * MS, Change::Start(I_START, false));
        bench.samples(1040..1500, 1000, synchronisation);
        let names = bench.written();
        assert_eq!(names.len(), 2, "{names:?}");
        let (inception, start) = inception_and_start(&bench.record(&names[0]));
        assert!(
            start.abs_diff(inception) <= 4,
            "{synchronisation:?}, {off_ms} ms off: {inception} and {start}"
        );
    }
}

#[test]
fn a_clock_that_is_set_back_keeps_no_record_from_its_end() {
    let mut bench = Bench::new("before: 100 ms, after: 100 ms", 100);
    bench.samples(0..1000, 1000, Synchronisation::Global);
    bench.event(1002 * MS, Change::Start(I_START, true));
    bench.samples(1000..1020, 1000, Synchronisation::Global);
    bench.ahead_ns -= 3_600_000 * MS as i64;
    bench.samples(1020..1040, 1000, Synchronisation::Global);
    bench.event(1042 * MS, Change::Start(I_START, false));
    bench.samples(1040..1500, 1000, Synchronisation::Global);
    let names = bench.written();
    let record = bench.record(&names[0]);
    let missing = record.channel("line IA").expect("it is recorded");
    assert!(missing.iter().all(|value| value.is_finite()), "samples are whole");
    assert_eq!(record.time_s.len(), 960, "100 ms before, 40 ms, 100 ms after");
    // The axis is that of the samples, so that the event stands at the one it came with.
    assert_eq!(inception_and_start(&record), (400, 400));
    let text = fs::read_to_string(bench.folder.path().join(&names[0])).expect("a text");
    assert!(text.ends_with("\r\nF,3\r\n"), "nobody knows what the time is worth: {text}");
}

#[test]
fn lockouts_and_poles_are_triggers_of_their_own() {
    let of_pole = Change::Poles(0, protection::PhaseSet::phase(0));
    let reason = protection::reclosing::Reason::FinalTrip;
    let lockout = Change::Reclosing(0, protection::reclosing::State::Lockout(reason), 0);
    for (trigger, change) in [("trip Q0 A", of_pole), ("lockout AR", lockout)] {
        for other in [of_pole, lockout] {
            let keys = format!("before: 100 ms, after: 100 ms, triggers: {trigger}");
            let mut bench = Bench::new(&keys, 100);
            bench.samples(0..200, 0, Synchronisation::Global);
            bench.event(202 * MS, other);
            bench.samples(200..700, 0, Synchronisation::Global);
            assert_eq!(!bench.written().is_empty(), other == change, "{trigger}, {other:?}");
        }
    }
}

#[test]
fn a_pole_that_stays_tripped_triggers_no_other_record() {
    let keys = "before: 100 ms, after: 100 ms, triggers: trip Q0 A";
    let mut bench = Bench::new(keys, 100);
    let pole = protection::PhaseSet::phase(0);
    bench.samples(0..200, 0, Synchronisation::Global);
    bench.event(202 * MS, Change::Poles(0, pole));
    bench.samples(200..700, 0, Synchronisation::Global);
    // Long after, B follows, and leaves again.
    bench.event(702 * MS, Change::Poles(0, protection::PhaseSet::of([true, true, false])));
    bench.event(712 * MS, Change::Poles(0, pole));
    bench.samples(700..1200, 0, Synchronisation::Global);
    bench.event(1202 * MS, Change::Poles(0, protection::PhaseSet::NONE));
    bench.event(1203 * MS, Change::Poles(0, pole));
    bench.samples(1200..1700, 0, Synchronisation::Global);
    // Of each disturbance one for each rate.
    assert_eq!(bench.written().len(), 2 * 2);
}

/// A disturbance that trips a breaker, from its samples before on.
fn trip(bench: &mut Bench) {
    bench.samples(0..200, 0, Synchronisation::Global);
    bench.event(202 * MS, Change::Start(I_START, true));
    bench.event(203 * MS, Change::Trip(0, true));
    bench.event(204 * MS, Change::Start(I_START, false));
    bench.samples(200..700, 0, Synchronisation::Global);
}

#[test]
fn the_report_names_no_file_that_nobody_takes() {
    let mut bench = Bench::new("before: 100 ms, after: 100 ms", 100);
    bench.recording.writer.finish();
    trip(&mut bench);
    let report = bench.reports.try_recv().expect("a fault is reported");
    assert_eq!(report["records"], serde_json::json!([]));
}

#[test]
fn the_report_names_a_file_for_each_rate_that_is_there() {
    let mut bench = Bench::new("before: 100 ms, after: 100 ms", 100);
    trip(&mut bench);
    let report = bench.reports.try_recv().expect("a fault is reported");
    let named = report["records"].as_array().expect("a list").iter();
    let named: Vec<String> =
        named.map(|name| format!("{}.cfg", name.as_str().expect("a name"))).collect();
    assert_eq!(named, bench.written());
    assert_eq!(named.len(), 2);
    assert_eq!((bench.account.written(), bench.account.lost()), (1, 0));
}
