//! Who had a core during a time, from the switches of that core.

use std::collections::BTreeMap;

use crate::clock::HostTime;
use crate::sys::switches::Switch;

/// The idle task of a core.
pub(crate) const IDLE: i32 = 0;

/// How long, in ns, each task had the core from `begin` to `end`, as far as the switches go back: who
/// had it before the first one, and since when, is not known.
pub(crate) fn occupants(switches: &[Switch], begin: HostTime, end: HostTime) -> BTreeMap<i32, i64> {
    let mut occupants = BTreeMap::new();
    let ends = switches.iter().skip(1).map(|switch| switch.at).chain([HostTime::MAX]);
    for (switch, until) in switches.iter().zip(ends) {
        let ns = (until.min(end) - switch.at.max(begin)).as_ns();
        if ns > 0 {
            *occupants.entry(switch.to).or_insert(0) += ns;
        }
    }
    occupants
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn switch(at_ns: i64, from: i32, to: i32) -> Switch {
        Switch { at: HostTime::from_ns(at_ns), from, to }
    }

    fn within(switches: &[Switch], begin_ns: i64, end_ns: i64) -> BTreeMap<i32, i64> {
        occupants(switches, HostTime::from_ns(begin_ns), HostTime::from_ns(end_ns))
    }

    #[test]
    fn a_time_is_divided_among_those_who_had_the_core() {
        let switches = [switch(50, 9, IDLE), switch(100, IDLE, 7), switch(180, 7, 8)];
        let of = |begin, end| within(&switches, begin, end);
        assert_eq!(of(90, 200), BTreeMap::from([(IDLE, 10), (7, 80), (8, 20)]));
        assert_eq!(of(110, 120), BTreeMap::from([(7, 10)]));
        assert_eq!(of(190, 200), BTreeMap::from([(8, 10)]));
        // What was before the first record is nobody's.
        assert_eq!(of(40, 60), BTreeMap::from([(IDLE, 10)]));
        assert_eq!(within(&[], 0, 10), BTreeMap::new());
    }

    proptest! {
        #[test]
        fn all_time_since_the_first_switch_is_given_away_once(
            mut times in proptest::collection::vec(0i64..1000, 1..30),
            begin in 0i64..1000,
            length in 1i64..1000,
        ) {
            times.sort_unstable();
            let switches: Vec<Switch> = times
                .iter()
                .enumerate()
                .map(|(i, at_ns)| switch(*at_ns, i as i32 % 3, (i as i32 + 1) % 3))
                .collect();
            let sum: i64 = within(&switches, begin, begin + length).values().sum();
            prop_assert_eq!(sum, (begin + length - begin.max(times[0])).max(0));
        }
    }
}
