//! Stalls of the host, made by threads that keep all of its processors from everybody else.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::guests::QCYCLE;
use crate::common::machine::{alone, take_processors};
use crate::run::harness::{Place, eventually};

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
/// Ordinary programs of this host cannot keep it from a processor where it may be urgent, those that
/// take all processors can.
const TICKER: &str = "\
import os, time
try:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
except PermissionError:
    pass
longest, last = 0, time.monotonic_ns()
end = last + 3_000_000_000
print('ready', flush=True)
while last < end:
    time.sleep(0.001)
    now = time.monotonic_ns()
    longest, last = max(longest, now - last), now
print(longest, flush=True)
";

/// Of a run with this in its scenario, stalled several times: what the program has seen, and the
/// place. `None` where nobody may take a processor.
fn longest_gap(guard: &str) -> Option<(Duration, results::RunRecord)> {
    let place = Place::for_root(&scenario(guard))?;
    alone();
    place.file("ticker.py", TICKER);
    let run = place.start(&[]);
    let is_ready = || place.log_so_far("ticker").contains("ready");
    eventually("the program does not begin", is_ready);
    if !stall_again_and_again() {
        return None;
    }
    let run = run.finish().expect(0);
    let lines = run.lines("ticker");
    let longest = lines.last().unwrap().parse().unwrap();
    let record = run.record();
    Some((Duration::from_nanos(longest), record))
}

/// Once the program is ready, takes all processors some times. Returns whether it may.
fn stall_again_and_again() -> bool {
    (0..STALLS).all(|_| {
        std::thread::sleep(Duration::from_millis(150));
        take_processors(STALL)
    })
}

#[test]
#[ignore = "long: it has the machine to itself for ten seconds"]
fn a_guarded_clock_stands_still_while_the_host_is_stalled() {
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

#[test]
fn a_program_in_the_foreground_is_guarded_as_well() {
    alone();
    let mut command = Command::new(QCYCLE);
    command.args(["exec", "--stall-guard", "1 ms", "--", "python3", "-c", TICKER]);
    let mut program =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("qcycle");
    let mut told = BufReader::new(program.stdout.take().expect("a pipe"));
    let mut line = String::new();
    told.read_line(&mut line).expect("it says that it is ready");
    assert_eq!(line, "ready\n");
    let was_stalled = stall_again_and_again();
    line.clear();
    told.read_line(&mut line).expect("it says what it saw");
    let output = program.wait_with_output().expect("it ends");
    let warned = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{warned}");
    if was_stalled {
        let longest = Duration::from_nanos(line.trim().parse().expect("nanoseconds"));
        assert!(longest < STALL / 2, "{longest:?}: {warned}");
        let count = warned.split_once(" stalls of the host excluded from virtual time: ");
        let count: Option<u64> =
            count.and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
        assert!(count.is_some_and(|count| count >= STALLS), "{warned}");
    }
}

#[test]
fn a_guard_that_makes_no_sense_is_refused_with_the_fix() {
    let mut command = Command::new(QCYCLE);
    let output = command.args(["exec", "--stall-guard", "2 s", "--", "true"]).output();
    let told = output.expect("qcycle").stderr;
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("give 100 us to 1 s"), "{told}");
}
