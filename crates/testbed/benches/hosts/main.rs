//! What several hosts with one virtual time do and cost, beside the published figures of such a system: holds and their
//! release, whether all stand at the same nanosecond, frames between hosts, TCP, and a case over four hosts.
//!
//! The hosts are network namespaces of this machine with an sshd each, the lab of the tests; so what is measured includes that
//! all of them share its processors. Writes `target/bench-hosts.json` after each part, so that Ctrl-C keeps what was
//! measured; `--page` then draws the page and its picture from that file, `--redraw` does only that. Words name the parts
//! to be measured; `--tiny` is for tests: it checks what holds on any machine, never speed.

mod case;
#[path = "../../tests/common/mod.rs"]
#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "the lab is one of the tests, which need more of it"
)]
mod common;
mod domain;
mod frames;
#[path = "../guests/gcc.rs"]
mod gcc;
mod holds;
mod measured;
mod page;
mod picture;
mod published;
mod run;
mod scenario;
mod skew;
mod stop;
mod throughput;
mod word;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use report_kit::machine::{Machine, utc_now};

use case::Case;
use common::lab::Lab;
use holds::Crowd;
use measured::{Results, Row};
use run::Place;
use stop::Stop;
use throughput::Load;

/// What is measured, and how often.
struct Size {
    words: usize,
    hosts: &'static [usize],
    programs: &'static [usize],
    /// As published beside these.
    also: &'static [Crowd],
    rounds: usize,
    skew: (usize, &'static [usize]),
    frames: u64,
    load: Load,
    load_hosts: &'static [usize],
    variants: &'static [&'static str],
    paces: &'static [&'static str],
    case_hosts: &'static [usize],
    duration: &'static str,
}

const TINY: Size = Size {
    words: 50,
    hosts: &[2],
    programs: &[4],
    also: &[],
    rounds: 10,
    skew: (2, &[64]),
    frames: 3000,
    load: Load { seconds: 1, mbit_s: 10 },
    load_hosts: &[2],
    variants: &["denial-of-service"],
    paces: &["skip"],
    case_hosts: &[4],
    duration: "1 s",
};
const FULL: Size = Size {
    words: 2000,
    hosts: &[1, 2, 4, 8],
    programs: &[1, 16, 100, 1000],
    also: &[Crowd { hosts: 4, programs: 8 }],
    rounds: 300,
    skew: (4, &[64, 10_000]),
    frames: 1_000_000,
    load: Load { seconds: 30, mbit_s: 100 },
    load_hosts: &[1, 2],
    variants: &["normal", "denial-of-service"],
    paces: &["real", "skip", "events"],
    case_hosts: &[1, 4],
    duration: "90 s",
};

const PARTS: [&str; 6] =
    [word::PART, holds::PART, skew::PART, frames::PART, throughput::PART, case::PART];
/// What the lab and the runs need besides root.
const TOOLS: [&str; 8] =
    ["ip", "nsenter", "unshare", "setpriv", "ss", "ssh", "ssh-keygen", "/usr/sbin/sshd"];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = match has("--tiny") {
        true => scratch.join("bench-hosts-tiny.json"),
        false => scratch.with_file_name("bench-hosts.json"),
    };
    if !has("--redraw") {
        let parts: Vec<&str> =
            words.iter().map(String::as_str).filter(|word| !word.starts_with("--")).collect();
        ensure!(
            parts.iter().all(|part| PARTS.contains(part)),
            "the parts are {}",
            PARTS.join(", ")
        );
        let parts = if parts.is_empty() { PARTS.to_vec() } else { parts };
        measure(scratch, &file, has("--tiny"), &parts)?;
    }
    if has("--page") || has("--redraw") {
        page::write(&Results::read(&file)?)?;
    }
    Ok(())
}

