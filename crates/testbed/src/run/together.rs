//! What the agents of several hosts report at the end, as if they were one.

use std::collections::BTreeMap;

use super::parts::Part;
use crate::nodes::orders::FinalReport;
use domain::Stalls;
use network::stats::NetworkStats;
use network::whole::whole;
use results::record::ReadAccount;
use scenario::model::Scenario;

/// All last reports in one; `None` if there is none.
///
/// Clocks stop, jump and run together, so what is said of the clock is what the host says whose clock came furthest. Of
/// figures that cannot be joined, such as percentiles, the largest is taken.
pub(super) fn together(scenario: &Scenario, parts: &mut [Part]) -> Option<FinalReport> {
    let networks = parts.iter_mut().map(|part| {
        let mut network = part.last.as_mut()?.network.take()?;
        told_by(|text| part.says(text), &mut network);
        Some(network)
    });
    let networks: Vec<Option<NetworkStats>> = networks.collect();
    let network = network(scenario, networks);
    let mut all: Vec<(&Part, FinalReport)> = Vec::new();
    for part in parts.iter_mut() {
        let last = part.last.take();
        all.extend(last.map(|last| (&*part, last)));
    }
    let furthest = all.iter().max_by_key(|(_, last)| last.status.clock.virtual_ns)?;
    let mut status = furthest.1.status.clone();
    let (mut overran, mut computed) = (BTreeMap::new(), BTreeMap::new());
    let mut calls = BTreeMap::new();
    status.warnings.clear();
    status.pace.overlooked = 0;
    let mut joined = FinalReport {
        status,
        network,
        stalls: None,
        access: None,
        agent_cpu_s: 0.0,
        unheard: Vec::new(),
    };
    for (part, last) in all {
        for (program, times) in last.status.pace.overran {
            *overran.entry(program).or_default() += times;
        }
        computed.extend(last.status.pace.computed);
        for (kind, count) in last.status.calls {
            *calls.entry(kind).or_default() += count;
        }
        joined.status.pace.overlooked += last.status.pace.overlooked;
        joined.status.warnings.extend(last.status.warnings.iter().map(|text| part.says(text)));
        joined.stalls = join(joined.stalls, last.stalls, |one, other| Stalls {
            count: one.count + other.count,
            total_ns: one.total_ns + other.total_ns,
            longest_ns: one.longest_ns.max(other.longest_ns),
        });
        joined.access = join(joined.access, last.access, |one, other| ReadAccount {
            count: one.count + other.count,
            median_us: one.median_us.max(other.median_us),
            p99_us: one.p99_us.max(other.p99_us),
        });
        joined.agent_cpu_s += last.agent_cpu_s;
        joined.unheard.extend(last.unheard);
    }
    (joined.status.pace.overran, joined.status.pace.computed) = (overran, computed);
    joined.status.calls = calls;
    Some(joined)
}

/// What a part of the network says of itself, with the name of its host, as `says` does.
fn told_by(says: impl Fn(&str) -> String, network: &mut NetworkStats) {
    let losses = network.losses.iter_mut().map(|lost| &mut lost.reason);
    losses.chain(&mut network.warnings).for_each(|text| *text = says(text));
}

fn network(scenario: &Scenario, parts: Vec<Option<NetworkStats>>) -> Option<NetworkStats> {
    parts.iter().any(Option::is_some).then(|| match &scenario.hosts {
        Some(hosts) => whole(&scenario.network, &hosts.placement, parts),
        None => parts.into_iter().flatten().next().unwrap_or_default(),
    })
}

fn join<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use network::stats::LostFrames;

    #[test]
    fn a_capture_that_lacks_frames_is_told_of_with_its_host() {
        let reason = "captures/c.pcapng lacks frames: No space left on device".to_owned();
        let lost = LostFrames {
            file: "captures/c.pcapng".to_owned(),
            realtime_ns: 7,
            reason: reason.clone(),
        };
        let mut network = NetworkStats {
            losses: vec![lost],
            warnings: vec![reason.clone()],
            ..NetworkStats::default()
        };
        told_by(|text| format!("host `h2`: {text}"), &mut network);
        let told = format!("host `h2`: {reason}");
        assert_eq!((&network.losses[0].reason, &network.warnings[0]), (&told, &told));
    }
}
