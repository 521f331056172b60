//! A part dies: it is told within seconds and in plain words, what was recorded is kept and
//! judged, and nothing is left behind.

use std::fs;
use std::time::{Duration, Instant};

use results::RunFolder;
use results::record::{EndedHow, ProgramEnd};

use crate::common::guests::set_mode;
use crate::common::patience::patience;
use crate::common::processes::signal;
use crate::run::harness::{self, DEATH_LONGEST, Finished, Place, Running, eventually};

/// A minute of a program that reads and writes the plant, beside others.
fn scenario(others: &str) -> String {
    format!(
        "scenario: small
duration: 60 s
settle: 200 ms
plant:
  circuit: grid.dss
  record: {{every: 10 ms, points: [bus.680.v1, storage.es.kW]}}
nodes:
  meter:
    address: 10.0.0.1/24
    files:
      - {{point: generator.wind.kW}}
      - {{point: storage.es.kW, access: write}}
    programs:
      - name: reader
        run: python3 reader.py /plant/generator.wind.kW /plant/storage.es.kW 0.05
{others}
links:
  - {{from: meter, to: other}}
requirements:
  - name: the voltage stays high
    measure: {{minimum: bus.680.v1, to: 200 ms}}
    at_least: 2000 V
    disturbed_above: 1000 s
"
    )
}

fn other(run: &str, on_exit: &str) -> String {
    format!(
        "  other:
    address: 10.0.0.2/24
    programs:
      - {{name: other, run: {run}, on_exit: {on_exit}}}
"
    )
}

fn sleeper() -> String {
    other("[sleep, infinity]", "fail")
}

/// What holds whichever part has died: it was reported, what was recorded is there, and it was judged.
fn assert_told(place: &Place, run: &Finished, how: EndedHow, reason: &str) {
    let record = run.record();
    assert_eq!(record.ended.how, how);
    assert!(record.ended.reason.contains(reason), "{:?}", record.ended);
    assert!(run.out.contains(reason), "{}", run.out);
    assert!(record.covered_ns > 200_000_000, "{}", record.covered_ns);
    let series = run.folder().series().unwrap().unwrap();
    let last = *series.time_ns.last().unwrap();
    assert!(last > record.covered_ns - 1_100_000_000, "{last} of {}", record.covered_ns);
    harness::assert_met(&record.verdicts[0]);
    assert_report_says(place, &run.folder(), reason);
}

fn assert_report_says(place: &Place, folder: &RunFolder, reason: &str) {
    let page = place.path().join("report.html");
    let [folder, output] = [folder.path(), &page].map(|path| path.to_str().unwrap());
    place.says(&["report", folder, "--output", output]);
    let page = fs::read_to_string(page).unwrap();
    // The page writes quotes as entities.
    let reason = reason.split('`').max_by_key(|part| part.len()).unwrap();
    assert!(page.contains(reason), "the report does not say: {reason}");
}

/// The rest of a run after a part of it died.
fn after_death(run: Running<'_>) -> Finished {
    let died = Instant::now();
    let run = run.finish_within(2 * DEATH_LONGEST);
    assert!(died.elapsed() < patience(DEATH_LONGEST), "{:?}", died.elapsed());
    run
}

#[test]
fn a_program_that_fails_ends_the_run() {
    let Some(place) = Place::for_root(&scenario(&other("[sh, -c, sleep 1; exit 3]", "fail")))
    else {
        return;
    };
    let run = place.run(&[]).expect(12);
    assert!(run.wall < patience(Duration::from_secs(10)), "{:?}", run.wall);
    assert_told(&place, &run, EndedHow::PartFailed, "program `other` exited with 3");
    let record = run.record();
    assert_eq!(record.programs[1].end, ProgramEnd::Exited { code: 3 });
    assert_eq!(record.programs[0].end, ProgramEnd::Stopped);
}

