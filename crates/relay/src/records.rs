//! The sequence of events and the windows of measurements, as one JSON object a line.

use os::clock::ClockState;
use protection::PhaseSet;
use protection::reclosing::{Reason, State};
use realtime::{clock, time};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use substation::engine::Change;
use substation::settings::{Entry, Input, Relay};

use crate::event::{Event, What};
use crate::group::By;
use crate::totals::{liveness_name, state_name};

/// The first line: which program runs with which settings, and whether this host lets it act in time.
pub(crate) fn begin(relay: &str, settings: &str, warnings: &[String]) -> Value {
    let kernel = std::fs::read_to_string("/proc/version").unwrap_or_default();
    let hash = Sha256::digest(settings);
    json!({
        "begin": relay,
        "version": env!("CARGO_PKG_VERSION"),
        "settings_sha256": hash.iter().map(|octet| format!("{octet:02x}")).collect::<String>(),
        "realtime": warnings.is_empty(),
        "warnings": warnings,
        "kernel": kernel.trim(),
    })
}

/// A line with what its time is worth: as the kernel sees its clock, and as stamps of GOOSE have it.
pub(crate) fn with_clock(mut line: Value, clock: &ClockState) -> Value {
    line["clock_synchronised"] = (clock.is_synchronised && !clock.has_failed).into();
    line["time_quality"] = clock::quality(clock).into();
    line
}

/// Names behind the numbers of events.
#[derive(Debug)]
pub(crate) struct Names {
    streams: Vec<String>,
    elements: Vec<String>,
    breakers: Vec<String>,
    subscriptions: Vec<(String, Vec<Entry>)>,
}

impl Names {
    pub(crate) fn of(relay: &Relay) -> Self {
        let subscriptions = relay.subscriptions.iter();
        Self {
            streams: relay.protection.streams.keys().cloned().collect(),
            elements: relay.protection.elements.keys().cloned().collect(),
            breakers: relay.protection.trips.elements_by_breaker.keys().cloned().collect(),
            subscriptions: subscriptions
                .map(|(name, s)| (name.clone(), s.entries.clone()))
                .collect(),
        }
    }

    pub(crate) fn element(&self, place: usize) -> &str {
        &self.elements[place]
    }

    pub(crate) fn line(&self, event: &Event) -> Value {
        let mut line = match event.what {
            What::Change(Change::Start(n, on)) => json!({"start": self.elements[n], "on": on}),
            What::Change(Change::Operate(n, on)) => json!({"operate": self.elements[n], "on": on}),
            What::Change(Change::Trip(n, on)) => json!({"trip": self.breakers[n], "on": on}),
            What::Change(Change::Stream(n, state)) => {
                json!({"stream": self.streams[n], "state": state_name(state)})
            }
            What::Change(Change::Group(number)) => json!({"group": number}),
            What::GroupWanted(number, By::Publisher(n)) => {
                json!({"group_wanted": number, "publisher": self.subscriptions[n].0})
            }
            What::GroupWanted(number, By::User(uid)) => json!({"group_wanted": number, "uid": uid}),
            What::Change(Change::Poles(n, poles)) => {
                json!({"poles": self.breakers[n], "tripped": poles.to_string()})
            }
            What::Change(Change::Reclosing(n, state, shot)) => {
                let mut line = json!({"reclosing": self.elements[n], "state": cycling(state)});
                if shot > 0 {
                    line["shot"] = shot.into();
                }
                if let State::Lockout(reason) = state {
                    line["reason"] = why(reason).into();
                }
                line
            }
            What::Publisher(n, liveness) => {
                json!({"publisher": self.subscriptions[n].0, "state": liveness_name(liveness)})
            }
            What::Refused(n, refusal) => json!({
                "publisher": self.subscriptions[n].0,
                "refused": refusal.field.name(),
                "expected": refusal.expected.to_string(),
                "got": refusal.got.to_string(),
            }),
            What::Value(n, entry, value) => self.value(n, entry, value),
            What::Overrun(cause, evidence) => json!({
                "overrun": cause.name(),
                "excess_ns": time::ns(evidence.excess),
                "elapsed_ns": time::ns(evidence.elapsed),
                "task_cpu_ns": time::ns(evidence.task_cpu),
                "canary_late_ns": time::ns(evidence.canary_late),
                "receive_busy_ns": time::ns(evidence.receive_busy),
            }),
        };
        line["realtime_ns"] = event.at.ns().into();
        line
    }

    fn value(&self, subscription: usize, entry: usize, value: Option<bool>) -> Value {
        let (name, entries) = &self.subscriptions[subscription];
        match &entries[entry] {
            Entry::Position(breaker) => {
                json!({"breaker": breaker, "position": position(value), "publisher": name})
            }
            Entry::PolePosition(breaker, pole) => {
                let pole = PhaseSet::phase(*pole).to_string();
                let position = position(value);
                json!({"breaker": breaker, "pole": pole, "position": position, "publisher": name})
            }
            Entry::Input(input, element) => {
                json!({input.word(): element, "on": value == Some(true), "publisher": name})
            }
            Entry::InitiatePole(element, pole) => {
                let (word, pole) = (Input::Initiate.word(), PhaseSet::phase(*pole).to_string());
                json!({word: element, "pole": pole, "on": value == Some(true), "publisher": name})
            }
            Entry::Trip(breaker) => {
                json!({"order": breaker, "on": value == Some(true), "publisher": name})
            }
            Entry::Reset(breaker) => {
                json!({"reset": breaker, "on": value == Some(true), "publisher": name})
            }
            Entry::Group(number) => {
                json!({"select_group": number, "on": value == Some(true), "publisher": name})
            }
            Entry::Quality(_) | Entry::Unused => {
                json!({"entry": entry, "value": value, "publisher": name})
            }
        }
    }
}

const fn position(is_closed: Option<bool>) -> &'static str {
    match is_closed {
        Some(true) => "closed",
        Some(false) => "open",
        None => "unknown",
    }
}

const fn cycling(state: State) -> &'static str {
    match state {
        State::NotReady => "not ready",
        State::Ready => "ready",
        State::Tripping => "tripping",
        State::DeadTime => "dead time",
        State::AwaitingRelease => "awaiting release",
        State::Closing => "closing",
        State::Reclaiming => "reclaiming",
        State::Lockout(_) => "lockout",
    }
}

const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::FinalTrip => "final trip",
        Reason::TripWhenNotReady => "trip when not ready",
        Reason::ShotsUsed => "shots used",
        Reason::NotOpen => "not open",
        Reason::NotCharged => "no energy to close",
        Reason::NotReleased => "closing not released",
        Reason::NotClosed => "not closed",
        Reason::Blocked => "blocked",
    }
}
