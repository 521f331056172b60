//! All type tests, in the order of the page, and what is known to miss its bar.

use std::sync::Mutex;

use crate::report::{Bar, Plan, Row, Section};
use crate::{differential, distance, frequency, locate, overcurrent, records, voltage};

/// A section by the name that the command line has for it.
pub type Test = (&'static str, fn(Plan) -> Section);

/// All tests of the standards, in the order of the page.
pub const TESTS: [Test; 15] = [
    ("characteristic", distance::characteristic::section),
    ("reach", distance::reach::section),
    ("speed", distance::speed::section),
    ("cvt-speed", distance::speed::cvt_section),
    ("evolving", distance::evolving::section),
    ("cross-country", distance::cross_country::section),
    ("closing", distance::closing::section),
    ("swing", distance::swing::section),
    ("voltage", voltage::section),
    ("overcurrent", overcurrent::section),
    ("inverse", overcurrent::inverse::section),
    ("frequency", frequency::section),
    ("differential", differential::section),
    ("records", records::section),
    ("locate", locate::section),
];

/// A claim that is known to miss its bar.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Known {
    /// The begin of its text.
    pub claim: &'static str,
    /// How far it misses at the most: a value in the unit of its bar, or the share of wrong cases with
    /// [`Bar::AllRight`]. What is measured, with some margin: what gets worse is news.
    pub most: f64,
    pub why: &'static str,
}

/// What is known to be missed; of two claims whose text begins so, both.
pub const KNOWN: [Known; 11] = [
    Known {
        claim: "one inside, one outside, to earth: operates",
        most: 0.09,
        why: "The loop between both phases happens to stand on the line, as that of a fault at one place.",
    },
    Known {
        claim: "one inside, one outside, to earth: in the phase inside alone",
        most: 0.05,
        why: "For the same reason the loop between both phases decides, which names both.",
    },
    Known {
        claim: "one inside, one outside, to earth: time",
        most: 10.0,
        why: "Behind capacitive transformers a loop to earth is exact enough only once they have stopped ringing.",
    },
    Known {
        claim: "both outside, to earth",
        most: 0.003,
        why: "Through resistances in both, what the loop between the phases sees in between may be in the zone.",
    },
    Known {
        claim: "both outside, of any kinds",
        most: 0.025,
        why: "For the same reason, of faults of several phases each, mostly one behind and one just beyond.",
    },
    Known {
        claim: "transformers on the line, fault of three phases",
        most: 1.0,
        why: "No voltage is left to compare with, and none is remembered: `switch_onto_fault` is for that.",
    },
    Known {
        claim: "fault of three phases at the terminals during a swing",
        most: 0.5,
        why: "No voltage is left to tell ahead from behind, and what the fault adds is not seen where a fast \
              swing changes the currents as much.",
    },
    Known {
        claim: "fault inside (30 %, up to 0.5 ohm) during a swing, delay of 0.3 s",
        most: 0.2,
        why: "Of three phases through a resistance, with a slip of 1 Hz or more, the loop moves too fast for one \
              that stands still; with 3 Hz the delay is not over before most faults to earth are lost again.",
    },
    Known {
        claim: "unbalanced fault during a swing",
        most: 0.85,
        why: "While the drop over the zone is in phase with the negative sequence current, a resistance looks \
              like a piece of line; it waits until the machines have moved on, with a slip of 0.3 Hz for long.",
    },
    Known {
        claim: "current that comes and goes, disc turns back",
        most: 23.0,
        why: "Each change takes a period to be measured, of pulses of five periods.",
    },
    Known {
        claim: "one phase alone, without through current",
        most: 55.0,
        why: "The zero sequence is taken out of each side, of a line's too: one phase counts two thirds.",
    },
];

/// What is known of a claim that is missed.
#[must_use]
pub fn known(claim: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| claim.starts_with(known.claim))
}