#[test]
fn a_program_whose_end_is_ignored_leaves_a_warning() {
    let Some(place) = Place::for_root(&scenario(&other("[sh, -c, sleep 0.5; exit 3]", "ignore")))
    else {
        return;
    };
    let run = place.run(&["--duration", "1 s"]).expect(0);
    let record = run.record();
    assert_eq!(record.ended.how, EndedHow::Complete);
    assert!(record.warnings[0].contains("program `other` exited with 3"), "{:?}", record.warnings);
    assert_eq!(record.programs[1].end, ProgramEnd::Exited { code: 3 });
    assert_report_says(&place, &run.folder(), "exited with 3");
}

#[test]
fn a_program_that_crashes_ends_the_run() {
    let crash = "[sh, -c, ulimit -c 0; sleep 1; kill -SEGV $$]";
    let Some(place) = Place::for_root(&scenario(&other(crash, "fail"))) else { return };
    let run = place.run(&[]).expect(12);
    assert_told(&place, &run, EndedHow::PartFailed, "program `other` ended by signal 11");
}

#[test]
fn a_program_that_is_not_there_is_found_before_anything_starts() {
    let Some(place) = Place::for_root(&scenario(&other("[no-such-program]", "fail"))) else {
        return;
    };
    let run = place.run(&[]).expect(65);
    assert!(run.err.contains("no-such-program"), "{}", run.err);
    assert!(place.runs().is_empty());
}

#[test]
fn a_program_that_cannot_be_executed_ends_the_run() {
    let Some(place) = Place::for_root(&scenario(&other("./broken", "fail"))) else { return };
    // Its interpreter is there, and is itself.
    let broken = place.scenario().join("broken");
    place.file("broken", &format!("#!{}\n", broken.display()));
    set_mode(&broken, 0o755);
    let run = place.run(&[]).expect(12);
    let record = run.record();
    assert!(record.ended.reason.contains("cannot start `other`"), "{:?}", record.ended);

    // Where its end is none of the run, its absence is none either, and is told.
    let short = scenario(&other("./broken", "ignore")).replace("duration: 60 s", "duration: 1 s");
    place.file("scenario.yaml", &short);
    let run = place.run(&[]).expect(0);
    let record = run.record();
    let told = |warning: &String| warning.starts_with("cannot start `other`: ");
    assert!(record.warnings.iter().any(told), "{:?}", record.warnings);
    let absent = record.programs.iter().find(|program| program.name == "other").unwrap();
    assert_eq!((&absent.end, absent.ended_ns), (&ProgramEnd::NotStarted, None));
    place.file("scenario.yaml", &scenario(&other("./broken", "fail")));

    // Whose interpreter is missing is known before.
    place.file("broken", "#!/no/such/interpreter\n");
    let run = place.run(&[]).expect(65);
    assert!(run.err.contains("needs the interpreter `/no/such/interpreter`"), "{}", run.err);
}

#[test]
fn the_death_of_the_agent_ends_the_run_and_all_its_programs() {
    let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
    let mut run = place.start(&[]);
    let agent = run.let_pass(Duration::from_secs(2)).agent_pid;
    signal(agent, libc::SIGKILL);
    let run = after_death(run).expect(12);
    assert_told(&place, &run, EndedHow::PartFailed, "the agent ended unexpectedly");
}

#[test]
fn the_death_of_the_runner_ends_everything_and_keeps_what_was_recorded() {
    let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
    let mut run = place.start(&[]);
    run.let_pass(Duration::from_secs(2));
    signal(run.process(), libc::SIGKILL);
    let run = after_death(run);
    assert_eq!(run.status.code(), None);
    eventually("processes are left", || place.processes().is_empty());
    let record = run.record();
    assert_eq!(record.ended.how, EndedHow::Unfinished);
    let rows = run.folder().series().unwrap().unwrap().time_ns.len();
    assert!(rows > 50, "{rows} rows");
    assert_report_says(&place, &run.folder(), "still running, or killed");
}

