//! Freezing programs while their clock is stopped: nobody computes, nobody notices, and nothing
//! stays frozen.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use runtime::agent::protocol::{Call, Status};
use runtime::launch::freeze::{FreezeStatus, Method};

use crate::common::guests::{
    Domain, In, Link, QCYCLE, Running, c, end, folder, listed, qcycle, run, sleep_ms,
};
use crate::common::patience::{LONGEST, within};
use crate::common::processes::signal;
use crate::exec::outside::{Published, all_end};

const VIRTUAL: In = In::Virtual("1");

/// The ways that this machine has; says which it lacks.
fn ways() -> Vec<Method> {
    static WAYS: LazyLock<Vec<Method>> = LazyLock::new(look_for_ways);
    WAYS.clone()
}

fn look_for_ways() -> Vec<Method> {
    let has = |method: &Method| {
        let name = format!("ways-{method}");
        let guest = start("strict", *method, &name, Path::new("/bin/cat"), &[]);
        let status = Domain::of(&name).ask(Call::Status).freeze;
        drop(guest);
        let works = status.method == Some(*method);
        if !works {
            println!("not measured: freezing by {method}: {}", status.reason);
        }
        works
    };
    Method::ALL.into_iter().filter(has).collect()
}

fn start(mode: &str, by: Method, name: &str, guest: &Path, arguments: &[&str]) -> Running {
    let options = ["--freeze", mode, "--freeze-by", by.name()];
    let running = Running::frozen(&options, VIRTUAL, name, guest, arguments);
    // The program is known to the agent once its exec was reported.
    let mut domain = Domain::of(name);
    within(LONGEST, name, || domain.ask(Call::Status).freeze.method.is_some());
    running
}

/// A guest that counts its readings of the clock.
fn spin(mode: &str, by: Method, name: &str) -> (Running, Published<'static>) {
    let file = folder().join(format!("page-{name}"));
    let guest = start(mode, by, name, &c("spin", Link::Static), &[file.to_str().unwrap()]);
    (guest.ready(), Published::map(&file))
}

/// Control groups of agents below those of this process.
fn groups() -> Vec<PathBuf> {
    let found = Command::new("find")
        .args(["/sys/fs/cgroup", "-maxdepth", "8", "-name", "quartercycle-*"])
        .output()
        .unwrap();
    String::from_utf8(found.stdout).unwrap().lines().map(PathBuf::from).collect()
}

/// The group of one agent.
fn group_of(agent: u32) -> Option<PathBuf> {
    let of = format!("-{agent}-");
    groups().into_iter().find(|group| group.to_string_lossy().contains(&of))
}

#[test]
fn a_program_that_computes_stands_still_in_a_strict_hold() {
    for by in ways() {
        let name = format!("strict-{by}");
        let (guest, published) = spin("strict", by, &name);
        let mut domain = Domain::of(&name);
        for round in 0..20 {
            let at = domain.ask(Call::Hold).clock.virtual_ns;
            let count = published.load(0);
            sleep_ms(5);
            assert_eq!(published.load(0), count, "{by}: computes in hold {round}");
            let released = domain.ask(Call::Release).clock.virtual_ns;
            assert!(released >= at);
            let frozen = format!("{by}: stays frozen");
            within(LONGEST, frozen, || published.load(0) != count);
        }
        let FreezeStatus { freezes, incomplete, freeze, thaw, .. } =
            *domain.ask(Call::Status).freeze;
        assert_eq!((freezes, incomplete), (20, 0));
        println!(
            "{by}: freezing takes {:.0} µs, thawing {:.0} µs (medians of 20, one program)",
            freeze.median_us, thaw.median_us
        );
        assert_eq!(guest.finish().end, 0);
    }
}

#[test]
fn only_a_hold_that_lasts_freezes() {
    const BOUND: Duration = Duration::from_secs(2);
    let (guest, published) = spin("2 s", Method::ALL[2], "bounded");
    let mut domain = Domain::of("bounded");
    let mut hold_shortly = || {
        let before = domain.ask(Call::Status).freeze.freezes;
        let (asked, count) = (Instant::now(), published.load(0));
        domain.ask(Call::Hold);
        while published.load(0) < count + 2 && asked.elapsed() < BOUND / 2 {
            std::thread::yield_now();
        }
        domain.ask(Call::Release);
        let was_short = asked.elapsed() < BOUND;
        let did_freeze = domain.ask(Call::Status).freeze.freezes > before;
        assert!(!(was_short && did_freeze), "a short one did");
        was_short
    };
    if !(0..20).any(|_| hold_shortly()) {
        println!("not measured: this machine is too busy for a hold that is short");
    }
    let before = domain.ask(Call::Hold).freeze.freezes;
    let freezes = || domain.ask(Call::Status).freeze.freezes > before;
    within(LONGEST, "a long one does not", freezes);
    let count = published.load(0);
    sleep_ms(20);
    assert_eq!(published.load(0), count);
    domain.ask(Call::Release);
    published.fresh();
    assert_eq!(guest.finish().end, 0);
}

