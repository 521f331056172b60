//! What it costs to jump from one moment to the next at which a program wakes up, by the number of programs that
//! sleep, with `pace: skip` and `pace: events`; and the same with all of them on one processor, which needs no interrupt
//! to wake another one.
//!
//! Prints a table and writes `target/bench-jumps.json`, as the bench `clock` does; `--tiny` is for tests.

#[path = "../clock/figures.rs"]
#[allow(dead_code, reason = "comparisons in pairs are the other bench's")]
mod figures;

use std::io::Write as _;
use std::path::{Path, PathBuf};
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

fn main() -> Result<()> {
    let is_tiny = std::env::args().any(|argument| argument == "--tiny");
    let size = if is_tiny { &TINY } else { &FULL };
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let guest = build(scratch)?;
    let mut figures = Vec::new();
    for programs in size.programs {
        eprintln!("bench: {programs} programs that sleep");
        for pace in ["skip", "events"] {
            for (words, prefix) in
                [("", &[][..]), (", on one processor", &["taskset", "--cpu-list", "0"])]
            {
                let name = format!("{programs} programs, a wake-up, {pace}{words}");
                figures.push(wake_up(name, prefix, pace, &guest, (*programs, size))?);
            }
        }
    }
    print!("{}", table(&figures));
    let file = if is_tiny {
        scratch.join("bench-jumps-tiny.json")
    } else {
        scratch.with_file_name("bench-jumps.json")
    };
    let json = serde_json::to_string_pretty(&figures)? + "\n";
    std::fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))
}

/// Wall time for each wake-up, µs, without what it takes to start and to end the programs.
fn wake_up(
    name: String,
    prefix: &[&str],
    pace: &str,
    guest: &Path,
    (programs, size): (usize, &Size),
) -> Result<Figure> {
    let each = size.wakes.div_ceil(programs);
    let mut samples = Vec::new();
    for _ in 0..size.times {
        let short_s = run(prefix, pace, guest, programs, 1)?;
        let long_s = run(prefix, pace, guest, programs, 1 + each)?;
        samples.push((long_s - short_s) * 1e6 / (each * programs) as f64);
    }
    of_samples(name, "µs", &samples).context("nothing was measured")
}

/// Seconds of wall time until all programs have woken up so often each.
fn run(prefix: &[&str], pace: &str, guest: &Path, programs: usize, times: usize) -> Result<f64> {
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

fn build(folder: &Path) -> Result<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/guests/sleepers.c");
    let program = folder.join("jumps-sleepers");
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-Werror", "-static", "-o"]).arg(&program).arg(source);
    let output = gcc.output()?;
    std::io::stderr().write_all(&output.stderr)?;
    ensure!(output.status.success(), "{gcc:?} failed");
    Ok(program)
}
