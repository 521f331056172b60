//! What it costs to jump from one moment to the next at which a program wakes up, by the number of programs that
//! sleep, with `pace: skip` and `pace: events`; and the same with all of them on one processor, which needs no interrupt
//! to wake another one.
//!
//! Prints a table and writes `target/bench-jumps.json`, as the bench `clock` does; `--tiny` is for tests, and
//! `--page` puts the table into the page that explains it.

#[path = "../clock/figures.rs"]
#[allow(dead_code, reason = "comparisons in pairs are the other bench's")]
mod figures;
#[path = "../guests/gcc.rs"]
mod gcc;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use figures::{Figure, of_samples, table};

/// Numbers of programs, how often all of them together wake up, and how often that is measured.
struct Size {
    programs: &'static [usize],
    wakes: usize,
    times: usize,
}

const TINY: Size = Size { programs: &[2, 4], wakes: 40, times: 1 };
const FULL: Size = Size { programs: &[1, 2, 16, 100, 1000], wakes: 20_000, times: 3 };

/// How the time passes, and on which processors, in the columns of the page.
const COLUMNS: [(&str, bool); 4] =
    [("skip", false), ("skip", true), ("events", false), ("events", true)];
const PAGE: &str = "../../docs/internals/pace.md";
/// Where the table stands in the page.
const BEGIN: &str = "<!-- cargo bench -p testbed --bench jumps -- --page -->\n";
const END: &str = "<!-- end -->\n";

fn main() -> Result<()> {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    let is_tiny = has("--tiny");
    let size = if is_tiny { &TINY } else { &FULL };
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let guest = gcc::build(scratch, "jumps", "sleepers")?;
    let mut figures = Vec::new();
    for programs in size.programs {
        eprintln!("bench: {programs} programs that sleep");
        for (pace, on_one) in COLUMNS {
            let words = if on_one { ", on one processor" } else { "" };
            let name = format!("{programs} programs, a wake-up, {pace}{words}");
            figures.push(wake_up(name, (pace, on_one), &guest, (*programs, size))?);
        }
    }
    print!("{}", table(&figures));
    let file = if is_tiny {
        scratch.join("bench-jumps-tiny.json")
    } else {
        scratch.with_file_name("bench-jumps.json")
    };
    if has("--page") {
        write_page(size, &figures)?;
    }
    let json = serde_json::to_string_pretty(&figures)? + "\n";
    std::fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))
}

/// Wall time for each wake-up, µs, without what it takes to start and to end the programs.
fn wake_up(
    name: String,
    how: (&str, bool),
    guest: &Path,
    (programs, size): (usize, &Size),
) -> Result<Figure> {
    let each = size.wakes.div_ceil(programs);
    let mut samples = Vec::new();
    for _ in 0..size.times {
        let short_s = run(how, guest, programs, 1)?;
        let long_s = run(how, guest, programs, 1 + each)?;
        samples.push((long_s - short_s) * 1e6 / (each * programs) as f64);
    }
    of_samples(name, "µs", &samples).context("nothing was measured")
}

/// Seconds of wall time until all programs have woken up so often each.
fn run((pace, on_one): (&str, bool), guest: &Path, programs: usize, times: usize) -> Result<f64> {
    let prefix: &[&str] = if on_one { &["taskset", "--cpu-list", "0"] } else { &[] };
    let words =
        prefix.iter().copied().chain([env!("CARGO_BIN_EXE_qcycle"), "exec", "--pace", pace]);
    let words: Vec<_> = words.chain(["--"]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).arg(guest).args([programs, times].map(|number| number.to_string()));
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(begun.elapsed().as_secs_f64())
}

/// Puts medians into the page, with how many wake-ups a second that is.
fn write_page(size: &Size, figures: &[Figure]) -> Result<()> {
    let mut rows =
        "| programs | `skip` | `skip`, one processor | `events` | `events`, one processor |\n\
                    |---:|---:|---:|---:|---:|\n"
            .to_owned();
    for (programs, row) in size.programs.iter().zip(figures.chunks(COLUMNS.len())) {
        write!(rows, "| {programs} |")?;
        for figure in row {
            write!(rows, " {:.0} µs, {:.0} |", figure.median, 1e6 / figure.median)?;
        }
        rows.push('\n');
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = std::fs::read_to_string(&page)?;
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) =
        parts.with_context(|| format!("{} has no place for it", page.display()))?;
    Ok(std::fs::write(page, [before, BEGIN, &rows, END, after].concat())?)
}
