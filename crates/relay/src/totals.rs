//! All measurements of a relay since its begin, and their maxima in the window of now.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use iec61850::goose::{self, Liveness};
use iec61850::stream::{self, State};
use os::clock::ClockState;
use os::packet::Link;
use protection::Measurands;
use protection::reclosing::State as Cycling;
use realtime::blame::Cause;
use realtime::exchange::histogram;
use realtime::lines::Account;
use serde_json::{Value, json};
use substation::settings::{Function, Relay};

use crate::measurands;
use crate::{receive, task};

#[derive(Debug)]
pub(crate) struct Times {
    /// Since the begin, in ns.
    pub(crate) all: Histogram<u64>,
    window_ns_max: u64,
}

impl Times {
    fn new() -> Self {
        Self { all: histogram(), window_ns_max: 0 }
    }

    /// Takes in what came since the last time, and leaves it empty.
    pub(crate) fn absorb(&mut self, new: &mut Histogram<u64>) {
        self.window_ns_max = self.window_ns_max.max(new.max());
        self.all.add(&*new).expect("both have the same bounds");
        new.reset();
    }

    fn summary(&self) -> Value {
        let all = &self.all;
        json!({
            "count": all.len(),
            "mean_ns": all.mean().round() as u64,
            "p50_ns": all.value_at_quantile(0.5),
            "p99_ns": all.value_at_quantile(0.99),
            "p99.9_ns": all.value_at_quantile(0.999),
            "max_ns": all.max(),
            "histogram": self.bins(),
        })
    }

    /// Upper bound in ns and count of each bin that is not empty, eight bins to a doubling.
    fn bins(&self) -> Vec<(u64, u64)> {
        const STEP: f64 = 1.09;
        self.all
            .iter_log(1000, STEP)
            .map(|bin| (bin.value_iterated_to(), bin.count_since_last_iteration()))
            .filter(|&(_, count)| count > 0)
            .collect()
    }
}

#[derive(Debug)]
pub(crate) struct Totals {
    pub(crate) relay: String,
    /// Receive latency, age of samples, wake-ups and duration of the task, wake-ups of the canary.
    pub(crate) times: BTreeMap<&'static str, Times>,
    pub(crate) receive: receive::Counters,
    /// Of the kernel's sockets.
    pub(crate) kernel_dropped: u64,
    pub(crate) task: task::Counters,
    pub(crate) streams: BTreeMap<String, (State, stream::Counters)>,
    /// What is measured of each stream, while it is valid.
    pub(crate) measurands: BTreeMap<String, Option<Measurands>>,
    pub(crate) subscriptions: BTreeMap<String, (Liveness, goose::Counters)>,
    /// Number of the active setting group, from 1.
    pub(crate) active_group: u8,
    /// Orders to close and lockouts of each reclosing element.
    pub(crate) reclosings: BTreeMap<String, (u64, u64)>,
    /// What the kernel knows of its clock.
    pub(crate) clock: ClockState,
    pub(crate) links: BTreeMap<String, Link>,
    /// If records are written.
    pub(crate) records: Option<Account>,
    /// Disturbance records that were written, and that were lost.
    pub(crate) disturbances: (u64, u64),
    /// What stands in the way of acting in time.
    pub(crate) warnings: Vec<String>,
}

impl Totals {
    pub(crate) fn new(relay: &Relay) -> Self {
        let names = ["receive", "age", "wakeup", "task", "canary"];
        let streams = relay.protection.streams.keys();
        let measurands = streams.clone().map(|name| (name.clone(), None)).collect();
        let subscriptions = relay.subscriptions.keys();
        Self {
            relay: relay.name.clone(),
            times: names.into_iter().map(|name| (name, Times::new())).collect(),
            receive: receive::Counters::default(),
            kernel_dropped: 0,
            task: task::Counters::default(),
            streams: streams
                .map(|name| (name.clone(), (State::Waiting, stream::Counters::default())))
                .collect(),
            measurands,
            subscriptions: subscriptions
                .map(|name| (name.clone(), (Liveness::Waiting, goose::Counters::default())))
                .collect(),
            active_group: relay.protection.groups.active,
            reclosings: relay
                .protection
                .elements
                .iter()
                .filter(|(_, element)| matches!(element.function, Function::Reclosing(_)))
                .map(|(name, _)| (name.clone(), (0, 0)))
                .collect(),
            clock: ClockState::default(),
            links: BTreeMap::new(),
            records: None,
            disturbances: (0, 0),
            warnings: Vec::new(),
        }
    }

    /// A reclosing element is elsewhere in its cycle.
    pub(crate) fn reclosing(&mut self, name: &str, state: Cycling) {
        let Some((orders, lockouts)) = self.reclosings.get_mut(name) else { return };
        *orders += u64::from(state == Cycling::Closing);
        *lockouts += u64::from(matches!(state, Cycling::Lockout(_)));
    }

    /// Takes in what was measured of the times with this name.
    pub(crate) fn absorb(&mut self, name: &'static str, new: &mut Histogram<u64>) {
        self.times.get_mut(name).expect("all names are made by `new`").absorb(new);
    }

    pub(crate) fn receive(&mut self, sheet: &mut receive::ReceiveFigures) {
        self.absorb("receive", &mut sheet.latency);
        self.receive = sheet.counters;
    }

