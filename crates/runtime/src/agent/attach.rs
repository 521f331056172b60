//! `qcycle attach`: an agent for a program that runs already, and the command that waits for it.
//!
//! The agent is a process of its own, the **servant**, in a session of its own: a program cannot
//! get rid of its filter, and what the filter reports must be answered for as long as the program
//! and what comes from it live. The command that the user started only attends the domain. When
//! it ends, by whatever cause, the domain is detached: no hold, no dilation, and the program goes
//! on from where its time is.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use vtime::Tdf;

use super::client::{self, Connection};
use super::control::Control;
use super::protocol::Status;
use super::registry::{Registration, name_for};
use crate::launch::freeze::{FreezeConfig, Freezer};
use crate::launch::{Follower, Jumper, attach};
use domain::{Domain, Freeze, KernelTimers, Pace, Start};
use os::fds;
use os::glance;
use os::process::name_of;
use os::signals::{self, FOR_THE_PROGRAM, Signals};

/// What to attach to.
#[derive(Clone, Debug)]
pub struct Attach {
    /// The process; all its threads and all that comes from it belong to it.
    pub process: i32,
    /// Name of the domain; made from program and process number if `None`.
    pub name: Option<String>,
    pub tdf: Tdf,
    pub pace: Pace,
}

/// What a servant says to who has started it, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AttachResult {
    #[serde(rename = "taken")]
    Attached {
        name: String,
        processes: usize,
        threads: usize,
        stood_ns: i64,
    },
    Failed(String),
}

/// Attaches to a program and attends it until it ends, somebody detaches it, or a signal asks this
/// process to end.
///
/// # Errors
/// When that is not possible; the program goes on as it was.
pub fn attach(attach: &Attach) -> anyhow::Result<()> {
    let asked = Signals::block(&FOR_THE_PROGRAM);
    let (status, mut connection) =
        match client::of_process(attach.process)?.map(|found| found.status) {
            Some(status) if status.detached => again(&status.name, attach)?,
            Some(status) => {
                bail!("process {} is already in the domain `{}`", attach.process, status.name)
            }
            None => begin(attach)?,
        };
    let name = status.name.clone();
    let ending = connection.get_ref().try_clone()?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        asked.next();
        // Notifies the agent, which answers by closing its end.
        let _ = ending.shutdown(std::net::Shutdown::Write);
    })?;
    // The answer contains the warnings up to now.
    let mut shown = BTreeSet::new();
    let mut show = |warning: String| {
        if shown.insert(warning.clone()) {
            terminal::err!("qcycle: {warning}");
        }
    };
    status.warnings.into_iter().for_each(&mut show);
    while let Some(warning) = client::next_warning(&mut connection) {
        show(warning);
    }
    if super::registry::is_there(&name).unwrap_or(false) {
        terminal::out!("detached {name}: its program continues at host speed");
    } else {
        terminal::out!("{name} has ended");
    }
    Ok(())
}

fn again(name: &str, attach: &Attach) -> anyhow::Result<(Status, Connection)> {
    if attach.name.as_ref().is_some_and(|wanted| wanted != name) {
        bail!(
            "process {} is still in the domain that it was detached from, `{name}`",
            attach.process
        );
    }
    let (status, connection) = client::attend(name)?;
    client::call(name, super::protocol::Call::Dilate { tdf: attach.tdf.to_string() })?;
    terminal::out!("attached {name} again");
    Ok((status, connection))
}

