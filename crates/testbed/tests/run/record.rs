//! The record and the files of a run say the truth: at every moment of it, and about what they lack.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use report_kit::machine::sha256;
use report_kit::outcome::Outcome;
use results::RunFolder;
use results::record::{EndedHow, Input, ProgramEnd, Role};

use crate::common::guests::{QCYCLE, set_mode};
use crate::common::processes::signal;
use crate::run::harness::{self, Place, Running, eventually};

const TALKER: &str = "scenario: talker
duration: 60 s
settle: 100 ms
nodes:
  a:
    programs:
      - {name: talker, run: python3 talker.py}
      - {name: short, run: [sh, -c, echo done], on_exit: ignore}
requirements:
  - {name: told, measure: {told: lag_ms, by: talker, statistic: maximum}, at_most: 60 s}
";

/// A violation each tenth line: what is lost would be missed.
const TALK: &str = "import json, time
number = 0
while True:
    number += 1
    print(json.dumps({'number': number, 'lag_ms': 1, 'filler': 'y' * 400}), flush=True)
    time.sleep(0.002)
";

fn place(scenario: &str) -> Option<Place> {
    let place = Place::for_root(scenario)?;
    place.file("talker.py", TALK);
    Some(place)
}

/// However early or late the runner is killed: a program with output has been started, and what has
/// ended is said to have.
#[test]
fn a_runner_that_is_killed_leaves_a_record_that_is_true() {
    for after_ms in [0, 30, 120, 400, 2600] {
        let Some(place) = place(TALKER) else { return };
        let run = place.start(&[]);
        eventually("there is no output", || !place.log_so_far("talker").is_empty());
        thread::sleep(Duration::from_millis(after_ms));
        signal(run.process(), libc::SIGKILL);
        drop(run);
        let folder = RunFolder::open(&place.runs()[0]).unwrap();
        let record = folder.record().unwrap();
        assert_eq!(record.ended.how, EndedHow::Unfinished);
        for program in &record.programs {
            let log = fs::read_to_string(folder.program_log(&program.name)).unwrap();
            assert!(log.is_empty() || program.end != ProgramEnd::NotStarted, "{program:?}\n{log}");
            let is_running = matches!(program.end, ProgramEnd::Starting | ProgramEnd::Running);
            assert!(program.name == "short" || is_running, "{after_ms} ms: {program:?}");
        }
        if after_ms >= 400 {
            assert_eq!(record.programs[0].end, ProgramEnd::Running);
            assert!(record.programs[0].started_ns.is_some());
            assert_eq!(record.programs[1].end, ProgramEnd::Exited { code: 0 });
        }
        if after_ms >= 2600 {
            assert!(record.covered_ns > 0);
            assert!(record.disturbances.unwrap().watched_to_ns >= record.covered_ns);
        }
        let folder = place.runs()[0].display().to_string();
        let twice = place.qcycle(&["report", &folder, &format!("{folder}/.")]).output().unwrap();
        assert!(!twice.status.success());
        assert!(String::from_utf8_lossy(&twice.stderr).contains("is given twice"), "{twice:?}");
        place.says(&["report", &folder]);
        eventually("programs are still there", || place.processes().is_empty());
    }
}

/// What an agent has not handed on when it is killed is nowhere: nobody may take it for silence.
#[test]
fn an_agent_that_is_killed_leaves_files_that_are_said_to_lack_their_ends() {
    let network = "switches: [s1]\nlinks: [{from: a, to: s1, delay: 1 ms}]\nrequirements:";
    let scenario = TALKER
        .replace("  a:\n", "  a:\n    address: 10.0.0.1/24\n")
        .replace("requirements:", network);
    let Some(place) = place(&scenario) else { return };
    let mut run = place.start(&[]);
    let status = run.let_pass(Duration::from_secs(2));
    signal(status.agent_pid, libc::SIGKILL);
    let record = run.finish().expect(12).record();
    for file in ["programs/talker.log", "captures/a.pcapng"] {
        let lost = record.losses.iter().find(|lost| lost.file == file).expect(file);
        assert!(lost.from_ns > 0 && lost.from_ns < record.covered_ns + 1_000_000_000, "{lost:?}");
    }
}

#[test]
fn a_program_that_cannot_be_started_is_not_said_to_have_run() {
    let Some(place) = place(TALKER) else { return };
    // It is there, but only the kernel finds out that it may not be executed.
    place.file("interpreter", "");
    let interpreter = place.scenario().join("interpreter");
    place.file("broken", &format!("#!{}\n", interpreter.display()));
    let broken = place.scenario().join("broken");
    set_mode(&broken, 0o755);
    place.file("scenario.yaml", &TALKER.replace("python3 talker.py", "./broken"));
    let run = place.run(&[]).expect(12);
    assert_eq!(run.record().programs[0].end, ProgramEnd::NotStarted);
}

