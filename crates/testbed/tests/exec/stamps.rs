//! Stamps that the kernel gives to what sockets receive and send: they are those of the program's
//! clock, whatever happens to it until the program looks.

use runtime::agent::protocol::Call;

use crate::common::guests::{In, Link, Running, c, command, held, is_there, qcycle, run, sleep_ms};

const KINDS: usize = 8;
/// `SO_TIMESTAMP` is cut off to microseconds, and the host's time of day is converted to a part of
/// one.
const OFF_NS: &str = "2000";

#[test]
fn stamps_lie_between_two_readings_of_the_clock() {
    for (place, off) in [
        (In::Native, OFF_NS),
        (In::Virtual("1"), OFF_NS),
        (In::Virtual("3.7"), OFF_NS),
        // A microsecond of the host, to which SO_TIMESTAMP is cut off, is ten of the program's.
        (In::Virtual("0.1"), "20000"),
    ] {
        for link in [Link::Dynamic, Link::Static] {
            let printed = run(&mut command(place, c("stamps", link), &[off]));
            assert_eq!(printed.end, 0, "{place:?} {link:?}: {}", printed.out);
            assert_eq!(printed.out.lines().count(), KINDS);
        }
    }
    let mut elsewhen = qcycle(&["exec", "--start", "2001-09-09T01:46:40Z", "--tdf", "2", "--"]);
    let printed = run(elsewhen.arg(c("stamps", Link::Dynamic)).arg(OFF_NS));
    assert_eq!(printed.end, 0, "at another date: {}", printed.out);
}

#[test]
fn a_stamp_is_that_of_its_moment_though_the_clock_was_held_and_dilated_since() {
    let guest = c("stamps", Link::Dynamic);
    let mut guest = Running::start(In::Virtual("1"), "stamps-later", &guest, &[OFF_NS, "later"]);
    assert_eq!(guest.line(), "sent");
    guest.ask(Call::Dilate { tdf: "5".into() });
    sleep_ms(20);
    for _ in 0..10 {
        held(&guest, || sleep_ms(3));
    }
    guest.ask(Call::Dilate { tdf: "0.5".into() });
    sleep_ms(20);
    guest.say("look");
    let printed = guest.finish();
    assert_eq!(printed.end, 0, "{}", printed.out);
}

/// A ping takes the difference of a stamp and its own clock for the way of the packet.
#[test]
fn a_ping_comes_back_as_fast_as_it_does() {
    if !is_there("ping") {
        return;
    }
    let ping = ["ping", "-c", "3", "-i", "0.2", "127.0.0.1"];
    if run(std::process::Command::new(ping[0]).args(&ping[1..])).end != 0 {
        println!("not measured: `ping` may not open its socket here");
        return;
    }
    for tdf in ["1", "2", "0.5"] {
        let started = std::time::Instant::now();
        let printed = run(qcycle(&["exec", "--tdf", tdf, "--"]).args(ping));
        let host_ms = started.elapsed().as_secs_f64() * 1e3;
        assert_eq!(printed.end, 0, "tdf {tdf}: {}{}", printed.out, printed.err);
        let times: Vec<f64> = printed
            .out
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("time=")?.parse().ok())
            .collect();
        assert_eq!(times.len(), 3, "tdf {tdf}: {}", printed.out);
        println!("tdf {tdf}: round trips of {times:?} ms");
        // What is left of the whole command besides the two pauses between its pings.
        let tdf: f64 = tdf.parse().unwrap();
        let left_ms = host_ms / tdf - 400.0;
        assert!(times.iter().all(|time| *time < left_ms), "{times:?} ms of {left_ms} ms");
        assert!(!printed.out.contains("time of day goes back"), "{}", printed.out);
    }
}
