//! What clocks show.

use crate::common::guests::{In, Link, c, command, qcycle, run};

const NS_PER_S: i64 = 1_000_000_000;

fn realtime_ns(printed: &str) -> i64 {
    let line = printed.lines().find_map(|line| line.strip_prefix("realtime ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn all_clocks_agree_whichever_way_they_are_read() {
    for link in [Link::Dynamic, Link::Static] {
        for place in [In::Native, In::Virtual("1"), In::Virtual("3.7"), In::Virtual("0.1")] {
            let printed = run(&mut command(place, c("clocks", link), &[]));
            assert_eq!(printed.end, 0, "{place:?} {link:?}: {}", printed.out);
        }
    }
}

#[test]
fn the_time_of_day_starts_where_it_is_told_to() {
    let start = ["exec", "--start", "2001-09-09T01:46:40Z", "--"];
    let printed = run(qcycle(&start).arg(c("clocks", Link::Dynamic)));
    let shown = realtime_ns(&printed.out) - NS_PER_S * NS_PER_S;
    assert!((0..600 * NS_PER_S).contains(&shown), "{}", printed.out);
    let date = run(qcycle(&start).args(["date", "-u", "+%Y-%m-%d %H"]));
    assert_eq!(date.out, "2001-09-09 01\n");
    let python = ["python3", "-c", "import datetime as d; print(d.datetime.now(d.UTC).year)"];
    assert_eq!(run(qcycle(&start).args(python)).out, "2001\n");
}

#[test]
fn dilation_slows_and_hastens_all_clocks() {
    for (tdf, factor) in [("10", 10.0), ("0.5", 0.5)] {
        let started = std::time::Instant::now();
        let printed = run(&mut command(In::Virtual(tdf), c("clocks", Link::Dynamic), &["40"]));
        let host_ns = started.elapsed().as_nanos() as f64;
        assert_eq!(printed.end, 0, "{}", printed.out);
        for line in printed.out.lines().filter(|line| !line.starts_with("realtime")) {
            let (_, passed) = line.split_once(' ').unwrap();
            let passed = passed.parse::<f64>().unwrap();
            assert!(passed * factor <= host_ns, "tdf {tdf}: {line} in {host_ns} host ns");
            // Processor time passes no faster than any clock.
            assert!(passed >= 40e6, "tdf {tdf}: {line}");
        }
    }
}

#[test]
fn nobody_sets_a_clock() {
    let printed = run(&mut command(In::Virtual("1"), c("clocks", Link::Dynamic), &["set"]));
    assert!(printed.out.contains("settable 0 0"), "{}", printed.out);
}
