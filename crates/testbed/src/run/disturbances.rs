//! Records what keeps programs from acting in time and what others do to the domain, and says
//! it when it matters.
//!
//! All goes into a file as it comes, a bounded summary into the record. Nothing of it is lost
//! silently: what could not be written counts as not watched.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;

use vtime::VirtualSpan;

use report_kit::outcome::Outcome;
use results::disturbance::{self, Cause, Disturbance};
use results::disturbance_file::{self, DisturbanceWriter};
use results::record::{DisturbanceRecord, HostLoad, PartyRecord};
use results::{RunFolder, Verdict};
use runtime::intervention::{Action, Intervention};
use scenario::model::Scenario;

/// The longest delays that the record names.
const LONGEST_MAX: usize = 20;
/// Interventions that the record names one by one; an agent reports no more of each kind.
const INTERVENTIONS_MAX: usize = 4000;
/// Delays below this are never reported one by one, those above this always.
const REPORTED_NS: (i64, i64) = (100_000, 500_000);
/// A delay is reported one by one if it is at least this part of the least bound.
const REPORTED_PART: i64 = 5;

#[derive(Debug)]
pub(super) struct Disturbances {
    writer: Option<DisturbanceWriter>,
    settle: VirtualSpan,
    /// By host, until when its agent has watched.
    watched_to_ns: Vec<Option<i64>>,
    parties: BTreeMap<(Option<String>, String, Cause), PartyRecord>,
    longest: Vec<Disturbance>,
    load: Option<Load>,
}

/// Delays of at least this are reported one by one: what bounds of the scenario need.
pub(super) fn least_reported_ns(scenario: &Scenario) -> i64 {
    let bounds = scenario.requirements.iter().map(|one| disturbance::bound_of(one).as_ns());
    bounds
        .min()
        .map_or(REPORTED_NS.1, |bound| (bound / REPORTED_PART).clamp(REPORTED_NS.0, REPORTED_NS.1))
}

impl Disturbances {
    pub(super) fn create(
        folder: &RunFolder,
        settle: VirtualSpan,
        hosts: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            writer: Some(folder.disturbance_writer()?),
            settle,
            watched_to_ns: vec![None; hosts],
            parties: BTreeMap::new(),
            longest: Vec::new(),
            load: None,
        })
    }

    pub(super) fn begin(&mut self) {
        self.load = Load::now();
    }

    /// Records what the agent of a host reports, in time of the domain. Returns a warning if it cannot be
    /// written.
    pub(super) fn note(
        &mut self,
        host: usize,
        to_ns: i64,
        mut new: Vec<Disturbance>,
    ) -> Option<String> {
        let writer = self.writer.as_mut()?;
        let settle_ns = self.settle.as_ns();
        for one in &mut new {
            // At a small tdf a wait of the host is longer than all that has passed in the domain.
            one.begin_at(0);
            one.from_ns = one.from_ns.saturating_sub(settle_ns);
            one.to_ns = one.to_ns.saturating_sub(settle_ns);
        }
        if let Err(error) = writer.write(&new) {
            self.writer = None;
            return Some(format!(
                "the disturbances of this run could not be written any further ({error}): \
                 requirements whose windows end later are not judged"
            ));
        }
        self.watched_to_ns[host] = Some(to_ns.saturating_sub(settle_ns));
        // Before scenario time zero nothing is judged, and programs that start are late with that.
        for one in new.into_iter().filter(|one| one.to_ns > 0) {
            self.count(&one);
            self.longest.push(one);
        }
        self.longest.sort_by_key(|one| Reverse(one.longest_ns));
        self.longest.truncate(LONGEST_MAX);
        None
    }

    /// The host is lost: there is nothing to be watched on it any more.
    pub(super) fn is_lost(&mut self, host: usize) {
        self.watched_to_ns[host] = Some(i64::MAX);
    }

    fn count(&mut self, one: &Disturbance) {
        let Disturbance { node, who, cause, longest_ns, lost_ns, .. } = one.clone();
        let key = (node.clone(), who.clone(), cause);
        let new = PartyRecord { node, who, cause, count: 0, longest_ns: 0, lost_ns: 0 };
        let party = self.parties.entry(key).or_insert(new);
        party.count += 1;
        party.longest_ns = party.longest_ns.max(longest_ns);
        party.lost_ns = party.lost_ns.saturating_add(lost_ns);
    }

    /// Nothing more comes. Returns a warning if the file is not what was written any more: then nothing is
    /// known of the whole run.
    pub(super) fn end(&mut self, folder: &RunFolder) -> Option<String> {
        let writer = self.writer.take()?;
        if writer.is_as_written(&folder.path().join(disturbance_file::NAME)) {
            return None;
        }
        self.watched_to_ns.fill(None);
        Some(format!("{} was changed by another process during the run", disturbance_file::NAME))
    }

    /// The summary. `run_cpu_s` is the processor time of all that took part in the run.
    pub(super) fn record(&self, run_cpu_s: f64) -> DisturbanceRecord {
        let mut parties: Vec<_> = self.parties.values().cloned().collect();
        parties.sort_by_key(|party| Reverse(party.lost_ns));
        DisturbanceRecord {
            // Nothing was watched before the first report.
            watched_to_ns: self.watched_to_ns.iter().min().copied().flatten().unwrap_or(i64::MIN),
            parties,
            longest: self.longest.clone(),
            host: self.load.as_ref().and_then(|load| load.until_now(run_cpu_s)),
        }
    }
}

