//! Many threads that wait at once cost what they cost natively: while they wait, while the clock is
//! held, and when it is released. What is counted is how often threads leave a processor because they
//! have to wait: a slow machine does not change that.

use runtime::agent::protocol::Call;

use crate::common::guests::{In, Link, Printed, Running, c, sleep_ms};

const THREADS: i64 = 2000;

#[derive(Debug)]
struct Crowd {
    median_ns: i64,
    earliest_ns: i64,
    waits: i64,
}

fn crowd(printed: &Printed) -> Crowd {
    assert_eq!(printed.end, 0, "{}", printed.out);
    let numbers: Vec<i64> = printed.out.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let [median_ns, _, earliest_ns, _, waits] = numbers[..] else { panic!("{numbers:?}") };
    Crowd { median_ns, earliest_ns, waits }
}

fn start(options: &[&str], place: In, name: &str, ms: &str, kind: &[&str]) -> Running {
    let threads = THREADS.to_string();
    let arguments = [&[&*threads, ms], kind].concat();
    Running::frozen(options, place, name, &c("crowd", Link::Dynamic), &arguments).ready()
}

const NOT_FROZEN: &[&str] = &["--freeze", "off"];
const FROZEN: &[&str] = &["--freeze", "1 ms"];

#[test]
fn an_idle_crowd_wakes_up_as_often_as_natively() {
    let find = |place, name| crowd(&start(NOT_FROZEN, place, name, "3000", &[]).finish());
    let native = find(In::Native, "crowd");
    let virtually = find(In::Virtual("1"), "crowd-idle");
    println!("natively {native:?}, in virtual time {virtually:?}");
    assert!(virtually.earliest_ns >= 0, "{virtually:?}");
    // Each once or twice, and the starting of threads; in slices of 50 ms it would be 60 times.
    assert!(virtually.waits < 10 * THREADS, "{virtually:?}");
}

/// Their deadlines are some hundred milliseconds away, or minutes; the clock is held for as long as
/// looking every few milliseconds would be hundreds of looks of each.
#[test]
fn a_held_crowd_leaves_the_processors_to_who_releases_it() {
    for (kind, freeze) in [("poll", NOT_FROZEN), ("epoll", NOT_FROZEN), ("poll", FROZEN)] {
        let name = format!("crowd-held-{kind}-{}", freeze == FROZEN);
        let guest = start(freeze, In::Virtual("1"), &name, "700", &[kind]);
        guest.ask(Call::Hold);
        sleep_ms(3000);
        guest.ask(Call::Release);
        let found = crowd(&guest.finish());
        println!("{kind} {freeze:?}: {found:?}");
        assert!(found.earliest_ns >= 0, "{found:?}");
        assert!(found.waits < 15 * THREADS, "{kind} {freeze:?}: {found:?}");
    }
}

#[test]
fn a_crowd_that_sleeps_is_woken_when_it_is_its_turn() {
    let guest = start(NOT_FROZEN, In::Virtual("1"), "crowd-asleep", "60000", &["sleep"]);
    for _ in 0..20 {
        guest.ask(Call::Hold);
        sleep_ms(20);
        guest.ask(Call::Release);
    }
    guest.ask(Call::Dilate { tdf: "0.01".into() });
    let found = crowd(&guest.finish());
    println!("{found:?}");
    assert!(found.earliest_ns >= 0, "{found:?}");
    // At the change of the rate, at the end, and when it was started.
    assert!(found.waits < 10 * THREADS, "{found:?}");
}

/// At a factor of 1000 they would wait for minutes of the host, in native waits of five seconds.
#[test]
fn a_rate_that_grows_is_heard_of_by_whoever_waits() {
    for kind in ["poll", "epoll", "futex", "condition"] {
        let name = format!("crowd-faster-{kind}");
        let guest = start(NOT_FROZEN, In::Virtual("1000"), &name, "500", &[kind]);
        sleep_ms(100);
        guest.ask(Call::Dilate { tdf: "1".into() });
        let found = crowd(&guest.finish());
        println!("{kind}: {found:?}");
        assert!(found.earliest_ns >= 0, "{found:?}");
        // Nobody has waited out such a native wait.
        assert!(found.median_ns < 3_000_000_000, "{kind}: {found:?}");
    }
}
