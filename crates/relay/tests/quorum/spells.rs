//! How much later actions are under an attack: in one run, in which the attack comes and goes, so
//! that whatever else the machine does strikes both alike.
//!
//! `QCYCLE_ACTIONS=1000` makes all spells together so long, and prints figures worth reading.

use std::ops::Range;

use super::station::{Outcome, Station, number};

/// Actions with the attack, and as many without, unless more are asked for.
const ACTIONS: u64 = 30;
const SPELLS: u64 = 3;
/// How many times as long an action may take, at the median: an attack takes processor time from
/// everybody on the machine that it runs on. One that was held up by it would wait for ticks.
const HELD_UP_MAX: f64 = 5.0;

/// An action that takes so much longer is looked at: this much is what an attack may cost, in ms.
const LATE_MS: f64 = 1.0;

/// An attack that came and went.
#[derive(Debug)]
pub(crate) struct Spells {
    name: String,
    /// Gens of actions, without and with it.
    gens: [Vec<Range<u64>>; 2],
    /// What `qchostile` printed in each of its spells.
    pub(crate) said: Vec<String>,
}

impl Spells {
    /// Lets an attack come and go; the current steps already.
    pub(crate) fn of(name: &str, station: &mut Station, attack: &str) -> Self {
        let actions = std::env::var("QCYCLE_ACTIONS");
        let actions = actions.map_or(ACTIONS, |text| text.parse().expect("a number"));
        let mut spells = Self { name: name.into(), gens: [vec![], vec![]], said: vec![] };
        for _ in 0..SPELLS {
            spells.gens[0].push(wait(station, name, actions.div_ceil(SPELLS)));
            station.start_hostile(attack);
            spells.gens[1].push(wait(station, name, actions.div_ceil(SPELLS)));
            spells.said.push(station.end_hostile());
        }
        spells
    }

    /// Compares actions with those without the attack; the first step of the outcome was followed by
    /// the action with this gen.
    pub(crate) fn compare(&self, outcome: &Outcome, first: u64) {
        let acted = outcome.acted.iter().filter(|acted| number(acted, "gen") >= first);
        let mut found = [vec![], vec![]];
        for (step, acted) in outcome.steps.iter().zip(acted) {
            let generation = number(acted, "gen");
            let spell =
                self.gens.iter().position(|all| all.iter().any(|g| g.contains(&generation)));
            if let Some(spell) = spell {
                found[spell].push(number(step, "before_send_ns")..number(acted, "operated_ns"));
            }
        }
        let took_ms = |action: &Range<u64>| (action.end - action.start) as f64 / 1e6;
        found.iter_mut().for_each(|all| all.sort_by_key(|action| action.end - action.start));
        let [without, with] = [0, 1].map(|spell| took_ms(&found[spell][found[spell].len() / 2]));
        for (what, all) in ["without", "with"].into_iter().zip(&found) {
            let at = |share: f64| took_ms(&all[((all.len() - 1) as f64 * share).round() as usize]);
            let (name, count, half) = (&self.name, all.len(), at(0.5));
            let [most, last] = [at(0.99), at(1.0)];
            let mut late = [0; 3];
            for action in all.iter().filter(|action| took_ms(action) > without + LATE_MS) {
                let cause = why(action, took_ms(action) - without, outcome);
                late[cause as usize] += 1;
                eprintln!("{name}, {what}: {:.3} ms: {cause:?}", took_ms(action));
            }
            eprintln!(
                "{name}, {what}: {count} actions, median {half:.3}, 99 % {most:.3}, most {last:.3} ms; \
                 over the median without by {LATE_MS} ms: {} while the host had the cores, {} while \
                 others did, {} unexplained",
                late[Cause::Host as usize],
                late[Cause::Waiting as usize],
                late[Cause::Unexplained as usize],
            );
        }
        assert!(with < HELD_UP_MAX * without, "{}: {with} ms, else {without} ms", self.name);
    }
}

/// Why an action was late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    /// The host had the cores for at least half of it.
    Host,
    /// Parties waited for cores that others had, and the host, for at least half of it.
    Waiting,
    Unexplained,
}

/// Why an action was later by so much.
fn why(action: &Range<u64>, late_ms: f64, outcome: &Outcome) -> Cause {
    let half_ns = (late_ms * 1e6 / 2.0) as u64;
    let host = || outcome.stalls_of_host().iter();
    if length_within(action, host()) >= half_ns {
        Cause::Host
    } else if length_within(action, host().chain(&outcome.waited)) >= half_ns {
        Cause::Waiting
    } else {
        Cause::Unexplained
    }
}

/// How much of an action lies in any of these.
fn length_within<'s>(action: &Range<u64>, spans: impl Iterator<Item = &'s Range<u64>>) -> u64 {
    let cut = |span: &Range<u64>| span.start.max(action.start)..span.end.min(action.end);
    let mut spans: Vec<_> = spans.map(cut).filter(|span| !span.is_empty()).collect();
    spans.sort_by_key(|span| span.start);
    let (mut total_ns, mut seen_ns) = (0, 0);
    for span in spans {
        total_ns += span.end.saturating_sub(span.start.max(seen_ns));
        seen_ns = seen_ns.max(span.end);
    }
    total_ns
}

/// Waits for so many actions; those that are under way are not counted.
fn wait(station: &Station, name: &str, actions: u64) -> Range<u64> {
    let from = station.status().generation + 2;
    station.wait_for(name, |status| status.generation >= from + actions);
    from..from + actions
}

#[test]
fn what_is_lost_is_added_up_and_counted_once() {
    let spans = [0..150, 100..200, 300..350, 300..320, 900..2000, 5000..6000];
    assert_eq!(length_within(&(100..1000), spans.iter()), 100 + 50 + 100);
    assert_eq!(length_within(&(2000..5000), spans.iter()), 0);
}
