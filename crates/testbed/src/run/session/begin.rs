//! The begin of a run: machines are reached, agents make everything, and meet.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use vtime::HostSpan;

use super::{Session, progress_line, signal_name, title};
use crate::nodes::kept::kept;
use crate::nodes::naming;
use crate::nodes::orders::{Order, Report, Setup};
use crate::run::event::{Happened, RunEvent};
use crate::run::parts::{self, Part, Stage};
use crate::run::{disturbances, environment, trust};
use runtime::agent::protocol::VERSION;

/// How long machines may take to be reached, and agents to prepare.
const REACH_LONGEST: Duration = Duration::from_secs(120);
const PREPARE_LONGEST: Duration = Duration::from_secs(60);

impl Session<'_> {
    /// Has agents make everything, and waits until all is there, or for a signal, which is the answer.
    pub(super) fn prepare(&mut self, name: &str) -> anyhow::Result<Option<String>> {
        let far = self.parts.iter().filter(|part| part.stage < Stage::There).count();
        if far > 0 {
            let hosts = if far == 1 { "host" } else { "hosts" };
            progress_line(&format!("reaching {far} {hosts} by ssh"));
        }
        let signal = self.gather(Stage::There, REACH_LONGEST, "was not reached")?;
        if signal.is_some() {
            return Ok(signal);
        }
        let doubts: Vec<String> = self.parts.iter().flat_map(Part::doubts).collect();
        doubts.into_iter().for_each(|doubt| self.warn(None, doubt));
        let setups = self.setups(name)?;
        for (part, setup) in self.parts.iter_mut().zip(setups) {
            part.agent.order(&Order::Prepare(Box::new(setup)));
        }
        let mut signal = self.gather(Stage::Prepared, PREPARE_LONGEST, "was not ready")?;
        if signal.is_none() && self.parts.len() > 1 {
            signal = self.meet()?;
        }
        if signal.is_none() {
            self.record_hosts()?;
        }
        Ok(signal)
    }

    fn meet(&mut self) -> anyhow::Result<Option<String>> {
        let addresses: Option<Vec<_>> = self.parts.iter().map(|part| part.address).collect();
        let addresses = addresses.context("an agent does not say where it waits for others")?;
        self.order_all(&Order::Meet { addresses });
        self.gather(Stage::Met, PREPARE_LONGEST, "did not meet the others")
    }

    fn record_hosts(&mut self) -> anyhow::Result<()> {
        let parts = self.parts.iter().enumerate();
        let hosts = parts.filter_map(|(number, part)| part.record(self.scenario, number));
        self.record.hosts = hosts.collect();
        let folder = self.folder.path().display();
        let domains = match self.record.hosts.len() {
            0 | 1 => String::new(),
            count => format!(" on each of {count} hosts"),
        };
        let names = self.parts.iter().filter_map(|part| part.domain.as_deref());
        let domain = naming::of_run(names).unwrap_or_default();
        progress_line(&format!("run folder {folder}, time domain {domain}{domains}"));
        self.folder.write_record(&self.record)
    }

    /// Waits until all agents have come so far, or for a signal, which is the answer.
    fn gather(
        &mut self,
        awaited: Stage,
        longest: Duration,
        otherwise: &str,
    ) -> anyhow::Result<Option<String>> {
        let until = Instant::now() + longest;
        while let Some(late) = self.parts.iter().find(|part| part.stage < awaited) {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(RunEvent::At(host, Happened::Report(report))) => self.came(host, *report)?,
                Ok(RunEvent::At(host, Happened::AgentGone(how))) => {
                    anyhow::bail!("{}", self.agent_gone(host, &how))
                }
                Ok(RunEvent::Lost(loss)) => self.lose(loss),
                Ok(RunEvent::Signal(number)) => {
                    return Ok(Some(format!("by {} before it started", signal_name(number))));
                }
                Err(_) => {
                    let text = format!("the agent {otherwise} within {longest:?}");
                    anyhow::bail!("{}", late.says(&text))
                }
            }
        }
        Ok(None)
    }

    fn came(&mut self, host: usize, report: Report) -> anyhow::Result<()> {
        let part = &mut self.parts[host];
        if let Some(text) = trust::wrong(self.scenario, host, &report) {
            anyhow::bail!("{}", part.says(&text));
        }
        match report {
            Report::There(there) => {
                part.there = Some(*there);
                part.stage = Stage::There;
            }
            Report::Prepared { name, realtime_zero_ns, address, bus } => {
                (part.address, part.bus, part.stage) = (address, bus, Stage::Prepared);
                let line = part.says(&format!("the domain is `{name}`"));
                self.log.line(None, &line);
                part.domain = Some(name);
                // All the same, as the runner says so where there are several.
                self.record.realtime_zero_ns = realtime_zero_ns;
            }
            Report::Met => part.stage = Stage::Met,
            report => {
                if let Some(over) = self.note(host, report) {
                    anyhow::bail!("{}", over.reason);
                }
            }
        }
        Ok(())
    }

    /// What each agent needs to know.
    fn setups(&self, name: &str) -> anyhow::Result<Vec<Setup>> {
        let scenario = self.scenario;
        let hosts = parts::of_each(scenario, &self.parts)?;
        let realtime_zero_ns = scenario.realtime_ns.or_else(|| {
            // Clocks of hosts differ, and all programs are to see one.
            (self.parts.len() > 1).then(|| realtime_ns().saturating_add(scenario.settle.as_ns()))
        });
        let of_each = self.parts.iter().zip(hosts).enumerate().map(|(number, (part, hosts))| {
            let kept = part.there.as_ref().map_or_else(kept, |there| there.environment.clone());
            let captures = match &part.there {
                Some(there) => there.captures.clone(),
                None => absolute(self.folder.capture_path("x").parent().expect("a folder of them")),
            };
            let directory = part.host.as_ref().map_or(&scenario.directory, |host| &host.directory);
            Setup {
                version: VERSION,
                name: name.to_owned(),
                title: title(scenario),
                tdf_millionths: scenario.tdf.millionths(),
                pace: scenario.pace,
                kernel_timers: scenario.kernel_timers,
                order_of_nodes: scenario.order,
                seed: scenario.seed,
                freeze: scenario.freeze,
                stall_guard_ns: scenario.stall_guard.map(HostSpan::as_ns),
                delays_least_ns: disturbances::least_reported_ns(scenario),
                realtime_zero_ns,
                settle: scenario.settle,
                duration: scenario.duration,
                directory: directory.clone(),
                environment: environment::of_all(scenario, name, kept),
                nodes: scenario.nodes_on(number).cloned().collect(),
                network: scenario.network.clone(),
                captures: scenario.captures.then_some(captures),
                hosts,
            }
        });
        Ok(of_each.collect())
    }
}

fn realtime_ns() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
