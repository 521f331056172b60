//! How a domain and its programs stand, as `qcycle ps` and `qcycle query` report it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use vtime::image::{Counters, Kind};
use vtime::page::Epoch;

use super::protocol::{Detail, ProgramStatus, Selector, State, Status};
use crate::launch::members;
use domain::{Domain, Program, ProgramClock};
use os::glance;

pub(super) type Running = (Arc<Program>, BTreeSet<i32>);

/// The programs of a domain that are meant; all of them if none is named. `None` if there is no
/// such program.
pub(super) fn select(domain: &Domain, selector: Option<&Selector>) -> Option<Vec<Running>> {
    let mut programs = members::programs(domain);
    let Some(selector) = selector else { return Some(programs) };
    programs.retain(|(program, processes)| match selector {
        Selector::Pid(process) => processes.contains(process),
        Selector::Name(name) => program.name == *name,
    });
    (!programs.is_empty()).then_some(programs)
}

pub(super) fn detail(domain: &Domain, status: Status, programs: &[Running]) -> Detail {
    let state = if status.detached {
        State::Detached
    } else if status.clock.holds > 0 {
        State::Held
    } else if domain.is_at_horizon() {
        State::AtHorizon
    } else {
        State::Running
    };
    let epochs = domain.page().epochs();
    let epochs_ns =
        EPOCHS.iter().map(|(name, epoch)| ((*name).to_owned(), epochs[*epoch as usize]));
    let clocks: Vec<&Program> = programs.iter().map(|(program, _)| &**program).collect();
    let clocks = domain.clocks_of(&clocks);
    let running = programs.iter().zip(clocks);
    let programs = running.map(|(running, clock)| program(state, running, clock));
    let (epochs_ns, programs) = (epochs_ns.collect(), programs.collect());
    Detail { status, state, epochs_ns, programs, hosts: Vec::new() }
}

const EPOCHS: [(&str, Epoch); Epoch::COUNT] = [
    ("realtime", Epoch::Realtime),
    ("monotonic", Epoch::Monotonic),
    ("monotonic_raw", Epoch::MonotonicRaw),
    ("boottime", Epoch::Boottime),
    ("tai", Epoch::Tai),
];

fn program(state: State, (program, processes): &Running, clock: ProgramClock) -> ProgramStatus {
    let pids: Vec<i32> = processes.iter().copied().collect();
    let first = pids.first().copied().unwrap_or(program.process);
    let pid = if processes.contains(&program.process) { program.process } else { first };
    let (calls, warnings) = counted(program.counters());
    ProgramStatus {
        name: program.name.clone(),
        pid,
        pids,
        command: glance::command_of(pid),
        state: if clock.free { State::Detached } else { state },
        virtual_ns: clock.time.as_ns(),
        offset_ns: clock.offset_ns,
        tdf_millionths: clock.tdf.millionths(),
        paused_ns: clock.paused.as_ns(),
        calls,
        warnings,
    }
}

/// Calls by kind, without those that never occurred, and what they mean.
pub(super) fn counted(counters: &Counters) -> (BTreeMap<String, u64>, Vec<String>) {
    let counts = Kind::ALL.map(|kind| (kind, counters.get(kind)));
    let warnings = counts.iter().filter_map(|(kind, count)| warning(*kind, *count)).collect();
    let calls = counts.into_iter().filter(|(_, count)| *count > 0);
    (calls.map(|(kind, count)| (kind.name().to_owned(), count)).collect(), warnings)
}

/// What a count of calls that saw host time means to the user.
fn warning(kind: Kind, count: u64) -> Option<String> {
    (count > 0 && kind == Kind::HostWait).then(|| {
        format!(
            "a program requested socket timeouts or timestamps (SO_RCVTIMEO, SO_SNDTIMEO, \
             SO_TIMESTAMP) {count} times, but its own seccomp filters prevent some of its threads \
             from being followed: these see host time; use poll instead"
        )
    })
}