/// A run whose folder of runs is a file system of its own, in a mount namespace of its own, that is full
/// from 600 ms on until virtual time has come so far; and that folder as the run sees it.
fn full_for_a_while(place: &Place, until: Duration) -> (Running<'_>, PathBuf) {
    let runs = place.path().join("runs");
    fs::create_dir(&runs).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=1m,mode=755 small {} && exec {QCYCLE} run scenario --runs runs --json",
        runs.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
    place.set_up(&mut command);
    let mut run = place.start_command(command);
    run.let_pass(Duration::from_millis(600));
    let inside = runs.strip_prefix("/").unwrap();
    let seen = Path::new("/proc").join(run.process().to_string()).join("root").join(inside);
    let ballast = seen.join("ballast");
    let mut file = fs::File::create(&ballast).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
    run.let_pass(until);
    fs::remove_file(ballast).unwrap();
    (run, seen)
}

/// Its record, which has a verdict that was not measured.
fn not_measured(run: Running<'_>) -> serde_json::Value {
    let run = run.finish();
    assert_eq!(run.code(), 11, "{}\n{}", run.out, run.err);
    let record: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let outcome = &record["verdicts"][0]["outcome"];
    assert_eq!(outcome, &serde_json::to_value(Outcome::NotMeasured).unwrap());
    record
}

/// The disk is full for a while, and empty again long before the end: the verdict does not rest on the
/// lines that happened to find room.
#[test]
fn a_log_that_lost_lines_to_a_full_disk_makes_no_requirement_met() {
    let scenario = TALKER.replace("duration: 60 s", "duration: 4 s");
    let Some(place) = place(&scenario) else { return };
    let (run, runs) = full_for_a_while(&place, Duration::from_millis(1800));
    let log = || {
        let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
        let mut runs = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        let log = runs.next().map(|run| run.join("programs/talker.log"));
        log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default()
    };
    eventually("the log does not go on", || log().lines().any(|line| line.contains(" lost| ")));
    let log = log();
    let record = not_measured(run);
    let verdict = &record["verdicts"][0];
    assert!(verdict["reason"].as_str().unwrap().contains("lacks lines"), "{verdict}");
    assert_eq!(record["losses"][0]["file"], "programs/talker.log", "{record}");
    // No line is torn, and the hole has its place.
    for line in log.lines().filter(|line| line.contains(" out| ")) {
        let text = line.split_once("| ").unwrap().1;
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok(), "{line}");
    }
}

/// What is not there any more may have been late: `logrotate` cuts logs, editors put others in their place.
#[test]
fn files_that_others_change_during_a_run_make_no_requirement_met() {
    let Some(place) = place(&TALKER.replace("duration: 60 s", "duration: 2 s")) else { return };
    let is_changed = |file: &str, change: &dyn Fn(&Path)| {
        let mut run = place.start(&[]);
        run.let_pass(Duration::from_millis(800));
        let folder = place.runs().into_iter().max_by_key(|run| run.as_os_str().len()).unwrap();
        change(&folder.join(file));
        let run = run.finish().expect(11);
        let record = run.record();
        assert_eq!(record.verdicts[0].outcome, Outcome::NotMeasured, "{file}");
        fs::remove_dir_all(folder).unwrap();
        (record.verdicts[0].reason.clone(), record.warnings)
    };
    let cut = |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
    let replace = |path: &Path| {
        let text = fs::read_to_string(path).unwrap();
        fs::remove_file(path).unwrap();
        fs::write(path, text.replace("\"number\"", "\"none\"")).unwrap();
    };
    for change in [&cut as &dyn Fn(&Path), &replace] {
        let (reason, _) = is_changed("programs/talker.log", change);
        assert!(reason.contains("lacks lines: another process changed it"), "{reason}");
    }
    let (_, warnings) = is_changed("disturbances.csv", &cut);
    let told = "disturbances.csv was changed by another process during the run";
    assert!(warnings.iter().any(|warning| warning.starts_with(told)), "{warnings:?}");
}

const RECORDED: &str = "scenario: recorded
duration: 4 s
nodes:
  server:
    address: 10.0.0.1/24
    programs:
      - {name: server, run: python3 server.py}
  poller:
    address: 10.0.0.2/24
    programs:
      - {name: poller, run: python3 poller.py 10.0.0.1}
links:
  - {from: server, to: poller, delay: 4 ms, rate: 10 Mbit/s}
requirements:
  - {name: frames, measure: {longest_gap: {from: poller, to: server, port: 7007}}, at_most: 3 s}
";

/// What was captured before the hole and after it would meet it.
#[test]
fn frames_that_a_full_disk_took_make_no_requirement_met() {
    let Some(place) = Place::of_case("minimal") else { return };
    place.file("scenario.yaml", RECORDED);
    let (run, _) = full_for_a_while(&place, Duration::from_millis(2600));
    let record = not_measured(run);
    let lost = record["losses"].as_array().unwrap();
    let is_capture = |one: &serde_json::Value| one["file"].as_str().unwrap().ends_with(".pcapng");
    assert!(!lost.is_empty() && lost.iter().all(is_capture), "{lost:?}");
}

