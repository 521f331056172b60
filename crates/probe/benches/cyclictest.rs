//! Does the probe see the same platform as cyclictest, and at no higher cost?
//!
//! Both measure the same core in turn (A B C, A B C …), so that whatever changes on the machine
//! meanwhile meets all of them. Compared are the medians of each round, by Wilcoxon's signed-rank
//! test over the rounds, and the processor time of the whole program for each wake-up. The probe
//! runs with and without the kernel's record of switches, which is the price of blaming.
//!
//! `--tiny` runs in a second, for the tests; `--rounds 10 --loops 5000 --core 0` are the defaults.

use std::io;
use std::mem::zeroed;
use std::process::{Command, Output, Stdio};

use probe::stream::{Item, Reader};

const PERIOD_US: u64 = 1000;
const PRIORITY: i32 = 90;
/// Latencies above this share a bin of cyclictest's histogram, µs.
const HISTOGRAM_US: usize = 100_000;

/// What is compared, cyclictest first.
const NAMES: [&str; 3] = ["cyclictest", "qcprobe", "qcprobe with record"];

/// One program in one round.
#[derive(Clone, Copy, Debug)]
struct Run {
    median_us: f64,
    max_us: f64,
    cpu_us_per_wakeup: f64,
}

struct Options {
    rounds: usize,
    loops: u64,
    core: usize,
}

fn main() {
    let options = options();
    let mut rounds: Vec<[Run; 3]> = Vec::new();
    for _ in 0..options.rounds {
        match round(&options) {
            Ok(round) => rounds.push(round),
            Err(error) => return println!("cyclictest: not measured: {error}"),
        }
    }
    println!("core {}, SCHED_FIFO {PRIORITY}, every {PERIOD_US} µs", options.core);
    println!("{} rounds of {} wake-ups each, in turn", options.rounds, options.loops);
    println!(
        "{:<19} {:>26} {:>11} {:>17}",
        "", "median µs (of rounds)", "max µs", "CPU µs/wake-up"
    );
    for (index, name) in NAMES.iter().enumerate() {
        let of = |figure: fn(&Run) -> f64| {
            let mut all: Vec<f64> = rounds.iter().map(|round| figure(&round[index])).collect();
            all.sort_by(f64::total_cmp);
            (all[0], all[all.len() / 2], all[all.len() - 1])
        };
        let ((low, median, high), (_, _, max)) = (of(|run| run.median_us), of(|run| run.max_us));
        let (_, cpu, _) = of(|run| run.cpu_us_per_wakeup);
        println!(
            "{name:<19} {:>26} {max:>11.1} {cpu:>17.2}",
            format!("{median:.1} ({low:.1} to {high:.1})")
        );
    }
    for (index, name) in NAMES.iter().enumerate().skip(1) {
        compare(name, "median", &rounds, index, |run| run.median_us);
        compare(name, "CPU per wake-up", &rounds, index, |run| run.cpu_us_per_wakeup);
    }
}

/// Of a figure in µs.
fn compare(name: &str, what: &str, rounds: &[[Run; 3]], index: usize, figure: fn(&Run) -> f64) {
    let mut differences: Vec<f64> =
        rounds.iter().map(|round| figure(&round[index]) - figure(&round[0])).collect();
    let p = signed_rank(&differences);
    differences.sort_by(f64::total_cmp);
    let median = differences[differences.len() / 2];
    println!("{name} less cyclictest, {what}: {median:+.2} µs, signed-rank p = {p:.3}");
}

fn options() -> Options {
    let words: Vec<String> = std::env::args().collect();
    let number = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        words.get(at + 1)?.parse().ok()
    };
    let (rounds, loops) =
        if words.iter().any(|word| word == "--tiny") { (2, 100) } else { (10, 5000) };
    Options {
        rounds: number("--rounds").map_or(rounds, |rounds: u64| rounds.max(1) as usize),
        loops: number("--loops").unwrap_or(loops),
        core: number("--core").unwrap_or(0) as usize,
    }
}

fn round(options: &Options) -> io::Result<[Run; 3]> {
    Ok([cyclictest(options)?, qcprobe(options, &[])?, qcprobe(options, &["--record-switches"])?])
}

