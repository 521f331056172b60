//! What the programs of a node compute keeps it busy, where time moves by jumps alone.

use report_kit::outcome::Outcome;

use crate::common::machine::alone;
use crate::run::harness::{Finished, Place};

/// One that answers, one with a period that it cannot keep, and one that sets a point, each on a slow processor of
/// its own.
const SCENARIO: &str = "scenario: busy
duration: 20 s
settle: 0 s
plant: {circuit: grid.dss}
nodes:
  client:
    address: 10.0.0.1/24
    programs:
      - {name: client, run: python3 client.py 10.0.0.2, on_exit: ignore}
  server:
    address: 10.0.0.2/24
    compute: {per_processor_time: 20}
    programs:
      - {name: server, run: python3 server.py, on_exit: ignore}
  ticker:
    compute: {per_processor_time: 10, per_wakeup: 1 ms}
    programs:
      - {name: ticker, run: python3 ticker.py, on_exit: ignore}
  setter:
    compute: {per_processor_time: 10}
    files: [{point: load.d680.kW, access: write}]
    programs:
      - {name: setter, run: python3 setter.py, on_exit: ignore}
  shell:
    compute: {per_processor_time: 0.5}
    programs:
      - {name: shell, run: sh shell.sh, on_exit: ignore}
links:
  - {from: client, to: server, delay: 5 ms}
";

const CLIENT: &str = r#"
import socket, sys, time
asks = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
time.sleep(10)
for count in [0, 2000000, 0]:
    begun = time.monotonic_ns()
    asks.sendto(b"%d" % count, (sys.argv[1], 5000))
    asks.recv(10)
    print(time.monotonic_ns() - begun, flush=True)
    time.sleep(0.001)
"#;

const SERVER: &str = r#"
import socket
answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
answers.bind(("0.0.0.0", 5000))
while True:
    count, asker = answers.recvfrom(100)
    for _ in range(int(count)): pass
    answers.sendto(b"", asker)
"#;

const TICKER: &str = r#"
import time
due = time.monotonic_ns()
for _ in range(6):
    due += 10_000_000
    time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
    print(time.monotonic_ns() - due, flush=True)
    for _ in range(500000): pass
"#;

const SETTER: &str = r#"
import time
time.sleep(9)
begun = time.monotonic_ns()
for _ in range(1000000): pass
print("computed", time.monotonic_ns() - begun, flush=True)
with open("/plant/load.d680.kW", "w", buffering=1) as point:
    point.write("90\n")
print("set", time.monotonic_ns() - begun, flush=True)
time.sleep(0.1)
print("slept", time.monotonic_ns() - begun, flush=True)
"#;

/// In processes of its own.
const SHELL: &str = "sleep 9
head -c 100000000 /dev/zero | sha256sum
echo done
";

/// Nanoseconds that a program printed.
fn ns(run: &Finished, program: &str) -> Vec<u64> {
    let last = |line: String| line.rsplit(' ').next().unwrap().parse().unwrap();
    run.lines(program).into_iter().map(last).collect()
}

/// Seconds of the run at which it printed its last line.
fn printed_s(run: &Finished, program: &str) -> f64 {
    let log = run.log(program);
    log.lines().last().unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn what_programs_compute_keeps_their_node_busy() {
    const MS: u64 = 1_000_000;
    for order in ["together", "one-node-at-a-time"] {
        let scenario = format!("{SCENARIO}order: {order}\n");
        let Some(place) = Place::for_root(&scenario) else { return };
        alone();
        let files = [
            ("client.py", CLIENT),
            ("server.py", SERVER),
            ("ticker.py", TICKER),
            ("setter.py", SETTER),
            ("shell.sh", SHELL),
        ];
        for (name, text) in files {
            place.file(name, text);
        }
        let run = place.run(&["--pace", "events"]).expect(0);
        let pace = run.record().wall.unwrap().pace;
        let computed = |node: &str| pace.computed[node];
        assert!(!pace.computed.contains_key("client"), "{pace:?}");

        // The links take 10 ms, and the client computes in no time.
        let delays = ns(&run, "client");
        let beyond: u64 = delays.iter().map(|delay| delay.checked_sub(10 * MS).unwrap()).sum();
        let server = computed("server");
        assert!(server.took_ns.abs_diff(20 * server.processor_ns) <= 20_000, "{server:?}");
        assert!(beyond <= server.took_ns, "{delays:?}, {server:?}");
        // What it computed before the first question, at its start, took time before that. No machine counts
        // faster than this.
        assert!(delays[1] >= (10 + 20 * 5) * MS, "{delays:?}");
        assert!(delays[0].max(delays[2]) < delays[1], "{delays:?}");

        // Who cannot keep its period falls behind by more each time.
        let late = ns(&run, "ticker");
        assert_eq!(late.len(), 6);
        assert!(late.windows(2).all(|two| two[0] + 10 * MS < two[1]), "{late:?}");

        // Programs see what they compute, and all that they do comes afterwards: a point that they set, and the end
        // of a wait.
        let told = ns(&run, "setter");
        let [compute, set, slept] = told[..] else { panic!("{:?}", run.lines("setter")) };
        assert!(compute >= 10 * 5 * MS && set > compute, "{told:?}");
        assert!(slept >= set + 100 * MS && slept < set + 150 * MS, "{told:?}");
        assert!(slept - 100 * MS <= computed("setter").took_ns, "{told:?}");
        let printed = printed_s(&run, "setter");
        // It slept for 9 s when it had started, which took what it computed for that.
        let started = printed - 9.0 - slept as f64 / 1e9;
        assert!(started > 0.0 && started * 1e9 < computed("setter").took_ns as f64, "{started}");

        // Processes that come and go are seen too, but for what they do at their end.
        let shell = computed("shell");
        assert!(shell.processor_ns > 50 * MS, "{shell:?}");
        assert!(printed_s(&run, "shell") >= 9.025, "{}", run.log("shell"));
        let words = format!("{:?}", run.record().scenario.per_processor_time);
        assert!(words.contains("\"shell\": 0.5") && !words.contains("client"), "{words}");
    }
}

const EARLY: &str = "scenario: early
duration: 12 s
settle: 0 s
nodes:
  sink:
    address: 10.0.0.1/24
    programs:
      - {name: sink, run: python3 sink.py 10.0.0.2, on_exit: ignore}
  early:
    address: 10.0.0.2/24
    compute: {per_processor_time: 10}
    programs:
      - {name: early, run: [sh, -c, sleep 2; exec python3 early.py 10.0.0.1], on_exit: ignore}
  again:
    compute: {per_processor_time: 10}
    programs:
      - {name: again, run: python3 again.py 3, on_exit: ignore}
  timer:
    compute: {per_processor_time: 10}
    programs:
      - {name: timer, run: python3 timer.py}
links:
  - {from: sink, to: early, delay: 5 ms}
requirements:
  - name: the timer is in time
    measure: {told: late_ms, by: timer, statistic: maximum}
    at_most: 20 ms
";

/// How long after it was sent, by the clock of the sender, a datagram came, by that of the receiver.
/// Kernels know each other's addresses before: they would ask for them only for some seconds of the host.
const SINK: &str = r#"
import socket, sys, time
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("0.0.0.0", 5000))
time.sleep(1)
sink.sendto(b"", (sys.argv[1], 5000))
while True:
    sent = int(sink.recv(100))
    print(time.monotonic_ns() - sent, flush=True)
