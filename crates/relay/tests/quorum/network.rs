//! An intruder on the network, without keys: it floods, under the address of a correct node, and sends
//! again what it has heard. No decision changes, and honest ones are not held up.

use super::spells::Spells;
use super::station::{Station, number};

#[test]
#[ignore = "long: a station of relays"]
fn a_flood_without_keys_changes_nothing_and_holds_nobody_up() {
    for (name, mut station) in Station::of_both("flood") {
        station.measure();
        station.start(&[0, 1, 2, 3]);
        let attack = "flood --from 127.0.0.1:7401 --to 127.0.0.1:7404 --sender 1 --recipient 4 \
                      --rate 100000";
        let steps = station.start_steps(u64::MAX);
        let spells = Spells::of(&name, &mut station, attack);
        eprintln!("{name}: datagrams in each spell: {}", spells.said.join(", "));
        let outcome = station.conclude(&steps.end());
        outcome.check_each(2);
        spells.compare(&outcome, 1);
        let datagrams = &outcome.breaker["datagrams"];
        assert!(number(datagrams, "wrong_tag") > 1000, "{datagrams}");
    }
}

#[test]
#[ignore = "long: a station of relays"]
fn a_recording_of_a_whole_run_is_worth_nothing() {
    for (name, mut station) in Station::of_both("replay") {
        station.start_hostile("record lo recording");
        station.start(&[0, 1, 2, 3]);
        assert!(station.start_steps(4).finish().status.success());
        let recorded: u64 = station.end_hostile().parse().expect("a count");
        assert!(recorded > 20, "{recorded}");
        // The same station goes on, with its own past as noise.
        let before = station.status().generation;
        assert_eq!(before, 4);
        let steps = station.start_steps(u64::MAX);
        let attack = "replay recording --rate 5000";
        let spells = Spells::of(&name, &mut station, attack);
        let mut outcome = station.conclude(&steps.end());
        outcome.acted.drain(..before as usize);
        outcome.check_each(2);
        spells.compare(&outcome, before + 1);
        let datagrams = &outcome.breaker["datagrams"];
        assert!(number(datagrams, "replayed") > 0, "{datagrams}");
    }
}
