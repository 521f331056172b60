//! What an agent has of a node.

use std::collections::BTreeMap;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::messages::{self, FromNode, Interface, Make, Start, ToNode};
use domain::Pace;
use network::wire::MacAddress;
use os::fds;
use os::signals;
use runtime::launch::program::Gate;
use scenario::model::Program;

/// How long a node may take to end by itself before it is killed.
const END_LONGEST: Duration = Duration::from_secs(1);

/// A node that is up. Dropping it ends everything in it.
#[derive(Debug)]
pub(in crate::nodes) struct NodeHandle {
    socket: OwnedFd,
    process: Child,
    /// The TAP device of `eth0`, until the network takes it.
    pub(in crate::nodes) tap: Option<OwnedFd>,
    /// The device behind `/plant`, until its server takes it.
    pub(in crate::nodes) plant: Option<OwnedFd>,
    /// The device behind `/dev/urandom`, until its server takes it.
    pub(in crate::nodes) random: Option<OwnedFd>,
}

#[derive(Debug)]
pub(in crate::nodes) struct Pipes {
    pub(in crate::nodes) out: PipeReader,
    pub(in crate::nodes) err: PipeReader,
}

impl NodeHandle {
    /// A node, with the two that its agent serves if it is to have them: points at `/plant`, and what is
    /// random.
    pub(in crate::nodes) fn new(
        name: &str,
        interface: Option<(MacAddress, std::net::Ipv4Addr, u8)>,
        [plant, random]: [bool; 2],
        pace: Pace,
        gate: &Gate,
    ) -> anyhow::Result<Self> {
        let (socket, theirs) = fds::pair()?;
        let process = start(&theirs, gate).context("cannot start the process of a node")?;
        drop(theirs);
        let interface =
            interface.map(|(mac, address, prefix)| Interface { mac: mac.0, address, prefix });
        let avoids_timers = pace != Pace::Real;
        let wanted = (interface.is_some(), plant, random);
        let make = Make { name: name.to_owned(), interface, plant, avoids_timers, random };
        let mut node = Self { socket, process, tap: None, plant: None, random: None };
        messages::send(node.socket.as_fd(), &ToNode::Make(make), &[])?;
        let (answer, fds) = messages::receive(node.socket.as_fd())?
            .context("the process of the node ended before the node was ready")?;
        match answer {
            FromNode::Made => {}
            FromNode::Failed { reason } => bail!("{reason}"),
            other => bail!("unexpected message from the node: {other:?}"),
        }
        let mut fds = fds.into_iter();
        let mut take = || fds.next().context("the node did not pass on a device");
        node.tap = wanted.0.then(&mut take).transpose()?;
        node.plant = wanted.1.then(&mut take).transpose()?;
        node.random = wanted.2.then(&mut take).transpose()?;
        Ok(node)
    }

    /// Its first process, which begins and adopts those in it.
    pub(in crate::nodes) fn process(&self) -> i32 {
        self.process.id().cast_signed()
    }

    pub(in crate::nodes) fn stop(&self, kill: bool) {
        // A node that is gone has no programs.
        let _ = messages::send(self.socket.as_fd(), &ToNode::Stop { kill }, &[]);
    }

    /// Begins to end everything in it; dropping waits for that.
    pub(in crate::nodes) fn close(&self) {
        // The node reads the end of the socket; fails if it is gone.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    /// A second handle on the socket, for who starts its programs.
    pub(in crate::nodes) fn orders(&self) -> io::Result<NodeOrders> {
        Ok(NodeOrders(self.socket.try_clone()?))
    }

    /// Another one, for the thread that waits for events.
    pub(in crate::nodes) fn events(&self) -> io::Result<NodeEvents> {
        Ok(NodeEvents(self.socket.try_clone()?))
    }
}

impl Drop for NodeHandle {
    fn drop(&mut self) {
        self.close();
        // The process outside ends after the kernel has ended everything inside: after that
        // nothing of the node is left, while killing it would leave the rest to die a bit later.
        let until = Instant::now() + END_LONGEST;
        while Instant::now() < until {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // Gone already, which is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(in crate::nodes) struct NodeOrders(OwnedFd);

impl NodeOrders {
    /// Starts a program; that it could not be started comes as an event.
    pub(in crate::nodes) fn start(
        &self,
        program: &Program,
        environment: &BTreeMap<String, String>,
        directory: &Path,
    ) -> io::Result<Pipes> {
        let ((out, out_theirs), (err, err_theirs)) = (io::pipe()?, io::pipe()?);
        let mut environment = environment.clone();
        environment.extend(program.environment.clone());
        let start = Start {
            name: program.name.clone(),
            command: program.command.clone(),
            environment,
            directory: directory.to_owned(),
        };
        let ends = [out_theirs.as_fd(), err_theirs.as_fd()];
        messages::send(self.0.as_fd(), &ToNode::Start(start), &ends)?;
        Ok(Pipes { out, err })
    }
}

pub(in crate::nodes) struct NodeEvents(OwnedFd);

impl Iterator for NodeEvents {
    type Item = FromNode;

    fn next(&mut self) -> Option<FromNode> {
        Some(messages::receive(self.0.as_fd()).ok()??.0)
    }
}

fn start(socket: &OwnedFd, gate: &Gate) -> io::Result<Child> {
    let (socket_number, gate_number) = (socket.as_raw_fd(), gate.fd().as_raw_fd());
    let mut node = Command::new("/proc/self/exe");
    node.args(["node", "--socket", &socket_number.to_string()]);
    node.args(["--gate", &gate_number.to_string()]);
    node.args(gate.is_seeded().then_some("--seeded"));
    fds::inherit(&mut node, socket.as_fd());
    fds::inherit(&mut node, gate.fd().as_fd());
    // SAFETY: one system call between fork and exec.
    unsafe { node.pre_exec(signals::die_with_parent) };
    node.spawn()
}
