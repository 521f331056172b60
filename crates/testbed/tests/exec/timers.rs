//! Timers of programs, and waits for other things than descriptors: they do in virtual time what
//! they do natively, however the clock is held and dilated meanwhile. The guests check
//! themselves and print one line for each check.

use runtime::agent::protocol::{Call, Selector};

use crate::common::guests::{
    Domain, In, Link, Printed, QCYCLE, Running, c, command, held, run, sleep_ms,
};

/// Guests, and how many checks each makes.
const GUESTS: [(&str, usize); 3] = [("timers", 71), ("posix_timers", 44), ("queues", 27)];

/// Asserts that every check of the guest holds; prints how late its timers were.
fn all_hold(what: &str, printed: &Printed, checks: usize) {
    assert_eq!(printed.end, 0, "{what}: {}", printed.out);
    let wrong: Vec<&str> = printed.out.lines().filter(|line| line.ends_with(": NO")).collect();
    assert_eq!(wrong, Vec::<&str>::new(), "{what}");
    let holding = printed.out.lines().filter(|line| line.ends_with(": yes")).count();
    assert_eq!(holding, checks, "{what}: {}", printed.out);
    let late: Vec<&str> = printed.err.lines().map(str::trim).collect();
    println!("{what}: late by, in µs: {}", late.join(", "));
}

#[test]
fn they_do_in_virtual_time_what_they_do_natively() {
    let places = [In::Native, In::Virtual("1"), In::Virtual("3"), In::Virtual("0.3")];
    std::thread::scope(|scope| {
        for (guest, checks) in GUESTS {
            for link in [Link::Dynamic, Link::Static] {
                for place in places {
                    scope.spawn(move || {
                        let printed = run(&mut command(place, c(guest, link), &[]));
                        all_hold(&format!("{guest} {place:?} {link:?}"), &printed, checks);
                    });
                }
            }
        }
    });
}

#[test]
fn they_stand_still_with_the_clock_and_go_on_with_it() {
    for (name, checks) in GUESTS {
        let program = c(name, Link::Dynamic);
        let domain = format!("{name}-held");
        let guest = Running::start(In::Virtual("1"), &domain, &program, &[]).ready();
        for round in 0..12 {
            held(&guest, || sleep_ms(40 + 17 * (round % 3)));
            guest.ask(Call::Dilate { tdf: ["1", "2", "0.5"][round as usize % 3].into() });
            let tdf = ["1", "0.7", "3", "1.5"][round as usize % 4].into();
            let program = Selector::Name(format!("{name}-Dynamic"));
            Domain::of(&domain).detail(Call::DilateProgram { tdf, program });
            sleep_ms(30);
        }
        all_hold(&format!("{name} held and dilated"), &guest.finish(), checks);
    }
}

/// The agent has a descriptor of each that is armed, and no more.
#[test]
fn timerfds_that_are_closed_take_nothing_from_the_agent() {
    let (guest, checks) = GUESTS[0];
    let guest = c(guest, Link::Static);
    let script = format!("ulimit -n 512; exec {QCYCLE} exec -- {}", guest.display());
    all_hold(
        "few descriptors",
        &run(std::process::Command::new("sh").args(["-c", &script])),
        checks,
    );
}

/// What this machine says of timers on alarm clocks, which need a clock of their own.
#[test]
fn alarm_clocks_are_there_if_the_kernel_has_them() {
    let guest = c("posix_timers", Link::Dynamic);
    let said = |place| {
        let out = run(&mut command(place, &guest, &[])).out;
        let lines: Vec<String> =
            out.lines().filter(|line| line.starts_with("alarm clock")).map(str::to_owned).collect();
        assert_eq!(lines.len(), 2, "{out}");
        lines
    };
    assert_eq!(said(In::Virtual("1")), said(In::Native));
}