/// What is not known yet: claims that are missed, or further than they were. Of the whole suite also what
/// is said to be known and is not: the list is no place to forget a claim in.
#[must_use]
pub fn news(sections: &[Section], is_whole: bool) -> Vec<String> {
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let mut news: Vec<String> = rows().filter_map(row_news).collect();
    if is_whole {
        for known in &KNOWN {
            let mut claims = rows().filter(|row| row.what.starts_with(known.claim)).peekable();
            if claims.peek().is_none() {
                news.push(format!("{}: no claim begins so", known.claim));
            } else if claims.all(|row| row.missed.is_empty()) {
                news.push(format!("{}: is met, and said to be missed", known.claim));
            }
        }
    }
    news
}

fn row_news(row: &Row) -> Option<String> {
    let Row { what, cases, worst, missed, .. } = row;
    let first = missed.first()?;
    let such = format!("missed by {} of {cases}, worst {worst}, such as {first}", missed.len());
    let Some(known) = known(what) else { return Some(format!("{what}: {such}")) };
    let (is_worse, most) = match row.bar {
        Bar::AtMost(_, unit) => (*worst > known.most, format!("{} {unit}", known.most)),
        // Of few cases one more than their share may be among them.
        Bar::AllRight => (
            missed.len() > (known.most * *cases as f64).ceil() as usize,
            format!("{:.1} %", known.most * 100.0),
        ),
    };
    is_worse.then(|| format!("{what}: further than the known {most}: {such}"))
}

/// Runs tests, as many at once as there are processors; answers in the order of the tests.
///
/// # Panics
/// If a test does.
#[must_use]
pub fn run(tests: &[Test], plan: Plan, begun: impl Fn(&str) + Sync) -> Vec<Section> {
    let next = Mutex::new(tests.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let taken = next.lock().expect("nobody panics with it").next();
            let Some((number, (name, test))) = taken else { return };
            begun(name);
            let section = test(plan);
            done.lock().expect("nobody panics with it").push((number, section));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads.min(tests.len()) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, section)| section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(rows: Vec<Row>) -> Section {
        Section { title: "", what: "", rows, pictures: Vec::new(), notes: String::new() }
    }

    fn judged(claim: &str, wrong: usize, cases: usize) -> Row {
        let mut row = Row::new(claim, Bar::AllRight);
        for number in 0..cases {
            row.judge(number >= wrong, || number.to_string());
        }
        row
    }

    #[test]
    fn a_claim_that_is_missed_is_news_unless_it_is_known_and_no_worse() {
        let of = |row: Row| news(&[section(vec![row])], false).len();
        assert_eq!(of(judged("anything", 0, 10)), 0);
        assert_eq!(of(judged("anything", 1, 10)), 1);
        assert_eq!(of(judged(KNOWN[0].claim, 9, 100)), 0);
        assert_eq!(of(judged(KNOWN[0].claim, 10, 100)), 1);
        let seconds = |worst| {
            let mut row = Row::new("unbalanced fault during a swing: time", Bar::AtMost(0.5, "s"));
            row.measure(worst, || "a case".to_owned());
            row
        };
        assert_eq!((of(seconds(0.4)), of(seconds(0.8)), of(seconds(0.9))), (0, 0, 1));
        assert_eq!(of(seconds(f64::INFINITY)), 1);
    }

    #[test]
    fn of_the_whole_suite_what_is_known_has_to_be_there_and_to_be_missed() {
        let mut rows: Vec<Row> = KNOWN.iter().map(|known| judged(known.claim, 1, 40)).collect();
        assert_eq!(news(&[section(rows.clone())], true), [""; 0]);
        rows[0] = judged(KNOWN[0].claim, 0, 40);
        rows.pop();
        let all = news(&[section(rows.clone())], true);
        assert!(
            all.len() == 2 && all[0].contains("is met") && all[1].contains("no claim"),
            "{all:?}"
        );
        assert_eq!(news(&[section(rows)], false), [""; 0]);
    }
}
