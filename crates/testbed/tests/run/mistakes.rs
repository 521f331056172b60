//! Mistakes that everybody makes once, on the command line: each ends with its exit code, and says
//! what is wrong and the way out.

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
    (&["run", "scenario", "--duration", "-1 s"], 64, &["-1"]),
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
    (&["hold", "nobody"], 69, &["no domain named `nobody`", "`qcycle run`"]),
    (&["query", "999999999"], 69, &["no process 999999999", "`qcycle ps`"]),
    (&["attach", "controller"], 64, &["give a process ID", "pidof"]),
    (&["attach", "-5"], 64, &["-5"]),
    (&["exec"], 64, &["<PROGRAM>"]),
    (&["exec", "no-such-program"], 127, &["cannot start no-such-program"]),
    (&["exec", "--start", "yesterday", "date"], 64, &["2019-06-03T12:00:00Z"]),
    (&["exec", "--freeze", "sometimes", "date"], 64, &["`off`, `strict`"]),
    (&["exec", "--stall-guard", "1", "date"], 64, &["has no unit"]),
    (&["check", "--cores", "4095"], 69, &["core 4095 is not available"]),
    (&["check", "nope"], 65, &["nope", "give the path of a scenario.yaml"]),
    (&["latency", "--profile", "nope"], 64, &["`nope` is not one of the profiles", "tp1, "]),
];

#[test]
fn each_mistake_is_told_with_the_fix_and_its_exit_code() {
    let place = Place::new(SCENARIO);
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
fn a_program_needs_no_dashes_before_it_and_keeps_its_own_options() {
    let place = Place::new(SCENARIO);
    for written in [
        &["exec", "echo", "--tdf", "-n"][..],
        &["exec", "--", "echo", "--tdf", "-n"],
        &["exec", "--tdf", "1", "echo", "--tdf", "-n"],
    ] {
        let output = place.qcycle(written).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "--tdf -n\n", "{output:?}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    let place = Place::new(SCENARIO);
    let help = |arguments: &[&str]| {
        let output = place.qcycle(arguments).arg("--help").output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let all = help(&[]);
    // A line that goes on stands further to the right.
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        name?.split_whitespace().next()
    });
    let commands: Vec<&str> = names.collect();
    assert!(commands.len() >= 13, "{all}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let said = help(&[command]);
        // `clean` has nothing that could be given.
        assert!(command == "clean" || said.contains("Example"), "{command}: {said}");
        assert!(said.contains("qcycle"), "{command}: {said}");
    }
}