/// Keeps an intervention in the record. Returns the warning that it is.
pub(super) fn intervene(
    kept: &mut Vec<Intervention>,
    mut one: Intervention,
    settle: VirtualSpan,
) -> Option<String> {
    one.at_ns = one.at_ns.saturating_sub(settle.as_ns());
    let text = match one.action {
        Action::Hold => Some("from outside: ".to_owned()),
        Action::Release => None,
        _ => Some("from outside, so verdicts on the time after it are disturbed: ".to_owned()),
    };
    let is_first = |one: &Intervention| kept.iter().all(|kept| kept.action != one.action);
    // The same again is in the log and in the record.
    let text = text
        .filter(|_| is_first(&one))
        .map(|text| format!("{text}{one} at {}", VirtualSpan::from_ns(one.at_ns)));
    if kept.len() < INTERVENTIONS_MAX {
        kept.push(one);
    }
    text
}

/// What to say of disturbed verdicts, with the fix.
pub(super) fn warning(verdicts: &[Verdict], record: &DisturbanceRecord) -> Option<String> {
    let disturbed = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Disturbed);
    let count = disturbed.count();
    let worst = record.parties.iter().max_by_key(|party| party.longest_ns);
    let too_much = || {
        let worst = worst.filter(|worst| worst.longest_ns > disturbance::BOUND_DEFAULT.as_ns());
        verdicts.is_empty() && worst.is_some()
    };
    if count == 0 && !too_much() {
        return None;
    }
    let what = match count {
        0 => String::new(),
        1 => ": its verdict says nothing about the programs".to_owned(),
        count => format!(": {count} verdicts say nothing about the programs"),
    };
    // What disturbs a verdict, or else what would disturb most.
    let first = verdicts.iter().find(|verdict| verdict.outcome == Outcome::Disturbed);
    let why = match (first, record.longest.first()) {
        (Some(verdict), _) => {
            verdict.reason.split("; would be").next().unwrap_or_default().to_owned()
        }
        (None, Some(longest)) => longest.to_string(),
        (None, None) => String::new(),
    };
    let host = record.host.as_ref().map_or_else(String::new, |host| {
        let outside = (host.busy - host.busy_with_run).max(0.0);
        let stolen = match host.stolen {
            stolen if stolen >= 0.05 => format!(", and a hypervisor took {stolen:.1}"),
            _ => String::new(),
        };
        format!(
            "; of {} processors, this run kept {:.1} busy and other work {outside:.1}{stolen}",
            host.processors, host.busy_with_run
        )
    });
    Some(format!(
        "disturbed{what}; {why}{host}; run it with less other load or a larger --tdf, exclude \
         stalls of the host (stall_guard), or repeat it (--repeat-disturbed 5)"
    ))
}

/// Processor time of the host since it booted, in seconds.
#[derive(Clone, Copy, Debug)]
struct Load {
    at: std::time::Instant,
    busy_s: f64,
    stolen_s: f64,
}

impl Load {
    fn now() -> Option<Self> {
        parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    fn until_now(&self, run_cpu_s: f64) -> Option<HostLoad> {
        let now = Self::now()?;
        let wall_s = (now.at - self.at).as_secs_f64().max(1e-3);
        Some(HostLoad {
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            busy: (now.busy_s - self.busy_s) / wall_s,
            busy_with_run: run_cpu_s / wall_s,
            stolen: (now.stolen_s - self.stolen_s) / wall_s,
        })
    }
}

/// The first line of `/proc/stat`: ticks of user, nice, system, idle, iowait, irq, softirq, steal.
fn parse(stat: &str) -> Option<Load> {
    /// Ticks of a second, as the kernel reports users (`USER_HZ`).
    const TICKS: f64 = 100.0;
    let ticks: Vec<f64> = stat.lines().next()?.split_whitespace().flat_map(str::parse).collect();
    let [user, nice, system, _, _, irq, softirq, stolen, ..] = ticks[..] else { return None };
    let busy_s = (user + nice + system + irq + softirq) / TICKS;
    Some(Load { at: std::time::Instant::now(), busy_s, stolen_s: stolen / TICKS })
}

#[cfg(test)]
mod tests {
    use super::*;
    use runtime::intervention::Caller;

    #[test]
    fn a_host_says_how_busy_it_was() {
        let load = parse("cpu  100 10 40 900 5 20 30 60 0 0\ncpu0 1 2 3\n").unwrap();
        assert_eq!((load.busy_s, load.stolen_s), (2.0, 0.6));
        assert!(parse("cpu 1 2 3\n").is_none() && parse("").is_none());
    }

    #[test]
    fn an_intervention_is_warned_of_once_and_kept_each_time() {
        let mut kept = Vec::new();
        let mut did = |at_ns, action| {
            let one = Intervention { at_ns, action, by: Caller::default() };
            intervene(&mut kept, one, VirtualSpan::from_ns(1_000_000_000))
        };
        let warned = did(3_000_000_000, Action::Dilate { tdf_millionths: 2_000_000 }).unwrap();
        assert!(
            warned.contains("factor changed to 2 by") && warned.ends_with("at 2.000 s"),
            "{warned}"
        );
        assert!(did(4_000_000_000, Action::Dilate { tdf_millionths: 2_000_000 }).is_none());
        assert!(did(4_000_000_000, Action::Hold).is_some());
        assert!(did(4_000_000_000, Action::Release).is_none());
        let times: Vec<_> = kept.iter().map(|one| one.at_ns / 1_000_000_000).collect();
        assert_eq!(times, [2, 3, 3, 3]);
    }
}
