//! Calls that wait for a finite time: never early, whatever happens to the clock meanwhile, and
//! interrupted and woken as natively.

use std::collections::BTreeMap;
use std::time::Instant;

use runtime::agent::protocol::Call;

use crate::common::guests::{BOTH, In, Link, Printed, Running, c, held, sleep_ms};

/// Calls of the guest `waits`.
pub(crate) const CALLS: usize = 23;

#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) outcome: String,
    pub(crate) waited_ns: i64,
    pub(crate) asked_ns: i64,
    left_ns: i64,
}

/// What a guest prints of its calls: name, outcome, time waited and time asked for; some say what was
/// left.
pub(crate) fn waits(printed: &Printed) -> BTreeMap<String, Wait> {
    assert_eq!(printed.end, 0, "{}", printed.out);
    let lines = printed.out.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let waits = lines.filter(|fields| fields.len() > 3).map(|fields| {
        let ns = |index: usize| fields.get(index).map_or(-1, |ns| ns.parse().unwrap());
        let outcome = fields[1].to_owned();
        let wait = Wait { outcome, waited_ns: ns(2), asked_ns: ns(3), left_ns: ns(4) };
        (fields[0].to_owned(), wait)
    });
    waits.collect()
}

/// Asserts that all of so many waited in vain for no less than they asked for; prints how much longer.
pub(crate) fn not_early(what: &str, count: usize, waits: &BTreeMap<String, Wait>) {
    assert_eq!(waits.len(), count, "{what}");
    let mut late_us: Vec<i64> = Vec::new();
    for (name, wait) in waits {
        assert_eq!(wait.outcome, "timeout", "{what}: {name}");
        assert!(wait.waited_ns >= wait.asked_ns, "{what}: {name} is early: {wait:?}");
        assert!(wait.left_ns <= 0, "{what}: {name}: {wait:?}");
        late_us.push((wait.waited_ns - wait.asked_ns) / 1000);
    }
    late_us.sort_unstable();
    println!(
        "{what}: late by {} µs in the median of {count} calls, {} µs at most",
        late_us[late_us.len() / 2],
        late_us[late_us.len() - 1]
    );
}

fn start(place: In, name: &str, link: Link, arguments: &[&str]) -> Running {
    Running::start(place, name, &c("waits", link), arguments).ready()
}

#[test]
fn a_wait_in_vain_lasts_as_long_as_asked() {
    for place in [In::Native, In::Virtual("1"), In::Virtual("2"), In::Virtual("0.2")] {
        for link in [Link::Dynamic, Link::Static] {
            let guest = start(place, "waits-plain", link, &["plain", "60"]);
            not_early(&format!("{place:?} {link:?}"), CALLS, &waits(&guest.finish()));
        }
    }
}

#[test]
fn a_hold_in_the_middle_takes_no_virtual_time() {
    for link in [Link::Dynamic, Link::Static] {
        let started = Instant::now();
        let guest =
            start(In::Virtual("1"), &format!("waits-held-{link:?}"), link, &["plain", "400"]);
        let mut stands = None;
        held(&guest, || {
            let before = guest.ask(Call::Status).unwrap().clock.virtual_ns;
            sleep_ms(300);
            let after = guest.ask(Call::Status).unwrap().clock.virtual_ns;
            assert_eq!(before, after);
            stands = Some(after);
        });
        let printed = guest.finish();
        assert!(started.elapsed().as_millis() >= 700, "the hold is not part of the wait");
        // A machine so slow that the waits had ended before the hold shows nothing here.
        let found = waits(&printed);
        not_early(&format!("held for 300 ms, {link:?}"), CALLS, &found);
    }
}

#[test]
fn a_rate_that_changes_in_the_middle_makes_no_wait_early() {
    let guest = start(In::Virtual("1"), "waits-dilated", Link::Dynamic, &["plain", "500"]);
    let started = Instant::now();
    let dilate = |tdf: &str| guest.ask(Call::Dilate { tdf: tdf.into() }).unwrap().clock.virtual_ns;
    let from = dilate("4");
    sleep_ms(200);
    let to = guest.ask(Call::Status).unwrap().clock.virtual_ns;
    let host_ns = i64::try_from(started.elapsed().as_nanos()).unwrap();
    dilate("1");
    assert!((to - from) * 4 <= host_ns, "a quarter of host time passes");
    not_early("tdf 1, then 4, then 1", CALLS, &waits(&guest.finish()));
}

/// When the clock is held in a run with a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hold {
    Never,
    /// From when they wait until all have ended.
    WhileTheyWait,
    /// From before they wait until all have ended.
    BeforeTheyWait,
}

const HOLDS: [Hold; 3] = [Hold::Never, Hold::WhileTheyWait, Hold::BeforeTheyWait];

/// Runs one mode that needs a word.
fn with_a_word(place: In, arguments: &[&str], hold: Hold) -> BTreeMap<String, Wait> {
    let name = format!("waits-{}-{hold:?}", arguments.join("-"));
    let mut guest = Running::start(place, &name, &c("waits", Link::Dynamic), arguments);
    if hold == Hold::BeforeTheyWait {
        guest.ask(Call::Hold);
    }
    guest.say("begin");
    assert_eq!(guest.line(), "ready");
    if hold == Hold::WhileTheyWait {
        guest.ask(Call::Hold);
    }
    guest.say("now");
    // All of them have ended, whether the clock is stopped or not.
    assert_eq!(guest.line(), "over");
    if hold != Hold::Never {
        guest.ask(Call::Release);
    }
    guest.say("end");
    waits(&guest.finish())
}

#[test]
fn a_handler_interrupts_what_it_interrupts_natively() {
    for restart in ["0", "1"] {
        let arguments = ["signal", restart];
        let native = with_a_word(In::Native, &arguments, Hold::Never);
        for hold in HOLDS {
            let virtually = with_a_word(In::Virtual("1"), &arguments, hold);
            for (name, native) in &native {
                let wait = &virtually[name];
                let what = format!("{name}, SA_RESTART {restart}, {hold:?}: {wait:?}");
                assert_eq!(wait.outcome, native.outcome, "{what}");
                assert_eq!(wait.left_ns < 0, native.left_ns < 0, "{what}");
                if wait.outcome == "timeout" {
                    assert!(wait.waited_ns >= wait.asked_ns, "{what}");
                } else if wait.left_ns >= 0 {
                    // What is left is right to the microsecond that select(2) counts in.
                    assert!(wait.left_ns > 0, "{what}");
                    assert!(wait.waited_ns + wait.left_ns + 1000 > wait.asked_ns, "{what}");
                }
            }
        }
    }
}

#[test]
fn what_is_waited_for_ends_the_wait_also_while_the_clock_is_held() {
    for place in BOTH {
        for hold in HOLDS {
            for (name, wait) in with_a_word(place, &["wake"], hold) {
                assert_eq!(wait.outcome, "woken", "{place:?} {hold:?} {name}");
                assert!(wait.waited_ns < wait.asked_ns, "{place:?} {hold:?} {name}: {wait:?}");
            }
        }
    }
}
