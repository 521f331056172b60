//! What was found, as a page of the reference.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::conformance::cells::{Cell, Condition, Findings, Language, Outcomes, Place};

const HEAD: &str = "\
# Conformance

What calls do in virtual time that they do not do natively. This page is written by the test that
makes them, and compared with what it finds in every run of `make test-long`; to regenerate it:

```
QCYCLE_BLESS=1 cargo test -p testbed conformance::each -- --ignored
```

Each row is a call; a clock behind it is the one that it is about, `ABSTIME` means an absolute time,
and \"by call\" a system call instead of the function of the vDSO. Each column is a condition in which
it is made:

| Column | The call is made |
|---|---|
| plain | by a program that was just started |
| held 300 ms | and in the middle the clock is held once for 300 ms |
| held 50 × 5 ms | and in the middle the clock is held 50 times for 5 ms |
| rate changed | and in the middle the time dilation factor is 3, then 0.5, then 1 again |
| exec | by a program that another one in virtual time has become |
| fork | by a child of `fork` |
| vfork | by a child that has the memory of its waiting parent |
| thread | by another thread than the first |
";

const SIGNS: &str = "
`✓` means the same as natively in all that is looked at: a wait in vain (`timeout`: what it answers,
that it is not early, and what it says to be left), one that gets what it waits for (`woken`), one
during which handlers run that were installed without and with `SA_RESTART` (`interrupted`,
`restarted`), wrong and no times (`refused`: too many and negative nanoseconds, negative seconds, an
address of nothing, zero), and for clocks that they get on as `CLOCK_MONOTONIC` does (`read`). How
late a wait ends is not looked at: that depends on the machine. What differs is looked at three
times, and is a difference if it differs each time; the test prints the others. A number means a difference, told
below. `–` means that the language has no way to make the call, or not in that condition. In Go and
CPython only `timeout`, `woken` and `read` are looked at: handlers there are the runtime's business.
";

/// The page. Rows of calls that this kernel does not have are taken from the page as it is known.
pub(crate) fn markdown(languages: &[Language], findings: &Findings, known: &str) -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\nIn each cell is a sign for each language, in this order: ");
    let names: Vec<&str> = languages.iter().map(|language| language.name()).collect();
    let _ = writeln!(page, "{}.", names.join("; "));
    page.push_str(SIGNS);
    page.push_str("\n| Call |");
    for (_, title, _) in Condition::ALL {
        let _ = write!(page, " {title} |");
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(Condition::ALL.len()));
    page.push('\n');
    let mut notes = Notes::default();
    for call in calls(languages) {
        let known_row = known.lines().find(|line| line.starts_with(&format!("| {call} |")));
        if let Some(row) = known_row.filter(|_| is_missing(findings, &call)) {
            println!("not measured: this kernel has no {call}");
            let _ = writeln!(page, "{row}");
            continue;
        }
        let _ = write!(page, "| {call} |");
        for (condition, ..) in Condition::ALL {
            let signs = languages.iter().map(|language| {
                let differences = differences(findings, *language, condition, &call);
                differences.map_or("–".to_owned(), |differences| notes.sign(&differences))
            });
            let signs: Vec<String> = signs.collect();
            let _ = write!(page, " {} |", signs.join(" "));
        }
        page.push('\n');
    }
    page.push_str("\n## Differences\n\n");
    for note in notes.in_order() {
        let _ = writeln!(page, "{note}");
    }
    page
}

/// All calls of all languages, in the order of the first that has them.
fn calls(languages: &[Language]) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    for language in languages {
        for (call, _) in language.calls() {
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
    }
    calls
}

fn is_missing(findings: &Findings, call: &str) -> bool {
    let native = findings.iter().filter(|(cell, _)| cell.place == Place::Native);
    let mut outcomes = native.flat_map(|(_, outcomes)| of(outcomes, call));
    outcomes.any(|(_, outcome)| outcome.contains("ENOSYS"))
}

fn of<'o>(outcomes: &'o Outcomes, call: &str) -> impl Iterator<Item = (&'o str, &'o str)> {
    let of_call = outcomes.iter().filter(move |((name, _), _)| name == call);
    of_call
        .map(|((_, phase), outcome)| (phase.as_str(), outcome.as_str()))
        .collect::<Vec<_>>()
        .into_iter()
}

/// What differs; `None` where the call is not made.
fn differences(
    findings: &Findings,
    language: Language,
    condition: Condition,
    call: &str,
) -> Option<Vec<String>> {
    let cell = Cell { language, condition, place: Place::Virtual };
    let found = findings.get(&cell)?;
    let native: BTreeMap<&str, &str> = of(&findings[&cell.like()], call).collect();
    let mut differences = Vec::new();
    let mut there = false;
    for (phase, outcome) in of(found, call) {
        there = true;
        let native = native.get(phase)?;
        if outcome != *native {
            differences.push(format!("{phase}: {outcome}; natively: {native}"));
        }
    }
    there.then_some(differences)
}

/// Differences by number, in the order in which they come up.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn sign(&mut self, differences: &[String]) -> String {
        if differences.is_empty() {
            return "✓".to_owned();
        }
        let numbers = differences.iter().map(|difference| {
            let known = self.0.iter().position(|note| note == difference);
            let index = known.unwrap_or_else(|| {
                self.0.push(difference.clone());
                self.0.len() - 1
            });
            (index + 1).to_string()
        });
        numbers.collect::<Vec<_>>().join(",")
    }

    fn in_order(&self) -> Vec<String> {
        if self.0.is_empty() {
            return vec!["None.".to_owned()];
        }
        self.0.iter().enumerate().map(|(index, note)| format!("{}. {note}", index + 1)).collect()
    }
}