    pub(crate) fn task(&mut self, sheet: &mut task::TaskFigures) {
        self.absorb("age", &mut sheet.age);
        self.absorb("wakeup", &mut sheet.lateness);
        self.absorb("task", &mut sheet.duration);
        self.task = sheet.counters;
        for (to, from) in self.streams.values_mut().zip(&sheet.streams) {
            *to = *from;
        }
        for (to, from) in self.measurands.values_mut().zip(&sheet.measurands) {
            *to = *from;
        }
        for (to, from) in self.subscriptions.values_mut().zip(&sheet.subscriptions) {
            *to = *from;
        }
    }

    /// The maxima since this was last called.
    pub(crate) fn close_window(&mut self) -> Value {
        let each = self.times.iter_mut().map(|(name, times)| {
            (format!("{name}_ns_max"), json!(std::mem::take(&mut times.window_ns_max)))
        });
        Value::Object(each.collect())
    }

    pub(crate) fn summary(&self) -> Value {
        let streams = self.streams.iter().map(|(name, (state, counters))| {
            let mut labelled = labelled(state_name(*state), &stream_counters(counters));
            labelled["refused"] = counters.misfits.counts().filter(|(_, n)| *n > 0).collect();
            labelled["last_refused"] = counters.misfits.last().map_or(
                Value::Null,
                |last| json!({"field": last.field, "expected": last.expected, "got": last.got}),
            );
            labelled["measurands"] = measurands::json(self.measurands[name].as_ref());
            (name, labelled)
        });
        let subscriptions = self.subscriptions.iter().map(|(name, (liveness, counters))| {
            let mut labelled = labelled(liveness_name(*liveness), &goose_counters(counters));
            labelled["refused"] = counters.refusals.counts().filter(|(_, n)| *n > 0).collect();
            labelled["last_refused"] = counters.refusals.last().map_or(Value::Null, |last| {
                json!({
                    "field": last.field.name(),
                    "expected": last.expected.to_string(),
                    "got": last.got.to_string(),
                })
            });
            (name, labelled)
        });
        let times = self.times.iter().map(|(name, times)| (*name, times.summary()));
        let task = self.task;
        json!({
            "relay": self.relay,
            "active_group": self.active_group,
            "streams": streams.collect::<BTreeMap<_, _>>(),
            "subscriptions": subscriptions.collect::<BTreeMap<_, _>>(),
            "times": times.collect::<BTreeMap<_, _>>(),
            "frames": {
                "received": self.receive.frames,
                "malformed": self.receive.malformed,
                "malformed_fields": self.receive.malformed_fields,
                "last_malformed": self.receive.malformed_fields.last().map(|last| last.to_string()),
                "unknown": self.receive.unknown,
                "queue_full": self.receive.queue_full,
                "kernel_dropped": self.kernel_dropped,
            },
            "task": {
                "cycles": task.cycles,
                "skipped": task.skipped,
                "overruns": Cause::ALL.iter().zip(task.overruns)
                    .map(|(cause, count)| (cause.name(), count)).collect::<BTreeMap<_, _>>(),
                "published": task.published,
                "unsent": task.unsent,
                "events_lost": task.events_lost,
            },
            "interfaces": self.links.iter().map(|(name, link)| (name, link.name()))
                .collect::<BTreeMap<_, _>>(),
            "records": self.records.as_ref().map(|records| json!({
                "lost": records.lost,
                "write_errors": records.write_errors,
                "writing": records.is_writing,
                "warning": records.warning,
            })),
            "recorder": {
                "written": self.disturbances.0,
                "lost": self.disturbances.1,
                "missed": task.recorder_missed,
            },
            "warnings": self.warnings,
        })
    }
}

fn labelled(state: &str, counters: &[(&str, u64)]) -> Value {
    let counted = counters.iter().map(|(name, count)| ((*name).to_owned(), json!(count)));
    Value::Object(std::iter::once(("state".to_owned(), json!(state))).chain(counted).collect())
}

pub(crate) fn stream_counters(counters: &stream::Counters) -> [(&'static str, u64); 14] {
    [
        ("received", counters.received),
        ("used", counters.used),
        ("lost", counters.lost),
        ("held", counters.held),
        ("late", counters.late),
        ("duplicated", counters.duplicated),
        ("out_of_order", counters.out_of_order),
        ("strange", counters.strange),
        ("misconfigured", counters.misconfigured),
        ("simulated", counters.simulated),
        ("unsynchronised", counters.unsynchronised),
        ("invalid", counters.invalid),
        ("test", counters.test),
        ("restarts", counters.restarts),
    ]
}

pub(crate) fn goose_counters(counters: &goose::Counters) -> [(&'static str, u64); 10] {
    [
        ("received", counters.received),
        ("changes", counters.changes),
        ("repeated", counters.repeated),
        ("lost", counters.lost),
        ("states_lost", counters.states_lost),
        ("old", counters.old),
        ("misconfigured", counters.misconfigured),
        ("simulated", counters.simulated),
        ("silences", counters.silences),
        ("restarts", counters.restarts),
    ]
}

pub(crate) const fn state_name(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Valid => "valid",
        State::Invalid => "invalid",
    }
}

pub(crate) const fn liveness_name(liveness: Liveness) -> &'static str {
    match liveness {
        Liveness::Waiting => "waiting",
        Liveness::Alive => "alive",
        Liveness::Lost => "lost",
    }
}
