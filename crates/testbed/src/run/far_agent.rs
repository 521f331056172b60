//! An agent on another machine: this program is carried there by ssh, and runs as a relay ([`crate::nodes::relay`])
//! with an agent behind it.
//!
//! One thread hears what comes, one writes orders and looks whether anything came of late, and one records what
//! programs have written, as a disk that is slow must keep nobody from hearing a question to the plant.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use remote::{Carried, Target};

use super::agent_process::AgentProcess;
use super::event::EventsOf;
use super::hearing::Hearing;
use super::outputs::Outputs;
use super::said::Said;
use crate::nodes::line::{self, Piece, Word};
use crate::nodes::needs::Needs;
use crate::nodes::orders::Output;
use os::elf;
use results::doubt::Loss;

/// Reports of what programs wrote that may wait for the disk.
const OUTPUTS_WAITING_MAX: usize = 1024;

/// This program as it is carried to other machines.
///
/// # Errors
/// When its file cannot be read any more.
pub(super) fn carried() -> anyhow::Result<Carried> {
    let context = || "this program cannot read its own file, which other hosts are to run";
    let octets = std::fs::read("/proc/self/exe").with_context(context)?;
    let octets = elf::as_loaded(octets).with_context(context)?;
    Ok(Carried { name: "qcycle", octets })
}

/// A capture of a host.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    /// Its name in the folder of the run.
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// The captures of a host, which come home at the end.
#[derive(Debug)]
pub(super) struct Captures {
    pub(super) wanted: Vec<Capture>,
    /// Scenario time at which they begin.
    pub(super) begin_ns: i64,
    /// The host that they come from, by name.
    pub(super) host: String,
}

/// Starts an agent over there.
pub(super) fn start(
    target: &Target,
    carried: &Arc<Carried>,
    needs: Needs,
    events: EventsOf,
    mut outputs: Outputs,
    captures: Captures,
) -> anyhow::Result<AgentProcess> {
    let mut arguments = "relay".to_owned();
    for (needed, option) in [(needs.network, " --network"), (needs.files, " --files")] {
        arguments += if needed { option } else { "" };
    }
    let mut ssh = carried.session(target, &arguments);
    // A Ctrl-C in the terminal is for this process, which ends the others in order.
    std::os::unix::process::CommandExt::process_group(&mut ssh, 0);
    ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut ssh = ssh.spawn().context("cannot start ssh; install it (openssh-client)")?;
    let (input, output) = (ssh.stdin.take().expect("piped"), ssh.stdout.take().expect("piped"));
    let said = Said::hear(ssh.stderr.take().expect("piped"))?;
    let last_lines = outputs.last_lines();
    let (orders, ordered) = channel();
    let (written, to_record) = sync_channel::<Output>(OUTPUTS_WAITING_MAX);
    let losses = events.clone();
    let recorder = thread::Builder::new().name("outputs".into()).spawn(move || {
        for output in to_record {
            losses.record(&mut outputs, &output);
        }
        outputs.changed().into_iter().for_each(|loss| losses.lost(loss));
    })?;
    let hearing = Arc::new(Hearing::default());
    let destination = target.destination.clone();
    let line = Line {
        destination,
        events,
        hearing: Arc::clone(&hearing),
        said: said.clone(),
        written,
        captures: CapturesHome::new(captures),
    };
    let carried = Arc::clone(carried);
    thread::Builder::new()
        .name("line-in".into())
        .spawn(move || line.attend(&carried, input, output, ordered))?;
    Ok(AgentProcess::over_ssh(ssh, orders, recorder, last_lines, (hearing, said)))
}

struct Line {
    destination: String,
    events: EventsOf,
    hearing: Arc<Hearing>,
    said: Said,
    written: SyncSender<Output>,
    captures: CapturesHome,
}

impl Line {
    /// Hands the program over, then hears until nothing more comes.
    fn attend(
        mut self,
        carried: &Carried,
        mut input: ChildStdin,
        mut output: ChildStdout,
        ordered: Receiver<Vec<u8>>,
    ) {
        if let Err(error) = carried.hand_over(&mut input, &mut output) {
            let reached = &self.destination;
            self.events.gone(format!(
                "qcycle could not be started there: {error:#}; see its `ssh` and `folder`, and whether \
                 `ssh {reached} true` works without a password"
            ));
            return;
        }
        self.said.forget();
        self.hearing.heard();
        self.hearing.reached();
        let (events, hearing) = (self.events.clone(), Arc::clone(&self.hearing));
        let writer = thread::Builder::new().name("line-out".into());
        if let Err(error) = writer.spawn(move || write(input, &ordered, &events, &hearing)) {
            self.events.gone(format!("cannot start a thread: {error}"));
            return;
        }
        let how = self.hear(output);
        self.hearing.over();
        self.captures.finish(&self.events);
        self.events.gone(how);
    }

    /// Hears until nothing more comes. Returns why.
    fn hear(&mut self, output: impl Read) -> String {
        let mut output = BufReader::new(output);
        loop {
            let word = match line::next(&mut output) {
                Ok(Some(word)) => word,
                Ok(None) => return "the session ended unexpectedly".to_owned(),
                Err(error) => return format!("the agent sent an invalid message: {error}"),
            };
            self.hearing.heard();
            match word {
                Word::There => {}
                Word::Report(report) => _ = self.events.report(*report),
                Word::Output(output) => {
                    let busy = self.hearing.busy();
                    // It ends after this.
                    let _ = self.written.send(output);
                    drop(busy);
                }
                Word::Piece(piece, octets) => {
                    let busy = self.hearing.busy();
                    self.captures.take(&piece, &octets, &self.events);
                    drop(busy);
                }
            }
        }
    }
}

