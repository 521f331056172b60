//! Starts the programs of all nodes: all at once while the clock is held, or node by node when it runs, each
//! node at its first instant. No clock goes on to that before all that the node before has begun with sleeps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use domain::{Domain, NodeTime, Watch};
use parking_lot::Mutex;
use scenario::model::Program;
use vtime::VirtualTime;

use super::node::NodeOrders;
use super::output;
use super::owner::Owner;

/// The threads that report what programs write, by the names of these.
pub(super) type Outputs = Arc<Mutex<Vec<(String, JoinHandle<()>)>>>;

pub(super) struct NodeToStart {
    pub(super) name: String,
    pub(super) orders: NodeOrders,
    pub(super) programs: Vec<Program>,
    pub(super) time: Arc<NodeTime>,
}

pub(super) struct Starter {
    pub(super) nodes: Vec<NodeToStart>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) directory: PathBuf,
    pub(super) domain: Arc<Domain>,
    pub(super) owner: Arc<Owner>,
    pub(super) outputs: Outputs,
    pub(super) watch: Watch,
}

impl Starter {
    /// Starts the programs of all nodes, one after the other; they need not have begun when this returns.
    pub(super) fn start_all(&self) -> anyhow::Result<()> {
        self.nodes.iter().try_for_each(|node| self.start(node))
    }

    /// Keeps the clock, from before it runs, where it begins.
    pub(super) fn begin_turns(&self) {
        self.watch.is_for(Some(VirtualTime::ZERO));
    }

    /// Starts the programs of each node at its first instant; returns when all are started.
    pub(super) fn start_in_turn(self) -> anyhow::Result<()> {
        for node in &self.nodes {
            let begins = node.time.wakes().begin();
            // The clock stays there, until it is for the next one.
            self.watch.is_for(Some(begins));
            while self.domain.now_unless_held().is_none_or(|now| now < begins) {
                let host = self.domain.host_time_of(begins);
                self.watch.wait(host).context("cannot wait for the start of a node")?;
            }
            self.start(node)?;
        }
        Ok(())
    }

    fn start(&self, node: &NodeToStart) -> anyhow::Result<()> {
        let mut environment = self.environment.clone();
        environment.insert("QCYCLE_NODE".into(), node.name.clone());
        for program in &node.programs {
            let pipes = node
                .orders
                .start(program, &environment, &self.directory)
                .with_context(|| format!("cannot start the program `{}`", program.name))?;
            for (pipe, error) in [(pipes.out, false), (pipes.err, true)] {
                let place = output::Place {
                    program: program.name.clone(),
                    error,
                    domain: Arc::clone(&self.domain),
                    node: Arc::clone(&node.time),
                };
                let thread = thread::Builder::new().name(format!("output-{}", program.name));
                let owner = Arc::clone(&self.owner);
                let output = thread.spawn(move || output::report(pipe, &place, &owner))?;
                self.outputs.lock().push((program.name.clone(), output));
            }
        }
        Ok(())
    }
}
