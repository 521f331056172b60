//! All type tests, in the order of the page, and what is known to miss its bar.

use std::sync::Mutex;

use crate::report::{Plan, Section};
use crate::{differential, distance, frequency, overcurrent, records, voltage};

/// A section by the name that the command line has for it.
pub type Test = (&'static str, fn(Plan) -> Section);

/// All tests of matrices, in the order of the page.
pub const TESTS: [Test; 13] = [
    ("characteristic", distance::characteristic::section),
    ("reach", distance::reach::section),
    ("speed", distance::speed::section),
    ("cvt-speed", distance::speed::cvt_section),
    ("evolving", distance::evolving::section),
    ("closing", distance::closing::section),
    ("swing", distance::swing::section),
    ("voltage", voltage::section),
    ("overcurrent", overcurrent::section),
    ("inverse", overcurrent::inverse::section),
    ("frequency", frequency::section),
    ("differential", differential::section),
    ("records", records::section),
];

/// Claims that are missed, by the begin of their text, and why.
pub const KNOWN: [(&str, &str); 7] = [
    (
        "from behind to inside in another phase",
        "Two faults to earth in different phases look like one between both, and the loop to earth of \
         the one inside is not looked at while the other lasts.",
    ),
    ("from beyond to inside in another phase", "For the same reason."),
    (
        "transformers on the line, fault of three phases",
        "No voltage is left to compare with, and none is remembered: `switch_onto_fault` is for that.",
    ),
    (
        "fault of three phases at the terminals during a swing",
        "No voltage is left to tell ahead from behind, and what the fault adds is not seen where a fast swing \
         changes the currents as much.",
    ),
    (
        "unbalanced fault during a swing",
        "While the drop over the zone is in phase with the negative sequence current, a resistance looks \
         like a piece of line; it waits until the machines have moved on, with a slip of 0.3 Hz for long.",
    ),
    (
        "current that comes and goes, disc turns back",
        "Each change takes a period to be measured, of pulses of five periods.",
    ),
    (
        "one phase alone, without through current",
        "The zero sequence is taken out of each side, of a line's too: one phase counts two thirds.",
    ),
];

/// Why a claim is missed, if that is known.
#[must_use]
pub fn known(what: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(begin, _)| what.starts_with(begin)).map(|(_, why)| *why)
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
