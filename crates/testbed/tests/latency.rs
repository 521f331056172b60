//! `qcycle latency` as its users meet it: a matrix, Ctrl-C, a kill, and going on where it stood.
//!
//! Times are short, and no latency is judged: what is tested is what is there at the end, and that
//! nothing else is.

#[path = "../../latency/tests/static_probe.rs"]
mod static_probe;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use latency::cell::{Cause, Cell, MarkKind, Stall};
use latency::record::{CellState, LatencyRun, State, cell_folder};

use crate::common::guests::{QCYCLE, set_mode};
use crate::common::machine::beside_others;
use crate::common::processes::{processes, signal};

/// In the environment of all that a test starts, and of nothing else.
const MARK: &str = "QCYCLE_TEST_MARK";

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        beside_others();
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self) -> PathBuf {
        self.path("run")
    }

    fn mark(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn qcycle(&self, words: &[&str]) -> Command {
        let mut command = Command::new(QCYCLE);
        command
            .args(words)
            .env("QCYCLE_PROBE", static_probe::static_probe())
            .env("QCYCLE_SOCKETS", self.path("sockets"))
            .env(MARK, self.mark())
            .current_dir(self.folder.path());
        command
    }

    fn latency(&self, matrix: &str) -> Command {
        fs::write(self.path("m.yaml"), matrix).unwrap();
        self.qcycle(&["latency", "--matrix", "m.yaml", "--output", "run"])
    }

    fn measure(&self, matrix: &str) -> Output {
        self.latency(matrix).output().unwrap()
    }

    /// Begins to measure a matrix, and waits until samples of a cell are on disk.
    fn begin(&self, matrix: &str, cell: &str) -> Child {
        let mut command = self.latency(matrix);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stream = cell_folder(&self.run(), cell).join("stream.qcs");
        while fs::metadata(&stream).map_or(0, |file| file.len()) < 4096 {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{}",
                said(&child.wait_with_output().unwrap())
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }

    /// Goes on, with cells that are over at once.
    fn resume(&self) -> Output {
        let path = self.run().join("matrix.yaml");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("duration: 1 h", "duration: 200 ms")).unwrap();
        self.qcycle(&["latency", "--resume", "run"]).output().unwrap()
    }

    fn states(&self) -> Vec<(String, State)> {
        let run = LatencyRun::read(&self.run()).unwrap();
        run.cells.iter().map(|cell| (cell.name(), cell.state)).collect()
    }

    fn state(&self, name: &str) -> CellState {
        let run = LatencyRun::read(&self.run()).unwrap();
        run.cells.into_iter().find(|cell| cell.name() == name).unwrap()
    }

    /// Processes that were started by this test and still run.
    fn process_numbers(&self) -> Vec<u32> {
        let wanted = format!("{MARK}={}", self.mark());
        let is_one = |variables: &[u8]| {
            variables.split(|octet| *octet == 0).any(|variable| variable == wanted.as_bytes())
        };
        let all = processes(&["environ"]).into_iter();
        all.filter(|(_, variables)| is_one(variables)).map(|(process, _)| process).collect()
    }

    fn processes(&self) -> Vec<String> {
        let name = |id| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        self.process_numbers().into_iter().map(name).collect()
    }

    fn wait_until_nothing_runs(&self) {
        while !self.processes().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn probe(&self) -> u32 {
        let is_measuring = |id: &u32| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            line.split(|octet| *octet == 0).nth(1) == Some(b"attend")
        };
        self.process_numbers().into_iter().find(is_measuring).unwrap()
    }

    fn scratch_folders(&self) -> usize {
        let entries = fs::read_dir(self.path("sockets")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("latency-")).count()
    }
}

fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// A profile that may run anywhere, beside a load that every machine has.
const MODEST: &str = "priority: 0, period: 1 ms, lock_memory: no, hold_awake: no";

/// Alone, beside load, and beside load and neighbours. Not all six: emulated guests take long to boot.
const PROFILES: [&str; 3] = ["tp1", "tp4", "tp6"];

