//! The page of what was measured.

use std::fmt::Write as _;

use crate::report::{Bar, Plan, Row, Section};
use crate::sets::{SIRS, Set, Shown};
use crate::suite::known;

const HEAD: &str = "# Type tests

Written by `make type-tests`; do not edit. A relay with ordinary settings is given sampled values and does
what its engine does in the field, once in a millisecond. The method is that of the functional standards of
IEC 60255; the cases are this project's own, and so are the claims: a **bar** says what is claimed, and
beside it stands the worst that was measured. What misses its bar is said. Nothing was measured on
hardware, and nobody has certified this.

Currents and voltages of faults are those of a line between two sources, solved exactly
(`crates/type-tests/src/circuit/mod.rs`); those of static tests are phasors that move slowly, as a test set
injects them.
";

const SETS_HEAD: &str = "\n## Distance and direction: drawn cases

Each case follows from a number: line of 1 to 64 ohm at 60 to 88 degrees, source to zone
impedance ratio (SIR) of 0.5 to 20, far source, load of -25 to 25 degrees, all kinds of faults in all
phases, any moment of inception, 50 and 60 Hz, mho or quadrilateral with a reach of 80 % of the line.
What is wrong: a zone 1 that operates for a fault more than 5 % beyond its reach, behind, or on load, or
that does not operate inside 95 % of it; a reverse zone that operates for a fault ahead; and a forward
directional overcurrent element (67) that operates for one behind.

";

/// The page: a section for each test, with its pictures in that folder, and for each set.
#[must_use]
pub fn page(sections: &[Section], sets: &[(Set, Shown)], plan: Plan, pictures: &str) -> String {
    let mut page = HEAD.to_owned();
    let share = match plan.one_of {
        1 => "All cases of each matrix were run".to_owned(),
        one_of => format!("One of {one_of} cases of each matrix was run"),
    };
    let _ = write!(page, "\n{share}, and {} of each kind that are drawn.\n\n", plan.cases);
    page.push_str("| function | claims | missed | cases |\n|---|---|---|---|\n");
    for section in sections {
        let missed = section.rows.iter().filter(|row| !row.missed.is_empty()).count();
        let (title, claims, cases) = (section.title, section.rows.len(), section.cases());
        let _ = writeln!(page, "| {title} | {claims} | {missed} | {cases} |");
    }
    for (set, shown) in sets {
        let cases: usize = shown.cases.values().sum();
        let missed = usize::from(!shown.wrong.is_empty());
        let _ = writeln!(page, "| Drawn cases, {} | 1 | {missed} | {cases} |", set.name);
    }
    for section in sections {
        write_section(&mut page, section, pictures);
    }
    if !sets.is_empty() {
        page.push_str(SETS_HEAD);
        write_sets(&mut page, sets);
    }
    page
}

fn write_section(page: &mut String, section: &Section, pictures: &str) {
    let Section { title, what, rows, pictures: shown, notes } = section;
    let _ = write!(
        page,
        "\n## {title}\n\n{what}\n\n| claim | cases | bar | median | worst | |\n|---|---|---|---|---|---|\n"
    );
    for row in rows {
        write_row(page, row);
    }
    for row in rows.iter().filter(|row| !row.missed.is_empty()) {
        let why = known(&row.what).map(|known| format!(" {}", known.why)).unwrap_or_default();
        let some: Vec<String> = row.missed.iter().take(2).map(|case| format!("`{case}`")).collect();
        let (what, missed, cases) = (&row.what, row.missed.len(), row.cases);
        let some = some.join("; ");
        let _ = write!(
            page,
            "\n**Missed** by {missed} of {cases} cases: {what}.{why} Such as {some}.\n"
        );
    }
    for picture in shown {
        let (name, caption) = (picture.name, picture.caption);
        let _ = write!(page, "\n![{caption}]({pictures}/{name}.svg)\n\n*{caption}*\n");
    }
    if !notes.is_empty() {
        let _ = write!(page, "\n{notes}");
    }
}

