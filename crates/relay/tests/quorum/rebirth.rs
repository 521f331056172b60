//! Nodes destroyed and replaced under load, and a breaker node that comes back.
//!
//! The long version of the first test (`QCYCLE_REJUVENATIONS=1000`, see `docs/internals/quorum.md`)
//! prints how long a reborn node takes to its first vote.

use std::fs;

use relay::quorum::status::Status;
use serde_json::Value;

use super::station::{Running, Station, number};

/// Rejuvenations unless more are asked for: each node four times.
const REJUVENATIONS: u64 = 16;
/// A reborn node has voted, at the latest, in this one of the actions that follow. Two others may
/// have been quicker in some of them, and then it has nothing to say.
const VOTES_WITHIN: usize = 8;

#[test]
#[ignore = "long: a station of relays"]
fn rebirth_under_load_loses_and_doubles_nothing() {
    let wanted = std::env::var("QCYCLE_REJUVENATIONS");
    let wanted = wanted.map_or(REJUVENATIONS, |text| text.parse().expect("a number"));
    for (name, mut station) in Station::of_both("rebirth") {
        station.start_breaker();
        let rejuvenator = start(&station);
        station.wait_for("all run", |status| status.counters.iter().all(|counter| *counter > 0));
        let steps = station.start_steps(u64::MAX);
        station.wait_for("the breaker is at work", |status| status.generation > 2);
        let born = |status: &Status| status.counters.iter().sum::<u64>();
        let before = born(&station.status());
        // One more is under way at first, and one at the end is in use before that is written down.
        station.wait_for("nodes are reborn", |status| born(status) >= before + wanted + 2);
        let output = steps.end();
        assert!(output.status.success());
        assert_eq!(rejuvenator.end().status.code(), Some(130));
        let acted = station.acted();
        let under_load_ns = at_ns(&acted[0]);
        let mut rebirths = rebirths(&station.lines("reborn.jsonl"));
        rebirths.retain(|rebirth| rebirth.started_ns > under_load_ns);
        assert!(rebirths.len() as u64 >= wanted, "{}", rebirths.len());

        // Each step is one action: none is lost, doubled, or without a step. The unit was stopped, so
        // its last step may be none that lasted.
        let stepped = station.lines("steps.jsonl");
        assert!((acted.len()..=acted.len() + 1).contains(&stepped.len()), "{}", stepped.len());
        for (index, (step, acted)) in stepped.iter().zip(&acted).enumerate() {
            assert_eq!(step["action"], acted["action"], "action {index}");
            assert_eq!(number(acted, "gen"), index as u64 + 1);
        }
        let mut first_votes_ms = Vec::new();
        for rebirth in &rebirths {
            let spoke = station.lines(&format!("node-{}.jsonl", rebirth.node));
            let mut said = spoke.iter().filter(|line| line["event"] == "spoke").map(at_ns);
            let after = acted.iter().map(at_ns).filter(|at| rebirth.lives_at(*at));
            let enough = after.clone().nth(VOTES_WITHIN - 1);
            let first = said.find(|at| *at > rebirth.started_ns);
            let first = first.filter(|at| rebirth.ended_ns.is_none_or(|ended| *at < ended));
            if let Some(enough) = enough {
                let voted = first.is_some_and(|first| first <= enough);
                assert!(voted, "{name}: {rebirth:?}: first vote {first:?} not before {enough}");
            }
            first_votes_ms.extend(first.map(|first| (first - rebirth.started_ns) as f64 / 1e6));
        }
        // One that is destroyed before there are so many actions need not have voted, others must.
        assert!(first_votes_ms.len() * 2 > rebirths.len(), "{} voted", first_votes_ms.len());
        tell(&name, &rebirths, acted.len(), first_votes_ms);
    }
}

/// What became of a node that was born again.
#[derive(Debug)]
struct Rebirth {
    node: u64,
    /// When its process was started, when its new key was in use, and when it was destroyed again.
    started_ns: u64,
    reborn_ns: u64,
    ended_ns: Option<u64>,
}