#[test]
#[ignore = "long: it boots guests"]
fn one_command_measures_a_matrix_and_draws_one_report() {
    let bench = Bench::new();
    let profiles = PROFILES.map(|profile| format!("{profile}: ")).join(", ");
    let output = bench.measure(&format!(
        "matrix: all\nduration: 300 ms\nsettle: 100 ms\n\
         platforms: {{native: , container: {{container: {{real_time: 200 ms}}}}, vm: , vm-rt: }}\n\
         profiles: {{{profiles}}}\n\
         limits: {{own task: 2 s}}\n"
    ));
    let said = said(&output);
    let beside_neighbours = bench.state("native.tp6");
    assert_eq!(beside_neighbours.state, State::NotMeasured, "{said}");
    assert!(beside_neighbours.reason.contains("no neighbours"), "{said}");
    let mut missed = 0;
    for (name, state) in bench.states() {
        let cell = bench.state(&name);
        match state {
            State::Done => {
                let measured = Cell::read(&cell_folder(&bench.run(), &name)).unwrap();
                assert_eq!(measured.count(), cell.samples, "{name}");
                let counts = measured.threads.iter().map(|thread| &thread.counts);
                missed += counts.map(|counts| counts.missed + counts.lost).sum::<u64>();
                assert!(!measured.is_marked(MarkKind::LoadMissing), "{name}: {:?}", measured.marks);
                says_whether_it_was_emulated(&measured);
                assert!(!cell_folder(&bench.run(), &name).join("stream.qcs").exists());
            }
            // What a machine lacks is said with the way out.
            State::NotMeasured => assert!(!cell.reason.is_empty(), "{name}\n{said}"),
            other => panic!("{name}: {other:?}\n{said}"),
        }
    }
    for file in ["report.html", "cells.csv", "cells.parquet", "matrix.yaml", "run.json"] {
        assert!(bench.run().join(file).exists(), "no {file}\n{said}");
    }
    says_all_cells(&bench.run(), &said);
    // A cell was not measured, and 2 s are enough for any sample that was taken; what a machine kept from being
    // taken at all counts as late.
    let codes = if missed > 0 { &[10, 11][..] } else { &[11] };
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{said}");
    assert!(said.contains("own task"), "{said}");
    assert_eq!((bench.processes().len(), bench.scratch_folders()), (0, 0), "{said}");
}

/// A guest says which kernel it was, and never passes emulated times off as times.
fn says_whether_it_was_emulated(cell: &Cell) {
    let has_kvm = cell.facts["clock_source"] == "kvm-clock";
    let is_guest = cell.platform.starts_with("vm");
    assert!(!is_guest || has_kvm || cell.is_marked(MarkKind::Emulated), "{:?}", cell.marks);
    let is_rt = is_guest.then_some(cell.platform == "vm-rt");
    assert!(
        is_rt.is_none_or(|is_rt| is_rt == (cell.facts["realtime"] == 1)),
        "{}: {:?}",
        cell.platform,
        cell.facts
    );
}

/// All cells, measured or not, are in the table in the terminal and in the one on the page.
fn says_all_cells(run: &Path, said: &str) {
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    let table = page.split("<table class=\"layout\">").nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    let groups: Vec<&str> = table.split("<tr class=\"group\">").skip(1).collect();
    assert_eq!(groups.len(), PROFILES.len(), "{said}");
    for (group, profile) in groups.iter().zip(PROFILES) {
        assert!(group.contains(&format!("{}</th>", profile.to_uppercase())), "{group}");
        for platform in ["native", "container", "vm", "vm-rt"] {
            assert!(group.contains(&format!("{platform}</")), "no {platform} in {group}");
            let begin = format!("{platform}.{profile} ");
            assert!(said.lines().any(|line| line.starts_with(&begin)), "no {begin}in\n{said}");
        }
        assert!(group.contains("class=\"theirs\""), "no published figures in {group}");
    }
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn ctrl_c_keeps_what_was_measured_and_the_run_goes_on_where_it_stood() {
    let bench = Bench::new();
    let matrix = format!(
        "matrix: long\nduration: 1 h\nplatforms: {{native: }}\n\
         profiles: {{one: {{{MODEST}, loads: [{{run: sleep 86400}}]}}, two: {{{MODEST}}}}}\n"
    );
    let child = bench.begin(&matrix, "native.one");
    signal(child.id(), libc::SIGINT);
    let output = child.wait_with_output().unwrap();
    let told = said(&output);
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("qcycle latency --resume"), "{told}");
    let states = [("native.one", State::Cut), ("native.two", State::Waiting)];
    assert_eq!(bench.states(), states.map(|(name, state)| (name.to_owned(), state)), "{told}");
    let cell = Cell::read(&cell_folder(&bench.run(), "native.one")).unwrap();
    assert!(cell.count() > 0 && cell.is_marked(MarkKind::Cut));
    assert!(bench.run().join("report.html").exists());
    assert_eq!(bench.processes().len(), 0);

    let told = said(&bench.resume());
    assert!(bench.states().iter().all(|(_, state)| *state == State::Done), "{told}");
    let cell = Cell::read(&cell_folder(&bench.run(), "native.one")).unwrap();
    assert!(!cell.is_marked(MarkKind::Cut), "{:?}", cell.marks);
    let again = said(&bench.resume());
    assert!(again.contains("0 of 2 cells to measure"), "{again}");
}

