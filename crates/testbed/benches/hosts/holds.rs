//! How long it takes from asking for a hold at one host until all clocks stand, and from its release until all run.
//! The caller of a hold is answered once all stand; the one of a release when its own clock runs, so all are asked then.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::Result;
use os::process::{processor_time_ns, threads_of};
use runtime::agent::protocol::Call;

use crate::domain::{Domain, ask_all};
use crate::measured::Row;
use crate::published::{FOUR, PAUSE_ONE, Published, RESUME_ONE, published};
use crate::run::Place;
use crate::scenario::Scenario;

pub(crate) const PART: &str = "hold";
pub(crate) const HOLD: &str = "until all stand";
pub(crate) const RESUME: &str = "until all are seen to run";
const ANSWERED: &str = "until the release is answered";
/// As all share those of one machine.
const BUSY: &str = "processors that agents keep busy while nothing is asked";
const IDLE: Duration = Duration::from_secs(1);
/// What the socket itself takes, which is in all others.
const ASKED: &str = "until a question that changes nothing is answered (status)";
/// Median, µs.
const BAR: f64 = 150.0;
/// Of each link. Hosts tell each other where they are each time half of what a frame needs has passed: with a fifth of this,
/// eight of them would keep two processors busy with nothing else.
const DELAY_MS: u32 = 10;
/// Shorter than what lets programs be frozen, so that it is the clocks that are measured.
const HELD: Duration = Duration::from_micros(300);

/// A setting: so many programs, spread over so many hosts.
#[derive(Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) hosts: usize,
    pub(crate) programs: usize,
}

pub(crate) fn rows(place: &Place, asleep: &Path, crowd: Crowd, rounds: usize) -> Result<Vec<Row>> {
    let Crowd { hosts, programs } = crowd;
    let of = |host: usize| programs / hosts + usize::from(host <= programs % hosts);
    let commands: Vec<_> = (1..=hosts)
        .map(|host| {
            if of(host) > 0 { format!("{} {}", asleep.display(), of(host)) } else { String::new() }
        })
        .collect();
    let scenario = Scenario {
        hosts,
        pace: "real",
        duration: Duration::from_secs(600),
        commands: &commands,
        delay_ms: DELAY_MS,
        links: "",
    };
    let mut run = place.start_new(&scenario)?;
    let mut domains = run.domains(programs)?;
    let busy = processors(&mut domains)?;
    let mut took = [const { Vec::new() }; 4];
    for round in 0..rounds {
        run.goes_on()?;
        let times = held(&mut domains, round % hosts)?;
        took.iter_mut().zip(times).for_each(|(all, one)| all.push(one));
        // Not always at the same place of what else goes on.
        sleep(Duration::from_micros(2000 + 370 * (round as u64 % 7)));
    }
    let [asked, hold, answered, resume] = took;
    let row = |name: &str, samples: &[f64]| {
        Row::of_samples(PART, name, "µs", samples).sized(hosts, programs)
    };
    Ok(vec![
        Row::of(PART, BUSY, "", busy).sized(hosts, programs),
        row(ASKED, &asked),
        row(HOLD, &hold).at_most(BAR).beside(beside(crowd, PAUSE_ONE)),
        row(ANSWERED, &answered),
        row(RESUME, &resume).beside(beside(crowd, RESUME_ONE)),
    ])
}

/// How many processors the agents use for a second.
fn processors(domains: &mut [Domain]) -> Result<f64> {
    let statuses = ask_all(domains, &Call::Status)?;
    let agents: Vec<i32> = statuses.iter().map(|one| one.agent_pid.cast_signed()).collect();
    let used_ns = |agent: &i32| processor_time_ns(*agent, &threads_of(*agent)).unwrap_or(0);
    let all = || agents.iter().map(used_ns).sum::<u64>();
    let (before, begun) = (all(), Instant::now());
    sleep(IDLE);
    Ok(all().saturating_sub(before) as f64 / begun.elapsed().as_nanos() as f64)
}

fn beside(crowd: Crowd, on_one: &str) -> Option<Published> {
    match crowd {
        Crowd { hosts: 1, programs: 16 } => published(on_one),
        Crowd { hosts: 4, programs: 8 } => published(FOUR),
        _ => None,
    }
}

/// µs of a question, of a hold, of the answer to its release, and until all run.
fn held(domains: &mut [Domain], holder: usize) -> Result<[f64; 4]> {
    let us = |begun: Instant| begun.elapsed().as_secs_f64() * 1e6;
    let begun = Instant::now();
    domains[holder].ask(Call::Status)?;
    let asked = us(begun);
    let begun = Instant::now();
    let at_ns = domains[holder].ask(Call::Hold)?.clock.virtual_ns;
    let hold = us(begun);
    sleep(HELD);
    let begun = Instant::now();
    domains[holder].ask(Call::Release)?;
    let answered = us(begun);
    while ask_all(domains, &Call::Status)?.iter().any(|one| one.clock.virtual_ns <= at_ns) {}
    Ok([asked, hold, answered, us(begun)])
}
