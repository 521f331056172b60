//! TCP of unmodified kernels where the clock jumps: what a kernel sends again by timers of its own comes after
//! as much virtual time as it would without jumps.

use crate::common::machine::alone;
use crate::run::harness::{Place, are_the_same};

/// Numbers at the beginning of each line, and the word behind them.
fn lines(place: &Place, pace: &str, program: &str) -> Vec<(Vec<u64>, String)> {
    let run = place.run(&["--pace", pace]).expect_one_of(&[0, 13]);
    let split = |line: &String| {
        let words: Vec<&str> = line.split(' ').collect();
        let numbers = words.iter().filter_map(|word| word.parse().ok()).collect();
        (numbers, words.last().copied().unwrap_or_default().to_owned())
    };
    run.lines(program).iter().map(split).collect()
}

/// 2 MB over a link that is as told; `None` where nodes cannot be made.
fn transfer(link: &str) -> Option<Place> {
    Place::for_root(&format!(
        "scenario: transfer
duration: 20 s
settle: 0 s
start: 2026-01-01T00:00:00Z
nodes:
  a:
    address: 10.0.0.1/24
    programs:
      - {{name: send, run: python3 tcp_send.py, on_exit: ignore}}
  b:
    address: 10.0.0.2/24
    programs:
      - {{name: receive, run: python3 tcp_receive.py, on_exit: ignore}}
links:
  - {{from: a, to: b, delay: 5 ms, rate: 20 Mbit/s, {link}}}
"
    ))
}

/// At 20 Mbit/s, 2 MB take 0.84 s where nothing is lost.
#[test]
fn a_stream_that_loses_frames_arrives_whole_and_hardly_later() {
    let Some(place) = transfer("loss: 0.01") else { return };
    for pace in ["skip", "events"] {
        let sent = lines(&place, pace, "send");
        let [(numbers, _)] = &sent[..] else { panic!("{pace}: {sent:?}") };
        let [took_ms, again] = numbers[..] else { panic!("{pace}: {sent:?}") };
        assert!((5..200).contains(&again), "{pace}: {sent:?}");
        // With `skip` a busy host makes programs late.
        let longest_ms = if pace == "events" { 2_000 } else { 15_000 };
        assert!((840..longest_ms).contains(&took_ms), "{pace}: {sent:?}");
        assert_eq!(lines(&place, pace, "receive"), [(vec![2_000_000], "2000000".to_owned())]);
    }
}

/// To the last frame, as nothing is lost.
#[test]
fn streams_are_the_same_where_time_moves_by_jumps_alone() {
    let Some(place) = transfer("queue: 1000") else { return };
    alone();
    let run =
        |_| place.run(&["--pace", "events"]).expect_one_of(&[0, 13]).folder().path().to_owned();
    are_the_same(&[(); 3].map(run));
}

#[test]
#[ignore = "long: it waits in host time"]
fn who_is_down_is_given_up_after_the_same_virtual_time() {
    const SCENARIO: &str = "scenario: down
duration: 10 s
settle: 0 s
nodes:
  a:
    address: 10.0.0.1/24
    programs:
      - {name: connect, run: python3 tcp_down.py, on_exit: ignore}
  b:
    address: 10.0.0.2/24
    programs:
      - {name: sleep, run: sleep 20, on_exit: ignore}
links:
  - {from: a, to: b, delay: 5 ms}
events:
  - {at: 500 ms, link: [a, b], state: down}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    let real = lines(&place, "real", "connect");
    assert_eq!(real.len(), 2, "{real:?}");
    for pace in ["skip", "events"] {
        let here = lines(&place, pace, "connect");
        assert_eq!(here.len(), 2, "{pace}: {here:?}");
        for ((real_ms, word), (here_ms, other)) in real.iter().zip(&here) {
            let ratio = here_ms[0] as f64 / real_ms[0] as f64;
            assert!(word == other && (0.9..1.1).contains(&ratio), "{pace}: {here:?} {real:?}");
        }
    }
}