impl Rebirth {
    fn lives_at(&self, at_ns: u64) -> bool {
        at_ns > self.reborn_ns && self.ended_ns.is_none_or(|ended_ns| at_ns < ended_ns)
    }
}

/// Starts the nodes under a rejuvenator that wastes no time.
fn start(station: &Station) -> Running {
    let relay = env!("CARGO_BIN_EXE_qcrelay");
    let mut text =
        "status: 127.0.0.1:7410\ninterval: 100 ms\nrecords: reborn.jsonl\nnodes:\n".to_owned();
    for node in 0..4 {
        text += &format!("  {node}: [{relay}, node, node-{node}.yaml, --end-with-parent]\n");
    }
    fs::write(station.folder().join("rejuvenation.yaml"), text).expect("it writes");
    station.relay("rejuvenate rejuvenation.yaml")
}

/// All rebirths; one node is away at a time.
fn rebirths(lines: &[Value]) -> Vec<Rebirth> {
    let mut found: Vec<Rebirth> = Vec::new();
    let mut away = None;
    let mut started_ns = [0; 4];
    for line in lines {
        let (node, at_ns) = (number(line, "node"), at_ns(line));
        match line["event"].as_str().expect("an event") {
            "destroyed" => {
                assert_eq!(away.replace(node), None, "one at a time: {lines:?}");
                let last = found.iter_mut().rev().find(|rebirth| rebirth.node == node);
                if let Some(last) = last {
                    last.ended_ns = Some(at_ns);
                }
            }
            "started" => started_ns[node as usize] = at_ns,
            "reborn" => {
                assert_eq!(away.take(), Some(node));
                let started_ns = started_ns[node as usize];
                found.push(Rebirth { node, started_ns, reborn_ns: at_ns, ended_ns: None });
            }
            other => panic!("{other}: {lines:?}"),
        }
    }
    found
}

fn at_ns(line: &Value) -> u64 {
    number(line, "realtime_ns")
}

/// Prints how long it took; a loaded host takes its time, so nothing is judged by it.
fn tell(name: &str, rebirths: &[Rebirth], actions: usize, mut first_votes_ms: Vec<f64>) {
    let mut back_ms: Vec<f64> =
        rebirths.iter().map(|one| (one.reborn_ns - one.started_ns) as f64 / 1e6).collect();
    let figures = |ms: &mut Vec<f64>| {
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| ms[((ms.len() - 1) as f64 * share).round() as usize];
        let [least, half, most, last] = [at(0.0), at(0.5), at(0.99), at(1.0)];
        format!("{least:.1}, {half:.1}, {most:.1}, {last:.1} ms of {}", ms.len())
    };
    eprintln!("{name}: {actions} actions; least, median, 99 %, most from the start of a process");
    eprintln!("  until its new key is in use: {}", figures(&mut back_ms));
    eprintln!("  until it first votes: {}", figures(&mut first_votes_ms));
}

#[test]
#[ignore = "long: a station of relays"]
fn a_breaker_node_that_comes_back_goes_on_where_it_was() {
    for (_, mut station) in Station::of_both("breaker node again") {
        station.start(&[0, 1, 2, 3]);
        assert!(station.start_steps(3).finish().status.success());
        station.kill_breaker();
        station.start_breaker();
        station.wait_for("it remembers", |status| {
            status.generation >= 3 && status.counters.iter().all(|counter| *counter == 1)
        });
        // The current is low again, which closes what the third step has tripped.
        assert!(station.start_steps(4).finish().status.success());
        let acted = station.acted();
        let generations: Vec<u64> = acted.iter().map(|line| number(line, "gen")).collect();
        assert_eq!(generations, (1..=acted.len() as u64).collect::<Vec<_>>());
        assert_eq!(acted.len(), 8);
    }
}
