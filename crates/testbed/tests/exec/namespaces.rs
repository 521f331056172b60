//! Time namespaces: what a process sees of its clocks in one of its own, natively and in virtual time.

use crate::common::guests::{In, Link, c, command, run};

const CHECKS: usize = 67;

#[test]
fn clocks_are_shifted_once_and_the_time_of_day_not_at_all() {
    for place in [In::Native, In::Virtual("1"), In::Virtual("3"), In::Virtual("0.3")] {
        let printed = run(&mut command(place, c("namespaces", Link::Dynamic), &[]));
        if printed.out.contains("not measured") {
            println!("{place:?}: {}", printed.out);
            continue;
        }
        let wrong: Vec<&str> =
            printed.out.lines().filter(|line| !line.ends_with(": yes")).collect();
        assert_eq!((wrong, printed.end), (Vec::<&str>::new(), 0), "{place:?}");
        assert_eq!(printed.out.lines().count(), CHECKS, "{place:?}: {}", printed.out);
    }
}
