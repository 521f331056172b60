//! What becomes of a run when a host dies or nothing is heard of it: it ends, or goes on without the host, as the scenario says.
//!
//! The runner alone decides which hosts are lost, so that all that are left agree, and tells them in one order. Of two
//! hosts that do not hear each other any more the one that is told of first is lost. A host that was lost is not let in
//! again: nobody listens to it, and it ends when its session does.

use vtime::VirtualSpan;

use super::{Over, Session, progress_line};
use crate::nodes::line::SILENCE_LONGEST;
use crate::nodes::orders::Order;
use network::plan::Place;
use results::doubt::LostHost;
use results::record::ProgramEnd;

impl Session<'_> {
    /// An agent is gone, or nothing is heard of its session. The run is over, unless it may go on without it.
    pub(super) fn gone_at(&mut self, host: usize, how: &str) -> Option<Over> {
        let text = self.parts[host].says(how);
        match self.goes_on_without(host, &text) {
            Some(over) => over,
            None => Some(Over::part_failed(self.agent_gone(host, how))),
        }
    }

    /// An agent says that nothing is heard of another one, or that it says what cannot be. The run is over, unless it
    /// may go on without it.
    pub(super) fn silent_or_wrong(
        &mut self,
        host: usize,
        text: String,
        is_wrong: bool,
    ) -> Option<Over> {
        if let Some(part) = self.parts.get(host) {
            if part.lost.is_some() {
                return None;
            }
            if !is_wrong && let Some(over) = self.goes_on_without(host, &text) {
                return over;
            }
            let part = &mut self.parts[host];
            // It would not end by itself, and nobody is to wait for that.
            part.is_gone = true;
            part.agent.kill();
        }
        Some(Over::part_failed(text))
    }

    /// The run is over if the one host that is left of several is silent: no other one would tell of it.
    pub(super) fn last_one_is_silent(&mut self) -> Option<Over> {
        let mut present = self.present();
        let (last, None) = (present.next()?, present.next()) else { return None };
        let asked_at = last.asked_at.filter(|_| self.parts.len() > 1)?;
        if asked_at.elapsed() < SILENCE_LONGEST {
            return None;
        }
        let text = last.says(&format!("its agent has not answered for {SILENCE_LONGEST:?}"));
        drop(present);
        self.parts.iter_mut().filter(|part| part.lost.is_none()).for_each(|part| {
            part.is_gone = true;
            part.agent.kill();
        });
        Some(Over::part_failed(text))
    }

    /// Goes on without a host; `None` if that may not be. The run is over if the answer says so: those that are left may have
    /// been at its end.
    pub(super) fn goes_on_without(&mut self, host: usize, reason: &str) -> Option<Option<Over>> {
        let is_last = self.present().count() < 2;
        if !self.goes_on || is_last || !self.parts[host].may_be_lost() {
            return None;
        }
        let at = self.scenario_time(self.parts[host].virtual_ns);
        let part = &mut self.parts[host];
        (part.is_gone, part.lost) = (true, Some(at));
        let order = Order::Lost { host, reason: reason.to_owned() };
        self.parts.iter_mut().filter(|part| part.lost.is_none()).for_each(|part| {
            part.agent.order(&order);
        });
        self.parts[host].agent.abandon();
        self.disturbances.is_lost(host);
        self.record_lost(host, at, reason);
        Some(self.have_all_arrived())
    }

    fn record_lost(&mut self, host: usize, at: VirtualSpan, reason: &str) {
        let scenario = self.scenario;
        let Some(hosts) = &scenario.hosts else { return };
        let nodes: Vec<String> = scenario.nodes_on(host).map(|node| node.name.clone()).collect();
        for program in &mut self.record.programs {
            let ran = matches!(program.end, ProgramEnd::Starting | ProgramEnd::Running);
            if ran && nodes.contains(&program.node) {
                (program.end, program.ended_ns) = (ProgramEnd::HostLost, Some(at.as_ns()));
            }
        }
        let switches = scenario.network.switches.iter().enumerate();
        let switches = switches
            .filter(|(number, _)| hosts.placement.host_of(Place::Switch(*number)) == host)
            .map(|(_, name)| name.clone());
        let name = hosts.all[host].name.clone();
        let text = format!(
            "the run went on after {at} without host `{name}` and its nodes ({}): {reason}",
            nodes.join(", ")
        );
        progress_line(&text);
        self.warn(Some(at), text);
        self.record.lost_hosts.push(LostHost {
            host: name,
            at_ns: at.as_ns(),
            reason: reason.to_owned(),
            switches: switches.collect(),
            nodes,
        });
        self.account.change();
    }
}
