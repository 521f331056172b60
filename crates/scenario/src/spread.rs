//! Nodes and the network over several hosts: what is where, and what cannot be.

use super::model::{Hosts, Node, OnLoss};
use super::{hosts, network, nodes};
use ::hosts::Sync;
use ::network::placement::{LEAST_BETWEEN_HOSTS, Placement, TooShort};
use ::network::plan::{Place, Plan};
use domain::Pace;
use settings::cursor::Mapping;
use settings::problems::quoted;

/// Reports hosts on which no node is, and what several hosts cannot do.
pub(super) fn check(
    scenario: &Mapping<'_>,
    hosts: &hosts::Read<'_>,
    nodes: &[nodes::Read<'_>],
    pace: Option<Pace>,
) {
    for (number, name) in hosts.names.iter().enumerate() {
        if nodes.iter().all(|node| node.host != Some(number)) {
            let what = format!("no node is on the host {}", quoted(&name.value));
            name.place.wrong(what, "let a node name it as its `host`, or remove it");
        }
    }
    if let [host] = &hosts.hosts[..]
        && host.on_loss == OnLoss::GoOn
    {
        let what = "there is no other host that could go on";
        hosts.names[0].place.wrong(what, "remove its `on_loss`, or name two or more `hosts`");
    }
    let in_turn = scenario.choice("order").is_some_and(|word| word.value != "together");
    if in_turn && hosts.hosts.len() > 1 {
        let what = "with several hosts all nodes run together";
        scenario.wrong("order", what, "remove it, or put all nodes on one host");
    }
    if matches!(&hosts.hosts[..], [only] if only.bus.is_some()) {
        let what = "a signal bus joins several hosts";
        scenario.wrong("hosts", what, "name two or more `hosts`, or leave out `bus`");
    }
    if sync(scenario) == Sync::Free {
        if hosts.hosts.len() < 2 {
            let what = "clocks that run by themselves need several hosts";
            scenario.wrong("sync", what, "remove it, or name two or more `hosts`");
        }
        if pace.is_some_and(|pace| pace != Pace::Real) {
            let what = "a clock that runs by itself does not jump";
            scenario.wrong("sync", what, "use `pace: real`, or `sync: granted` with this pace");
        }
    }
}

fn sync(scenario: &Mapping<'_>) -> Sync {
    let is_free = scenario.choice("sync").is_some_and(|word| word.value == "free");
    if is_free { Sync::Free } else { Sync::Granted }
}

/// Which part of the network is where, and `Some(None)` where no hosts are named; reports a link that cannot lie
/// between hosts.
pub(super) fn placed(
    scenario: &Mapping<'_>,
    hosts: hosts::Read<'_>,
    plan: &Plan,
    read: &network::Read<'_>,
    nodes: &[(Node, Option<usize>)],
) -> Option<Option<Hosts>> {
    if hosts.hosts.is_empty() {
        return Some(None);
    }
    let of_nodes = nodes.iter().map(|(_, host)| *host).collect::<Option<Vec<usize>>>()?;
    let host_of = |name: &str| {
        let found = nodes.iter().zip(&of_nodes).find(|((node, _), _)| node.name == name);
        found.map(|(_, host)| *host)
    };
    let fixed = |place: Place| match place {
        Place::Station(number) => host_of(&plan.stations[number].name),
        Place::Switch(_) => None,
    };
    match Placement::new(plan, hosts.hosts.len(), fixed) {
        Ok(placement) => {
            Some(Some(Hosts { all: hosts.hosts, of_nodes, placement, sync: sync(scenario) }))
        }
        Err(TooShort(link)) => {
            let least = LEAST_BETWEEN_HOSTS.as_ns();
            let what = format!(
                "frames on this link take less than {least} ns, but its ends are on two hosts"
            );
            let fix = "give it a `delay` or a `rate`, or put both ends on one host";
            read.link_places[link].wrong(what, fix);
            None
        }
    }
}
