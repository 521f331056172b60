//! Programs whose use of signals the image must survive, natively and in virtual time alike.

use crate::harness::{BOTH, In, Link, c, command, go, run};

#[test]
fn what_programs_do_with_signals_has_the_same_outcome() {
    std::thread::scope(|scope| {
        for link in [Link::Dynamic, Link::Static] {
            let modes =
                ["blocked", "masked", "sigsys", "jumps", "cancel", "alternate", "nested", "wrong"];
            for mode in modes {
                scope.spawn(move || {
                    let [native, virtually] =
                        BOTH.map(|place| run(&mut command(place, c("guards", link), &[mode])));
                    assert_eq!(native, virtually, "{mode} {link:?}");
                    assert!(!native.out.is_empty());
                });
            }
        }
    });
}

/// docs/limitations.md: the image reads what a pointer points to as the program itself would.
#[test]
fn a_pointer_to_nowhere_is_an_error_of_the_call() {
    for place in BOTH {
        let printed = run(&mut command(place, c("guards", Link::Dynamic), &["pointer"]));
        assert_eq!((printed.out, printed.end), (format!("{}\n", libc::EFAULT), 0), "{place:?}");
    }
}

#[test]
fn goroutines_sleep_as_long_as_they_asked_while_the_runtime_preempts_them() {
    let Some(sleepers) = go("sleepers") else { return };
    for place in [In::Native, In::Virtual("1"), In::Virtual("0.5")] {
        let printed = run(&mut command(place, &sleepers, &[]));
        assert_eq!((printed.out.as_str(), printed.end), ("ok false\n", 0), "{place:?}");
    }
}
