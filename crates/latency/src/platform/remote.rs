//! A machine that ssh reaches: the static probe is carried there, runs, and is gone with its session.

use std::fs;
use std::io::Read as _;

use anyhow::Context as _;
use probe::Facts;
use probe::attend::Order;
use remote::Carried;

use super::{Attended, Binary, Platform, Refusal, Role};
use crate::matrix::RemoteSpec;
use probe::Cores;

/// Most octets of its facts.
const FACTS_MAX: u64 = 1 << 20;

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

    /// Starts a command of the program over there.
    fn start(&self, command: &str, order: &Order) -> Result<Attended, Refusal> {
        let program = self.binary.static_path()?;
        let octets =
            fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        let probe = Carried { name: "qcprobe", octets };
        let ssh = probe.session(&self.spec.target, command);
        let attended =
            Attended::start_after(ssh, order, |input, output| probe.hand_over(input, output));
        attended.map_err(|error| {
            let host = &self.spec.target.destination;
            let reason = format!("{host}: {error:#}");
            Refusal::missing(reason, format!("check that `ssh {host}` works"))
        })
    }
}

impl Platform for Remote {
    fn prepare(&mut self) -> Result<Cores, Refusal> {
        let mut attended = self.start("facts", &Order::default())?;
        let mut text = String::new();
        let read = attended.stream().take(FACTS_MAX).read_to_string(&mut text);
        let ending = attended.finish();
        let facts = read.ok().and_then(|_| serde_json::from_str::<Facts>(&text).ok());
        let Some(facts) = facts else {
            let reason = format!("{}: {}", self.spec.target.destination, ending.last_words());
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