#[test]
fn the_death_of_a_node_ends_the_run() {
    // The process that waits outside of the namespaces, and the first one inside.
    for depth in [1, 2] {
        let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
        let mut run = place.start(&[]);
        let agent = run.let_pass(Duration::from_secs(1)).agent_pid;
        let outside = children(agent)[1];
        signal(if depth == 1 { outside } else { children(outside)[0] }, libc::SIGKILL);
        let run = after_death(run).expect(12);
        assert_told(&place, &run, EndedHow::PartFailed, "node `other` died");
    }
}

#[test]
fn an_interrupted_run_is_judged_by_what_it_has() {
    for (number, name) in [(libc::SIGINT, "SIGINT"), (libc::SIGTERM, "SIGTERM")] {
        let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
        let mut run = place.start(&[]);
        run.let_pass(Duration::from_secs(1));
        run.signal_group(number);
        let run = after_death(run).expect(130);
        assert_told(&place, &run, EndedHow::Interrupted, name);
        let programs = run.record().programs;
        assert!(programs.iter().all(|program| program.end == ProgramEnd::Stopped));
    }
}

/// Who asks twice does not want to wait, be it for an engine that computes.
#[test]
fn a_second_signal_ends_the_runner_at_once() {
    let stubborn = "[sh, -c, \"trap '' TERM INT; while :; do sleep 1; done\"]";
    let Some(place) = Place::for_root(&scenario(&other(stubborn, "fail"))) else { return };
    let mut run = place.start(&[]);
    run.let_pass(Duration::from_secs(1));
    run.signal_group(libc::SIGINT);
    std::thread::sleep(Duration::from_millis(600));
    run.signal_group(libc::SIGINT);
    let run = run.finish_within(DEATH_LONGEST);
    assert_eq!(run.code(), 130);
    eventually("processes are left", || place.processes().is_empty());
}

/// Ctrl-Z stops the runner alone: the plant cannot be asked, so the clock stands.
#[test]
fn a_stopped_runner_stops_the_clock_and_nothing_is_missed() {
    let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
    let mut run = place.start(&["--duration", "2 s"]);
    run.let_pass(Duration::from_secs(1));
    run.signal_group(libc::SIGSTOP);
    std::thread::sleep(Duration::from_secs(2));
    run.signal_group(libc::SIGCONT);
    let run = run.finish().expect(0);
    let wall = run.record().wall.unwrap();
    assert!(wall.holds_s > 1.5, "{wall:?}");
}

#[test]
fn a_program_that_ignores_being_asked_is_killed() {
    let stubborn = "[sh, -c, \"trap '' TERM; while :; do sleep 1; done\"]";
    let Some(place) = Place::for_root(&scenario(&other(stubborn, "fail"))) else { return };
    let run = place.run(&["--duration", "1 s"]).expect(0);
    assert_eq!(run.record().programs[1].end, ProgramEnd::Stopped);
}

#[test]
fn daemons_of_a_program_are_gone_after_the_run() {
    let Some(place) = Place::for_root(&scenario(&other("python3 daemons.py", "ignore"))) else {
        return;
    };
    let run = place.run(&["--duration", "2 s"]).expect(0);
    assert_eq!(run.lines("other").last().unwrap(), "three daemons");
}

#[test]
fn rubbish_in_a_point_file_is_refused_and_told() {
    let Some(place) = Place::for_root(&scenario(&sleeper()).replace("reader.py", "rubbish.py"))
    else {
        return;
    };
    let run = place.run(&["--duration", "2 s"]).expect(0);
    assert_eq!(run.lines("reader"), ["refused", "refused", "refused", "refused", "taken: 250"]);
    let warnings = run.record().warnings.join("\n");
    assert!(warnings.contains("is not one number"), "{warnings}");
    assert!(
        warnings.contains("1000000000000 is not a valid value for storage.es.kW"),
        "{warnings}"
    );
}