#[test]
#[ignore = "long: it boots guests"]
fn a_kill_leaves_nothing_but_what_was_measured() {
    for (platform, kind) in [
        ("native", ""),
        ("container", "{container: {real_time: 200 ms}}"),
        ("vm", "{vm: {accelerator: tcg, cores: 1}}"),
    ] {
        let bench = Bench::new();
        let matrix = format!(
            "matrix: killed\nduration: 1 h\nplatforms: {{{platform}: {kind}}}\n\
             profiles: {{one: {{{MODEST}, loads: [{{run: sleep 86400}}]}}}}\n"
        );
        let name = format!("{platform}.one");
        if !can_measure(&bench, &matrix, &name) {
            continue;
        }
        let bench = Bench::new();
        let mut child = bench.begin(&matrix, &name);
        assert!(
            bench.processes().iter().any(|name| name.trim() == "sleep") || platform != "native"
        );
        signal(child.id(), libc::SIGKILL);
        child.wait().unwrap();
        bench.wait_until_nothing_runs();
        assert_eq!(bench.state(&name).state, State::Running);
        assert!(bench.qcycle(&["clean"]).output().unwrap().status.success());
        assert_eq!(bench.scratch_folders(), 0);
        assert_eq!(groups_of_containers(child.id()), Vec::<PathBuf>::new());

        // What it had measured is a cell, and is replaced by one that is complete.
        let told = said(&bench.resume());
        assert_eq!(bench.state(&name).state, State::Done, "{told}");
    }
}

/// Whether this machine can measure there at all.
fn can_measure(bench: &Bench, matrix: &str, name: &str) -> bool {
    let output = bench.measure(&matrix.replace("1 h", "50 ms"));
    let cell = bench.state(name);
    if cell.state != State::Done {
        eprintln!("not tested: {name}: {}\n{}", cell.reason, said(&output));
    }
    cell.state == State::Done
}

/// Control groups of containers that a process has made.
fn groups_of_containers(process: u32) -> Vec<PathBuf> {
    let prefix = format!("quartercycle-latency-{process}-");
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let controllers = below(Path::new("/sys/fs/cgroup"));
    let groups = controllers.iter().flat_map(|folder| below(folder));
    let is_ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
    };
    groups.filter(is_ours).collect()
}

/// What a run says of its only cell: the cell, the terminal, JSON and the page.
struct Told {
    cell: Cell,
    text: String,
    json: serde_json::Value,
    page: String,
}

/// Ends a run in order.
fn ended(bench: &Bench, child: Child, name: &str) -> Told {
    signal(child.id(), libc::SIGINT);
    let text = said(&child.wait_with_output().unwrap());
    let output = bench.qcycle(&["latency", "report", "run", "--json"]).output().unwrap();
    Told {
        cell: Cell::read(&cell_folder(&bench.run(), name)).unwrap(),
        text,
        json: serde_json::from_slice(&output.stdout).unwrap(),
        page: fs::read_to_string(bench.run().join("report.html")).unwrap(),
    }
}

