//! Timeouts of sockets: never early, whatever happens to the clock meanwhile, and in all else as
//! natively.

use runtime::agent::protocol::Call;

use crate::common::guests::{BOTH, In, Link, Running, c, command, held, run, sleep_ms};
use crate::exec::waits::{not_early, waits};

const CALLS: usize = 15;

fn start(place: In, name: &str, link: Link, ms: &str) -> Running {
    Running::start(place, name, &c("sockets", link), &["plain", ms]).ready()
}

#[test]
fn a_timeout_of_a_socket_lasts_as_long_as_asked() {
    for place in [In::Native, In::Virtual("1"), In::Virtual("2"), In::Virtual("0.2")] {
        for link in [Link::Dynamic, Link::Static] {
            let guest = start(place, "sockets-plain", link, "60");
            not_early(&format!("{place:?} {link:?}"), CALLS, &waits(&guest.finish()));
        }
    }
}

#[test]
fn a_hold_in_the_middle_takes_none_of_a_timeout() {
    let guest = start(In::Virtual("1"), "sockets-held", Link::Dynamic, "300");
    held(&guest, || sleep_ms(400));
    not_early("held for 400 ms", CALLS, &waits(&guest.finish()));
}

#[test]
fn a_rate_that_changes_in_the_middle_makes_no_timeout_early() {
    let guest = start(In::Virtual("1"), "sockets-dilated", Link::Dynamic, "400");
    guest.ask(Call::Dilate { tdf: "4".into() });
    sleep_ms(200);
    guest.ask(Call::Dilate { tdf: "1".into() });
    not_early("tdf 1, then 4, then 1", CALLS, &waits(&guest.finish()));
}

#[test]
fn calls_on_sockets_with_a_timeout_do_what_they_do_natively() {
    for arguments in [&["rest"][..], &["child", "40"]] {
        for link in [Link::Dynamic, Link::Static] {
            let [native, virtually] =
                BOTH.map(|place| run(&mut command(place, c("sockets", link), arguments)));
            assert_eq!(native, virtually, "{arguments:?} {link:?}");
            assert!(!native.out.is_empty());
        }
    }
}

#[test]
fn no_call_on_a_socket_waits_on_host_time() {
    let mut guest = start(In::Virtual("1"), "sockets-counted", Link::Dynamic, "200");
    let calls = guest.ask(Call::Status).unwrap().calls;
    assert_eq!(calls.get("host-wait").copied().unwrap_or(0), 0, "{calls:?}");
    assert!(calls["socket"] > 0, "{calls:?}");
    assert_eq!(guest.line().split('\t').next(), Some("read"));
}
