//! The caller's side of an agent's socket.
//!
//! An agent may have been stopped, or be as busy as the host. So nobody waits for an answer for
//! ever, and who asks several agents asks them at the same time: one that is silent costs the
//! others nothing.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Serialize;

use super::protocol::{Call, Detail, OtherHost, Outcome, Reply, Request, Status, VERSION};
use super::{peer, registry};
use crate::launch::attach::may_be_in_a_domain;

/// How long an agent may take to say how things stand.
const LOOK_LONGEST: Duration = Duration::from_secs(5);
/// How long it may take to do something: to freeze thousands of programs on a busy host, say.
const ORDER_LONGEST: Duration = Duration::from_secs(60);
/// Longest answer in octets.
const ANSWER_LENGTH_MAX: u64 = 64 << 20;

/// What is known of one of several domains.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum DomainInfo {
    Detail(Box<Detail>),
    /// It is there, and did not say.
    Silent(Silent),
}

/// A domain that does not say how it stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Silent {
    pub name: String,
    pub agent_pid: Option<u32>,
    /// Why no more is known.
    pub silent: String,
}

/// A connection to an agent, with what was read of it and not used.
pub type Connection = BufReader<UnixStream>;

/// What an agent says next to who attends its domain; `None` at the end of the connection.
pub fn next_warning(connection: &mut Connection) -> Option<String> {
    while let Ok(Some(line)) = next(connection) {
        let reply = serde_json::from_str::<Reply>(&line);
        if let Ok(Reply { outcome: Outcome::Warning(warning), .. }) = reply {
            return Some(warning);
        }
    }
    None
}

/// The next line of an agent; `None` at the end of the connection.
fn next(connection: &mut Connection) -> io::Result<Option<String>> {
    let mut line = String::new();
    let length = connection.by_ref().take(ANSWER_LENGTH_MAX).read_line(&mut line)?;
    Ok((length > 0).then_some(line))
}

/// Asks the domain of this name. The answer comes when the change is in force.
///
/// # Errors
/// When there is no such domain or it refuses.
pub fn call(name: &str, call: Call) -> anyhow::Result<Status> {
    match request(&mut BufReader::new(connect(name)?), name, call)? {
        Outcome::Status(status) => Ok(status),
        _ => bail!("unexpected answer of the domain `{name}`"),
    }
}

/// Asks the domain of this name about programs of it.
///
/// # Errors
/// When there is no such domain or no such program, or it refuses.
pub fn detail(name: &str, call: Call) -> anyhow::Result<Detail> {
    match request(&mut BufReader::new(connect(name)?), name, call)? {
        Outcome::Detail(detail) => Ok(*detail),
        _ => bail!("unexpected answer of the domain `{name}`"),
    }
}

fn connect(name: &str) -> anyhow::Result<UnixStream> {
    let Some(stream) = registry::connect(name)? else {
        let names = registry::names()?;
        if names.is_empty() {
            bail!(
                "there is no domain named `{name}` on this machine, and there are no others; `qcycle exec` and \
                 `qcycle run` create one, the latter on the `hosts` of its scenario, if it names some: ask there"
            );
        }
        bail!("there is no domain named `{name}`; there are: {}", names.join(", "));
    };
    Ok(stream)
}

