//! `qcycle hold`, `release`, `dilate` and `ps` from another terminal, and what becomes of a domain
//! whose `qcycle exec` is killed.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use runtime::agent::protocol::Call;

use crate::common::guests::{
    Domain, In, Link, Printed, Running, c, folder, json, listed, qcycle, run, runtime,
};
use crate::common::patience::{LONGEST, within};
use crate::common::processes::processes;

/// What the guest `spin` publishes.
pub(crate) struct Published<'p>(&'p [std::sync::atomic::AtomicI64; 2]);

impl Published<'_> {
    pub(crate) fn map(path: &Path) -> Self {
        use std::os::fd::AsRawFd;
        let file = File::open(path).unwrap();
        // SAFETY: maps a file of a page that nobody makes shorter; it holds two atomic numbers.
        unsafe {
            let null = std::ptr::null_mut();
            let page =
                libc::mmap(null, 4096, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(page, libc::MAP_FAILED);
            Self(&*page.cast())
        }
    }

    pub(crate) fn load(&self, index: usize) -> i64 {
        self.0[index].load(std::sync::atomic::Ordering::Acquire)
    }

    /// The last reading after the guest has begun and ended at least one more.
    pub(crate) fn fresh(&self) -> i64 {
        let (count, patience) = (self.load(0), Instant::now());
        while self.load(0) < count + 2 {
            assert!(patience.elapsed() < 2 * LONGEST, "the guest is stopped");
            std::thread::yield_now();
        }
        self.load(1)
    }
}

#[test]
fn a_hold_is_in_force_for_all_who_read_when_it_returns() {
    const HOLDS: i64 = 1000;
    let file = folder().join("spin-page");
    let (spin, arguments) = (c("spin", Link::Dynamic), [file.to_str().unwrap()]);
    let guest = Running::start(In::Virtual("1"), "spin", &spin, &arguments).ready();
    let published = Published::map(&file);
    let mut domain = Domain::of("spin");
    let started = Instant::now();
    let begin_ns = published.fresh();
    let mut last_ns = begin_ns;
    let mut stood_ns = None;
    for _ in 0..HOLDS {
        let clock = domain.ask(Call::Hold).clock;
        let at_ns = published.fresh();
        assert!(at_ns >= last_ns);
        // The guest counts from another epoch, and by the same amount at every hold.
        let epoch_ns = *stood_ns.get_or_insert(at_ns - clock.virtual_ns);
        assert_eq!(at_ns - clock.virtual_ns, epoch_ns, "the hold was not in force");
        assert_eq!(published.fresh(), at_ns, "virtual time passes during a hold");
        last_ns = at_ns;
        domain.ask(Call::Release);
    }
    let clock = domain.ask(Call::Hold).clock;
    let host_ns = i64::try_from(started.elapsed().as_nanos()).unwrap();
    let virtual_ns = published.fresh() - begin_ns;
    // Host time is virtual time and pauses; the two clocks are read one after the other.
    assert!(
        virtual_ns + clock.paused_ns <= host_ns,
        "{virtual_ns} + {} > {host_ns}",
        clock.paused_ns
    );
    assert_eq!(clock.stops, u64::try_from(HOLDS).unwrap() + 1);
    println!(
        "{HOLDS} holds: {:.1} µs each from asking to release",
        host_ns as f64 / 1e3 / HOLDS as f64
    );
    domain.ask(Call::Release);
    assert_eq!(guest.finish().end, 0, "time went back");
}

pub(crate) fn say(arguments: &[&str]) -> Printed {
    run(&mut qcycle(arguments))
}

#[test]
fn holds_are_counted_and_commands_say_how_the_domain_stands() {
    let guest = Running::cat("counted");
    let released = say(&["release", "counted"]);
    assert_ne!(released.end, 0);
    assert_eq!(released.err, "qcycle: the domain `counted` is not held\n");
    assert!(say(&["hold", "counted"]).out.contains("(1 hold)"));
    assert!(say(&["hold", "counted"]).out.contains("(2 holds)"));
    assert!(say(&["release", "counted"]).out.contains("(1 hold)"));
    let status = json(&["dilate", "--tdf", "2.5", "counted", "--json"]);
    assert_eq!(
        (&status["clock"]["holds"], &status["clock"]["tdf_millionths"]),
        (&1.into(), &2_500_000.into())
    );
    let own = listed("counted");
    assert_eq!(own["title"], "/bin/cat");
    assert_eq!(own["clock"]["virtual_ns"], status["clock"]["virtual_ns"], "it is held");
    assert!(
        say(&["ps"])
            .out
            .lines()
            .any(|line| line.starts_with("counted ") && line.contains(" held "))
    );
    assert!(say(&["release", "counted"]).out.contains("runs at"));
    let wrong = say(&["dilate", "--tdf", "0", "counted"]);
    assert_ne!(wrong.end, 0);
    let taken = say(&["exec", "--name", "counted", "--", "true"]);
    assert_eq!(
        taken.err,
        "qcycle: a domain named `counted` already exists; `qcycle ps` lists them\n"
    );
    let unknown = say(&["hold", "no-such-domain"]);
    assert_ne!(unknown.end, 0);
    assert!(
        unknown.err.contains("no domain named `no-such-domain`; there are: "),
        "{}",
        unknown.err
    );
    assert!(unknown.err.contains("counted"), "{}", unknown.err);
    assert_eq!(guest.finish().end, 0);
    assert!(!say(&["ps"]).out.contains("counted"));
}

/// The processes whose command line contains this, but for those that only wait to be collected.
pub(crate) fn running(word: &str) -> Vec<String> {
    let commands = processes(&["cmdline"]).into_iter();
    let commands = commands.map(|(_, line)| String::from_utf8_lossy(&line).replace('\0', " "));
    commands.filter(|line| line.contains(word)).collect()
}

pub(crate) fn all_end(word: &str) {
    within(LONGEST, format!("{word} goes on"), || running(word).is_empty());
}

/// A program whose children run on: one in the background, one without a parent, one in a session
/// of its own that ignores what can be ignored.
fn family(number: u32) -> String {
    format!(
        "sleep {number}1 & (sleep {number}2 &); setsid sh -c 'trap \"\" HUP TERM INT; sleep {number}3' & \
         echo ready"
    )
}

#[test]
fn nothing_outlives_a_killed_qcycle_exec_and_its_name_is_free() {
    for round in 0..3 {
        let script = family(77_001) + "; wait";
        println!("round {round}");
        let mut guest = Running::shell("killed", &script).ready();
        guest.child.kill().unwrap();
        guest.child.wait().unwrap();
        all_end("sleep 77001");
        assert!(!say(&["ps"]).out.contains("killed"));
        assert!(!runtime().join("quartercycle/killed.sock").exists());
    }
}

#[test]
fn a_domain_ends_with_its_program() {
    let printed = run(qcycle(&["exec", "--", "sh", "-c"]).arg(family(77_002) + "; exit 3"));
    assert_eq!((printed.out.as_str(), printed.end), ("ready\n", 3));
    assert!(printed.err.starts_with("qcycle: ended "), "{}", printed.err);
    all_end("sleep 77002");
}