/// Writes orders as they come, and that this end is there. Tells once when the other end is silent.
fn write(mut to: ChildStdin, ordered: &Receiver<Vec<u8>>, events: &EventsOf, hearing: &Hearing) {
    let mut is_told = false;
    let mut last = Instant::now();
    loop {
        let octets = match ordered.recv_timeout(line::SAID_EVERY) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => b"\n".to_vec(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if to.write_all(&octets).and_then(|()| to.flush()).is_err() {
            return;
        }
        // Who was stopped itself has heard nothing meanwhile.
        if last.elapsed() > line::SILENCE_LONGEST / 2 {
            hearing.heard();
        }
        last = Instant::now();
        if !is_told && hearing.is_silent() {
            is_told = true;
            events.gone(format!("nothing was heard of it for {:?}", line::SILENCE_LONGEST));
        }
    }
}

/// Captures as they come home.
#[derive(Debug)]
struct CapturesHome {
    /// Those that may still come, by name without folder.
    wanted: BTreeMap<String, Capture>,
    /// The one that comes now.
    now: Option<(Capture, File)>,
    begin_ns: i64,
    host: String,
}

impl CapturesHome {
    fn new(captures: Captures) -> Self {
        let wanted = captures.wanted.into_iter().filter_map(|capture| {
            let name = capture.path.file_name()?.to_str()?.to_owned();
            Some((name, capture))
        });
        Self {
            wanted: wanted.collect(),
            now: None,
            begin_ns: captures.begin_ns,
            host: captures.host,
        }
    }

    /// Takes octets of a file. Whatever else another machine sends is none of the run.
    fn take(&mut self, piece: &Piece, octets: &[u8], events: &EventsOf) {
        if let Some(capture) = self.wanted.remove(&piece.file) {
            self.not_whole(events);
            match File::create(&capture.path) {
                Ok(file) => self.now = Some((capture, file)),
                Err(error) => return self.lacks(&capture, &error.to_string(), events),
            }
        }
        let is_now = |(capture, _): &mut (Capture, File)| capture.path.ends_with(&piece.file);
        let Some((capture, mut file)) = self.now.take_if(is_now) else { return };
        match (file.write_all(octets), &piece.cut) {
            (Err(error), _) => self.lacks(&capture, &error.to_string(), events),
            (Ok(()), Some(cut)) => self.lacks(&capture, cut, events),
            (Ok(()), None) if octets.is_empty() => {}
            (Ok(()), None) => self.now = Some((capture, file)),
        }
    }

    /// Tells of the one that comes now, of which no more will come.
    fn not_whole(&mut self, events: &EventsOf) {
        if let Some((capture, _)) = self.now.take() {
            self.lacks(&capture, "the rest did not come", events);
        }
    }

    /// Tells of those that never came, or not whole.
    fn finish(&mut self, events: &EventsOf) {
        self.not_whole(events);
        for capture in self.wanted.values() {
            self.lacks(capture, "it did not come", events);
        }
    }

    fn lacks(&self, capture: &Capture, reason: &str, events: &EventsOf) {
        let file = capture.name.clone();
        // From when on is not known.
        let reason = format!("host `{}`: {file} lacks frames: {reason}", self.host);
        events.lost(Loss { file, from_ns: self.begin_ns, reason });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::event::RunEvent;

    fn piece(file: &str, octets: &[u8]) -> Piece {
        Piece { file: file.to_owned(), octets: octets.len() as u64, cut: None }
    }

    #[test]
    fn captures_come_home_and_nothing_else_does() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let wanted = ["a.pcapng", "b.pcapng", "c.pcapng", "e.pcapng"]
            .map(|name| Capture { name: format!("captures/{name}"), path: path(name) });
        let mut home = CapturesHome::new(Captures {
            wanted: wanted.into(),
            begin_ns: -7,
            host: "h1".to_owned(),
        });
        let (to, heard) = channel();
        let events = EventsOf { host: 1, to };
        for (file, octets) in [
            ("a.pcapng", &b"one"[..]),
            ("../run.json", b"x"),
            ("a.pcapng", b"two"),
            ("a.pcapng", b""),
            ("b.pcapng", b"b"),
            ("a.pcapng", b"three"),
            ("d.pcapng", b"d"),
        ] {
            home.take(&piece(file, octets), octets, &events);
        }
        let cut = Some("the disk is full".to_owned());
        home.take(&Piece { cut, ..piece("b.pcapng", b"") }, b"", &events);
        home.take(&piece("b.pcapng", b"more"), b"more", &events);
        home.take(&piece("e.pcapng", b"half"), b"half", &events);
        home.finish(&events);
        assert_eq!(std::fs::read(path("a.pcapng")).unwrap(), b"onetwo");
        assert_eq!(std::fs::read(path("b.pcapng")).unwrap(), b"b");
        assert_eq!(std::fs::read(path("e.pcapng")).unwrap(), b"half");
        assert_eq!(folder.path().read_dir().unwrap().count(), 3);
        let lost: Vec<_> = heard
            .try_iter()
            .map(|event| match event {
                RunEvent::Lost(loss) => (loss.from_ns, loss.reason),
                other => panic!("{other:?}"),
            })
            .collect();
        let lost: Vec<_> = lost.iter().map(|(from, reason)| (*from, reason.as_str())).collect();
        let expected = [
            (-7, "host `h1`: captures/b.pcapng lacks frames: the disk is full"),
            (-7, "host `h1`: captures/e.pcapng lacks frames: the rest did not come"),
            (-7, "host `h1`: captures/c.pcapng lacks frames: it did not come"),
        ];
        assert_eq!(lost, expected);
    }
}
