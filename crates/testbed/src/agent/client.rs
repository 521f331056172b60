//! The caller's side of an agent's socket.

use std::io::{BufRead, BufReader, Write};

use std::os::unix::net::UnixStream;

use anyhow::{Context, bail};

use super::protocol::{Call, Detail, Outcome, Reply, Request, Status, VERSION};
use super::registry;

/// Asks the domain of this name. The answer comes when what was asked is in force.
///
/// # Errors
/// When there is no such domain or it refuses.
pub fn call(name: &str, call: Call) -> anyhow::Result<Status> {
    match ask(&connect(name)?, name, call)? {
        Outcome::Status(status) => Ok(status),
        _ => bail!("the domain `{name}` answered something else"),
    }
}

/// Asks the domain of this name about programs of it.
///
/// # Errors
/// When there is no such domain or no such program, or it refuses.
pub fn detail(name: &str, call: Call) -> anyhow::Result<Detail> {
    match ask(&connect(name)?, name, call)? {
        Outcome::Detail(detail) => Ok(*detail),
        _ => bail!("the domain `{name}` answered something else"),
    }
}

fn connect(name: &str) -> anyhow::Result<UnixStream> {
    let Some(stream) = registry::connect(name)? else {
        let names = registry::names()?;
        if names.is_empty() {
            bail!("there is no domain named `{name}`, nor any other; `qcycle exec` makes one");
        }
        bail!("there is no domain named `{name}`; there is {}", names.join(", "));
    };
    Ok(stream)
}

fn ask(mut stream: &UnixStream, name: &str, call: Call) -> anyhow::Result<Outcome> {
    let request = Request { version: VERSION, id: 1, call };
    let mut line = serde_json::to_string(&request)?;
    line.push('\n');
    stream.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer.is_empty() {
        bail!("the domain `{name}` ended before it answered");
    }
    let reply: Reply = serde_json::from_str(&answer)
        .with_context(|| format!("the domain `{name}` answered something else"))?;
    match reply.outcome {
        Outcome::Error(error) => bail!("{error}"),
        outcome => Ok(outcome),
    }
}

/// Attends a domain: it is detached when the answer is dropped, and the answer ends when it is
/// detached by somebody else or has ended.
///
/// # Errors
/// When there is no such domain or it refuses.
pub fn attend(name: &str) -> anyhow::Result<(Status, UnixStream)> {
    let stream = connect(name)?;
    match ask(&stream, name, Call::Attend)? {
        Outcome::Status(status) => Ok((status, stream)),
        _ => bail!("the domain `{name}` answered something else"),
    }
}

/// The domain that a process is in, if it is one of this user's.
///
/// # Errors
/// When the folder of the sockets cannot be read.
pub fn domain_of(process: i32) -> anyhow::Result<Option<Status>> {
    let Some(page) = clock_page(process) else { return Ok(None) };
    let has = |status: &Status| clock_page(status.agent_pid.cast_signed()) == Some(page.clone());
    Ok(all()?.into_iter().map(|detail| detail.status).find(has))
}

/// Which clock page a process has mapped: device and inode.
fn clock_page(process: i32) -> Option<(String, String)> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
    let line = maps.lines().find(|line| line.contains("/memfd:quartercycle-clock"))?;
    let mut fields = line.split_whitespace().skip(3);
    Some((fields.next()?.to_owned(), fields.next()?.to_owned()))
}

/// How all domains of this user stand with their programs, by name.
///
/// # Errors
/// When the folder of the sockets cannot be read.
pub fn all() -> anyhow::Result<Vec<Detail>> {
    let names = registry::names().context("cannot list the domains")?;
    // One that ends meanwhile is no longer there.
    let query = |name: &String| detail(name, Call::Query { program: None }).ok();
    Ok(names.iter().filter_map(query).collect())
}
