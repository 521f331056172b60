//! Stalls that the tests make themselves are blamed on the right one: a more urgent task on the
//! same core, and a stop of the whole probe. Only the blame is judged, no time.

mod common;

use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{HOUR_NS, modest, signal};
use probe::Plan;
use probe::stream::{Cause, Header, Item, Note, Reader, Stall};

/// Name of the thread that takes the core away.
const SPINNER: &str = "urgent-spinner";

struct Probe {
    child: Child,
    file: tempfile::TempPath,
}

impl Probe {
    /// Starts a probe on core 0, and waits until it measures.
    fn start(plan: &Plan) -> Self {
        let file = tempfile::NamedTempFile::new().expect("there is a folder for it");
        let file = file.into_temp_path();
        let mut child = common::measure(plan, &file);
        while !has_samples(&file) && child.try_wait().is_ok_and(|ended| ended.is_none()) {
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, file }
    }

    /// Ends it, and gives the head of its stream, the stalls and the warnings.
    fn end(mut self) -> (Header, Vec<Stall>, Vec<String>) {
        signal(&self.child, "-INT");
        self.child.wait().expect("it is our child");
        let file = std::fs::File::open(&self.file).expect("it has written");
        let reader = Reader::new(BufReader::new(file)).expect("it has written a stream");
        let header = reader.header().clone();
        let (mut stalls, mut warnings) = (Vec::new(), Vec::new());
        for item in reader {
            match item {
                Item::Note(note) => match *note {
                    Note::Stall(stall) => stalls.push(stall),
                    Note::Warning { text } => warnings.push(text),
                    Note::Counts { .. } | Note::Cores { .. } | Note::Gaps(_) => {}
                },
                Item::Samples(_) | Item::End(_) => {}
                Item::Cut(reason) => panic!("{reason}"),
            }
        }
        (header, stalls, warnings)
    }
}

fn has_samples(file: &Path) -> bool {
    let octets = std::fs::read(file).unwrap_or_default();
    let reader = Reader::new(octets.as_slice());
    reader.is_ok_and(|mut reader| reader.any(|item| matches!(item, Item::Samples(_))))
}

/// The stall that covers the middle of a time of `CLOCK_MONOTONIC`.
fn covering<'s>(stalls: &'s [Stall], header: &Header, begin_ns: i64, end_ns: i64) -> &'s Stall {
    let middle_ns = (begin_ns + end_ns) / 2 - header.began_monotonic_ns;
    let covers = |stall: &&Stall| (stall.at_ns..stall.at_ns + stall.length_ns).contains(&middle_ns);
    let found = stalls.iter().filter(covers).max_by_key(|stall| stall.length_ns);
    found.unwrap_or_else(|| panic!("nothing covers {middle_ns}: {stalls:#?}"))
}

fn plan(priority: Option<i32>) -> Plan {
    Plan { priority, ..modest(HOUR_NS) }
}

/// Takes core 0 with SCHED_FIFO 99 for 5 ms now and then; when it did, or that it may not. Who takes
/// a core away is mostly still there afterwards, and so is this thread until `done` is dropped.
fn spin(done: Receiver<()>) -> Option<Vec<(i64, i64)>> {
    let (says, hears) = channel();
    let spinner = std::thread::Builder::new().name(SPINNER.to_owned());
    let spinner = spinner.spawn(move || {
        let allowed = os::realtime::pin(0).and_then(|()| os::realtime::fifo(99)).is_ok();
        let spins = (0..3).map(|_| {
            let begin_ns = os::realtime::now_ns();
            while os::realtime::now_ns() - begin_ns < 5_000_000 {}
            let end_ns = os::realtime::now_ns();
            std::thread::sleep(Duration::from_millis(300));
            (begin_ns, end_ns)
        });
        let spins: Option<Vec<(i64, i64)>> = allowed.then(|| spins.collect());
        says.send(spins).expect("somebody waits for it");
        // An error is the news that it is done.
        let _ = done.recv();
    });
    spinner.expect("there is room for a thread");
    hears.recv().expect("it says when it span")
}

#[test]
fn a_more_urgent_task_on_the_core_is_blamed_by_name() {
    for record_switches in [true, false] {
        blame_a_spinner(&Plan { record_switches, ..plan(Some(90)) });
    }
}

fn blame_a_spinner(plan: &Plan) {
    let probe = Probe::start(plan);
    let (done, waits) = channel();
    let spins = spin(waits);
    let (header, stalls, warnings) = probe.end();
    drop(done);
    let Some(spins) = spins else {
        return eprintln!("not tested: SCHED_FIFO is not allowed here");
    };
    let is_recorded =
        plan.record_switches && !warnings.iter().any(|text| text.contains("switches"));
    for (begin_ns, end_ns) in spins {
        let stall = covering(&stalls, &header, begin_ns, end_ns);
        // Where nothing is recorded, a kernel that counts run delays still shows it.
        let delay_ns = stall.evidence.run_delay_ns.unwrap_or(0);
        if is_recorded || 2 * delay_ns >= stall.length_ns {
            assert_eq!(stall.cause, Cause::Load, "{stall:#?}");
            assert!(stall.who.contains(SPINNER) && stall.who.contains("FIFO 99"), "{stall:#?}");
        } else {
            assert!(matches!(stall.cause, Cause::Host | Cause::Unknown), "{stall:#?}");
        }
    }
}

#[test]
fn a_stop_of_the_whole_probe_is_no_fault_of_the_platform() {
    for record_switches in [true, false] {
        let probe = Probe::start(&Plan { record_switches, ..plan(None) });
        signal(&probe.child, "-STOP");
        let begin_ns = os::realtime::now_ns();
        std::thread::sleep(Duration::from_secs(1));
        let end_ns = os::realtime::now_ns();
        signal(&probe.child, "-CONT");
        // Its end is not to be mixed up with its stop.
        std::thread::sleep(Duration::from_millis(300));
        let (header, stalls, _) = probe.end();
        let stall = covering(&stalls, &header, begin_ns, end_ns);
        assert_eq!(stall.cause, Cause::Stopped, "{stall:#?}");
    }
}
