//! What else tells times: processor time and usage, file times, times that the kernel keeps.

use runtime::agent::protocol::Call;

use crate::common::guests::{
    BOTH, In, Link, Running, c, command, folder, held, qcycle, run, sleep_ms,
};
use crate::exec::waits::{not_early, waits};

#[test]
fn processor_time_fits_the_clock_however_it_is_asked_for() {
    for place in [In::Native, In::Virtual("1"), In::Virtual("4"), In::Virtual("0.3")] {
        for link in [Link::Dynamic, Link::Static] {
            let printed = run(&mut command(place, c("times", link), &["processor", "20"]));
            assert_eq!((printed.out.as_str(), printed.end), ("", 0), "{place:?} {link:?}");
        }
    }
}

#[test]
fn computing_takes_no_processor_time_while_the_clock_stands() {
    let guest = c("times", Link::Dynamic);
    let mut guest = Running::start(In::Virtual("1"), "times-held", &guest, &["held"]).ready();
    guest.ask(Call::Hold);
    guest.say("compute");
    let lines: Vec<String> =
        std::iter::repeat_with(|| guest.line()).take_while(|line| line != "over").collect();
    guest.ask(Call::Release);
    guest.say("end");
    assert_eq!(lines.len(), 7);
    for line in lines {
        let (way, used) = line.rsplit_once(' ').unwrap();
        assert_eq!(used, "0", "{way}");
    }
    assert_eq!(guest.finish().end, 0);
}

#[test]
fn times_that_the_kernel_keeps_are_those_of_the_program() {
    for place in [In::Native, In::Virtual("1"), In::Virtual("3")] {
        for link in [Link::Dynamic, Link::Static] {
            let printed = run(&mut command(place, c("times", link), &["past"]));
            assert_eq!((printed.out.as_str(), printed.end), ("", 0), "{place:?} {link:?}");
        }
    }
    let mut elsewhen = qcycle(&["exec", "--start", "2001-09-09T01:46:40Z", "--"]);
    let printed = run(elsewhen.arg(c("times", Link::Dynamic)).arg("past"));
    assert_eq!((printed.out.as_str(), printed.end), ("", 0), "at another date");
    let touch = "touch t && stat -c %y t && rm t";
    let mut elsewhen = qcycle(&["exec", "--start", "2001-09-09T01:46:40Z", "--"]);
    let printed = run(elsewhen.current_dir(folder()).args(["sh", "-c", touch]));
    assert!(printed.out.starts_with("2001-09-0"), "{}", printed.out);
}

#[test]
fn a_child_says_how_long_it_took_of_the_time_that_has_passed() {
    let script = "import os, resource, time\n\
        begun = time.monotonic()\n\
        if os.fork() == 0:\n    \
            while time.process_time() < 0.02: pass\n    \
            os._exit(0)\n\
        _, _, usage = os.wait4(-1, 0)\n\
        used = usage.ru_utime + usage.ru_stime\n\
        print(0.0199 <= used <= time.monotonic() - begun)";
    for tdf in ["1", "5"] {
        let printed = run(&mut qcycle(&["exec", "--tdf", tdf, "--", "python3", "-c", script]));
        assert_eq!(printed.out, "True\n", "tdf {tdf}: {}", printed.err);
    }
}

/// Waits in vain of the guest `requeue`.
const FUTEXES: usize = 4;

#[test]
fn futexes_with_priority_inheritance_wait_and_wake_in_virtual_time() {
    for place in BOTH.into_iter().chain([In::Virtual("3"), In::Virtual("0.3")]) {
        for link in [Link::Dynamic, Link::Static] {
            let printed = run(&mut command(place, c("requeue", link), &["40"]));
            not_early(&format!("{place:?} {link:?}"), FUTEXES, &waits(&printed));
            for line in ["moved\t1", "requeued\twoken", "owned\t1", "before its time\t1"] {
                assert!(printed.out.contains(line), "{place:?} {link:?}: {}", printed.out);
            }
        }
    }
}

#[test]
fn a_hold_takes_none_of_the_deadline_of_a_requeued_futex() {
    let guest = c("requeue", Link::Dynamic);
    let guest = Running::start(In::Virtual("1"), "requeue-held", &guest, &["200"]).ready();
    held(&guest, || sleep_ms(300));
    not_early("held for 300 ms", FUTEXES, &waits(&guest.finish()));
}
