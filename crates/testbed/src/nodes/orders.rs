//! What a runner and its agent say to each other: one JSON object a line on a socket of their
//! own. The runner orders; the agent reports, and asks for what only the runner has: the plant.
//! Both ends are the same binary today, so a [`runtime::agent::protocol::VERSION`] in the first order is
//! all the negotiation there is. `docs/internals/agent-protocol.md` describes the order of events.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use domain::{Freeze, KernelTimers, Pace, Stalls, span_ns};
use hosts::Sync;
use network::placement::Placement;
use network::plan::Plan;
use network::stats::NetworkStats;
use plant::name::PointName;
use report_kit::machine::Machine;
use results::disturbance::Disturbance;
use results::record::ReadAccount;
use runtime::agent::protocol::Status;
use runtime::intervention::Intervention;
use scenario::model::Node;
use signal_bus::{Through, Wiring};

/// From the runner to the agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "kebab-case")]
pub enum Order {
    /// Make everything, with the clock held at virtual zero. Answered by [`Report::Prepared`] or
    /// [`Report::Failed`].
    Prepare(Box<Setup>),
    /// Connect to the other hosts, by number. Only where there are some, once all have prepared; answered by
    /// [`Report::Met`] or [`Report::Failed`].
    Meet { addresses: Vec<SocketAddr> },
    /// Start the programs and let the clock run.
    Begin,
    /// The answer to a [`Report::Ask`].
    Answer { ask: u64, outcome: PlantAnswer },
    /// Another host is lost, and the run goes on without it. All hosts that are left are told of lost ones in the same order.
    Lost { host: usize, reason: String },
    /// Report how the domain stands.
    Status,
    /// Stop everything, answer with [`Report::Ended`], and end.
    End,
}

/// What came of a question to the plant.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlantAnswer {
    /// The values read, in the order of the points, or the value written.
    Values(#[serde(with = "numbers")] Vec<f64>),
    Error(String),
}

/// What an agent needs to know of a scenario.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// [`runtime::agent::protocol::VERSION`] of the runner.
    pub version: u32,
    pub name: String,
    /// What runs, for people.
    pub title: String,
    pub tdf_millionths: u64,
    pub pace: Pace,
    pub kernel_timers: KernelTimers,
    /// Which nodes may run at the same instant, with [`Pace::Events`].
    pub order_of_nodes: scenario::model::Order,
    /// From what follows what programs get that is random, with [`Pace::Events`].
    pub seed: u64,
    /// Time of day at scenario time zero, ns since 1970; the host's if `None`.
    pub realtime_zero_ns: Option<i64>,
    /// Virtual time before scenario time zero.
    #[serde(with = "span_ns")]
    pub settle: VirtualSpan,
    /// Scenario time at which the clock stops for good.
    #[serde(with = "span_ns")]
    pub duration: VirtualSpan,
    #[serde(with = "freeze_text")]
    pub freeze: Freeze,
    /// Host nanoseconds that a processor may be silent before the clock is stopped; for ever
    /// if `None`.
    pub stall_guard_ns: Option<i64>,
    /// Delays of programs of at least this are reported one by one.
    #[serde(rename = "delays_told_ns")]
    pub delays_least_ns: i64,
    pub directory: PathBuf,
    pub environment: BTreeMap<String, String>,
    /// Where programs run, which programs, and what they see of the plant.
    pub nodes: Vec<Node>,
    /// Links between nodes, switches and attackers, and what happens to them.
    pub network: Plan,
    /// Folder for captures, if frames are kept.
    pub captures: Option<PathBuf>,
    /// The other hosts of the run, if there are any. `nodes` are those of this one, `network` is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
}

/// One of several hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hosts {
    /// The number of this one.
    pub me: usize,
    /// By number, as in the scenario.
    pub names: Vec<String>,
    pub placement: Placement,
    /// What agents of this run have in common, and of no other one. Then its domain has the name that was ordered on
    /// each machine. `None` if all of it is on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// How their clocks are kept one.
    #[serde(default)]
    pub sync: Sync,
    /// Where to wait for hosts with higher numbers; with port 0, at any.
    pub listen: SocketAddr,
    /// By host, what this one and that one know and nobody else; its own is used for nothing.
    pub secrets: Vec<[u8; 32]>,
    /// For how long a host may say nothing before it is lost, in nanoseconds.
    pub silence_longest_ns: i64,
    /// The place of this host on a signal bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<Wiring>,
}

