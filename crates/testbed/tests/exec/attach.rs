//! `qcycle attach` and `qcycle detach`: programs that run already are taken in and let go, and see
//! neither a jump of their clocks nor that they were stopped.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use runtime::agent::protocol::Call;

use crate::common::guests::{Domain, In, Link, Running, c, end, go, qcycle, run, sleep_ms};
use crate::common::processes::signal;
use crate::exec::waits::{CALLS, waits as all_waits};

struct Attached {
    child: Child,
    stdout: BufReader<ChildStdout>,
    domain: Domain,
}

impl Attached {
    /// Takes a process in, at a time dilation factor of 1.
    fn to(process: u32, name: &str) -> Self {
        Self::again(process, name, false)
    }

    /// A guest that is attached to after `delay_ms`; once more if it ended before, which happens on a
    /// busy machine.
    fn while_it_runs(start: impl Fn() -> Running, delay_ms: u64, name: &str) -> (Running, Self) {
        for _ in 0..20 {
            let mut guest = start();
            sleep_ms(delay_ms);
            if let Some(attached) = Self::tried(guest.child.id(), name, false) {
                return (guest, attached);
            }
            let ended = guest.child.try_wait().unwrap();
            assert!(
                ended.is_some_and(|status| status.success()),
                "{name}: it cannot be attached to"
            );
        }
        panic!("{name}: it always ended before it was attached to");
    }

    /// Takes a process in that was perhaps detached before.
    fn again(process: u32, name: &str, again: bool) -> Self {
        Self::tried(process, name, again).expect("it is attached to")
    }

    /// `None` if it could not be attached to.
    fn tried(process: u32, name: &str, again: bool) -> Option<Self> {
        let mut command = qcycle(&["attach", "--name", name, &process.to_string()]);
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        if line.is_empty() {
            assert_eq!(end(child.wait().unwrap()), 69);
            return None;
        }
        assert!(line.starts_with(&format!("attached {name}")), "{line}");
        assert_eq!(line.ends_with(" again\n"), again, "{line}");
        println!("{}", line.trim_end());
        Some(Self { child, stdout, domain: Domain::of(name) })
    }

    fn ask(&mut self, call: Call) -> i64 {
        self.domain.ask(call).clock.virtual_ns
    }

    /// What it prints when it ends.
    fn last(mut self) -> String {
        let mut out = String::new();
        self.stdout.read_to_string(&mut out).unwrap();
        assert_eq!(end(self.child.wait().unwrap()), 0);
        out
    }
}

/// What comes from an attached program is refused as in `qcycle exec`: in one line on the terminal.
#[test]
fn a_refusal_is_told_to_who_has_attached() {
    let guest = c("sandbox", Link::Dynamic);
    let script = format!("read go; {} listener", guest.display());
    let mut shell = Running::start(In::Native, "", Path::new("sh"), &["-c", &script]);
    let mut attach = qcycle(&["attach", "--name", "refused", &shell.child.id().to_string()]);
    let attach = attach.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let attach = attach.spawn().unwrap();
    drop(Domain::of("refused"));
    // It attends the domain by the time that it is no more held.
    while Domain::of("refused").ask(Call::Status).clock.holds > 0 {}
    shell.say("go");
    let printed = attach.wait_with_output().unwrap();
    let err = String::from_utf8(printed.stderr).unwrap();
    let line = format!("qcycle: refused {}: it requests notifications of", guest.display());
    assert!(err.lines().count() == 1 && err.starts_with(&line), "{err}");
    assert!(shell.finish().out.ends_with("EBUSY\n"));
}

/// A hold that is far longer than anything is late.
const HOLD_MS: u64 = 1500;

#[test]
fn waits_in_progress_end_at_their_time_and_see_neither_the_stop_nor_a_hold() {
    for link in [Link::Dynamic, Link::Static] {
        let waits = c("waits", link);
        let start = || Running::start(In::Native, "", &waits, &["plain", "1200"]).ready();
        let name = format!("waits-{link:?}");
        let (guest, mut attached) = Attached::while_it_runs(start, 300, &name);
        let stood = attached.ask(Call::Hold);
        sleep_ms(HOLD_MS);
        assert_eq!(attached.ask(Call::Status), stood);
        attached.ask(Call::Release);
        let found = all_waits(&guest.finish());
        assert_eq!(found.len(), CALLS);
        for (name, wait) in &found {
            assert_eq!(wait.outcome, "timeout", "{link:?}: {name}");
            assert!(wait.waited_ns >= wait.asked_ns, "{link:?}: {name} is early: {wait:?}");
            let late_ms = (wait.waited_ns - wait.asked_ns) / 1_000_000;
            println!("{link:?}: {name} is {late_ms} ms late");
            assert!(late_ms < HOLD_MS.cast_signed(), "{name} has seen the hold: {wait:?}");
        }
        assert!(attached.last().ends_with(" has ended\n"));
    }
}

