//! Runs that say nothing of their programs, because the host or somebody kept these from acting in
//! time: they are told from those that do.

use std::time::Duration;

use report_kit::outcome::Outcome;
use results::RunFolder;
use results::disturbance::Cause;
use runtime::intervention::Action;

use crate::common::guests::{Link, c};
use crate::common::machine::{alone, take_processors};
use crate::common::processes::signal;
use crate::run::harness::{Finished, Place};

/// A program that looks at its clock every millisecond and tells the longest time between two looks,
/// and what more a requirement or a scenario says.
fn scenario(requirement: &str, more: &str) -> String {
    format!(
        "scenario: ticks
duration: 3 s
settle: 500 ms
nodes:
  meter:
    programs:
      - {{name: ticker, run: python3 ticker.py, on_exit: ignore}}
requirements:
  - name: it looks in time
    measure: {{told: gap_ms, by: ticker, statistic: maximum}}
    at_most: 60 ms
{requirement}{more}"
    )
}

const TICKER: &str = "\
import json, time
last = time.monotonic()
while True:
    time.sleep(0.001)
    now = time.monotonic()
    print(json.dumps({'gap_ms': (now - last) * 1e3}), flush=True)
    last = now
";

fn place(requirement: &str, more: &str) -> Option<Place> {
    let place = Place::for_root(&scenario(requirement, more))?;
    place.file("ticker.py", TICKER);
    Some(place)
}

/// What no host ever does: only what somebody does disturbs a verdict.
const FOR_EVER: &str = "    disturbed_above: 1000 s\n";

/// Why the first verdict was disturbed.
fn reason_of(run: &Finished) -> String {
    let verdict = run.record().verdicts.remove(0);
    assert_eq!(verdict.outcome, Outcome::Disturbed, "{}", verdict.reason);
    verdict.reason
}

#[test]
fn who_is_kept_from_the_processors_is_not_judged_and_the_cause_is_told() {
    let Some(place) = place("", "") else { return };
    alone();
    let mut run = place.start(&[]);
    run.let_pass(Duration::from_millis(1500));
    if !take_processors(Duration::from_millis(200)) {
        return;
    }
    let run = run.finish().expect(13);
    let reason = reason_of(&run);
    assert!(reason.contains("would be missed"), "{reason}");
    let record = run.record();
    let warning = record.warnings.iter().find(|warning| warning.starts_with("disturbed"));
    assert!(warning.is_some_and(|text| text.contains("--repeat-disturbed")), "{warning:?}");
    assert!(run.out.contains("disturbed") && run.out.contains(&reason), "{}", run.out);
    let watched = record.disturbances.unwrap();
    assert!(watched.watched_to_ns >= 3_000_000_000, "{watched:?}");
    let ticker =
        watched.parties.iter().find(|one| one.who == "ticker" && one.cause == Cause::Waited);
    let waited = ticker.expect("it waited for a processor");
    assert_eq!(waited.node.as_deref(), Some("meter"));
    assert!(waited.longest_ns >= 100_000_000, "{waited:?}");
    // A folder says the same again without the run.
    let folder = run.folder();
    let again = RunFolder::judge_all(&run.record(), &folder.data(&run.record()).unwrap());
    assert_eq!(again[0].outcome, Outcome::Disturbed);
}

/// Each second of it has a tenth of a host second, and computing takes ten times as long.
#[test]
fn a_program_that_cannot_keep_up_is_not_judged() {
    let Some(place) = place("    disturbed_above: 50 ms\n", "") else { return };
    place.file(
        "ticker.py",
        "import json, time\n\
         while True:\n\
         \x20   begun = time.monotonic()\n\
         \x20   sum(range(5000))\n\
         \x20   print(json.dumps({'gap_ms': 1}), flush=True)\n\
         \x20   time.sleep(0.02)\n",
    );
    let run = place.run(&["--tdf", "0.1"]).expect(13);
    let reason = reason_of(&run);
    assert!(reason.contains("% of the time") || reason.contains("the limit is 50 ms"), "{reason}");
    let parties = run.record().disturbances.unwrap().parties;
    let lost_ms_by = |cause| {
        let own = parties.iter().filter(|one| one.who == "ticker" && one.cause == cause);
        own.map(|one| one.lost_ns).sum::<i64>() / 1_000_000
    };
    // On a machine with much else to do it waits for a processor, and hardly comes to compute.
    assert!(lost_ms_by(Cause::Computed) > 50 || lost_ms_by(Cause::Waited) > 500, "{parties:?}");
}

