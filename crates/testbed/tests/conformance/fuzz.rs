//! Random calls with random arguments, natively and in virtual time: the same results, errors and
//! outputs, whichever of them the filter lets through, traps or reports (`guests/fuzz.c`).

use std::collections::BTreeMap;

use crate::harness::{In, Link, c, command, run};

const CALLS: &str = "1000";

/// `QCYCLE_FUZZ_SEEDS=from-to`, as `make fuzz-calls` sets it; a few without.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let Ok(wanted) = std::env::var("QCYCLE_FUZZ_SEEDS") else { return 1..=12 };
    let (from, to) = wanted.split_once('-').unwrap_or((&wanted, &wanted));
    from.parse().unwrap()..=to.parse().unwrap()
}

/// What each call of a seed came to, by its number.
fn calls(place: In, seed: &str) -> BTreeMap<u32, String> {
    let printed = run(&mut command(place, c("fuzz", Link::Dynamic), &[seed, CALLS]));
    assert_eq!(printed.end, 0, "{place:?}, seed {seed}: {}", printed.err);
    let lines = printed.out.lines().map(|line| line.split_once(' ').unwrap());
    let calls: BTreeMap<u32, String> =
        lines.map(|(number, call)| (number.parse().unwrap(), call.to_owned())).collect();
    assert_eq!(calls.len().to_string(), CALLS);
    calls
}

#[test]
fn fuzzed_calls_do_what_they_do_natively() {
    let mut differ = Vec::new();
    for seed in seeds() {
        let seed = seed.to_string();
        let native = calls(In::Native, &seed);
        let found = calls(In::Virtual("1"), &seed);
        let different = found.iter().filter(|(number, call)| native[number] != **call);
        let different: Vec<_> = different.collect();
        if different.is_empty() {
            continue;
        }
        // What a busy machine does to a call it does seldom, and a difference is always there.
        let [native_again, again] = [In::Native, In::Virtual("1")].map(|place| calls(place, &seed));
        for (number, call) in different {
            if again[number] == *call && native_again[number] == native[number] {
                differ.push(format!("seed {seed}, {number} {call}\n  natively {}", native[number]));
            } else {
                println!("seldom: seed {seed}, {number} {call}");
            }
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