#[test]
fn timers_that_were_set_before_expire_at_their_time() {
    let guest = Running::start(In::Native, "", &c("armed", Link::Dynamic), &[]).ready();
    sleep_ms(200);
    let mut attached = Attached::to(guest.child.id(), "armed");
    attached.ask(Call::Hold);
    sleep_ms(HOLD_MS);
    attached.ask(Call::Release);
    let printed = guest.finish();
    assert_eq!(printed.end, 0, "{}", printed.out);
    assert_eq!(printed.out.lines().count(), 3);
    for line in printed.out.lines() {
        let ns: i64 = line.split_once(' ').unwrap().1.parse().unwrap();
        println!("{line}");
        assert!(ns >= 1_000_000_000, "early: {line}");
        assert!(ns < 1_000_000_000 + HOLD_MS.cast_signed() * 1_000_000, "seen the hold: {line}");
    }
    attached.last();
}

/// Reads the clock in a loop, in a thread, while another sleeps and others are children; ends by
/// itself, with 1 if time went back or anything was early.
const PYTHON: &str = "
import subprocess, sys, threading, time
wrong = []
def spin():
    last = time.monotonic()
    while not over:
        now = time.monotonic()
        if now < last: wrong.append(f'back by {last - now}')
        last = now
def sleeper():
    for _ in range(40):
        begun = time.monotonic(); time.sleep(0.05)
        if time.monotonic() - begun < 0.05: wrong.append('early')
over = False
threads = [threading.Thread(target=spin), threading.Thread(target=sleeper)]
for thread in threads: thread.start()
print('ready', flush=True)
for _ in range(20):
    child = subprocess.run(['sh', '-c', 'sleep 0.05; echo there'], capture_output=True, text=True)
    if child.stdout != 'there\\n' or child.stderr: wrong.append(str(child))
threads[1].join()
over = True
threads[0].join()
print(wrong)
sys.exit(1 if wrong else 0)
";

#[test]
fn a_program_with_threads_and_children_is_held_dilated_and_let_go_again_and_again() {
    let arguments = ["-c", PYTHON];
    let python = Path::new("/usr/bin/python3");
    let guest = Running::start(In::Native, "", python, &arguments).ready();
    for round in 0..10 {
        let mut attached = Attached::again(guest.child.id(), "python", round > 0);
        let stood = attached.ask(Call::Hold);
        sleep_ms(30);
        assert_eq!(attached.ask(Call::Status), stood);
        attached.ask(Call::Release);
        attached.ask(Call::Dilate { tdf: "2".into() });
        sleep_ms(30);
        // By its number or by its name.
        let domain = if round % 2 == 0 { "python".into() } else { guest.child.id().to_string() };
        let detached = run(&mut qcycle(&["detach", &domain]));
        assert!(detached.out.contains("is detached, and runs at"), "{detached:?}");
        assert!(attached.last().starts_with("detached python"));
        let refused = run(&mut qcycle(&["hold", "python"]));
        assert!(refused.err.contains("is detached"), "{refused:?}");
    }
    let printed = guest.finish();
    assert_eq!(printed.end, 0, "{}", printed.out);
}

#[test]
fn goroutines_that_sleep_are_not_early() {
    let Some(program) = go("sleepers") else { return };
    let guest = Running::start(In::Native, "", &program, &[]);
    // It ends soon; and a program that is stopped stays so.
    let process = guest.child.id();
    let until_stopped = || {
        let stat = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        while !stat().contains(") T ") {
            assert!(!stat().contains(") Z "), "it ran on and ended");
            sleep_ms(1);
        }
    };
    signal(process, libc::SIGSTOP);
    until_stopped();
    let attached = Attached::to(guest.child.id(), "go-attached");
    until_stopped();
    signal(process, libc::SIGCONT);
    let printed = guest.finish();
    assert!(printed.out.starts_with("ok"), "{}", printed.out);
    attached.last();
}