/// The stall with this cause and these words is in the cell, and wherever late samples are told, unless
/// all that is told is later still: what else happens on this machine is its own business.
fn is_blamed(told: &Told, cause: Cause, who: &str, shown: &str) {
    let is_it = |stall: &&Stall| stall.cause == cause && stall.who.contains(who);
    let stalls = told.cell.stalls.iter().filter(is_it);
    let length_ns = stalls.map(|stall| stall.length_ns).max();
    let length_ns = length_ns.unwrap_or_else(|| panic!("no {who} in {:#?}", told.cell.stalls));
    let worst = told.json["cells"][0]["attribution"]["worst"].as_array().unwrap();
    let at = worst.iter().position(|one| one["who"].as_str().unwrap().contains(who));
    let Some(at) = at else {
        assert!(worst.iter().all(|one| one["latency_ns"].as_i64() > Some(length_ns)), "{worst:#?}");
        return;
    };
    assert_eq!(worst[at]["cause"], cause.name());
    let row = format!("</span>{shown}</td><td>");
    assert!(told.page.contains(&row) && told.page.contains(who), "{who} is not on the page");
    let is_latest = told.text.contains(", the latest: ") && told.text.contains(who);
    assert!(at > 0 || is_latest, "{who} is not in\n{}", told.text);
}

const SPINNER: &str = "injected-stall";

/// Takes core 0 with SCHED_FIFO 99 for 5 ms, several times; whether it may. Who takes a core away is
/// mostly still there afterwards, and so is this thread until `done` is dropped.
fn stall_core_0(done: std::sync::mpsc::Receiver<()>) -> bool {
    let (says, hears) = std::sync::mpsc::channel();
    let spin = move || {
        let is_allowed = os::realtime::pin(0).and_then(|()| os::realtime::fifo(99)).is_ok();
        for _ in 0..if is_allowed { 5 } else { 0 } {
            let until_ns = os::realtime::now_ns() + 5_000_000;
            while os::realtime::now_ns() < until_ns {}
            std::thread::sleep(Duration::from_millis(200));
        }
        says.send(is_allowed).unwrap();
        // An error is the news that it is done.
        let _ = done.recv();
    };
    std::thread::Builder::new().name(SPINNER.to_owned()).spawn(spin).unwrap();
    hears.recv().unwrap()
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn an_urgent_task_on_the_core_of_the_probe_is_blamed_by_name_in_all_that_is_said() {
    let bench = Bench::new();
    let matrix = "matrix: stalled\nduration: 1 h\nplatforms: {native: }\n\
         profiles: {one: {priority: 80, period: 1 ms, cores: 0, lock_memory: no}}\n";
    let child = bench.begin(matrix, "native.one");
    let (done, waits) = std::sync::mpsc::channel();
    let is_allowed = stall_core_0(waits);
    let told = ended(&bench, child, "native.one");
    drop(done);
    assert!(is_allowed, "a probe with SCHED_FIFO runs, and a thread beside it may not have it");
    is_blamed(&told, Cause::Load, SPINNER, "load");
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn a_stop_of_the_whole_probe_is_told_as_that_in_all_that_is_said() {
    let bench = Bench::new();
    let matrix = format!(
        "matrix: stopped\nduration: 1 h\nplatforms: {{native: }}\nprofiles: {{one: {{{MODEST}}}}}\n"
    );
    let child = bench.begin(&matrix, "native.one");
    let probe = bench.probe();
    for (number, then) in [(libc::SIGSTOP, 1000), (libc::SIGCONT, 300)] {
        signal(probe, number);
        std::thread::sleep(Duration::from_millis(then));
    }
    let told = ended(&bench, child, "native.one");
    is_blamed(&told, Cause::Stopped, "", "probe stopped");
}

/// Stands for an engine of containers: takes an image from its input, and runs the program in it as it
/// is. What it is told is written down.
const FAKE_ENGINE: &str = r#"#!/bin/sh
echo "${0##*/} $*" >> "$0.log"
case $1 in
info) ;;
import) mkdir -p "$0.$3" && tar -x -C "$0.$3" ;;
run) for word; do case $word in quartercycle-*) image=$word ;; esac; done
    exec "$0.$image/qcprobe" attend ;;
