//! The page of what was measured: every figure in it is one of the results.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use report_kit::figure::{count_text, figure};
use report_kit::outcome::Outcome;

use crate::measured::{Results, Row};
use crate::{case, frames, holds, picture, skew, throughput, word};

const ROOT: &str = "../..";
const PAGE: &str = "docs/reference/hosts-bench.md";
const PICTURE: &str = "docs/images/hosts-bench.svg";

const HEAD: &str = "# Several hosts, measured

Written by `make bench-hosts PAGE=--page`; do not edit. The hosts are network namespaces of one machine with an sshd each, so all
share its processors and its clock: what more machines would do at the same time is done in turn here, and what their clocks and
networks differ by is not shown. Beside it stands what Hannon et al. published of four boards [1], where that is comparable.

";
const SOURCE: &str = "\n1. Hannon, Yan, Liu, Jin: A Distributed Virtual Time System on Embedded Linux for Evaluating Cyber-Physical Systems,
   SIGSIM-PADS 2019.
";

/// Parts of the page: which rows, title and what they are.
const SECTIONS: [(&str, &str, &str); 6] = [
    (
        word::PART,
        "What the host itself takes",
        "A word of 64 octets over TCP between two programs in two namespaces, without virtual time, before all else and after it. A hold needs such a \
         journey to each host, and one back from it.",
    ),
    (
        holds::PART,
        "Hold and release",
        "From the request on the public socket of one host to its answer, which comes once all clocks stand. A clock that runs is \
         told to stop 80 µs ahead, so that all can stop at the same nanosecond without going back. For the release: to its answer, and \
         until the agents of all hosts have said that their clocks are further. Programs wait; `pace: real`; each host holds in turn; a frame \
         between two hosts needs 20 ms.",
    ),
    (
        skew::PART,
        "One nanosecond",
        "Four hosts, of which two exchange datagrams meanwhile. Another host holds each time, and each fourth time all of them do at \
         once. In each hold the agents of all hosts are asked for their time, twice.",
    ),
    (
        frames::PART,
        "Frames",
        "Datagrams from a node on one host to one on another with `pace: events`, in bunches of 1 to 19, 0.1 to 1.9 ms apart. Each \
         has the virtual time at which it is sent; who receives it compares.",
    ),
    (
        throughput::PART,
        "TCP",
        "iperf3 from a node on one host to one on another, with `pace: real`, undisturbed and held again and again. What was \
         published is over real Ethernet between boards; here the link is a simulated one with a rate, so only the difference is \
         comparable.",
    ),
    (
        case::PART,
        "A case over four hosts",
        "The [voltage-stability case](../../scenarios/voltage-stability/README.md), 90 s and 3 s before them: sensor and controller on a \
         host each, two switches between them on two others, so that each frame passes through all four. Beside it the same on one \
         host. Preparing the run and concluding it are not counted.",
    ),
];

pub(crate) fn write(results: &Results) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(ROOT);
    let files = [(PAGE, page(results)?), (PICTURE, picture::draw(results))];
    for (file, text) in files {
        let file = root.join(file);
        std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn page(results: &Results) -> Result<String> {
    let mut page = HEAD.to_owned();
    let outcomes = |wanted| results.rows.iter().filter(|row| row.outcome == Some(wanted)).count();
    let [met, missed, not] = [Outcome::Met, Outcome::Missed, Outcome::NotMeasured].map(outcomes);
    writeln!(page, "Bars: {met} met, {missed} missed; {not} not measured.\n")?;
    writeln!(
        page,
        "![Hold, release and wall time by number of hosts and programs, with bars and published figures](../images/hosts-bench.svg)"
    )?;
    for (part, title, what) in SECTIONS {
        let rows: Vec<&Row> = results.rows.iter().filter(|row| row.part == part).collect();
        if rows.is_empty() {
            continue;
        }
        write!(page, "\n## {title}\n\n{what}\n\n")?;
        writeln!(
            page,
            "| | hosts | programs | value | p95 | p99 | max | of | bar | | published [1] |"
        )?;
        writeln!(page, "|---|--:|--:|--:|--:|--:|--:|--:|--:|---|---|")?;
        for row in rows {
            writeln!(page, "{}", line(row))?;
        }
    }
    page.push_str(SOURCE);
    let machine = &results.machine;
    let gib = machine.memory_bytes as f64 / f64::from(1 << 30);
    writeln!(
        page,
        "\nMeasured {} on {}, {} cores, {gib:.1} GiB, Linux {}, clock source {}.",
        results.begun.split('T').next().unwrap_or_default(),
        machine.cpu_model,
        machine.cores,
        machine.kernel,
        machine.clock_source
    )?;
    let load = results.load_before;
    writeln!(page, "In the minute before it {load} threads wanted a processor.")?;
    Ok(page)
}

fn line(row: &Row) -> String {
    let number =
        |value: Option<usize>| value.filter(|value| *value > 0).map(|value| value.to_string());
    let value = row.value.map(|value| format!("{} {}", short(value), row.unit).trim().to_owned());
    let spread = row.spread.map(|spread| {
        [short(spread.p95), short(spread.p99), short(spread.max), count_text(spread.count as u64)]
    });
    let bar = row.bar.map(|bar| format!("≤ {} {}", figure(bar), row.unit).trim().to_owned());
    let outcome = row.outcome.map(Outcome::words).unwrap_or_default();
    let published = row
        .published
        .as_ref()
        .map(|one| format!("{} {}: {}; {}", figure(one.value), one.unit, one.quantity, one.note));
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!(" ({})", row.note.replace(['|', '\n'], " "))
    };
    let mut cells = vec![format!("{}{note}", row.name)];
    cells.extend([number(row.hosts), number(row.programs), value].map(Option::unwrap_or_default));
    cells.extend(spread.unwrap_or_default());
    cells.extend([bar.unwrap_or_default(), outcome.to_owned(), published.unwrap_or_default()]);
    format!("| {} |", cells.join(" | "))
}

/// A measured number, with as many digits as say something.
fn short(value: f64) -> String {
    match value {
        _ if value == value.trunc() => count_text(value as u64),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
