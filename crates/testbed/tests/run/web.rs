//! A web server and three clients for five minutes, as the first example of Shadow's guide has them
//! (<https://shadow.github.io/docs/guide/getting_started_basic.html>): programs that know nothing of virtual time.

use domain::Pace;
use report_kit::outcome::Outcome;

use crate::run::harness::{Place, are_the_same, repeats};

/// To run it without an instant that takes the host longer than a kernel waits for an answer.
const ATTEMPTS: usize = 8;

#[test]
fn a_server_and_three_clients_get_their_answers_in_time_and_the_same_each_time() {
    let client = |number: u32| {
        format!(
            "  client{number}:
    address: 10.0.0.1{number}/24
    programs:
      - {{name: client{number}, run: python3 fetch.py 10.0.0.1, on_exit: ignore}}
"
        )
    };
    let link =
        |node: &str| format!("  - {{from: {node}, to: s1, delay: 500 us, rate: 1 Gbit/s}}\n");
    let scenario = format!(
        "scenario: web
duration: 5 min
settle: 0 s
start: 2026-01-01T00:00:00Z
pace: events
nodes:
  server:
    address: 10.0.0.1/24
    programs:
      - {{name: server, run: python3 -u -m http.server 80}}
{}switches: [s1]
links:
{}{}requirements:
  - name: the first client is answered in time
    measure: {{told: answer_ms, by: client1, statistic: maximum}}
    at_most: 10 ms
",
        [1, 2, 3].map(client).concat(),
        link("server"),
        [1, 2, 3].map(|number| link(&format!("client{number}"))).concat()
    );
    let Some(place) = Place::for_root(&scenario) else { return };
    let mut folders = Vec::new();
    for _ in 0..ATTEMPTS {
        let run = place.run(&[]).expect(0);
        let record = run.record();
        let verdict = &record.verdicts[0];
        assert_eq!((record.scenario.pace, verdict.outcome), (Pace::Events, Outcome::Met));
        // Two round trips at least, of two links of 500 us each way.
        assert!(verdict.value.is_some_and(|answer_ms| answer_ms >= 4.0), "{verdict:?}");
        if repeats(&record).iter().any(|repeats| *repeats > 0) {
            continue;
        }
        assert_eq!(record.wall.unwrap().pace.skipped_ns, 300_000_000_000);
        let said = ["client1", "client2", "client3"].map(|client| run.lines(client).concat());
        let octets = said.map(|line| line.split_once("\"octets\": ").unwrap().1.to_owned());
        assert!(octets.iter().all(|one| *one == octets[0]), "{octets:?}");
        folders.push(run.folder().path().to_owned());
        if folders.len() == 2 {
            return are_the_same(&folders);
        }
    }
    println!(
        "not measured: this machine needs longer for an instant than a kernel waits for an answer"
    );
}
