//! Programs that people use, with run-time systems of their own: at a time dilation factor of
//! 0.02, five virtual seconds last a tenth of a second, and all of them must say that five
//! seconds have passed.

use std::process::Command;
use std::time::Instant;

use crate::common::guests::{BOTH, In, QCYCLE, command, folder, is_there, qcycle, run};

const QUICK: In = In::Virtual("0.02");

fn seconds(mut command: Command) -> f64 {
    let printed = run(&mut command);
    assert_eq!(printed.end, 0, "{} {}", printed.out, printed.err);
    printed.out.trim().parse().unwrap_or_else(|_| panic!("no number: {}", printed.out))
}

/// Asserts that a program says that at least five seconds have passed, in less host time.
fn takes_five_seconds(what: &str, program: &str, arguments: &[&str]) {
    let started = Instant::now();
    let said = seconds(command(QUICK, program, arguments));
    let host = started.elapsed().as_secs_f64();
    assert!(said >= 5.0, "{what} was early: {said}");
    assert!(said <= host * 50.0, "{what}: {said} virtual seconds in {host} host seconds");
    println!("{what}: {said:.3} s in {host:.3} host s");
}

#[test]
fn shells_that_sleep() {
    let script = "a=$(date +%s%N); sleep 1; sleep 4; b=$(date +%s%N); echo $(((b-a)/1000000))e-3";
    takes_five_seconds("bash and sleep", "bash", &["-c", script]);
    let script =
        "a=$EPOCHREALTIME; read -t 5 <> <(:); b=$EPOCHREALTIME; echo $(((${b/./}-${a/./})))e-6";
    takes_five_seconds("bash, read -t", "bash", &["-c", script]);
    for place in BOTH {
        assert_eq!(run(&mut command(place, "timeout", &["0.2", "true"])).end, 0);
    }
}

#[test]
fn timeout_counts_virtual_time() {
    // `timeout` sets a POSIX timer. Ten virtual seconds are one of the host's.
    let started = Instant::now();
    let printed = run(qcycle(&["exec", "--tdf", "0.1", "--name", "timeout", "--", "sh", "-c"])
        .arg(format!("timeout 10 sleep 60; echo $?; {QCYCLE} ps")));
    assert!(printed.out.starts_with("124\n"), "{} {}", printed.out, printed.err);
    assert!(!printed.out.contains("host time"), "{}", printed.out);
    assert!(started.elapsed().as_millis() >= 1000);
}

#[test]
fn python_that_sleeps() {
    if !is_there("python3") {
        return;
    }
    let python = |what: &str, body: &str| {
        let script =
            format!("import time, sys\na = time.monotonic()\n{body}\nprint(time.monotonic() - a)");
        takes_five_seconds(what, "python3", &["-c", &script]);
    };
    python("python, time.sleep", "time.sleep(5)");
    python(
        "python, asyncio",
        "import asyncio\nasync def f():\n await asyncio.gather(*(asyncio.sleep(i) for i in range(6)))\nasyncio.run(f())",
    );
    python(
        "python, threads",
        "import threading as t\ns = [t.Thread(target=time.sleep, args=(5,)) for i in range(8)]\n[x.start() for x in s]; [x.join() for x in s]",
    );
    python(
        "python, conditions",
        "import threading as t\nc = t.Condition()\nwith c: c.wait(2)\nt.Event().wait(3)",
    );
    python(
        "python, queue and select",
        "import queue, select\ntry: queue.Queue().get(timeout=2)\nexcept queue.Empty: pass\nselect.select([], [], [], 3)",
    );
    python("python, subprocess", "import subprocess\nsubprocess.run(['sleep', '5'])");
}

#[test]
fn other_run_times_that_sleep() {
    if is_there("java") {
        let source = folder().join("Sleep.java");
        let text = "class Sleep { public static void main(String[] a) throws Exception { \
                    long b = System.nanoTime(); Thread.sleep(2000); Object o = new Object(); \
                    synchronized (o) { o.wait(3000); } \
                    System.out.println((System.nanoTime() - b) / 1e9); } }";
        std::fs::write(&source, text).unwrap();
        takes_five_seconds("Java", "java", &["-Xint", source.to_str().unwrap()]);
    }
    if is_there("node") {
        let script = "const a = performance.now(); \
                      setTimeout(() => console.log((performance.now() - a) / 1000 + 0.001), 5000)";
        takes_five_seconds("Node", "node", &["-e", script]);
    }
    if is_there("perl") {
        let script = "use Time::HiRes qw(time sleep); $a = time; sleep 2; select undef, undef, undef, 3.001; \
                      print time - $a";
        takes_five_seconds("Perl", "perl", &["-e", script]);
    }
}