fn write_row(page: &mut String, row: &Row) {
    let figure = |value: f64| match value {
        _ if value.is_infinite() => "never".to_owned(),
        _ if value == 0.0 => "0".to_owned(),
        _ if value < 10.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    };
    let (bar, median, worst) = match row.bar {
        Bar::AllRight => ("all right".to_owned(), String::new(), format!("{} wrong", row.worst)),
        Bar::AtMost(most, unit) => {
            let median = row.median().map(figure).unwrap_or_default();
            (format!("{most} {unit}"), median, figure(row.worst))
        }
    };
    let met = if row.missed.is_empty() { "met" } else { "**missed**" };
    let _ = writeln!(page, "| {} | {} | {bar} | {median} | {worst} | {met} |", row.what, row.cases);
}

fn write_sets(page: &mut String, sets: &[(Set, Shown)]) {
    let _ = write!(
        page,
        "| set | cases | wrong | median, periods | largest, periods |\n|---|---|---|---|---|\n"
    );
    for (set, shown) in sets {
        let cases: usize = shown.cases.values().sum();
        let wrong: usize = shown.wrong.values().map(Vec::len).sum();
        let (median, max) = shown.median_and_max().unwrap_or((f64::NAN, f64::NAN));
        let _ = writeln!(
            page,
            "| {}: {} | {cases} | {wrong} | {median:.2} | {max:.2} |",
            set.name, set.what
        );
    }
    page.push_str(
        "\nPeriods to operation are of faults inside 70 % of the zone at a SIR of up to 6.\n",
    );
    for (set, shown) in sets {
        let _ = write!(
            page,
            "\n### {}\n\nPeriods to operation by place of the fault (share of the zone) and SIR: median / \
             largest.\n\n| SIR |",
            set.name
        );
        for tenth in 0..7 {
            let _ = write!(page, " {} to {} % |", tenth * 10, tenth * 10 + 10);
        }
        page.push_str("\n|---|---|---|---|---|---|---|---|\n");
        for group in 0..=SIRS.len() {
            let name = match group {
                0 => format!("up to {}", SIRS[0]),
                _ if group == SIRS.len() => format!("above {}", SIRS[group - 1]),
                _ => format!("{} to {}", SIRS[group - 1], SIRS[group]),
            };
            let _ = write!(page, "| {name} |");
            for tenth in 0..7 {
                match shown.periods.get(&(group, tenth)).map(Vec::as_slice) {
                    Some(all @ [.., max]) => {
                        let _ = write!(page, " {:.2} / {max:.2} |", all[all.len() / 2]);
                    }
                    _ => page.push_str(" |"),
                }
            }
            page.push('\n');
        }
        for (what, seeds) in &shown.wrong {
            let some: Vec<String> = seeds.iter().take(10).map(u64::to_string).collect();
            let _ = write!(
                page,
                "\nWrong: {what}, {} cases, such as {}.\n",
                seeds.len(),
                some.join(", ")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Picture;

    #[test]
    fn a_page_says_what_was_missed_and_shows_its_pictures() {
        let mut row = Row::new("time of it", Bar::AtMost(2.0, "periods"));
        row.measure(1.5, || unreachable!("it is met"));
        row.measure(f64::INFINITY, || "the second case".to_owned());
        let mut beside = Row::new("another", Bar::AllRight).beside();
        beside.judge(true, || unreachable!("it is right"));
        let picture =
            Picture { name: "drawn", caption: "What it is.", svg: "<svg></svg>".to_owned() };
        let section = Section {
            title: "A function",
            what: "What is tested.",
            rows: vec![row, beside],
            pictures: vec![picture],
            notes: "A note.\n".to_owned(),
        };
        let page = page(&[section], &[], Plan { one_of: 3, cases: 7 }, "folder");
        for line in [
            "One of 3 cases of each matrix was run, and 7 of each kind that are drawn.",
            "| A function | 2 | 1 | 2 |",
            "| time of it | 2 | 2 periods | never | never | **missed** |",
            "| another | 1 | all right |  | 0 wrong | met |",
            "**Missed** by 1 of 2 cases: time of it. Such as `the second case`.",
            "![What it is.](folder/drawn.svg)",
            "A note.",
        ] {
            assert!(page.lines().any(|each| each == line), "{line}\n{page}");
        }
    }
}