/// From the agent to the runner. Times are virtual, in nanoseconds since the domain began.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "kebab-case")]
pub enum Report {
    /// A relay is there ([`super::relay`]), where an agent is reached by ssh; before any order.
    There(Box<There>),
    /// Everything is there and the clock is held at virtual zero.
    Prepared {
        /// Name of the domain: the one that was ordered, or one like it where that is taken ([`super::naming`]).
        name: String,
        /// Time of day at scenario time zero, ns since 1970.
        realtime_zero_ns: i64,
        /// Where it waits for hosts with higher numbers, if there are other hosts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        address: Option<SocketAddr>,
        /// Who sees the edges of its signal bus, if it is on one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bus: Option<Through>,
    },
    /// All other hosts are there.
    Met,
    /// Nothing is heard of another host, or it does not do as it should.
    Lost {
        host: usize,
        reason: String,
        /// Whether it has said what cannot be: then the run is no result from here on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wrong: bool,
    },
    /// The agent of a relay was killed.
    Died {
        reason: String,
    },
    /// Something could not be made; nothing is left of the rest.
    Failed {
        /// The error as users read it.
        reason: String,
    },
    /// A program reads points, or writes one; the clock is held until the answer.
    Ask {
        ask: u64,
        points: Vec<PointName>,
        /// The value to set each of them to; a read if `None`.
        #[serde(with = "number_or_none")]
        write: Option<f64>,
        at_ns: i64,
    },
    /// A program could not be started.
    NotStarted {
        program: String,
        /// The error as users read it.
        reason: String,
        at_ns: i64,
    },
    Started {
        program: String,
        at_ns: i64,
    },
    Exited(Exited),
    /// Something that makes results doubtful.
    Warning {
        text: String,
    },
    Status(Status),
    /// Somebody has done something to the domain through its socket.
    Intervention(Intervention),
    /// What kept programs from acting in time is known up to here.
    Watched {
        to_ns: i64,
        disturbances: Vec<Disturbance>,
    },
    /// The clock has reached the end of the scenario.
    Arrived,
    /// Everything is stopped; the last report.
    Ended(Box<FinalReport>),
}

/// What a runner needs to know of another machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct There {
    pub machine: Machine,
    /// Processes that ran or wanted to, averaged over a minute; absent if the kernel does not say.
    pub load: Option<f64>,
    /// Where its ssh server was reached.
    pub address: Option<IpAddr>,
    /// A folder for captures, which come home at the end.
    pub captures: PathBuf,
    /// What programs get of the variables that are set there.
    pub environment: BTreeMap<String, String>,
}

/// Lines that a program wrote. They take a way of their own: there is no limit to what programs
/// write, and a question to the plant must not stand in line behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    pub program: String,
    /// Whether to standard error.
    pub error: bool,
    /// When they arrived, in virtual nanoseconds since the domain began.
    pub at_ns: i64,
    /// The lines, each with its end.
    pub text: String,
    /// Why what came after them is not here, or not as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exited {
    pub program: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Processor time of it and the children that it waited for, in seconds.
    pub cpu_s: f64,
    /// Virtual nanoseconds since the domain began.
    pub at_ns: i64,
    /// Whether it was stopped because the run was over.
    pub stopped: bool,
}

/// What is left to report at the end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalReport {
    pub status: Status,
    /// What the network did; `None` without one.
    pub network: Option<NetworkStats>,
    /// Stalls of the host that were kept out of virtual time; `None` without a guard.
    pub stalls: Option<Stalls>,
    /// Wall time that accesses to the plant took; `None` if there were none.
    pub access: Option<ReadAccount>,
    pub agent_cpu_s: f64,
    /// Programs whose last output was not reported in time.
    #[serde(default)]
    pub unheard: Vec<String>,
}

/// Numbers as text: JSON knows neither infinity nor what is no number, and a plant that diverges
/// answers both.
mod numbers {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(f64::to_string))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<f64>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

mod freeze_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use domain::Freeze;

    pub(super) fn serialize<S: Serializer>(value: &Freeze, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Freeze, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// As [`numbers`], one where there may be none.
mod number_or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(value: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
        value.map(|value| value.to_string()).serialize(to)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<f64>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_reaches_the_other_side_as_it_is() {
        let values = [f64::NAN, f64::INFINITY, -0.0, 0.1, f64::MIN_POSITIVE, 1e300];
        let order = Order::Answer { ask: 1, outcome: PlantAnswer::Values(values.into()) };
        let text = serde_json::to_string(&order).unwrap();
        let Order::Answer { outcome: PlantAnswer::Values(read), .. } =
            serde_json::from_str(&text).unwrap()
        else {
            panic!("{text} is another order");
        };
        assert_eq!(read.len(), values.len());
        for (read, value) in read.iter().zip(values) {
            assert!(read.to_bits() == value.to_bits() || read.is_nan() && value.is_nan());
        }
    }

    #[test]
    fn a_write_never_becomes_a_read_on_the_way() {
        for write in [None, Some(f64::NAN), Some(2.5)] {
            let points = vec![PointName("storage.es.kW".into())];
            let text =
                serde_json::to_string(&Report::Ask { ask: 1, points, write, at_ns: 0 }).unwrap();
            let Report::Ask { write: read, .. } = serde_json::from_str(&text).unwrap() else {
                panic!("{text} is another report");
            };
            assert_eq!(read.is_some(), write.is_some());
        }
    }
}