fn request(connection: &mut Connection, name: &str, call: Call) -> anyhow::Result<Outcome> {
    let mut stream = connection.get_ref();
    let longest = match call {
        Call::Status | Call::Query { .. } => LOOK_LONGEST,
        _ => ORDER_LONGEST,
    };
    stream.set_read_timeout(Some(longest))?;
    stream.set_write_timeout(Some(longest))?;
    let request = Request { version: VERSION, id: 1, call };
    let mut line = serde_json::to_string(&request)?;
    line.push('\n');
    let queries = stream.write_all(line.as_bytes());
    let answer = queries.and_then(|()| next(connection));
    let stream = connection.get_ref();
    use io::ErrorKind::{BrokenPipe, ConnectionReset, WouldBlock};
    let answer = match answer.map_err(|error| (error.kind(), error)) {
        Ok(Some(answer)) => answer,
        // It has closed the connection, perhaps before it read the question.
        Ok(None) | Err((BrokenPipe | ConnectionReset, _)) => {
            bail!("the domain `{name}` ended before it answered")
        }
        Err((WouldBlock, _)) => bail!(
            "the domain `{name}` has not answered for {} s: its agent{} may have been stopped \
             (SIGSTOP), or this host is overloaded; the request may still be carried out",
            longest.as_secs(),
            peer::process(stream).map_or_else(String::new, |process| format!(" {process}")),
        ),
        Err((_, error)) => return Err(error).context(format!("cannot reach the domain `{name}`")),
    };
    let mut reply: Result<Reply, _> = serde_json::from_str(&answer);
    // Warnings that come before the answer are part of it.
    while let Ok(Reply { outcome: Outcome::Warning(_), .. }) = reply {
        let answer = next(connection)?.unwrap_or_default();
        reply = serde_json::from_str(&answer);
    }
    let reply = reply.with_context(|| format!("unexpected answer of the domain `{name}`"))?;
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
pub fn attend(name: &str) -> anyhow::Result<(Status, Connection)> {
    let mut connection = BufReader::new(connect(name)?);
    match request(&mut connection, name, Call::Attend)? {
        Outcome::Status(status) => {
            connection.get_ref().set_read_timeout(None)?;
            Ok((status, connection))
        }
        _ => bail!("unexpected answer of the domain `{name}`"),
    }
}

/// The domain that a process is in, with its program, if it is one of this user's.
///
/// # Errors
/// When the domains cannot be listed, or one that it may be in does not answer.
pub fn of_process(process: i32) -> anyhow::Result<Option<Detail>> {
    let mut silent = Vec::new();
    for info in all(false)? {
        match info {
            DomainInfo::Detail(mut detail) => {
                detail.programs.retain(|program| program.pids.contains(&process));
                if !detail.programs.is_empty() {
                    return Ok(Some(*detail));
                }
            }
            DomainInfo::Silent(other) => silent.push(other.silent),
        }
    }
    // One that does not answer matters only to those that may be in it.
    if silent.is_empty() || !may_be_in_a_domain(process) {
        return Ok(None);
    }
    bail!(silent.join("; "))
}

/// How all domains of this user stand with their programs, by name; with `hosts`, those that span several with
/// what is on the others. Each is there once, though it may have several agents on this machine.
pub fn all(hosts: bool) -> anyhow::Result<Vec<DomainInfo>> {
    let names = registry::names().context("cannot list the domains")?;
    // All at once, and without those that end meanwhile.
    let info = std::thread::scope(|scope| {
        let queries: Vec<_> =
            names.iter().map(|name| scope.spawn(move || inspect(name, hosts))).collect();
        queries.into_iter().map(|queries| queries.join().ok().flatten()).collect::<Vec<_>>()
    });
    Ok(once(info.into_iter().flatten().collect()))
}

/// Without domains that are shown as another host of one before.
fn once(all: Vec<DomainInfo>) -> Vec<DomainInfo> {
    let (mut kept, mut shown) = (Vec::new(), BTreeSet::new());
    for info in all {
        if let DomainInfo::Detail(detail) = &info {
            if shown.contains(&(detail.status.name.clone(), detail.status.agent_pid)) {
                continue;
            }
            shown.extend(detail.hosts.iter().filter_map(|other| match other {
                OtherHost::Detail(other) => {
                    Some((other.status.name.clone(), other.status.agent_pid))
                }
                OtherHost::Silent { .. } => None,
            }));
        }
        kept.push(info);
    }
    kept
}

fn inspect(name: &str, hosts: bool) -> Option<DomainInfo> {
    let silent = match detail(name, Call::Query { program: None, hosts }) {
        Ok(detail) => return Some(DomainInfo::Detail(Box::new(detail))),
        Err(error) => format!("{error:#}"),
    };
    let agent_pid = match registry::connect(name) {
        Ok(stream) => peer::process(&stream?),
        Err(_) => None,
    };
    Some(DomainInfo::Silent(Silent { name: name.to_owned(), agent_pid, silent }))
}
