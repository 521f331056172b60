//! The caller's side of an agent's socket: `qcycle hold`, `release`, `dilate` and `ps`.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, bail};

use super::protocol::{Call, Outcome, Reply, Request, Status, VERSION};
use super::registry;
use crate::domain::Freeze;
use crate::launch::freeze::FreezeStatus;

/// Asks the domain of this name. The answer comes when what was asked is in force.
///
/// # Errors
/// When there is no such domain or it refuses.
pub fn call(name: &str, call: Call) -> anyhow::Result<Status> {
    let Some(mut stream) = registry::connect(name)? else {
        let names = registry::names()?;
        if names.is_empty() {
            bail!("there is no domain named `{name}`, nor any other; `qcycle exec` makes one");
        }
        bail!("there is no domain named `{name}`; there is {}", names.join(", "));
    };
    let request = Request { version: VERSION, id: 1, call };
    let mut line = serde_json::to_string(&request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(&stream).read_line(&mut answer)?;
    if answer.is_empty() {
        bail!("the domain `{name}` ended before it answered");
    }
    let reply: Reply = serde_json::from_str(&answer)
        .with_context(|| format!("the domain `{name}` answered something else"))?;
    match reply.outcome {
        Outcome::Status(status) => Ok(status),
        Outcome::Error(error) => bail!("{error}"),
    }
}

/// How all domains of this user stand, by name.
///
/// # Errors
/// When the folder of the sockets cannot be read.
pub fn all() -> anyhow::Result<Vec<Status>> {
    let names = registry::names().context("cannot list the domains")?;
    // One that ends meanwhile is no longer there.
    Ok(names.iter().filter_map(|name| call(name, Call::Status).ok()).collect())
}

/// One line about a domain, for people.
#[must_use]
pub fn line(status: &Status) -> String {
    let clock = &status.clock;
    let at = vtime::VirtualTime::from_ns(clock.virtual_ns);
    let state = match clock.holds {
        0 => "runs".to_owned(),
        1 => "is held (1 hold)".to_owned(),
        holds => format!("is held ({holds} holds)"),
    };
    format!("{} {state} at {at}, tdf {}", status.name, tdf(clock.tdf_millionths))
}

/// The table of `qcycle ps`.
#[must_use]
pub fn table(domains: &[Status]) -> String {
    let mut table = format!(
        "{:<24} {:>8} {:<8} {:>6} {:>16} {:>14} {:>6} {:>8} {:<9}  PROGRAM\n",
        "NAME", "PID", "STATE", "TDF", "VIRTUAL (s)", "PAUSED (s)", "HOLDS", "CALLS", "FREEZE"
    );
    for status in domains {
        let clock = &status.clock;
        let state = if clock.holds == 0 { "running" } else { "held" };
        writeln!(
            table,
            "{:<24} {:>8} {state:<8} {:>6} {:>16.6} {:>14.6} {:>6} {:>8} {:<9}  {}",
            status.name,
            status.agent_pid,
            tdf(clock.tdf_millionths),
            clock.virtual_ns as f64 / 1e9,
            clock.paused_ns as f64 / 1e9,
            clock.holds,
            status.calls.values().sum::<u64>(),
            freezing(&status.freeze),
            status.title,
        )
        .expect("writing to a string cannot fail");
        for warning in &status.warnings {
            writeln!(table, "    warning: {warning}").expect("writing to a string cannot fail");
        }
    }
    table
}

/// How programs are frozen, in a word.
fn freezing(status: &FreezeStatus) -> &str {
    match status.method {
        Some(method) => method.name(),
        None if status.mode == Freeze::Off.to_string() => "off",
        None => "-",
    }
}

fn tdf(millionths: u64) -> String {
    vtime::Tdf::from_millionths(millionths).map_or_else(|_| "?".to_owned(), |tdf| tdf.to_string())
}
