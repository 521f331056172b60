//! The simulator: a seed gives a run, the same for ever, and each run is judged.
//!
//! A failure prints seed and commit, and how to run that seed alone:
//! `QUORUM_SEED=safety:17 cargo test -p quorum sim`.
mod hostile;
mod oracle;
mod plan;
mod world;

use std::process::Command;

use plan::Mode;
use world::World;

/// How many events each of the modes simulates, if nothing else is said: a share of what
/// `make quorum` does, for every test run.
const EVENTS: u64 = 4_000_000;

/// What many runs came to.
#[derive(Default, Debug)]
struct Sum {
    seeds: u64,
    events: u64,
    actions: u64,
    worst: u64,
}

/// One run; says what went wrong.
fn run(seed: u64, mode: Mode) -> Result<World, String> {
    let mut world = World::new(seed, mode);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.run()));
    let ended = ended.unwrap_or_else(|_| Err("S5: a panic".into()));
    ended.map_err(|what| format!("{what}\nat {} ns of {:?}", world.now_ns, world.plan))?;
    Ok(world)
}

#[expect(clippy::disallowed_methods, reason = "a person at the desk asks for a seed, or for more")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn simulate(name: &str, mode: Mode) {
    let seed = asked("QUORUM_SEED").map(|seed| match seed.split_once(':') {
        Some((mode, seed)) => (mode.to_owned(), seed.parse::<u64>().expect("safety:17")),
        None => panic!("QUORUM_SEED is {seed:?}: write safety:17 or liveness:17"),
    });
    let events = asked("QUORUM_EVENTS").map_or(EVENTS, |events| events.parse().expect("a number"));
    let seeds = match &seed {
        Some((mode, _)) if mode != name => return,
        Some((_, seed)) => *seed..seed + 1,
        None => 1..u64::MAX,
    };
    let mut sum = Sum::default();
    for seed in seeds {
        let world = run(seed, mode).unwrap_or_else(|what| panic!("{what}\n{}", again(name, seed)));
        sum.seeds += 1;
        sum.events += world.events;
        sum.actions += world.oracle.actions;
        sum.worst = sum.worst.max(world.oracle.worst());
        if sum.events >= events {
            break;
        }
    }
    println!("{name}: {sum:?}");
    assert!(seed.is_some() || sum.actions > sum.seeds, "runs in which nothing happens: {sum:?}");
}

/// How to see it again.
fn again(name: &str, seed: u64) -> String {
    let commit = Command::new("git").args(["rev-parse", "--short", "HEAD"]).output();
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    format!(
        "seed {seed}, commit {}; again: QUORUM_SEED={name}:{seed} \
         cargo test -p quorum sim::{name}",
        commit.unwrap_or_else(|_| "unknown".into())
    )
}

#[test]
fn safety() {
    simulate("safety", Mode::Safety);
}

#[test]
fn liveness() {
    simulate("liveness", Mode::Liveness);
}
