//! `qcycle relay`: between an agent on this machine and its runner on another one, at the other end of an ssh
//! session, which has one way in and one way out.
//!
//! It looks whether this machine has what is needed, says what it is, starts an agent and hands on what the two
//! say. When it hears nothing more of the runner it ends, and the agent with it: nothing is left here. Captures
//! are written here and go to the runner at the end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Stdout, Write};
use std::net::{IpAddr, Shutdown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::child::{self, AgentChild};
use super::kept::kept;
use super::line::{self, Kind, Piece};
use super::needs::Needs;
use super::orders::{Report, There};
use super::owner::Queue;
use os::signals;
use os::sockets::Folder;
use report_kit::machine::Machine;
use runtime::agent::registry;

/// How long an agent may take to end once nobody orders anything any more.
const END_LONGEST: Duration = Duration::from_secs(3);
/// How long what it wrote last may take to come through.
const DRAIN_LONGEST: Duration = Duration::from_secs(1);
const PIECE_OCTETS: usize = 256 << 10;

/// Serves the runner at the other end of standard input and output. The answer is the exit code.
pub fn main(needs: Needs) -> u8 {
    // A runner that is gone shows at the input; what ends the session is meant for all of it.
    let _ = fs::write("/proc/self/comm", "qcycle-relay");
    signals::Signals::block(&[libc::SIGINT, libc::SIGHUP, libc::SIGPIPE]);
    let out = Arc::new(Queue::new(std::io::stdout()));
    let ended = relay(needs, &out);
    if let Err(error) = &ended {
        say(&out, &Report::Failed { reason: format!("{error:#}") });
    }
    if let Some(folder) = std::env::var_os(remote::FOLDER) {
        // The shell that waits for this does the same; it may have been killed.
        let _ = fs::remove_dir_all(folder);
    }
    u8::from(ended.is_err())
}

fn relay(needs: Needs, out: &Arc<Queue<Stdout>>) -> anyhow::Result<()> {
    // Before this process is root of a user namespace, where the folder would be another.
    let sockets = Folder::make()?.path().to_owned();
    let _ = registry::remove_dead();
    needs.check()?;
    let folder = std::env::var_os(remote::FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    let captures = tempfile::Builder::new().prefix("captures-").tempdir_in(folder)?;
    say(out, &Report::There(Box::new(there(captures.path()))));
    let AgentChild { process, socket, written } = child::start(&sockets)?;
    let heard = Arc::new(Mutex::new(Instant::now()));
    keep_saying(out, &heard, &socket)?;
    let reports = hand_on(socket.try_clone()?, Kind::Report, out)?;
    let outputs = hand_on(written, Kind::Output, out)?;
    hand_orders(socket.try_clone()?, &heard)?;
    // The agent ends when it was ordered to, when it fails, or when its socket is closed.
    let _ = reports.join();
    let _ = socket.shutdown(Shutdown::Both);
    if let Some(signal) = end(process) {
        say(out, &Report::Died { reason: format!("the agent was ended by signal {signal}") });
    }
    let until = Instant::now() + DRAIN_LONGEST;
    while !outputs.is_finished() && Instant::now() < until {
        thread::sleep(Duration::from_millis(1));
    }
    // One that was killed has left its socket.
    let _ = registry::remove_dead();
    send_files(captures.path(), out);
    Ok(())
}

fn there(captures: &Path) -> There {
    let connection = std::env::var("SSH_CONNECTION").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    There {
        machine: Machine::here(),
        load: load.split_whitespace().next().and_then(|first| first.parse().ok()),
        address: server_of(&connection),
        captures: captures.to_owned(),
        environment: kept(),
    }
}

/// Address of the server, of `SSH_CONNECTION` as sshd(8) sets it.
fn server_of(connection: &str) -> Option<IpAddr> {
    // Addresses of a link have a zone behind them, which means nothing elsewhere.
    connection.split_whitespace().nth(2)?.split('%').next()?.parse().ok()
}

fn say(out: &Queue<Stdout>, report: &Report) {
    let text = serde_json::to_string(report).expect("a report is plain data");
    out.write(&line::of_agent(Kind::Report, &text));
}

/// Says that it is there, and ends the agent when it hears nothing more of the runner.
fn keep_saying(
    out: &Arc<Queue<Stdout>>,
    heard: &Arc<Mutex<Instant>>,
    agent: &UnixStream,
) -> anyhow::Result<()> {
    let (out, heard, agent) = (Arc::clone(out), Arc::clone(heard), agent.try_clone()?);
    let watched = Arc::clone(&heard);
    thread::Builder::new().name("line-in".into()).spawn(move || {
        let longest = line::SILENCE_LONGEST;
        while watched.lock().elapsed() < longest {
            thread::sleep(line::SAID_EVERY);
        }
        let _ = agent.shutdown(Shutdown::Both);
    })?;
    // By itself: it waits for as long as the line is full.
    thread::Builder::new().name("line-out".into()).spawn(move || {
        loop {
            out.write(b"\n");
            thread::sleep(line::SAID_EVERY);
        }
    })?;
    Ok(())
}

/// Hands on what the agent says, line by line, until it says no more.
fn hand_on<R: Read + Send + 'static>(
    from: R,
    kind: Kind,
    out: &Arc<Queue<Stdout>>,
) -> anyhow::Result<JoinHandle<()>> {
    let out = Arc::clone(out);
    let thread = thread::Builder::new().name("agent-out".into());
    Ok(thread.spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            out.write(&line::of_agent(kind, &line));
        }
    })?)
}

