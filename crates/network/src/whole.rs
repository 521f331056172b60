//! What a network counted whose parts were on several hosts: each count is known where it was made.

use super::placement::Placement;
use super::plan::{Place, Plan, StationKind};
use super::stats::{Lateness, LinkStats, NetworkStats};

/// The counts of all parts, by number of the host; those of a host that could not report are missing, and
/// are none.
///
/// Percentiles of lateness cannot be joined: they are those of the host where they are largest.
#[must_use]
pub fn whole(plan: &Plan, placement: &Placement, parts: Vec<Option<NetworkStats>>) -> NetworkStats {
    let parts: Vec<NetworkStats> = parts.into_iter().map(Option::unwrap_or_default).collect();
    let of = |place| parts.get(placement.host_of(place));
    let mut whole = NetworkStats::default();
    let name = |place| match place {
        Place::Station(number) => plan.stations[number].name.clone(),
        Place::Switch(number) => plan.switches[number].clone(),
    };
    for (number, link) in plan.links.iter().enumerate() {
        // A direction is counted where it begins.
        let [there, back] = link.ends.map(|end| of(end).and_then(|part| part.links.get(number)));
        whole.links.push(LinkStats {
            from: name(link.ends[0]),
            to: name(link.ends[1]),
            forward: there.map(|link| link.forward).unwrap_or_default(),
            backward: back.map(|link| link.backward).unwrap_or_default(),
        });
    }
    for (number, name) in plan.switches.iter().enumerate() {
        let counted = of(Place::Switch(number)).and_then(|part| part.switches.get(name));
        whole.switches.insert(name.clone(), counted.copied().unwrap_or_default());
    }
    for (number, station) in plan.stations.iter().enumerate() {
        let Some(part) = of(Place::Station(number)) else { continue };
        match station.kind {
            StationKind::Attacker => {
                let counted = part.attackers.get(&station.name).copied();
                whole.attackers.insert(station.name.clone(), counted.unwrap_or_default());
            }
            StationKind::Node(..) => {
                let counted = part.nodes.get(&station.name).copied();
                whole.nodes.insert(station.name.clone(), counted.unwrap_or_default());
            }
        }
    }
    for part in parts {
        let (one, other) = (whole.lateness, part.lateness);
        whole.lateness = Lateness {
            frames: one.frames + other.frames,
            median_ns: one.median_ns.max(other.median_ns),
            p99_ns: one.p99_ns.max(other.p99_ns),
            max_ns: one.max_ns.max(other.max_ns),
        };
        whole.warnings.extend(part.warnings);
        whole.losses.extend(part.losses);
        whole.ran_for.extend(part.ran_for);
        whole.free_clocks.extend(part.free_clocks);
    }
    whole
}