#[test]
fn no_wait_shows_that_it_was_frozen() {
    if cfg!(target_arch = "aarch64") {
        println!("not measured: on AArch64 some waits do, see docs/limitations.md");
        return;
    }
    for by in ways() {
        for link in [Link::Dynamic, Link::Static] {
            let name = format!("unseen-{by}-{link:?}");
            let mut guest = start("strict", by, &name, &c("freeze", link), &["waits"]).ready();
            let mut domain = Domain::of(&name);
            for _ in 0..50 {
                domain.ask(Call::Hold);
                domain.ask(Call::Release);
                sleep_ms(2);
            }
            let status = domain.ask(Call::Status).freeze;
            assert_eq!((status.freezes, status.incomplete), (50, 0));
            // Sleepers are left alone by ptrace; groups wake them, and 9 of these would say so.
            assert!(by == Method::Ptrace || status.restarted >= 50, "{status:?}");
            guest.say("come");
            let printed = guest.finish();
            assert_eq!((printed.out.as_str(), printed.end), ("0 of 13 waits failed\n", 0));
        }
    }
}

/// A release that comes while programs are being frozen.
#[test]
fn no_wait_shows_that_a_freeze_was_given_up() {
    if cfg!(target_arch = "aarch64") {
        println!("not measured: on AArch64 some waits do, see docs/limitations.md");
        return;
    }
    for by in ways() {
        let name = format!("given-up-{by}");
        let guest = &c("freeze", Link::Dynamic);
        let mut guest = start("100 us", by, &name, guest, &["waits"]).ready();
        let mut domain = Domain::of(&name);
        let until = Instant::now() + Duration::from_secs(60);
        // More where this machine is so busy that each was released before.
        for turn in 0.. {
            domain.ask(Call::Hold);
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(turn % 60 * 10) {}
            let status = domain.ask(Call::Release);
            if turn >= 600 && status.freeze.freezes > 0 {
                break;
            }
            assert!(Instant::now() < until, "nothing was frozen in {turn} holds");
        }
        guest.say("come");
        let printed = guest.finish();
        assert_eq!((printed.out.as_str(), printed.end), ("0 of 13 waits failed\n", 0), "{by}");
    }
}

#[test]
fn a_handler_that_ran_still_ends_the_wait() {
    for by in ways() {
        for timeout_ms in ["-1", "1000000"] {
            let name = format!("handled-{by}{timeout_ms}");
            let guest = &c("freeze", Link::Dynamic);
            let mut guest = start("strict", by, &name, guest, &["handler", timeout_ms]);
            let process: i32 = guest.line().parse().unwrap();
            let mut domain = Domain::of(&name);
            waits_for_events(process);
            domain.ask(Call::Hold);
            signal(process, libc::SIGUSR1);
            sleep_ms(20);
            domain.ask(Call::Release);
            let ended = guest.line();
            assert_eq!(ended, "-1, handled 1: Interrupted system call", "{by}, {timeout_ms}");
            assert_eq!(guest.finish().end, 0);
        }
    }
}

/// Returns when a process is in a call of epoll.
fn waits_for_events(process: i32) {
    let calls = [libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2].map(|call| format!("{call} "));
    // x86-64 has an older one besides.
    let calls = [calls.as_slice(), &["232 ".to_owned()]].concat();
    let call = || std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap();
    within(LONGEST, "it does not wait", || calls.iter().any(|waits| call().starts_with(waits)));
}

#[test]
fn children_are_frozen_too_whenever_they_were_started() {
    let busy = "n() { while :; do :; done; }; n & (n & ) ; setsid sh -c 'while :; do :; done' & \
                sleep 0.3; n & echo ready; read line; kill $(jobs -p); exit 0";
    for by in ways() {
        let name = format!("family-{by}");
        let mut guest = start("strict", by, &name, Path::new("/bin/sh"), &["-c", busy]).ready();
        let mut domain = Domain::of(&name);
        let Status { agent_pid, .. } = domain.ask(Call::Hold);
        let used = cpu_ticks_below(agent_pid);
        sleep_ms(200);
        let during = cpu_ticks_below(agent_pid);
        assert!(used.len() >= 5, "{used:?}");
        assert_eq!(used, during, "{by}: a child computes");
        domain.ask(Call::Release);
        guest.say("end");
        assert_eq!(guest.finish().end, 0);
    }
}

