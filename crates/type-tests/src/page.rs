//! The page of what the sets have shown.

use std::fmt::Write as _;

use crate::sets::{SIRS, Set, Shown};

const HEAD: &str = "# Type tests of zone 1 and direction

Written by `make type-tests`; do not edit. A line between two sources (`crates/type-tests/src/line.rs`,
solved exactly) makes currents and voltages; a relay with ordinary settings is given them as sampled
values. Each case follows from a number: line of 1 to 64 ohm at 60 to 88 degrees, source to zone
impedance ratio (SIR) of 0.5 to 20, far source, load of -25 to 25 degrees, all kinds of faults in all
phases, any moment of inception, 50 and 60 Hz, mho or quadrilateral with a reach of 80 % of the line.
What is wrong: a zone 1 that operates for a fault more than 5 % beyond its reach, behind, or on load, or
that does not operate inside 95 % of it; a reverse zone that operates for a fault ahead; and a forward
directional overcurrent element (67) that operates for one behind. The method is that of IEC 60255-121;
the cases are this project's own.

";

/// The page, with a section for each set.
#[must_use]
pub fn page(sets: &[(Set, Shown)]) -> String {
    let mut page = HEAD.to_owned();
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
            "\n## {}\n\nPeriods to operation by place of the fault (share of the zone) and SIR: median / \
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
    page
}