#[test]
fn what_others_do_to_the_domain_is_in_log_and_record_and_a_factor_disturbs() {
    let Some(place) = place(FOR_EVER, "") else { return };
    let mut run = place.start(&[]);
    let domain = run.let_pass(Duration::from_millis(1000)).name;
    for call in [["hold", &domain], ["release", &domain]] {
        place.says(&call);
    }
    run.let_pass(Duration::from_millis(1500));
    for tdf in ["3", "1"] {
        place.says(&["dilate", "--tdf", tdf, &domain]);
    }
    let run = run.finish().expect(13);
    let reason = reason_of(&run);
    assert!(reason.contains("the domain had its tdf changed from outside at "), "{reason}");
    let record = run.record();
    let actions: Vec<_> = record.interventions.iter().map(|one| one.action.clone()).collect();
    let dilate = |tdf_millionths| Action::Dilate { tdf_millionths };
    assert_eq!(actions, [Action::Hold, Action::Release, dilate(3_000_000), dilate(1_000_000)]);
    assert!(record.interventions.iter().all(|one| one.by.command.contains("qcycle")));
    assert!(record.interventions.is_sorted_by_key(|one| one.at_ns));
    let log = std::fs::read_to_string(run.folder().log_path()).unwrap();
    assert!(log.contains("time dilation factor changed to 3 by process"), "{log}");
    let warned = |text: &str| record.warnings.iter().any(|warning| warning.contains(text));
    assert!(warned("from outside: held by process"), "{:?}", record.warnings);
    assert!(warned("factor changed to 3 by process"), "{:?}", record.warnings);
}

#[test]
fn a_hold_disturbs_nothing_and_nobody_releases_what_another_holds() {
    let Some(place) = place(&format!("{FOR_EVER}    depends_on: [meter]\n"), "") else { return };
    place.file("ticker.py", "print('{\"gap_ms\": 1}', flush=True)\nimport time\ntime.sleep(9)\n");
    // The clock does not run while a run prepares; that hold is its own.
    let mut run = place.start(&[]);
    let domain = run.begun().name;
    let released = place.qcycle(&["release", &domain]).output().unwrap();
    assert!(String::from_utf8_lossy(&released.stderr).contains("is not held"), "{released:?}");
    place.says(&["hold", &domain]);
    place.says(&["release", &domain]);
    let run = run.finish();
    // It told what it tells before scenario time zero: then nothing is measured.
    assert!([0, 11].contains(&run.code()), "{}{}", run.out, run.err);
    assert_eq!(run.record().interventions.len(), 2);
}

/// The first run computes for seconds at a tenth of the host's speed; those after it do not.
#[test]
fn a_disturbed_run_is_repeated_in_a_folder_of_its_own_and_the_last_one_counts() {
    // One that is missed for certain makes no difference to that.
    let missed = "  - name: it looks rarely
    measure: {told: gap_ms, by: ticker, statistic: minimum}
    at_least: 1 s
    disturbed_above: 1000 s
";
    let Some(place) = place(&format!("    disturbed_above: 500 ms\n{missed}"), "") else { return };
    place.file(
        "ticker.py",
        "import json, os, time\n\
         first = not os.path.exists('been')\n\
         open('been', 'w').close()\n\
         while True:\n\
         \x20   print(json.dumps({'gap_ms': 1}), flush=True)\n\
         \x20   time.sleep(0.1)\n\
         \x20   until = time.monotonic() + (2 if first else 0)\n\
         \x20   while time.monotonic() < until:\n\
         \x20       pass\n",
    );
    let run = place.run(&["--tdf", "0.1", "--repeat-disturbed", "5", "--json"]);
    let runs = place.runs();
    assert!((2..=6).contains(&runs.len()), "{runs:?}");
    assert!(
        run.err.contains("the run was disturbed and is repeated, at most 5 times more"),
        "{}",
        run.err
    );
    let outcomes: Vec<Outcome> = runs
        .iter()
        .map(|run| RunFolder::open(run).unwrap().record().unwrap().verdicts[0].outcome)
        .collect();
    let (last, before) = outcomes.split_last().unwrap();
    assert!(before.iter().all(|outcome| *outcome == Outcome::Disturbed), "{outcomes:?}");
    assert_eq!(run.code(), 10, "{outcomes:?}\n{}", run.err);
    let told: serde_json::Value = serde_json::from_str(&run.out).expect("one record");
    assert_eq!(told["verdicts"][0]["outcome"], serde_json::to_value(last).unwrap());
}

#[test]
fn a_key_that_makes_no_sense_is_refused() {
    let refused = |requirement| {
        let place = Place::new(&scenario(requirement, ""));
        place.run(&[]).expect(65).err
    };
    let said = refused("    disturbed_above: soon\n    depends_on: [metre]\n");
    assert!(said.contains("disturbed_above") && said.contains("`metre` is not a node"), "{said}");
    let said = refused("    depends_on: []\n");
    assert!(said.contains("`depends_on` is empty"), "{said}");
}