fn measure(scratch: &Path, file: &Path, is_tiny: bool, parts: &[&str]) -> Result<()> {
    let size = if is_tiny { &TINY } else { &FULL };
    let results = Results {
        begun: utc_now(),
        machine: Machine::here(),
        load_before: load(),
        is_tiny,
        rows: Vec::new(),
    };
    let mut bench = Bench { results, file: file.to_owned() };
    if let Some(why) = why_no_lab() {
        for part in parts {
            bench.keep(part, part, Err(anyhow::anyhow!("{why}")))?;
        }
        return Ok(());
    }
    let build = |source: &str| gcc::build(scratch, "hosts", source);
    let guests = [build("asleep")?, build("frames")?, build("word")?];
    let hosts = size.hosts.iter().chain(size.case_hosts).copied().max().unwrap_or(0);
    eprintln!("bench: a lab of {hosts} hosts");
    let Some(lab) = Lab::new(hosts) else { return Ok(()) };
    let place = Place { lab, stop: Stop::on_signals() };
    for part in parts {
        bench.part(&place, &guests, size, part)?;
    }
    if parts.contains(&word::PART) {
        // A machine that others use by now is seen as one.
        bench.part(&place, &guests, size, word::PART)?;
    }
    let is_interrupted = place.stop.is_asked();
    drop(place);
    eprintln!("bench: {}", file.display());
    if is_interrupted {
        std::process::exit(130);
    }
    let wrong = bench.results.wrong();
    ensure!(wrong.is_empty(), "not so: {}", wrong.join("; "));
    ensure!(!is_tiny || bench.results.has_measured_all(), "not all was measured");
    Ok(())
}

/// How many threads wanted a processor in the last minute; none if nobody says.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}

/// Why there can be no hosts here.
fn why_no_lab() -> Option<String> {
    if !os::namespaces::is_root() {
        return Some("only root may make network namespaces".to_owned());
    }
    let missing: Vec<&str> =
        TOOLS.into_iter().filter(|tool| !common::guests::is_there(tool)).collect();
    (!missing.is_empty()).then(|| format!("not there: {}", missing.join(", ")))
}

struct Bench {
    results: Results,
    file: PathBuf,
}

impl Bench {
    fn part(
        &mut self,
        place: &Place,
        [asleep, frames, word]: &[PathBuf; 3],
        size: &Size,
        part: &str,
    ) -> Result<()> {
        match part {
            word::PART => {
                let row = word::row(place, word, size.words);
                self.keep(part, "a word to another host", row.map(|row| vec![row]))
            }
            holds::PART => {
                let all = size.hosts.iter().flat_map(|hosts| {
                    size.programs
                        .iter()
                        .map(|programs| Crowd { hosts: *hosts, programs: *programs })
                });
                for crowd in all.chain(size.also.iter().copied()) {
                    let name =
                        format!("holds of {} programs on {} hosts", crowd.programs, crowd.hosts);
                    eprintln!("bench: {name}");
                    self.keep(part, &name, holds::rows(place, asleep, crowd, size.rounds))?;
                }
                Ok(())
            }
            skew::PART => {
                eprintln!("bench: rounds of holds");
                self.keep(part, "rounds of holds", skew::rows(place, frames, asleep, size.skew))
            }
            frames::PART => {
                eprintln!("bench: {} frames", size.frames);
                self.keep(part, "frames between hosts", frames::rows(place, frames, size.frames))
            }
            throughput::PART => {
                for hosts in size.load_hosts {
                    let name = format!("iperf3 over {hosts} hosts");
                    eprintln!("bench: {name}");
                    self.keep(part, &name, throughput::rows(place, size.load, *hosts))?;
                }
                Ok(())
            }
            _ => self.cases(place, size),
        }
    }

    fn cases(&mut self, place: &Place, size: &Size) -> Result<()> {
        for pace in size.paces {
            for variant in size.variants {
                for hosts in size.case_hosts {
                    // On one host a second of `real` takes one, by what it is.
                    if *pace == "real" && *hosts == 1 {
                        continue;
                    }
                    let case = Case { variant, pace, hosts: *hosts, duration: size.duration };
                    let name = format!("{variant}, {pace}, {hosts} hosts");
                    eprintln!("bench: {name}");
                    self.keep(case::PART, &name, case::row(place, case).map(|row| vec![row]))?;
                }
            }
        }
        Ok(())
    }

    /// Keeps what was measured, or why it was not.
    fn keep(&mut self, part: &str, name: &str, rows: Result<Vec<Row>>) -> Result<()> {
        let rows = rows.unwrap_or_else(|error| {
            vec![Row::of(part, name, "", 0.0).not_measured(format!("{error:#}"))]
        });
        for row in &rows {
            println!("{}", row.line());
        }
        self.results.rows.extend(rows);
        self.results.write(&self.file)
    }
}
