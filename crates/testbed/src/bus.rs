//! Runs programs on a process bus in host time: a publisher and relays, each in a network namespace
//! of its own, wired as asked for.
//!
//! The programs are shell commands, as they may be containers (`runc run …`) or redirect what they
//! say. Nothing is in virtual time here: what is measured is this host.

use std::process::{Child, Command};

use anyhow::Context;

use os::process_bus::{NetworkNamespace, ProcessBus, Wiring};
use terminal::exit::{BadUsage, Exit};

/// What to run, and on what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    pub wiring: Wiring,
    pub publisher: String,
    /// The commands of relays, one for each.
    pub relays: Vec<String>,
}

/// Starts relays and publisher, and waits until all have ended by themselves.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    if options.wiring == Wiring::Veth && options.relays.len() > 1 {
        let what = "--wiring veth: a cable takes one --relay; use bridge or macvlan for more";
        return Err(BadUsage(what.to_owned()).into());
    }
    let bus = ProcessBus::lay(options.wiring, options.relays.len())?;
    let ends = bus.relays.iter().zip(&options.relays);
    let mut programs: Vec<(&String, Child)> =
        ends.map(|(end, command)| start(end, command)).collect::<anyhow::Result<_>>()?;
    programs.push(start(&bus.publisher, &options.publisher)?);
    let mut exit = Exit::Done;
    for (command, program) in &mut programs {
        let status = program.wait().with_context(|| (*command).clone())?;
        if !status.success() {
            terminal::err!("qcycle: {status}: {command}");
            exit = Exit::PartFailed;
        }
    }
    Ok(exit)
}

fn start<'c>(end: &NetworkNamespace, command: &'c String) -> anyhow::Result<(&'c String, Child)> {
    let mut shell = Command::new("sh");
    end.host(shell.args(["-c", command]))?;
    let child = shell.spawn().with_context(|| command.clone())?;
    Ok((command, child))
}