/// Nobody takes frames while it stands: what the poller sent meanwhile is seen late and all at once.
#[test]
#[ignore = "long: it has the machine to itself for ten seconds"]
fn a_testbed_that_is_stopped_for_a_while_judges_nothing_of_it() {
    let Some(place) = Place::of_case("minimal") else { return };
    alone();
    for stopped_ms in [200, 600] {
        let mut run = place.start(&["--variant", "fine", "--duration", "3 s"]);
        let agent = run.begun().agent_pid;
        run.let_pass(Duration::from_millis(3500));
        signal(agent, libc::SIGSTOP);
        std::thread::sleep(Duration::from_millis(stopped_ms));
        signal(agent, libc::SIGCONT);
        let run = run.finish().expect(13);
        reason_of(&run);
        let parties = run.record().disturbances.unwrap().parties;
        let stood = parties.iter().find(|one| one.who == "all of the testbed").unwrap();
        let longest_ms = stood.longest_ns / 1_000_000;
        assert!(longest_ms.cast_unsigned() + 60 > stopped_ms, "{longest_ms} ms of {stopped_ms} ms");
    }
}

/// By any process, or by whatever it waits for.
#[test]
#[ignore = "long: it has the machine to itself for ten seconds"]
fn who_is_stopped_or_blocked_in_the_kernel_is_not_judged() {
    let stops = "sleep 100 & sleep 0.7; kill -STOP $!; sleep 0.6; kill -CONT $!; wait".to_owned();
    let blocked = format!("{} blocked 600", c("hostile", Link::Static).display());
    for (program, cause) in [(stops, Cause::Stopped), (blocked, Cause::Blocked)] {
        let Some(place) = place("    disturbed_above: 300 ms\n", "") else { return };
        alone();
        let idle = format!("      - {{name: idle, run: [sh, -c, '{program}']}}\nrequirements:\n");
        let text = scenario("    disturbed_above: 300 ms\n", "");
        place.file("scenario.yaml", &text.replace("requirements:\n", &idle));
        let run = place.run(&[]).expect(13);
        reason_of(&run);
        let parties = run.record().disturbances.unwrap().parties;
        let kept = parties.iter().find(|one| one.who == "idle" && one.cause == cause);
        let kept = kept.unwrap_or_else(|| panic!("{cause:?}: {parties:?}"));
        assert!(kept.longest_ns > 300_000_000, "{kept:?}");
    }
}

/// Who reads its lines has those of others to hand on: they come late, and so do their stamps.
#[test]
fn lines_that_are_read_late_are_noticed() {
    let Some(place) = place(FOR_EVER, "") else { return };
    alone();
    let mut floods = "  flood:\n    programs:\n".to_owned();
    for number in 1..=3 {
        floods += &format!("      - {{name: flood{number}, run: [yes, a line of no interest]}}\n");
    }
    let text = scenario(FOR_EVER, "").replace("requirements:\n", &(floods + "requirements:\n"));
    place.file("scenario.yaml", &text);
    let parties = place.run(&[]).record().disturbances.unwrap().parties;
    let late = |who| parties.iter().any(|one| one.who == who && one.cause == Cause::Stamped);
    assert!(late("ticker"), "{parties:?}");
}

/// A program that has the kernel remember more neighbours than it does, for all network namespaces.
const CROWD: &str = "\
import socket, struct, time
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
index = socket.if_nametoindex('eth0')
REACHABLE, NEW, REQUEST_CREATE_REPLACE = 2, 28, 0x501
while True:
    for place in range(3000):
        address = bytes([10, 0, 4 + place // 250, 1 + place % 250])
        about = struct.pack('BxxxiHBB', socket.AF_INET, index, REACHABLE, 0, 0)
        about += struct.pack('HH', 8, 1) + address
        about += struct.pack('HH6sxx', 10, 2, bytes([2, 0]) + address)
        head = struct.pack('IHHII', 16 + len(about), NEW, REQUEST_CREATE_REPLACE, 1, 0)
        netlink.send(head + about)
    time.sleep(0.05)
";

/// It is one table for all nodes, and for all others on this host.
#[test]
fn a_full_table_of_neighbours_is_noticed() {
    alone();
    let text = "  crowd:
    address: 10.0.0.1/16
    programs: [{name: crowd, run: python3 crowd.py}]
  peer:
    address: 10.0.0.2/16
links: [{from: crowd, to: peer}]
requirements:
";
    let Some(place) = place("", "") else { return };
    let text = scenario(FOR_EVER, "").replace("requirements:\n", text);
    place.file("scenario.yaml", &text);
    place.file("crowd.py", CROWD);
    let run = place.run(&[]).expect(13);
    let reason = reason_of(&run);
    assert!(reason.starts_with("the ARP table of this kernel was full"), "{reason}");
}