fn begin(attach: &Attach) -> anyhow::Result<(Status, Connection)> {
    let (ours, theirs) = fds::pair()?;
    let mut servant = Command::new("/proc/self/exe");
    servant.args(["serve", "--owner", &theirs.as_raw_fd().to_string()]);
    servant.args(["--process", &attach.process.to_string(), "--tdf", &attach.tdf.to_string()]);
    servant.args(["--pace", attach.pace.name()]);
    servant.args(attach.name.iter().flat_map(|name| ["--name", name]));
    servant.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    fds::inherit(&mut servant, theirs.as_fd());
    // SAFETY: one system call between fork and exec.
    unsafe { servant.pre_exec(signals::new_session) };
    servant.spawn().context("cannot start the agent of the program")?;
    drop(theirs);
    let ours = UnixStream::from(ours);
    let mut line = String::new();
    BufReader::new(&ours).read_line(&mut line)?;
    match serde_json::from_str(&line).context("the agent of the program has died")? {
        AttachResult::Failed(reason) => bail!(reason),
        AttachResult::Attached { name, processes, threads, stood_ns } => {
            let attended = client::attend(&name)?;
            terminal::out!(
                "attached {name}: {processes} process(es), {threads} thread(s), stopped for {:.1} \
                 ms",
                stood_ns as f64 / 1e6
            );
            Ok(attended)
        }
    }
}

/// The servant: attaches to the program and serves it until all of it has ended.
pub fn serve(owner: OwnedFd, attach: &Attach) -> u8 {
    let mut owner = UnixStream::from(owner);
    let _ = std::fs::write("/proc/self/comm", "qcycle-servant");
    let mut send = |result: &AttachResult| {
        let mut line = serde_json::to_string(result).expect("plain data");
        line.push('\n');
        // The command may be gone.
        let _ = owner.write_all(line.as_bytes());
    };
    let serving = match start_serving(attach, &mut send) {
        Ok(serving) => serving,
        Err(error) => {
            send(&AttachResult::Failed(format!("{error:#}")));
            return 1;
        }
    };
    let control = Arc::clone(&serving.control);
    let watching = thread::Builder::new().name("owner".into()).spawn(move || {
        // Its end: the command attends the domain by now, or is gone.
        let _ = owner.read(&mut [0]);
        control.detach_unattended();
    });
    if watching.is_err() {
        serving.control.detach_unattended();
    }
    let attended = watching.ok();
    // Lets no more programs report; those that do already are followed until they have ended.
    drop(serving.follower);
    for refusal in serving.refusals {
        serving.control.warn(refusal);
    }
    drop(serving.jumper);
    // However soon the program has ended: the command is to find the domain, and what was refused.
    let _ = attended.map(thread::JoinHandle::join);
    drop(serving.registration);
    0
}

struct Serving {
    registration: Registration,
    control: Arc<Control>,
    follower: Follower,
    refusals: Receiver<String>,
    jumper: Option<Jumper>,
}

fn start_serving(attach: &Attach, send: &mut impl FnMut(&AttachResult)) -> anyhow::Result<Serving> {
    let title = glance::command_of(attach.process);
    let name =
        attach.name.clone().unwrap_or_else(|| name_for(&name_of(attach.process), attach.process));
    let registration = Registration::new(&name)?;
    let ourselves = [std::process::id().cast_signed(), signals::parent()];
    let stopped = attach::stop(attach.process, &ourselves)?;
    // Its clocks go on from the host's at this moment, which all of the program has passed by.
    let start = Start {
        tdf: attach.tdf,
        realtime_ns: None,
        held: true,
        is_joined: true,
        pace: attach.pace,
        seed: 0,
    };
    let domain = Domain::new(start).context("cannot make a clock")?;
    // Somebody else's program stays in the control group that it is in.
    let freezer = Freezer::start(FreezeConfig { freeze: Freeze::Off, method: None })
        .context("cannot freeze programs")?;
    domain.set_backstop(freezer.clone());
    let (sender, refusals) = mpsc::channel();
    let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer), move |refusal| {
        // Nobody receives it if this process is about to end.
        let _ = sender.send(refusal);
    });
    let follower = follower.context("cannot follow programs")?;
    let control = Control::new(&name, &title, Arc::clone(&domain), freezer, false);
    control.serve(&registration)?;
    fds::raise_limit();
    let attached = stopped.insert_into(&follower, &domain)?;
    let attach::Attached { processes, threads, stood_ns } = attached;
    send(&AttachResult::Attached { name, processes, threads, stood_ns });
    let jumper =
        Jumper::start(&domain, Vec::new(), KernelTimers::Wait).context("cannot skip idle time")?;
    Ok(Serving { registration, control, follower, refusals, jumper })
}
