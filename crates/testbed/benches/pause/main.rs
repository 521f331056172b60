//! What a pause costs, whatever the number of programs: until all of them see it, until they are
//! frozen and thawed, and what SIGSTOP and SIGCONT to the same programs take in the same run.
//! And what a pause does to them: who wakes up late, whether a clock goes back, what virtual time
//! leaks, and whether timers are lost under load.
//!
//! The bench is the agent of its programs, so that no socket is in its figures. Prints a table and
//! writes `target/bench-pause.json`, as the bench `clock` does; `--tiny` is for tests.

mod crowd;
#[path = "../clock/figures.rs"]
#[allow(dead_code, reason = "comparisons in pairs are the other bench's")]
mod figures;
#[path = "../guests/gcc.rs"]
mod gcc;
mod guest;
mod lateness;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use domain::Freeze;
use runtime::launch::freeze::{FreezeConfig, Method};

use figures::{Figure, of_samples, table};
use guest::Guest;

/// What is measured, and how often.
struct Size {
    programs: &'static [usize],
    pauses: usize,
    turns: usize,
    load: (usize, usize),
    waits: usize,
    crowd: (usize, usize),
}

const TINY: Size =
    Size { programs: &[1, 4], pauses: 3, turns: 50, load: (20, 10), waits: 1, crowd: (50, 1) };
const FULL: Size = Size {
    programs: &[1, 16, 100, 1000],
    pauses: 100,
    turns: 10_000,
    load: (1000, 1000),
    waits: 20,
    crowd: (5000, 10),
};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, group] = arguments.as_slice()
        && role == "warden"
    {
        runtime::launch::freeze::warden(PathBuf::from(group));
        return Ok(());
    }
    let is_tiny = arguments.iter().any(|argument| argument == "--tiny");
    let size = if is_tiny { &TINY } else { &FULL };
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let build = |source: &str| gcc::build(scratch, "pause", source);
    let mut figures = Vec::new();
    let idle = build("idle")?;
    for programs in size.programs {
        eprintln!("bench: a pause of {programs} programs");
        figures.extend(pauses(&idle, *programs, size.pauses)?);
    }
    eprintln!("bench: two programs in turn over {} holds", size.turns);
    figures.extend(turns(&build("turns")?, size.turns)?);
    eprintln!("bench: {} programs with timers over {} holds", size.load.0, size.load.1);
    figures.extend(load(&build("../../tests/guests/load")?, size.load)?);
    eprintln!("bench: each waiting call over a hold, {} times", size.waits);
    figures.extend(lateness::figures(&build("../../tests/guests/waits")?, size.waits)?);
    eprintln!("bench: {} threads that wait, {} times", size.crowd.0, size.crowd.1);
    figures.extend(crowd::figures(&build("../../tests/guests/crowd")?, size.crowd)?);
    print!("{}", table(&figures));
    let file = if is_tiny {
        scratch.join("bench-pause-tiny.json")
    } else {
        scratch.with_file_name("bench-pause.json")
    };
    let json = serde_json::to_string_pretty(&figures)? + "\n";
    std::fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))
}

fn figure(name: String, unit: &str, samples: &[f64]) -> Result<Figure> {
    of_samples(name, unit, samples).context("nothing was measured")
}

/// How long something takes, in µs.
fn timed(what: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    what();
    begun.elapsed().as_secs_f64() * 1e6
}

fn pauses(idle: &Path, programs: usize, count: usize) -> Result<Vec<Figure>> {
    let mut figures = seen(idle, programs, count)?.to_vec();
    for by in Method::ALL {
        let wanted = FreezeConfig { freeze: Freeze::Strict, method: Some(by) };
        let guest = Guest::start(wanted, idle, &[programs.to_string()])?;
        let (mut freeze, mut thaw) = (Vec::new(), Vec::new());
        for _ in 0..count {
            freeze.push(timed(|| _ = guest.domain.assert_hold()));
            thaw.push(timed(|| _ = guest.domain.release_hold()));
        }
        let method = guest.freezer.status().method;
        guest.finish()?;
        if method == Some(by) {
            figures.push(figure(format!("{programs} programs frozen, {by}"), "µs", &freeze)?);
            figures.push(figure(format!("{programs} programs thawed, {by}"), "µs", &thaw)?);
        } else {
            println!("not measured: {by} cannot be used here");
        }
    }
    figures.extend(signals(idle, programs, count)?);
    Ok(figures)
}

