//! Stalls of the host, made by threads that keep all of its processors from everybody else.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use crate::harness::{self, Place};

const STALLS: u64 = 5;
const STALL: Duration = Duration::from_millis(100);

fn scenario(guard: &str) -> String {
    format!(
        "scenario: stalled
duration: 4 s
settle: 0 s
{guard}nodes:
  meter:
    programs:
      - {{name: ticker, run: python3 ticker.py, on_exit: ignore}}
"
    )
}

/// Says the longest time between two looks at its clock, in nanoseconds, when it has ended.
const TICKER: &str = "\
import time
longest, last = 0, time.monotonic_ns()
end = last + 3_000_000_000
print('ready', flush=True)
while last < end:
    time.sleep(0.001)
    now = time.monotonic_ns()
    longest, last = max(longest, now - last), now
print(longest, flush=True)
";

/// Takes all processors for a while, as a hypervisor would. Answers whether it may.
fn stall() -> bool {
    let cores = realtime::allowed_cores().unwrap();
    let together = Barrier::new(cores.len());
    std::thread::scope(|scope| {
        let takers = cores.into_iter().map(|core| {
            let together = &together;
            scope.spawn(move || {
                let may = realtime::pin(core).and_then(|()| realtime::fifo(99)).is_ok();
                together.wait();
                let begun = Instant::now();
                while may && begun.elapsed() < STALL {}
                may
            })
        });
        let takers: Vec<_> = takers.collect();
        takers.into_iter().all(|taker| taker.join().unwrap())
    })
}

/// Of a run with this in its scenario, stalled several times: what the program has seen, and the
/// place. `None` where nobody may take a processor.
fn longest_gap(guard: &str) -> Option<(Duration, testbed::results::RunRecord)> {
    let place = Place::new(&scenario(guard));
    place.file("ticker.py", TICKER);
    let run = place.start(&[]);
    harness::eventually("the program does not begin", || {
        let log = place.runs().first().map(|run| run.join("programs/ticker.log"));
        log.is_some_and(|log| std::fs::read_to_string(log).is_ok_and(|text| text.contains("ready")))
    });
    for _ in 0..STALLS {
        std::thread::sleep(Duration::from_millis(150));
        if !stall() {
            println!("not measured: no right to SCHED_FIFO 99");
            return None;
        }
    }
    let run = run.finish().expect(0);
    let lines = run.lines("ticker");
    let longest = lines.last().unwrap().parse().unwrap();
    let record = run.record();
    place.assert_nothing_left();
    Some((Duration::from_nanos(longest), record))
}

#[test]
fn a_guarded_clock_stands_still_while_the_host_is_stalled() {
    if !harness::is_root() {
        return;
    }
    let _alone = harness::alone();
    let Some((without, record)) = longest_gap("") else { return };
    assert!(without >= STALL * 9 / 10, "the stalls were none: {without:?}");
    assert_eq!(record.wall.unwrap().stalls, None);

    let (with, record) = longest_gap("stall_guard: 1 ms\n").unwrap();
    let wall = record.wall.unwrap();
    let stalls = wall.stalls.unwrap();
    println!("longest gap: {without:?} unguarded, {with:?} guarded, {stalls:?}");
    assert!(stalls.count >= STALLS, "{stalls:?}");
    assert!(stalls.longest_ns >= 90_000_000, "{stalls:?}");
    assert!(stalls.total_ns >= 450_000_000, "{stalls:?}");
    assert!(wall.holds_s >= stalls.total_ns as f64 / 1e9, "{wall:?}");
    // What is left is what the program waits for a processor while the host runs.
    assert!(with < STALL / 2, "{with:?}");
}
