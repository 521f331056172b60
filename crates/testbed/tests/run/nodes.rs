//! What a program finds in its node, and runs that have programs only, or a network only.

use runtime::agent::protocol::Detail;

use crate::run::harness::{self, Place};

#[test]
fn programs_alone_make_a_run() {
    const SCENARIO: &str = "scenario: alone
duration: 2 s
settle: 0 s
start: 2019-06-03T12:00:00Z
nodes:
  one:
    programs:
      - {name: clock, run: [sh, -c, date -u +%T; sleep 1; date -u +%T; exec sleep 60]}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = place.run(&[]).expect(0);
    assert_eq!(run.lines("clock"), ["12:00:00", "12:00:01"]);
    let folder = run.folder();
    assert_eq!(folder.series().unwrap(), None);
    assert!(folder.capture("one").unwrap().is_none());
}

#[test]
fn programs_of_nodes_have_the_names_of_the_scenario_and_a_factor_each() {
    const SCENARIO: &str = "scenario: pair
duration: 3 s
settle: 0 s
nodes:
  one:
    programs:
      - {name: quick, run: [sh, -c, sleep 50; echo quick; exec sleep 600]}
  two:
    programs:
      - {name: plain, run: [sh, -c, sleep 50; echo plain; exec sleep 600]}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let mut run = place.start(&[]);
    let domain = run.begun().name;
    let query = |whom: &str| -> Detail {
        serde_json::from_str(&place.says(&["query", "--json", whom])).unwrap()
    };
    // So that it does not end before all is said, however slow this machine.
    place.says(&["hold", &domain]);
    harness::eventually("both sleep", || query(&domain).programs.len() == 4);
    place.says(&["dilate", "--tdf", "0.01", &format!("{domain}/quick")]);
    let tdfs = query(&domain).programs;
    let of =
        |name: &str| tdfs.iter().filter(|p| p.name == name).map(|p| p.tdf_millionths).collect();
    let [quick, plain]: [Vec<u64>; 2] = ["quick", "plain"].map(of);
    assert_eq!((quick, plain), (vec![10_000; 2], vec![1_000_000; 2]));
    // The number is that of the host, where the node has another one.
    let shell = tdfs.iter().find(|program| program.name == "quick").unwrap();
    let by_number = query(&shell.pid.to_string());
    assert_eq!((&*by_number.status.name, &*by_number.programs[0].name), (&*domain, "quick"));
    place.says(&["release", &domain]);
    let run = run.finish().expect(0);
    assert_eq!(run.lines("quick"), ["quick"], "50 s of its own are half a second of the run");
    assert!(run.lines("plain").is_empty());
}

/// Echo over UDP through a link of 20 ms each way.
#[test]
fn a_network_without_a_plant_makes_a_run() {
    const SCENARIO: &str = "scenario: echo
duration: 3 s
settle: 0 s
nodes:
  server:
    address: 10.0.0.2/24
    programs:
      - {name: server, run: python3 echo.py serve}
  client:
    address: 10.0.0.1/24
    programs:
      - {name: client, run: python3 echo.py ask 10.0.0.2}
switches: [s1]
links:
  - {from: client, to: s1, delay: 10 ms}
  - {from: s1, to: server, delay: 10 ms}
requirements:
  - name: echoes arrive
    measure: {received: {from: server, to: client}}
    at_least: 5
    disturbed_above: 1000 s
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let run = place.run(&[]).expect(0);
    let lines = run.lines("client");
    let times: Vec<f64> =
        lines.iter().filter_map(|line| line.strip_suffix(" ms")?.parse().ok()).collect();
    assert!(times.len() >= 5, "{lines:?}");
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(shortest >= 40.0, "an echo took {shortest} ms over 40 ms of links");
}

#[test]
fn a_program_finds_a_machine_of_its_own() {
    const SCENARIO: &str = "scenario: look
duration: 2 s
settle: 0 s
plant: {circuit: grid.dss}
nodes:
  substation:
    address: 10.0.0.1/24
    files:
      - {point: bus.680.v1}
      - {point: storage.es.kW, access: write}
    programs:
      - name: look
        run: python3 look.py
        environment: {OWN: \"1\"}
        on_exit: ignore
  other:
    address: 10.0.0.2/24
    programs:
      - {name: idle, run: python3 idle.py}
links:
  - {from: substation, to: other}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    place.file("there.txt", "before\n");
    let run = place.run(&[]).expect(0);
    let log = run.lines("look").join("\n");
    let expected = [
        "host name: substation",
        "interfaces: eth0 up, lo up",
        "points: bus.680.v1 r--r--r--, storage.es.kW rw-r--r--, values r--r--r--",
        "processes: 1 qcycle-node, python3",
        "descriptors: 0 /dev/null, 1 pipe, 2 pipe",
        "environment: HOME, LANG, OWN, PATH, QCYCLE_NODE, QCYCLE_RUN, QCYCLE_SEED, QCYCLE_VARIANT, TZ",
        "first process: 1 thread",
        "read: before",
        "root: every entry of the host",
        "signals: none blocked, none ignored but by the language",
        "terminal: none",
    ];
    for line in expected {
        assert!(log.lines().any(|found| found == line), "`{line}` is not in:\n{log}");
    }
    // The host's files are written as usual.
    let there = std::fs::read_to_string(place.scenario().join("there.txt")).unwrap();
    assert_eq!(there, "before\nafter\n");
    assert!(!std::path::Path::new("/plant").exists());
}

/// Each begins when the one before it is there, so that it finds what that has opened first thing.
#[test]
fn programs_of_a_node_start_in_the_order_in_which_they_are_named() {
    let mut text = "scenario: order
duration: 8 s
settle: 0 s
nodes:
  a:
    programs:
"
    .to_owned();
    for number in 0..30 {
        text += &format!("      - {{name: p{number}, run: [sh, -c, 'echo $$; sleep 60']}}\n");
    }
    let Some(place) = Place::for_root(&text) else { return };
    let run = place.run(&[]).expect(0);
    let record = run.record();
    let started: Vec<i64> = record.programs.iter().map(|one| one.started_ns.unwrap()).collect();
    assert!(started.is_sorted(), "{started:?}");
    let processes: Vec<u32> =
        (0..30).map(|number| run.lines(&format!("p{number}"))[0].parse().unwrap()).collect();
    assert!(processes.is_sorted(), "{processes:?}");
}