/// From asking for a hold to another processor finding in the page of the programs that their clock
/// stands, which is all that each of them looks at, whatever their number. And how long the call
/// takes that asks, which also tells those who wait for a change.
fn seen(idle: &Path, programs: usize, count: usize) -> Result<[Figure; 2]> {
    let wanted = FreezeConfig { freeze: Freeze::Off, method: None };
    let guest = Guest::start(wanted, idle, &[programs.to_string()])?;
    let (mut seen, mut called) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let domain = Arc::clone(&guest.domain);
        let watcher = thread::spawn(move || {
            while domain.page().holds() == 0 {
                std::hint::spin_loop();
            }
            Instant::now()
        });
        // It watches by then.
        thread::sleep(Duration::from_millis(2));
        let asked = Instant::now();
        called.push(timed(|| _ = guest.domain.assert_hold()));
        let saw = watcher.join().expect("a watcher does not panic");
        seen.push(saw.duration_since(asked).as_secs_f64() * 1e6);
        guest.domain.release_hold();
    }
    guest.finish()?;
    Ok([
        figure(format!("a pause seen by {programs} programs"), "µs", &seen)?,
        figure(format!("the call that pauses {programs} programs"), "µs", &called)?,
    ])
}

/// The same programs, natively: signals sent, as Hannon et al. count it.
fn signals(idle: &Path, programs: usize, count: usize) -> Result<Vec<Figure>> {
    let mut child = Command::new(idle)
        .arg(programs.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut stdout = BufReader::new(child.stdout.take().context("its output is a pipe")?);
    let mut stdin = child.stdin.take().context("its input is a pipe")?;
    let mut line = String::new();
    stdout.read_line(&mut line)?;
    let mut send = |signal: i32| -> Result<f64> {
        let mut took = String::new();
        writeln!(stdin, "{signal}")?;
        stdout.read_line(&mut took)?;
        thread::sleep(Duration::from_millis(5));
        Ok(took.trim().parse()?)
    };
    let (mut stop, mut cont) = (Vec::new(), Vec::new());
    for _ in 0..count {
        stop.push(send(libc::SIGSTOP)?);
        cont.push(send(libc::SIGCONT)?);
    }
    drop(stdin);
    child.wait()?;
    Ok(vec![
        figure(format!("{programs} programs, SIGSTOP sent"), "µs", &stop)?,
        figure(format!("{programs} programs, SIGCONT sent"), "µs", &cont)?,
    ])
}

/// Two programs that read the clock in turn: no reading may go back, and no time may pass in a
/// hold.
fn turns(program: &Path, holds: usize) -> Result<Vec<Figure>> {
    let wanted = FreezeConfig { freeze: Freeze::Off, method: None };
    let guest = Guest::start(wanted, program, &[])?;
    let mut leaked = Vec::new();
    for _ in 0..holds {
        let at = guest.domain.assert_hold();
        thread::sleep(Duration::from_micros(50));
        leaked.push((guest.domain.now() - at).as_ns() as f64);
        guest.domain.release_hold();
        thread::sleep(Duration::from_micros(50));
    }
    let printed = guest.finish()?;
    let numbers: Vec<f64> = printed.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let [readings, back, back_ns] = numbers[..] else {
        anyhow::bail!("two programs in turn printed {printed:?}")
    };
    println!("two programs in turn: {readings} readings over {holds} holds, {back} went back");
    ensure!(back == 0.0, "a reading went back by {back_ns} ns");
    ensure!(leaked.iter().all(|ns| *ns == 0.0), "virtual time passed in a hold");
    Ok(vec![
        figure("readings that go back, at most by".into(), "ns", &[back_ns])?,
        figure("virtual time leaked per hold".into(), "ns", &leaked)?,
    ])
}

/// Many programs with timers, held and released again and again.
fn load(program: &Path, (programs, holds): (usize, usize)) -> Result<Vec<Figure>> {
    let ticks = (holds / 20).max(10);
    let arguments = [programs.to_string(), "200".into(), ticks.to_string()];
    os::fds::raise_limit();
    let guest = Guest::start(FreezeConfig::default(), program, &arguments)?;
    let (mut hold, mut release) = (Vec::new(), Vec::new());
    for number in 0..holds {
        hold.push(timed(|| _ = guest.domain.assert_hold()));
        thread::sleep(Duration::from_millis(number as u64 % 4));
        release.push(timed(|| _ = guest.domain.release_hold()));
        thread::sleep(Duration::from_millis(2));
    }
    let resident = memory_mib()?;
    let status = guest.freezer.status();
    println!("{}", guest.finish()?.trim());
    println!("frozen {} times, {} incomplete", status.freezes, status.incomplete);
    Ok(vec![
        figure(format!("hold of {programs} programs with timers"), "µs", &hold)?,
        figure(format!("release of {programs} programs with timers"), "µs", &release)?,
        figure("memory of the agent, most".into(), "MiB", &[resident])?,
    ])
}

/// Most memory that this process had, in MiB.
fn memory_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()).unwrap_or("0").parse()?;
    Ok(kib / 1024.0)
}