"#;

/// Sends as soon as it has begun, before it waits for the first time.
const EARLY_SENDER: &str = r#"
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(5):
    sender.sendto(b"%d" % time.monotonic_ns(), (sys.argv[1], 5000))
    for _ in range(300000): pass
begun = time.monotonic_ns(), time.process_time_ns()
for _ in range(300000): pass
now = time.monotonic_ns(), time.process_time_ns()
print("passed", now[0] - begun[0])
print("used", now[1] - begun[1])
"#;

const AGAIN: &str = r#"
import os, sys, time
left = int(sys.argv[1])
print(time.monotonic_ns(), flush=True)
for _ in range(200000): pass
print(time.monotonic_ns(), flush=True)
if left: os.execv(sys.executable, [sys.executable, sys.argv[0], str(left - 1)])
"#;

/// Computes for longer than its period.
const TIMER: &str = r#"
import json, signal, time
begun, count = time.monotonic(), 0
def expires(*_):
    global count
    count += 1
    late = time.monotonic() - begun - 0.05 * count
    print(json.dumps({"late_ms": late * 1e3}), flush=True)
    for _ in range(500000): pass
signal.signal(signal.SIGALRM, expires)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
while True: signal.pause()
"#;

const SPINNER: &str = r#"
import signal, time
begun, has_rung = time.monotonic_ns(), []
signal.signal(signal.SIGALRM, lambda *_: has_rung.append(1))
signal.alarm(2)
while not has_rung: time.monotonic()
print(time.monotonic_ns() - begun, flush=True)
"#;

#[test]
fn who_computes_is_neither_early_nor_disturbed_and_sees_no_time_go_back() {
    const MS: u64 = 1_000_000;
    let Some(place) = Place::for_root(EARLY) else { return };
    alone();
    let files =
        [("sink.py", SINK), ("early.py", EARLY_SENDER), ("again.py", AGAIN), ("timer.py", TIMER)];
    for (name, text) in files {
        place.file(name, text);
    }
    let run = place.run(&["--pace", "events"]).expect(10);
    let delays = ns(&run, "sink");
    assert!(delays.len() == 5 && delays.iter().all(|delay| *delay >= 5 * MS), "{delays:?}");
    // Its processor shows what it has used in the same time.
    let [passed, used] = ns(&run, "early")[..] else { panic!("{:?}", run.lines("early")) };
    assert!(passed > 10 * MS && used > passed / 2, "{used} of {passed}");
    assert!(used < passed + 5 * MS, "{used} of {passed}");
    let times = ns(&run, "again");
    assert!(times.len() == 8 && times.is_sorted(), "{times:?}");
    assert!(times[7] - times[0] > 40 * MS, "{times:?}");
    // Its lateness is its own.
    let verdict = &run.record().verdicts[0];
    assert_eq!(verdict.outcome, Outcome::Missed, "{verdict:?}");
}

/// The clock runs for it, as for each that never waits.
#[test]
fn who_never_waits_gets_its_timers() {
    const MS: u64 = 1_000_000;
    const SCENARIO: &str = "scenario: spin
duration: 10 s
settle: 0 s
nodes:
  spinner:
    compute: {per_processor_time: 10}
    programs:
      - {name: spinner, run: python3 spinner.py, on_exit: ignore}
";
    let Some(place) = Place::for_root(SCENARIO) else { return };
    alone();
    place.file("spinner.py", SPINNER);
    let run = place.run(&["--pace", "events"]).expect(0);
    let [rung] = ns(&run, "spinner")[..] else { panic!("{:?}", run.lines("spinner")) };
    assert!((2000 * MS..4000 * MS).contains(&rung), "{rung}");
}