#[test]
fn programs_that_start_threads_and_children_all_the_time_are_taken_in_whole() {
    for seed in 0..8u64 {
        let storm = c("storm", Link::Dynamic);
        let start = || Running::start(In::Native, "", &storm, &["6", "40", &seed.to_string()]);
        let name = format!("storm-{seed}");
        let (guest, attached) = Attached::while_it_runs(start, 5 + 13 * seed, &name);
        let printed = guest.finish();
        assert_eq!(printed.end, 0, "{}", printed.out);
        attached.last();
    }
}

/// Under its number the kernel says nothing any more of its memory and its files.
#[test]
fn a_program_whose_first_thread_has_ended_is_taken_in() {
    let headless = c("headless", Link::Dynamic);
    let begun = Instant::now();
    let guest = Running::start(In::Native, "", &headless, &["3"]).ready();
    let mut attached = Attached::to(guest.child.id(), "headless");
    attached.ask(Call::Hold);
    sleep_ms(HOLD_MS);
    attached.ask(Call::Release);
    assert_eq!(guest.finish().out, "slept\ntimer\n");
    assert!(begun.elapsed() >= Duration::from_millis(2 * 3000 + HOLD_MS), "it was not held");
    attached.last();
}

#[test]
fn a_killed_command_lets_the_program_go_on_and_start_others() {
    let script = "while read word; do /bin/echo $word; done; exit 7";
    let mut guest = Running::start(In::Native, "", Path::new("/bin/sh"), &["-c", script]);
    let mut attached = Attached::to(guest.child.id(), "left");
    attached.ask(Call::Hold);
    attached.child.kill().unwrap();
    attached.child.wait().unwrap();
    while !attached.domain.ask(Call::Status).detached {
        sleep_ms(1);
    }
    let before = attached.ask(Call::Status);
    sleep_ms(2);
    assert!(attached.ask(Call::Status) > before, "its hold is gone");
    guest.say("on");
    assert_eq!(guest.line(), "on");
    assert_eq!(guest.finish().end, 7);
}

#[test]
fn what_cannot_be_taken_in_is_left_as_it_is() {
    let refused = |process: u32| {
        let printed = run(&mut qcycle(&["attach", &process.to_string()]));
        assert_ne!(printed.end, 0, "{printed:?}");
        printed.err
    };
    assert!(refused(u32::MAX >> 2).contains("it has ended"));
    let mut zombie = Command::new("/bin/true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", zombie.id());
    while !std::fs::read_to_string(&stat).unwrap().contains(") Z ") {
        sleep_ms(1);
    }
    assert!(refused(zombie.id()).contains("it has ended"));
    zombie.wait().unwrap();

    let mut guest = Running::start(In::Native, "", Path::new("/bin/cat"), &[]);
    let process = guest.child.id().cast_signed();
    // SAFETY: attaches to a child of ours without stopping it.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_SEIZE, process, 0, 0) }, 0);
    assert!(refused(guest.child.id()).contains("traced by process"));
    // SAFETY: stops it and lets it go.
    unsafe {
        libc::ptrace(libc::PTRACE_INTERRUPT, process, 0, 0);
        libc::waitpid(process, std::ptr::null_mut(), libc::__WALL);
        libc::ptrace(libc::PTRACE_DETACH, process, 0, 0);
    }
    let attached = Attached::to(guest.child.id(), "cat");
    assert!(refused(guest.child.id()).contains("is already in the domain `cat`"));
    guest.say("still there");
    assert_eq!(guest.line(), "still there");
    assert_eq!(guest.finish().end, 0);
    attached.last();
}

#[test]
fn a_program_of_qcycle_exec_can_be_let_go() {
    let script = "read word; sleep 0.1; /bin/echo $word; exit 3";
    let mut guest =
        Running::start(In::Virtual("1000"), "let-go", Path::new("/bin/sh"), &["-c", script]);
    guest.ask(Call::Hold);
    let detached = run(&mut qcycle(&["detach", "let-go"]));
    assert!(detached.out.contains("is detached, and runs at"), "{detached:?}");
    guest.say("gone");
    assert_eq!(guest.line(), "gone", "held or dilated it would take long");
    assert_eq!(guest.finish().end, 3);
}
