//! Mistakes that everybody makes once, on the command line: each ends with its exit code, and says
//! what is wrong and the way out.

use std::fs;

use crate::run::harness::Place;

const SCENARIO: &str = "scenario: small
duration: 1 s
nodes:
  meter:
    programs:
      - {name: idle, run: python3 idle.py}
variants:
  calm:
  storm:
";

/// What is written, the exit code, and words that must be said.
const MISTAKES: &[(&[&str], i32, &[&str])] = &[
    (&[], 64, &["Usage: qcycle <COMMAND>", "run"]),
    (&["rnu", "scenario"], 64, &["rnu", "--help"]),
    (&["run"], 64, &["<SCENARIO>"]),
    (&["run", "nope.yaml"], 65, &["nope.yaml", "give the path of a scenario.yaml"]),
    (&["run", "/dev/zero"], 65, &["cannot be read (it is not a regular file)"]),
    (&["run", "scenario"], 65, &["none is selected", "calm, storm"]),
    (&["run", "scenario", "--variant", "clam"], 65, &["did you mean `calm`?"]),
    (&["run", "scenario", "--duration", "10"], 64, &["has no unit", "`10 s`"]),
    (&["run", "scenario", "--duration", "-1 s"], 64, &["`-1 s` is not a positive time"]),
    (&["run", "scenario", "--duration", "0 s"], 64, &["`0 s` is not a positive time"]),
    (&["run", "scenario", "--seed", "-1"], 64, &["give a whole number from 0"]),
    (&["run", "scenario", "--tdf", "-1"], 64, &["plain decimal number"]),
    (&["run", "scenario", "--repeat-disturbed", "x"], 64, &["give a whole number from 0"]),
    (&["run", "scenario", "--runs", "scenario/scenario.yaml"], 65, &["none is selected"]),
    (
        &["run", "scenario", "--variant", "calm", "--runs", "scenario/scenario.yaml"],
        69,
        &["scenario.yaml is not a folder; name a folder"],
    ),
    (&["run", "scenario", "--tdf", "fast"], 64, &["plain decimal number"]),
    (&["run", "scenario", "--tdf", "0"], 64, &["between 0.01 and 1000"]),
    (&["run", "scenario", "--seed", "many"], 64, &["--seed"]),
    (&["run", "scenario", "--dry-run", "--csv"], 64, &["cannot be used with"]),
    (&["report", "nope"], 69, &["nope is not a run folder", "`qcycle run` made"]),
    (
        &["latency", "import", "scenario/scenario.yaml"],
        65,
        &["not in a known format", "scenario.yaml"],
    ),
    (&["latency", "import", "x", "--platform", "../x"], 64, &["not a valid name", "letters"]),
    (&["latency", "import", "x", "--platform", "a b"], 64, &["not a valid name"]),
    (&["latency", "import", "x", "--period", "0 s"], 64, &["`0 s` is not a positive time"]),
    (
        &["latency", "import", "samples.txt", "--output", "scenario/scenario.yaml"],
        69,
        &["scenario.yaml is not a folder; name a folder"],
    ),
    (&["latency", "compare", "nope", "nope"], 69, &["nope has no cells"]),
    (&["latency", "report", "made-by-run"], 69, &["not the run of a matrix", "`qcycle report`"]),
    (&["latency", "--resume", "made-by-run"], 69, &["not the run of a matrix", "`qcycle report`"]),
    (&["report", "made-by-latency"], 69, &["use `qcycle latency report made-by-latency`"]),
    (&["hold", "nobody"], 69, &["no domain named `nobody`", "`qcycle run`"]),
    (&["query", "999999999"], 69, &["no process 999999999", "`qcycle ps`"]),
    (&["attach", "controller"], 64, &["give a process ID", "pidof"]),
    (&["attach", "-5"], 64, &["-5", "give a process ID"]),
    (&["exec"], 64, &["<PROGRAM>"]),
    (&["exec", "--name", "a b", "true"], 64, &["not a valid domain name"]),
    (&["exec", "--name", "--tdf", "true"], 64, &["not a valid domain name"]),
    (&["exec", "no-such-program"], 127, &["cannot start no-such-program"]),
    (&["exec", "--start", "yesterday", "date"], 64, &["2019-06-03T12:00:00Z"]),
    (&["exec", "--freeze", "sometimes", "date"], 64, &["`off`, `strict`"]),
    (&["exec", "--stall-guard", "1", "date"], 64, &["has no unit"]),
    (
        &["bus", "--wiring=veth", "--publisher=true", "--relay=true", "--relay=true"],
        64,
        &["--wiring veth: a cable takes one --relay"],
    ),
    (&["check", "--cores", ""], 64, &["no core was given"]),
    (&["check", "--cores", "4095"], 69, &["core 4095 is not available"]),
    (&["check", "nope"], 65, &["nope", "give the path of a scenario.yaml"]),
    (&["latency", "--share", "x"], 64, &["less than 100 percent"]),
    (&["latency", "--share", "-1"], 64, &["less than 100 percent"]),
    (&["latency", "--limit", "a=1 ms", "--limit", "a=2 ms"], 64, &["two limits have the name `a`"]),
    (&["latency", "--list", "--json"], 64, &["cannot be used with"]),
    (&["latency", "--profile", "tp1", "--profile", "tp1"], 64, &["`tp1` is named twice"]),
    (&["latency", "--profile", "nope"], 64, &["`nope` is not one of the profiles", "tp1, "]),
];

#[test]
fn each_mistake_is_told_with_the_fix_and_its_exit_code() {
    let place = Place::new(SCENARIO);
    for (name, text) in [
        ("made-by-run/run.json", "{\"format\": 1, \"scenario\": {}}"),
        ("made-by-latency/run.json", "{\"format\": 1, \"matrix\": \"m\"}"),
        ("samples.txt", "1\n2\n"),
    ] {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for (written, code, words) in MISTAKES {
        let output = place.qcycle(written).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(*code), "{written:?}: {said}");
        for word in *words {
            assert!(said.contains(word), "{written:?} does not say `{word}`: {said}");
        }
        assert!(place.runs().is_empty(), "{written:?}");
    }
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let place = Place::new(SCENARIO);
    for written in ["--help", "--version"] {
        let full = fs::File::create("/dev/full").unwrap();
        let output = place.qcycle(&[written]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(74), "{output:?}");
    }
}

#[test]
fn a_program_needs_no_dashes_before_it_and_keeps_its_own_options() {
    let place = Place::new(SCENARIO);
    for written in [
        &["exec", "echo", "--tdf", "-n"][..],
        &["exec", "--", "echo", "--tdf", "-n"],
        &["exec", "--tdf", "1", "echo", "--tdf", "-n"],
    ] {
        assert_eq!(place.says(written), "--tdf -n\n", "{written:?}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::new(SCENARIO);
    let all = place.says(&["--help"]);
    // A line that goes on stands further to the right.
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        name?.split_whitespace().next()
    });
    let commands: Vec<&str> = names.collect();
    assert!(commands.len() >= 13, "{all}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let said = place.says(&[command, "--help"]);
        // `clean` has nothing that could be given.
        assert!(command == "clean" || said.contains("Example"), "{command}: {said}");
        assert!(said.contains("qcycle"), "{command}: {said}");
    }
}