rm | image) ;;
*) exit 1 ;;
esac
"#;

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn engines_are_told_to_import_run_and_remove_and_no_more_rights_than_listed() {
    let bench = Bench::new();
    for engine in ["docker", "podman"] {
        fs::write(bench.path(engine), FAKE_ENGINE).unwrap();
        set_mode(&bench.path(engine), 0o755);
    }
    let loaded = format!(
        "{{{MODEST}, loads: [{{run: sleep 1000}}], neighbours: {{loads: [{{run: sleep 1000}}]}}}}"
    );
    let matrix = format!(
        "matrix: m\nduration: 50 ms\nsettle: 10 ms\nplatforms: {{docker: , podman: }}\nprofiles: {{one: {loaded}}}\n"
    );
    let path = format!("{}:{}", bench.mark(), std::env::var("PATH").unwrap());
    let output = bench.latency(&matrix).env("PATH", path).output().unwrap();
    for engine in ["docker", "podman"] {
        let cell = bench.state(&format!("{engine}.one"));
        assert_eq!(cell.state, State::Done, "{}\n{}", cell.reason, said(&output));
        let log = fs::read_to_string(bench.path(&format!("{engine}.log"))).unwrap();
        let told = |wanted: &[&str]| {
            log.lines().filter(|line| wanted.iter().all(|words| line.contains(words))).count()
        };
        let rights = ["--cap-drop ALL --cap-add SYS_NICE --cap-add IPC_LOCK", "--read-only"];
        // A trial, the measured one, and a neighbour: each from an image of its own, which is removed.
        assert_eq!((told(&[" import - quartercycle-"]), told(&[" run --rm "])), (3, 3), "{log}");
        assert_eq!((told(&rights), told(&["privileged --"])), (3, 0), "{log}");
        assert_eq!(told(&["measured /qcprobe attend"]), 2, "{log}");
        assert_eq!(told(&["neighbour-0 /qcprobe attend", "--volume /usr:/usr:ro"]), 1, "{log}");
        for name in ["measured", "neighbour-0"] {
            assert!(told(&[" image rm --force quartercycle-", name]) > 0, "{log}");
        }
    }
    assert_eq!((bench.processes().len(), bench.scratch_folders()), (0, 0), "{}", said(&output));
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn a_load_that_is_not_there_is_named_with_how_to_get_it() {
    let bench = Bench::new();
    let load = "loads: [{run: no-such-load --much, package: such-loads}]";
    let output = bench.measure(&format!(
        "matrix: m\nduration: 100 ms\nsettle: 10 s\nplatforms: {{native: }}\n\
         profiles: {{bare: {{{MODEST}}}, loaded: {{{MODEST}, {load}}}}}\n"
    ));
    let cell = bench.state("native.loaded");
    assert_eq!(cell.state, State::NotMeasured, "{}", said(&output));
    assert!(cell.reason.contains("no-such-load"), "{}", cell.reason);
    assert_eq!(cell.fix, "apt-get install such-loads");
    assert_eq!(bench.state("native.bare").state, State::Done);
}

#[test]
#[ignore = "long: a static probe is built, and measures"]
fn mistakes_are_told_before_anything_starts() {
    let bench = Bench::new();
    let output = bench.measure("matrix: m\nplatforms: {nativ: }\nprofiles: {tp1: }\n");
    assert_eq!(output.status.code(), Some(65));
    let told = said(&output);
    assert!(told.contains("m.yaml:2:13: platforms.nativ: ") && told.contains("`native`"), "{told}");
    assert!(!bench.run().exists());
    let output = bench.qcycle(&["latency", "--profile", "tp8"]).output().unwrap();
    assert_eq!(output.status.code(), Some(64), "{}", said(&output));
    let output = bench.qcycle(&["latency", "--list"]).output().unwrap();
    assert!(output.status.success() && said(&output).contains("native.tp4"), "{}", said(&output));
    let output = bench.qcycle(&["latency", "--resume", "nowhere"]).output().unwrap();
    assert_eq!(output.status.code(), Some(69), "{}", said(&output));
}
