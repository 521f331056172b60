//! One execution of a scenario, from its file to its verdicts.
//!
//! The runner reads the scenario, opens the plant, starts an agent, and then answers: whenever a
//! program reads or writes a point, the agent holds the clock and asks, and the runner brings
//! the plant to that moment. Between questions it does nothing, so the grid computes while the
//! clock is stopped and takes no processor time from programs; only where nobody asks does it
//! catch up now and then. At the end it writes down what was measured and judges it.
//!
//! - [`session`]: the course of a run
//! - [`event`]: what it waits for; [`failure`]: what keeps it from beginning
//! - [`parts`]: the agents, one or one on each host; [`together`]: their last reports as one
//! - [`dry`]: a scenario checked, and nothing started
//! - [`account`]: the record while the run goes on
//! - [`environment`]: the variables that programs have
//! - [`inputs`]: the files that it is made of
//! - [`grid`]: the plant with the events of the scenario
//! - [`engine`]: where its engine is looked for
//! - [`agent_process`]: an agent as a child of the runner
//! - [`far_agent`]: one on another machine; [`hearing`], whether it is heard; [`said`], what its session says
//! - [`outputs`]: what programs write
//! - [`interrupt`]: signals that ask to end
//! - [`trust`]: what the agent of a host may say
//! - [`disturbances`]: what keeps programs from acting in time, and what others do to the domain
//! - [`progress`]: what the user sees meanwhile
//! - [`last_words`]: what a program that failed said last
//! - [`log`]: what happened, in order

mod account;
mod agent_process;
mod disturbances;
mod dry;
mod engine;
mod environment;
mod event;
mod failure;
mod far_agent;
mod grid;
mod hearing;
mod inputs;
mod interrupt;
mod last_words;
mod log;
mod outputs;
mod parts;
mod progress;
mod said;
mod session;
mod together;
mod trust;

pub use dry::check;
pub use failure::Failure;
pub use session::{Options, run};