/// Runs a program; what it said, and what processor time it and its children used, ns.
fn timed(command: &mut Command) -> io::Result<(Output, i64)> {
    let before_ns = children_cpu_ns();
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("{}: {said}", output.status)));
    }
    Ok((output, children_cpu_ns() - before_ns))
}

fn children_cpu_ns() -> i64 {
    // SAFETY: a plain structure of numbers.
    let mut used: libc::rusage = unsafe { zeroed() };
    // SAFETY: the structure is written.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut used) };
    let ns = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
    ns(used.ru_utime) + ns(used.ru_stime)
}

fn cyclictest(options: &Options) -> io::Result<Run> {
    let mut command = Command::new("cyclictest");
    command.args(["--quiet", "--mlockall", "--threads=1"]);
    command.args([format!("--priority={PRIORITY}"), format!("--affinity={}", options.core)]);
    command.args([format!("--interval={PERIOD_US}"), format!("--loops={}", options.loops)]);
    command.arg(format!("--histogram={HISTOGRAM_US}"));
    let (output, cpu_ns) = timed(&mut command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("cyclictest is missing: package rt-tests"),
        _ => error,
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Lines of `latency count`, latency in whole microseconds, cut off; the rest are comments.
    let bin = |line: &str| {
        let (us, count) = line.split_once(char::is_whitespace)?;
        Some((us.parse::<f64>().ok()?, count.trim().parse::<u64>().ok()?))
    };
    let bins: Vec<(f64, u64)> =
        text.lines().filter_map(bin).filter(|(_, count)| *count > 0).collect();
    let all: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let median = bins.iter().find(|(_, count)| {
        below += count;
        2 * below >= all
    });
    let max = text.lines().find_map(|line| line.strip_prefix("# Max Latencies:"));
    let max_us = max.and_then(|max| max.trim().parse().ok());
    let (Some(median), Some(max_us)) = (median, max_us) else {
        return Err(io::Error::other("cyclictest gave no histogram"));
    };
    let cpu_us_per_wakeup = cpu_ns as f64 / 1e3 / all as f64;
    Ok(Run { median_us: median.0 + 0.5, max_us, cpu_us_per_wakeup })
}

fn qcprobe(options: &Options, further: &[&str]) -> io::Result<Run> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_qcprobe"));
    command.args(["run", "--output", "-", "--cores", &options.core.to_string()]);
    command.args(["--priority", &PRIORITY.to_string(), "--period", &format!("{PERIOD_US}us")]);
    command.args(["--duration", &format!("{}us", options.loops * PERIOD_US)]).args(further);
    let (output, cpu_ns) = timed(&mut command)?;
    let mut latency_ns = Vec::new();
    for item in Reader::new(output.stdout.as_slice()).map_err(io::Error::other)? {
        match item {
            Item::Samples(block) => {
                latency_ns.extend(block.samples.iter().map(|sample| sample.latency_ns));
            }
            Item::Note(_) | Item::End(_) => {}
            Item::Cut(reason) => return Err(io::Error::other(reason)),
        }
    }
    latency_ns.sort_unstable();
    let Some(&max_ns) = latency_ns.last() else {
        return Err(io::Error::other("qcprobe took no sample"));
    };
    Ok(Run {
        median_us: latency_ns[latency_ns.len() / 2] as f64 / 1e3,
        max_us: max_ns as f64 / 1e3,
        cpu_us_per_wakeup: cpu_ns as f64 / 1e3 / latency_ns.len() as f64,
    })
}

/// Two-sided p of Wilcoxon's signed-rank test, exact by counting all ways to give signs to the
/// ranks (Wilcoxon 1945). Differences of zero are left out; ties get ranks in their order, which
/// times of a clock hardly need.
fn signed_rank(differences: &[f64]) -> f64 {
    let mut nonzero: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    nonzero.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let positive: usize =
        (1..).zip(&nonzero).filter(|(_, d)| **d > 0.0).map(|(rank, _)| rank).sum();
    let total = nonzero.len() * (nonzero.len() + 1) / 2;
    // ways[s]: in how many ways the positive ranks add up to s.
    let mut ways = vec![0.0; total + 1];
    ways[0] = 1.0;
    for rank in 1..=nonzero.len() {
        for sum in (rank..=total).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let tail: f64 = ways[..=positive.min(total - positive)].iter().sum();
    (2.0 * tail / ways.iter().sum::<f64>()).min(1.0)
}