/// Processor time in ticks of all processes that come from the keeper of an agent, by number.
fn cpu_ticks_below(agent: u32) -> Vec<(i32, u64)> {
    let stat = |process: i32| {
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let fields: Vec<String> =
            text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
        let number = |index: usize| fields[index].parse::<u64>().ok();
        Some((number(1)? as i32, number(11)? + number(12)?))
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let all: Vec<(i32, i32, u64)> = numbers
        .filter_map(|process| stat(process).map(|(parent, ticks)| (process, parent, ticks)))
        .collect();
    // The keeper and the warden are children of the agent and no programs.
    let supervisors: Vec<i32> =
        all.iter().filter(|entry| entry.1 == agent as i32).map(|entry| entry.0).collect();
    let (mut found, mut next) = (Vec::new(), supervisors);
    while let Some(parent) = next.pop() {
        for (process, _, ticks) in all.iter().filter(|entry| entry.1 == parent) {
            found.push((*process, *ticks));
            next.push(*process);
        }
    }
    found.sort_unstable();
    found
}

#[test]
fn nothing_stays_frozen_or_behind_when_the_agent_is_killed() {
    for (number, by) in ways().into_iter().enumerate() {
        let name = format!("frozen-{by}");
        let sleep = format!("sleep {}", 77_010 + number);
        let script = format!("while :; do :; done & {sleep} & echo ready; wait");
        let shell = Path::new("/bin/sh");
        let mut guest = start("strict", by, &name, shell, &["-c", &script]).ready();
        let agent = Domain::of(&name).ask(Call::Hold).agent_pid;
        let group = group_of(agent);
        assert_eq!(group.is_some(), by != Method::Ptrace);
        guest.child.kill().unwrap();
        guest.child.wait().unwrap();
        all_end(&sleep);
        let is_gone = || group.as_ref().is_none_or(|group| !group.exists());
        within(LONGEST, format!("{group:?} is left"), is_gone);
    }
}

#[test]
fn a_group_whose_warden_was_killed_too_is_removed_by_the_next_agent() {
    for by in ways().into_iter().filter(|by| *by != Method::Ptrace) {
        let name = format!("orphan-{by}");
        let guest = start("strict", by, &name, Path::new("/bin/cat"), &[]);
        let agent = Domain::of(&name).ask(Call::Hold).agent_pid;
        let group = group_of(agent).unwrap();
        // Not by pgrep, which waits for any process of this host that keeps its memory back.
        let threads = std::fs::read_dir(format!("/proc/{agent}/task")).unwrap().flatten();
        let of = |thread: PathBuf| std::fs::read_to_string(thread.join("children")).ok();
        let wardens: String = threads.filter_map(|thread| of(thread.path())).collect();
        for process in wardens.split_whitespace() {
            // One of them may end when the other has.
            // SAFETY: takes numbers; a child of the agent that was just looked up.
            unsafe { libc::kill(process.parse().unwrap(), libc::SIGKILL) };
        }
        drop(guest);
        let next = start("strict", by, &format!("next-{by}"), Path::new("/bin/cat"), &[]);
        within(LONGEST, format!("{} is left", group.display()), || !group.exists());
        assert_eq!(next.finish().end, 0);
    }
}

#[test]
fn a_frozen_program_hears_that_it_shall_end() {
    for by in ways() {
        let mut guest = start("strict", by, &format!("term-{by}"), Path::new("/bin/cat"), &[]);
        guest.say("there");
        assert_eq!(guest.line(), "there");
        guest.ask(Call::Hold);
        signal(guest.child.id(), libc::SIGTERM);
        assert_eq!(end(guest.child.wait().unwrap()), -libc::SIGTERM, "{by}");
    }
}

#[test]
fn what_freezes_shows_and_what_is_nonsense_is_refused() {
    let guest = start("strict", Method::Ptrace, "shown", Path::new("/bin/cat"), &[]);
    let freeze = &listed("shown")["freeze"];
    assert_eq!((&freeze["mode"], &freeze["method"]), (&"strict".into(), &"ptrace".into()));
    let table = run(&mut qcycle(&["ps"])).out;
    let line = table.lines().find(|line| line.starts_with("shown ")).unwrap();
    assert!(line.contains(" ptrace "), "{table}");
    assert_eq!(guest.finish().end, 0);
    let wrong = run(&mut qcycle(&["exec", "--freeze", "sometimes", "--", "true"]));
    assert_ne!(wrong.end, 0);
    assert!(wrong.err.contains("`off`, `strict`"), "{}", wrong.err);
}

#[test]
fn a_program_may_hold_and_release_its_own_domain() {
    for by in ways() {
        let name = format!("within-{by}");
        let script = format!("read go; {QCYCLE} hold {name}; {QCYCLE} ps; {QCYCLE} release {name}");
        let mut guest = start("strict", by, &name, Path::new("/bin/sh"), &["-c", &script]);
        guest.say("go");
        let printed = guest.finish();
        assert_eq!(printed.end, 0, "{}", printed.out);
        assert!(
            printed.out.contains("is held") && printed.out.contains("runs at"),
            "{}",
            printed.out
        );
    }
}