/// The engine refuses a value that only the course of the run brings.
#[test]
fn a_plant_that_fails_ends_the_run() {
    let refused = ("load.d680.kV, value: -4", "kV: Value (-4) cannot be negative");
    let unsolvable = ("line.l1.length, value: 0", "Matrix Inversion Error for Line");
    for (program, (event, words)) in
        [("reader.py", refused), ("reader.py", unsolvable), ("idle.py", refused)]
    {
        let event = format!("events:\n  - {{at: 1 s, set: {event}}}\n");
        let text = scenario(&sleeper()).replace("reader.py", program) + &event;
        let Some(place) = Place::for_root(&text) else { return };
        let run = place.run(&[]).expect(12);
        assert!(run.wall < patience(Duration::from_secs(10)), "{program}: {:?}", run.wall);
        assert_told(&place, &run, EndedHow::PartFailed, words);
    }
}

/// Its values are no numbers then: programs that read them are refused.
#[test]
fn a_plant_that_diverges_is_a_warning() {
    let reader = "python3 reader.py /plant/generator.wind.kW /plant/storage.es.kW 0.05";
    let text = scenario(&sleeper())
        .replace("{point: generator.wind.kW}", "{point: bus.680.v1}")
        .replace(reader, "sh reader.sh");
    let events = "events:\n  - {at: 500 ms, set: load.d680.kV, value: 0}\n";
    let Some(place) = Place::for_root(&(text + events)) else { return };
    let reads = "while sleep 0.05; do cat /plant/bus.680.v1 2>&1 || echo refused; done";
    place.file("reader.sh", reads);
    let run = place.run(&["--duration", "1 s"]).expect(0);
    let lines = run.lines("reader");
    let numbers = lines.iter().take_while(|line| line.parse::<f64>().is_ok_and(f64::is_finite));
    let left = &lines[numbers.count()..];
    assert!(left.len() < lines.len() && left.iter().any(|line| line == "refused"), "{lines:?}");
    assert!(left.iter().all(|line| line.parse::<f64>().is_err()), "{lines:?}");
    let warnings = run.record().warnings.join("\n");
    assert!(warnings.contains("did not converge"), "{warnings}");
}

/// Programs that wait for a point when they are killed, or when the run ends.
#[test]
fn nobody_who_waits_for_a_point_is_waited_for() {
    let text = scenario(&sleeper())
        .replace("{point: generator.wind.kW}", "{point: generator.wind.kW, latency: 1 h}");
    let Some(place) = Place::for_root(&text) else { return };
    let run = place.run(&["--duration", "1 s"]).expect(0);
    assert!(run.wall < patience(Duration::from_secs(8)), "{:?}", run.wall);
}

/// What does not answer any more is killed, and what it had recorded is judged.
#[test]
fn an_agent_that_hangs_is_killed_when_the_run_is_over() {
    let Some(place) = Place::for_root(&scenario(&sleeper())) else { return };
    let mut run = place.start(&[]);
    let agent = run.let_pass(Duration::from_secs(1)).agent_pid;
    signal(agent, libc::SIGSTOP);
    run.signal_group(libc::SIGTERM);
    let run = run.finish_within(2 * DEATH_LONGEST).expect(130);
    assert_told(&place, &run, EndedHow::Interrupted, "SIGTERM");
    assert!(run.record().warnings[0].contains("did not stop in time"));
}

/// A program that is killed while the plant is asked for it: its question is answered to nobody.
#[test]
fn a_program_killed_in_the_middle_of_a_question_stalls_nobody() {
    let Some(place) = Place::for_root(&scenario(&sleeper()).replace("reader.py", "killed.py"))
    else {
        return;
    };
    let run = place.run(&["--duration", "3 s"]).expect(0);
    // A reader that still asks when the run is over is told so, and complains.
    let counts = run.lines("reader");
    let killed: u32 = counts.iter().rev().find_map(|line| line.parse().ok()).unwrap();
    assert!(killed > 5, "only {killed} readers were killed");
}

fn children(process: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}
