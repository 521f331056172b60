//! The conformance suite: each call that waits, sets a timer or reads a clock, by programs in
//! several languages, in each condition in which a program may be while it makes it. What comes
//! of a call is told in words (`guests/conformance`), natively and in virtual time; what differs
//! is shown in `docs/reference/conformance.md`, which is compared with what is found here.
//!
//! The words do not depend on how long things take on a busy machine: they say whether a wait was
//! early, what was said to be left, what a handler did to it, and how bad arguments are answered.

mod cells;
mod fuzz;
mod table;

use std::path::Path;
use std::sync::Mutex;

use crate::common::machine::beside_others;
use cells::{Cell, Findings, Language, Outcomes, Place};

/// Jobs at a time: they mostly wait.
const WORKERS: usize = 4;

#[test]
#[ignore = "long: a thousand programs"]
fn each_call_in_each_condition_is_as_the_table_says() {
    beside_others();
    let languages = Language::there();
    let mut findings = in_turns(cells::all(&languages, Place::Native), cells::natively);
    natively_nothing_is_wrong(&findings);
    let in_virtual_time = in_turns(cells::all(&languages, Place::Virtual), |cell| {
        cells::virtually(cell, &findings[&cell.like()])
    });
    findings.extend(in_virtual_time);

    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/conformance.md");
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    let table = table::markdown(&languages, &findings, &known);
    if std::env::var_os("QCYCLE_BLESS").is_some() {
        std::fs::write(&file, table).unwrap();
        return;
    }
    let differ = || table.lines().zip(known.lines()).filter(|(found, known)| found != known);
    for (found, known) in differ() {
        println!("found: {found}\nknown: {known}");
    }
    assert!(
        table == known,
        "docs/reference/conformance.md differs from the findings here; if these are right, write \
         it again: QCYCLE_BLESS=1 cargo test -p testbed conformance::each -- --ignored"
    );
}

/// Runs cells, some at a time.
fn in_turns(cells: Vec<Cell>, run: impl Fn(Cell) -> Outcomes + Sync) -> Findings {
    let cells = Mutex::new(cells.into_iter());
    let findings = Mutex::new(Findings::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(cell) = cells.lock().unwrap().next() else { return };
                    let outcomes = run(cell);
                    findings.lock().unwrap().insert(cell, outcomes);
                }
            });
        }
    });
    findings.into_inner().unwrap()
}

/// The assertions hold natively; else they would say nothing about virtual time.
fn natively_nothing_is_wrong(findings: &Findings) {
    for (cell, outcomes) in findings {
        let Cell { language, condition, .. } = cell;
        for ((call, phase), outcome) in outcomes {
            let wrong = ["early", "wrong", "too"].iter().any(|word| outcome.contains(word));
            assert!(!wrong, "natively, {language:?}, {condition:?}: {call}, {phase}: {outcome}");
        }
    }
}
