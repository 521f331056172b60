//! Random calls with random arguments, natively and in virtual time: the same results, errors and
//! outputs, whichever of them the filter lets through, traps or reports (`guests/fuzz.c`).

use std::collections::BTreeMap;

use crate::common::guests::{In, Link, c, command, run};

const CALLS: &str = "1000";

/// How often a difference must show once more.
const REPEATS: usize = 5;

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
#[ignore = "long: thousands of random calls"]
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
        // What a busy machine does to a call it does now and then (whether a timer comes before a wait
        // or within it, say), and a difference is always there.
        let mut always: BTreeMap<u32, String> =
            different.into_iter().map(|(number, call)| (*number, call.clone())).collect();
        for _ in 0..REPEATS {
            let [native_again, again] =
                [In::Native, In::Virtual("1")].map(|place| calls(place, &seed));
            always.retain(|number, call| {
                let is_there = again[number] == *call && native_again[number] == native[number];
                if !is_there {
                    println!("now and then: seed {seed}, {number} {call}");
                }
                is_there
            });
            if always.is_empty() {
                break;
            }
        }
        differ.extend(always.iter().map(|(number, call)| {
            format!("seed {seed}, {number} {call}\n  natively {}", native[number])
        }));
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
