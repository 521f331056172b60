//! A machine that ssh reaches: the static probe is put there, runs, and is gone with its session.
//!
//! One session of ssh(1) does all of it. Its input is the program, then the order, then the lifeline;
//! its output is one line that the program is there, then the stream. A shell on the far side removes
//! the program whatever way the session ends, so that a killed `qcycle`, or a line that broke, leaves
//! nothing there either.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{ChildStdin, ChildStdout, Command};

use anyhow::{Context as _, Result, bail};
use probe::Facts;
use probe::attend::Order;

use super::{Attended, Binary, Platform, Refusal, Role};
use crate::matrix::RemoteSpec;
use probe::Cores;

/// What the far side says once the program is there; all before it is the chatter of a login.
const READY: &[u8] = b"qcprobe is there\n";
const CHATTER_MAX: u64 = 1 << 20;

/// A machine behind ssh.
#[derive(Debug)]
pub struct Remote {
    spec: RemoteSpec,
    binary: Binary,
}

impl Remote {
    /// As a matrix describes it, with the probe that is run there.
    pub fn new(spec: &RemoteSpec, binary: &Binary) -> Self {
        Self { spec: spec.clone(), binary: binary.clone() }
    }

    fn ssh(&self, octets: usize, command: &str) -> Command {
        let mut ssh = Command::new("ssh");
        if let Some(config) = &self.spec.config {
            ssh.arg("-F").arg(config);
        }
        if let Some(identity) = &self.spec.identity {
            ssh.arg("-i").arg(identity);
        }
        if let Some(port) = self.spec.port {
            ssh.arg("-p").arg(port.to_string());
        }
        // Nobody is there to be asked for a password, and a line that broke is noticed.
        for option in ["BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=15"] {
            ssh.arg("-o").arg(option);
        }
        ssh.arg("-T").arg(&self.spec.host).arg(script(&self.spec.folder, octets, command));
        ssh
    }

    /// Starts a command of the program over there.
    fn start(&self, command: &str, order: &Order) -> Result<Attended, Refusal> {
        let program = self.binary.static_path()?;
        let program =
            fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        let ssh = self.ssh(program.len(), command);
        let attended =
            Attended::start_after(ssh, order, |input, output| hand_over(&program, input, output));
        attended.map_err(|error| {
            let reason = format!("{}: {error:#}", self.spec.host);
            Refusal::missing(reason, format!("check that `ssh {}` works", self.spec.host))
        })
    }
}

impl Platform for Remote {
    fn prepare(&mut self) -> Result<Cores, Refusal> {
        let mut attended = self.start("facts", &Order::default())?;
        let mut text = String::new();
        let read = attended.stream().take(CHATTER_MAX).read_to_string(&mut text);
        let ending = attended.finish();
        let facts = read.ok().and_then(|_| serde_json::from_str::<Facts>(&text).ok());
        let Some(facts) = facts else {
            let reason = format!("{}: {}", self.spec.host, ending.last_words());
            let fix = "set `folder` to one where programs may run, and QCYCLE_PROBE to a probe for \
                       that machine";
            return Err(Refusal::missing(reason, fix));
        };
        let online = facts.cores_online.context("it does not report its cores")?;
        Ok(self.spec.cores.of(&online.parse()?, &Cores::default())?)
    }

    fn attend(&mut self, order: &Order, _: Role) -> Result<Attended, Refusal> {
        self.start("attend", order)
    }
}

/// Sends the program, and waits until the far side has it.
fn hand_over(program: &[u8], input: &mut ChildStdin, output: &mut ChildStdout) -> Result<()> {
    let sent = input.write_all(program).and_then(|()| input.flush());
    // Octet by octet: what follows is the order's, and must not be taken away from it here.
    let mut line = Vec::new();
    let mut octet = [0];
    let mut read = 0;
    while read < CHATTER_MAX && output.read(&mut octet).is_ok_and(|count| count == 1) {
        read += 1;
        line.push(octet[0]);
        if octet[0] == b'\n' {
            if line == READY {
                sent.context("cannot send the probe")?;
                return Ok(());
            }
            line.clear();
        }
    }
    bail!("the remote machine did not accept the probe")
}

/// What the far side runs. There are no single quotes in it, since it stands between them: the
/// login shell may be any.
fn script(folder: &str, octets: usize, command: &str) -> String {
    let ready = String::from_utf8_lossy(READY);
    let ready = ready.trim_end();
    let script = format!(
        "d=$(mktemp -d {folder}/qcprobe.XXXXXXXX) || exit 69; \
         trap \"rm -rf $d\" EXIT; trap \"exit 129\" HUP INT TERM PIPE; \
         head -c {octets} >$d/qcprobe && chmod 700 $d/qcprobe || exit 69; \
         echo {ready}; $d/qcprobe {command}"
    );
    assert!(!script.contains('\''), "the script stands between single quotes");
    format!("exec /bin/sh -c '{script}'")
}