/// Hands orders on; without a runner there are no more, and the agent ends.
fn hand_orders(mut agent: UnixStream, heard: &Arc<Mutex<Instant>>) -> anyhow::Result<()> {
    let heard = Arc::clone(heard);
    thread::Builder::new().name("agent-in".into()).spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            *heard.lock() = Instant::now();
            if !line.is_empty() {
                // The reader of its reports finds out if it is gone.
                let _ = agent.write_all((line + "\n").as_bytes());
            }
        }
        let _ = agent.shutdown(Shutdown::Both);
    })?;
    Ok(())
}

/// Waits for the end of the agent, and ends it if that does not come. Returns the signal that somebody else has
/// ended it with.
fn end(mut agent: Child) -> Option<i32> {
    let until = Instant::now() + END_LONGEST;
    while Instant::now() < until {
        match agent.try_wait() {
            Ok(None) => {}
            ended => return ended.ok()??.signal(),
        }
        thread::sleep(Duration::from_millis(5));
    }
    // Its programs die with it.
    let _ = agent.kill();
    let _ = agent.wait();
    None
}

/// Sends what lies in a folder. What cannot be read is said instead.
fn send_files(folder: &Path, out: &Queue<Stdout>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(file) = entry.file_name().into_string() else { continue };
        if let Err(error) = send_file(&entry.path(), &file, out) {
            let cut = Some(error.to_string());
            out.write(&line::of_piece(&Piece { file, octets: 0, cut }, &[]));
        }
    }
}

fn send_file(path: &Path, name: &str, out: &Queue<Stdout>) -> std::io::Result<()> {
    let (mut file, mut octets) = (File::open(path)?, vec![0; PIECE_OCTETS]);
    loop {
        let count = file.read(&mut octets)?;
        let piece = Piece { file: name.to_owned(), octets: count as u64, cut: None };
        // One of none says that the file is whole.
        out.write(&line::of_piece(&piece, &octets[..count]));
        if count == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_host_is_the_one_that_its_server_names() {
        let address = |text: &str| server_of(text).map(|address| address.to_string());
        assert_eq!(address("10.1.0.1 50312 10.1.0.11 22").unwrap(), "10.1.0.11");
        assert_eq!(address("fe80::1%eth0 1 fe80::2%eth0 22").unwrap(), "fe80::2");
        assert_eq!((address(""), address("a b c d")), (None, None));
    }
}
