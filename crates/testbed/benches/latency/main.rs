//! What eight hours on two cores cost: the stream of a probe at a period of 10 ms becomes a cell, and
//! the cell a report, by the code that does it after a measurement.
//!
//! The samples are made here, 2.88 million a core, and what follows is done by a process of its own for
//! each step, so that the kernel tells the greatest memory of each. `--tiny` takes a minute's worth, for
//! tests.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use latency::cell::Cell;
use latency::digest::Demands;
use latency::report::{Report, Run};
use latency::run_folder::CELLS;
use probe::stream::{Cause, Counts, Detector, End, Header, Note, Outcome, Sample, Stall, Writer};
use probe::{Facts, Plan};
use random::Random;

const CORES: [usize; 2] = [0, 1];
const PERIOD_NS: u64 = 10_000_000;
const SECONDS: u64 = 8 * 3600;
const SECONDS_TINY: u64 = 60;
/// A probe says what it has once a second.
const SAMPLES_A_SECOND: u64 = 1_000_000_000 / PERIOD_NS;
const PLATFORM: &str = "native";
const PROFILE: &str = "tp4";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cell", folder] => return step(|| cell(Path::new(folder))),
        ["report", folder] => return step(|| report(Path::new(folder))),
        _ => {}
    }
    let is_tiny = words.iter().any(|word| word == "--tiny");
    let seconds = if is_tiny { SECONDS_TINY } else { SECONDS };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-latency");
    // What an interrupted bench has left.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    stream(&folder, seconds)?;
    println!("{} samples on each of {} cores", seconds * SAMPLES_A_SECOND, CORES.len());
    println!("{:<33} {:>10} {:>13}", "", "seconds", "greatest MiB");
    for (name, what) in
        [("cell", "from the stream to a cell"), ("report", "from the cell to the report")]
    {
        let output = Command::new(std::env::current_exe()?).arg(name).arg(&folder).output()?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        let Some((seconds, mib)) = said.trim().split_once(' ') else { bail!("it said {said}") };
        println!("{what:<33} {seconds:>10} {mib:>13}");
    }
    std::fs::remove_dir_all(&folder).context("cannot remove what the bench has made")
}

/// Does a step, and says how long it took and how much memory this process has had.
fn step(what: impl FnOnce() -> Result<()>) -> Result<()> {
    let begun = Instant::now();
    what()?;
    let seconds = begun.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = kib.and_then(|kib| kib.split_whitespace().next()?.parse::<f64>().ok());
    let mib = kib.context("the kernel does not tell the greatest memory")? / 1024.0;
    println!("{seconds:.2} {mib:.1}");
    Ok(())
}

fn stream_file(folder: &Path) -> PathBuf {
    folder.join("stream.qcs")
}

fn cell(folder: &Path) -> Result<()> {
    let stream = BufReader::new(File::open(stream_file(folder))?);
    let measured = Cell::from_stream(stream, PLATFORM, PROFILE).map_err(anyhow::Error::msg)?;
    let cell = measured.cell;
    cell.write(&folder.join(CELLS).join(cell.name()))
}

fn report(folder: &Path) -> Result<()> {
    let report = Report::read(folder, &Run::default(), &Demands::default())?;
    let text = report.text();
    ensure!(text.contains(PROFILE), "a report without its cell");
    report.write()
}

/// What a probe would have said: some microseconds each time, a tail that reaches milliseconds, and a
/// stall for each that was very late.
fn stream(folder: &Path, seconds: u64) -> Result<()> {
    let plan = Plan {
        cores: CORES.into(),
        period_ns: PERIOD_NS,
        duration_ns: seconds * 1_000_000_000,
        ..Plan::default()
    };
    let header = Header {
        plan,
        facts: Facts::of_this_machine(),
        began_realtime_ns: 1_750_000_000_000_000_000,
        began_monotonic_ns: 0,
        version: "bench".to_owned(),
    };
    let to = BufWriter::new(File::create(stream_file(folder))?);
    let mut writer = Writer::new(to, &header)?;
    let mut random = Random::new(1);
    for second in 0..seconds {
        let begin = second * SAMPLES_A_SECOND;
        for (thread, core) in CORES.into_iter().enumerate() {
            let sample = |index: u64, random: &mut Random| Sample {
                at_ns: i64::try_from(index * PERIOD_NS).expect("eight hours are few ns"),
                latency_ns: latency_ns(random),
                ..Sample::default()
            };
            let indices = begin..begin + SAMPLES_A_SECOND;
            let samples: Vec<Sample> = indices.map(|index| sample(index, &mut random)).collect();
            writer.samples(thread, begin, &samples)?;
            for late in samples.iter().filter(|sample| sample.latency_ns > 200_000) {
                writer.note(&stall(core, late))?;
            }
        }
        let taken = begin + SAMPLES_A_SECOND;
        let threads = (0..CORES.len()).map(|thread| Counts { thread, taken, ..Counts::default() });
        let at_ns = i64::try_from(taken * PERIOD_NS)?;
        writer.note(&Note::Counts { at_ns, threads: threads.collect() })?;
        writer.flush()?;
    }
    let at_ns = i64::try_from(seconds * 1_000_000_000)?;
    writer.end(&End { at_ns, outcome: Outcome::Finished })?;
    Ok(())
}

fn stall(core: usize, late: &Sample) -> Note {
    Note::Stall(Stall {
        core,
        at_ns: late.at_ns,
        length_ns: late.latency_ns,
        seen_by: Detector::Wakeup,
        cause: Cause::Load,
        who: "made by the bench".to_owned(),
        evidence: probe::stream::Evidence::default(),
    })
}

/// 3 µs and more, the later the rarer.
fn latency_ns(random: &mut Random) -> i64 {
    let doublings = random.number().trailing_zeros().min(20);
    let spread = 1_u64 << (10 + doublings / 2);
    i64::try_from(3_000 + random.number() % spread * (1 + u64::from(doublings))).unwrap_or(i64::MAX)
}
