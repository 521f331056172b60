//! What the runner waits for: who watches agents, the files of the run and the signals puts it
//! into the one queue that the session takes from.

use std::sync::mpsc::Sender;

use super::outputs::Outputs;
use crate::nodes::orders::{Output, Report};
use results::doubt::Loss;

#[derive(Debug)]
pub(super) enum RunEvent {
    /// At the agent of a host, by its number.
    At(usize, Happened),
    /// A file of the run lacks something.
    Lost(Loss),
    Signal(i32),
}

/// What happened at an agent.
#[derive(Debug)]
pub(super) enum Happened {
    Report(Box<Report>),
    /// It is gone, and how that showed.
    AgentGone(String),
}

/// The queue of the session, for what happens at the agent of one host.
#[derive(Clone, Debug)]
pub(super) struct EventsOf {
    pub(super) host: usize,
    pub(super) to: Sender<RunEvent>,
}

impl EventsOf {
    /// Tells of a report. Returns whether anybody hears it: a session that is over learns of nothing more.
    pub(super) fn report(&self, report: Report) -> bool {
        self.to.send(RunEvent::At(self.host, Happened::Report(Box::new(report)))).is_ok()
    }

    /// Tells that the agent is gone, and how that showed.
    pub(super) fn gone(&self, how: String) -> bool {
        self.to.send(RunEvent::At(self.host, Happened::AgentGone(how))).is_ok()
    }

    /// Writes lines of a program down, and tells of what is lost with that.
    pub(super) fn record(&self, outputs: &mut Outputs, output: &Output) {
        outputs.write(output).into_iter().for_each(|loss| self.lost(loss));
    }

    pub(super) fn lost(&self, loss: Loss) {
        let _ = self.to.send(RunEvent::Lost(loss));
    }
}