#[test]
fn programs_know_their_run_and_not_the_time_zone_of_the_host() {
    let scenario = TALKER
        .replace("echo done", "'env | sort; umask'")
        .replace("duration: 60 s", "duration: 1 s");
    let Some(place) = place(&scenario) else { return };
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs", "--seed", "7"]);
    command.env("TZ", "America/New_York").env("LANG", "de_DE").env("LC_ALL", "de_DE.UTF-8");
    let run = place.start_command(command).finish().expect(0);
    let lines = run.lines("short");
    for wanted in [
        "QCYCLE_SEED=7",
        "QCYCLE_VARIANT=",
        "QCYCLE_NODE=a",
        "QCYCLE_RUN=talker-1",
        "TZ=UTC0",
        "LANG=C.UTF-8",
        "0022",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{wanted}: {lines:?}");
    }
    assert!(!lines.iter().any(|line| line.contains("SECRET") || line.contains("New_York")));
    assert!(!lines.iter().any(|line| line.contains("de_DE")), "{lines:?}");
    assert!(run.record().environment.contains_key("PATH"));
    let taken = TALKER.replace("on_exit: ignore", "environment: {QCYCLE_SEED: '3'}");
    place.file("scenario.yaml", &taken);
    let refused = place.run(&[]).expect(65);
    assert!(refused.err.contains("is set by Quartercycle itself"), "{}", refused.err);
}

/// A user who edits one file of those that a run was made of can tell it from the record of the run before.
#[test]
fn all_files_that_a_run_is_made_of_are_in_its_record() {
    let plant = "plant:\n  circuit: main.dss\n  profiles: [{file: wind.csv, time: time_s, columns: \
                 {kw: load.d680.kW}}]\n  record: {every: 10 ms, points: [bus.680.v1]}\nnodes:";
    let scenario = TALKER
        .replace("nodes:", plant)
        .replace("sh, -c, echo done", "./once, settings.json")
        .replace("duration: 60 s", "duration: 1 s");
    let Some(place) = place(&scenario) else { return };
    let file = |name: &str, text: &str| place.file(name, text);
    fs::create_dir(place.scenario().join("parts")).unwrap();
    file("main.dss", "Redirect parts/whole.dss\n");
    file("parts/whole.dss", "Redirect ../grid.dss\nNew LoadShape.day npts=2 mult=(file=day.csv)\n");
    file("parts/day.csv", "1\n2\n");
    file("wind.csv", "time_s,kw\n0,10\n1,20\n");
    file("settings.json", "{}");
    file("once", "#!/usr/bin/env python3\n");
    set_mode(&place.scenario().join("once"), 0o755);
    let mut run = place.start(&["--copy-inputs"]);
    run.begun();
    file("settings.json", "{\"changed\": 1}");
    let run = run.finish().expect(0);
    let record = run.record();
    for wanted in [
        "scenario.yaml",
        "main.dss",
        "parts/whole.dss",
        "parts/day.csv",
        "grid.dss",
        "wind.csv",
        "talker.py",
        "once",
    ] {
        let path = place.scenario().join(wanted).canonicalize().unwrap();
        let is_it = |input: &&Input| Path::new(&input.file).canonicalize().unwrap() == path;
        let input = record.inputs.iter().find(is_it).expect(wanted);
        let octets = fs::read(&path).unwrap();
        assert_eq!(input.sha256, Some(sha256(&octets)), "{wanted}");
        let copy = run.folder().path().join(input.copy.as_ref().unwrap());
        assert_eq!(fs::read(copy).unwrap(), octets, "{wanted}");
    }
    let named = |name: &str| record.inputs.iter().find(|input| input.file.ends_with(name));
    assert_eq!(named("/env").unwrap().role, Role::Program);
    assert_eq!(named("/python3").unwrap().role, Role::Program);
    assert_eq!(named("settings.json").unwrap().sha256, Some(sha256(b"{}")));
    let changed = |text: &&String| text.contains("settings.json was changed during the run");
    assert_eq!(record.warnings.iter().filter(changed).count(), 1, "{:?}", record.warnings);
}

/// A build in the tree of its repository is told by its commit, in the record too.
#[test]
fn the_commit_is_in_the_version_and_in_the_record() {
    let version = Command::new(QCYCLE).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let root = harness::project();
    let git = Command::new("git").arg("-C").arg(&root).args(["rev-parse", "HEAD"]).output();
    let is_clone = root.join(".git").exists() && git.is_ok_and(|git| git.status.success());
    let commit = testbed::BUILD.commit.map(str::to_owned);
    match &commit {
        Some(commit) => {
            assert!(version.contains(commit), "{version}");
            let number = commit.split(',').next().unwrap();
            assert!(number.len() >= 7 && number.bytes().all(|digit| digit.is_ascii_hexdigit()));
        }
        None => assert!(!is_clone && version.contains("commit unknown"), "{version}"),
    }
}
