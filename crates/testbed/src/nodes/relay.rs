//! `qcycle relay`: between an agent on this machine and its runner on another one, at the other end of an ssh
//! session, which has one way in and one way out.
//!
//! It looks whether this machine has what is needed, says what it is, starts an agent and hands on what the two
//! say. When it hears nothing more of the runner it ends, and the agent with it: nothing is left here. Captures
//! are written here and go to the runner at the end, if that is still heard.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::child::{self, AgentChild};
use super::kept::kept;
use super::line::{self, Kind, Piece};
use super::needs::Needs;
use super::orders::{Report, There};
use super::outlet::{Outlet, Runner};
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
    let runner = Runner::new(line::SILENCE_LONGEST);
    let Ok(out) = io::stdout().as_fd().try_clone_to_owned() else { return 1 };
    let out = Arc::new(Queue::new(Outlet::new(out.into(), runner.clone())));
    let ended = relay(needs, &out, &runner);
    if let Err(error) = &ended {
        say(&out, &Report::Failed { reason: format!("{error:#}") });
    }
    if let Some(folder) = std::env::var_os(remote::FOLDER) {
        // The shell that waits for this does the same; it may have been killed.
        let _ = fs::remove_dir_all(folder);
    }
    u8::from(ended.is_err())
}

fn relay(needs: Needs, out: &Arc<Queue<Outlet>>, runner: &Runner) -> anyhow::Result<()> {
    // Before this process is root of a user namespace, where the folder would be another.
    let sockets = Folder::make()?.path().to_owned();
    let _ = registry::remove_dead();
    needs.check()?;
    let folder = std::env::var_os(remote::FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
    let captures = tempfile::Builder::new().prefix("captures-").tempdir_in(folder)?;
    say(out, &Report::There(Box::new(there(captures.path()))));
    let AgentChild { process, socket, written } = child::start(&sockets)?;
    keep_saying(out, runner, &socket)?;
    let reports = hand_on(socket.try_clone()?, Kind::Report, out)?;
    let outputs = hand_on(written, Kind::Output, out)?;
    hand_orders(socket.try_clone()?, runner)?;
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
    // The runner says what did not come.
    let _ = send_files(captures.path(), out);
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

fn say(out: &Queue<Outlet>, report: &Report) {
    let text = serde_json::to_string(report).expect("a report is plain data");
    // A runner that is gone shows at the input.
    let _ = out.write(&line::of_agent(Kind::Report, &text));
}

/// Says that it is there, and ends the agent when it hears nothing more of the runner.
fn keep_saying(
    out: &Arc<Queue<Outlet>>,
    runner: &Runner,
    agent: &UnixStream,
) -> anyhow::Result<()> {
    let (out, runner, agent) = (Arc::clone(out), runner.clone(), agent.try_clone()?);
    thread::Builder::new().name("line-in".into()).spawn(move || {
        while !runner.is_silent() {
            thread::sleep(line::SAID_EVERY);
        }
        let _ = agent.shutdown(Shutdown::Both);
    })?;
    // By itself: it waits for as long as the line is full.
    thread::Builder::new().name("line-out".into()).spawn(move || {
        while out.write(b"\n").is_ok() {
            thread::sleep(line::SAID_EVERY);
        }
    })?;
    Ok(())
}

/// Hands on what the agent says, line by line, until it says no more.
fn hand_on<R: Read + Send + 'static>(
    from: R,
    kind: Kind,
    out: &Arc<Queue<Outlet>>,
) -> anyhow::Result<JoinHandle<()>> {
    let out = Arc::clone(out);
    let thread = thread::Builder::new().name("agent-out".into());
    Ok(thread.spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // The agent is to end in order, whether anybody hears it or not.
            let _ = out.write(&line::of_agent(kind, &line));
        }
    })?)
}

/// Hands orders on; without a runner there are no more, and the agent ends.
fn hand_orders(mut agent: UnixStream, runner: &Runner) -> anyhow::Result<()> {
    let runner = runner.clone();
    thread::Builder::new().name("agent-in".into()).spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            runner.heard();
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
///
/// # Errors
/// When nobody takes it any more.
fn send_files(folder: &Path, out: &Queue<impl Write>) -> io::Result<()> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else { continue };
        let mut file = File::open(entry.path());
        let mut octets = vec![0; PIECE_OCTETS];
        loop {
            let read = file
                .as_mut()
                .map_err(|error| error.to_string())
                .and_then(|file| file.read(&mut octets).map_err(|error| error.to_string()));
            let (count, cut) = read.map_or_else(|error| (0, Some(error)), |count| (count, None));
            // One of none says that the file is whole, or why it is not.
            let piece = Piece { file: name.clone(), octets: count as u64, cut };
            out.write(&line::of_piece(&piece, &octets[..count]))?;
            if count == 0 {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::line::Word;

    /// The files that come over a line, and how much of each, or why no more.
    fn come(octets: &[u8]) -> Vec<(String, usize, Option<String>)> {
        let (mut from, mut files) = (octets, Vec::new());
        while let Ok(Some(Word::Piece(piece, octets))) = line::next(&mut from) {
            files.push((piece.file, octets.len(), piece.cut));
        }
        files
    }

    #[test]
    fn captures_go_home_whole_or_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), vec![7; PIECE_OCTETS + 3]).unwrap();
        let out = Queue::new(Vec::new());
        send_files(folder.path(), &out).unwrap();
        let whole = |octets| ("a".to_owned(), octets, None);
        assert_eq!(come(&out.into_inner()), [whole(PIECE_OCTETS), whole(3), whole(0)]);
        fs::remove_file(folder.path().join("a")).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        let out = Queue::new(Vec::new());
        send_files(folder.path(), &out).unwrap();
        let [(file, 0, Some(_))] = &come(&out.into_inner())[..] else { panic!("no reason") };
        assert_eq!(file, "b");
    }

    #[test]
    fn captures_keep_nobody_whose_runner_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::write(folder.path().join(name), vec![0; 4 << 20]).unwrap();
        }
        let (reader, writer) = io::pipe().unwrap();
        let to = std::os::fd::OwnedFd::from(writer).into();
        let out = Queue::new(Outlet::new(to, Runner::new(Duration::from_millis(100))));
        let begun = Instant::now();
        assert!(send_files(folder.path(), &out).is_err());
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        drop(reader);
    }

    #[test]
    fn the_address_of_a_host_is_the_one_that_its_server_names() {
        let address = |text: &str| server_of(text).map(|address| address.to_string());
        assert_eq!(address("10.1.0.1 50312 10.1.0.11 22").unwrap(), "10.1.0.11");
        assert_eq!(address("fe80::1%eth0 1 fe80::2%eth0 22").unwrap(), "fe80::2");
        assert_eq!((address(""), address("a b c d")), (None, None));
    }
}
