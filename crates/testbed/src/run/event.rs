//! What the runner waits for: who watches the agent, the files of the run and the signals puts it
//! into the one queue that the session takes from.

use crate::nodes::orders::Report;
use results::doubt::Loss;

#[derive(Debug)]
pub(super) enum RunEvent {
    Report(Report),
    /// The agent is gone, and how that showed.
    AgentGone(String),
    /// A file of the run lacks something.
    Lost(Loss),
    Signal(i32),
}
