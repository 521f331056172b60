//! Which host each part of a network is on.
//!
//! Where nodes are is said by the scenario. Switches and attackers are placed here: over each link between
//! hosts a frame takes some time, and the shorter that is the more often hosts have to wait for each
//! other. So a switch goes where the shortest of its links leads, until only the longest ones lie between
//! hosts: links are taken in the order of what they take, and join what may be on one host (Kruskal 1956).
//! As the network is a tree, the shortest link between hosts is then as long as it can be.

use hosts::Distances;
use serde::{Deserialize, Serialize};
use vtime::VirtualSpan;

use super::plan::{Place, Plan};

/// Where all places of a plan are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Placement {
    hosts: usize,
    stations: Vec<usize>,
    switches: Vec<usize>,
}

/// The least time that frames take between hosts: some twenty metres of fibre. The shorter it is, the less far may a host go
/// on before another one.
pub const LEAST_BETWEEN_HOSTS: VirtualSpan = VirtualSpan::from_ns(100);

/// A link between hosts in which a frame takes less than [`LEAST_BETWEEN_HOSTS`]: its number in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooShort(pub usize);

impl Placement {
    /// All on one host.
    pub fn together(plan: &Plan) -> Self {
        Self {
            hosts: 1,
            stations: vec![0; plan.stations.len()],
            switches: vec![0; plan.switches.len()],
        }
    }

    /// Those of a plan on so many hosts, where `fixed` says which one a place has to be on, if that is
    /// known; what is connected with no such place is on the first host.
    ///
    /// # Errors
    /// When a link between hosts takes less than [`LEAST_BETWEEN_HOSTS`].
    pub fn new(
        plan: &Plan,
        hosts: usize,
        fixed: impl Fn(Place) -> Option<usize>,
    ) -> Result<Self, TooShort> {
        let stations = plan.stations.len();
        let number = |place| match place {
            Place::Station(n) => n,
            Place::Switch(n) => stations + n,
        };
        let places = (0..stations).map(Place::Station);
        let places: Vec<_> = places.chain((0..plan.switches.len()).map(Place::Switch)).collect();
        // Places that are joined carry the number of one of them, which has their host if it is known.
        let mut joined: Vec<usize> = (0..places.len()).collect();
        let mut host: Vec<Option<usize>> = places.iter().map(|&place| fixed(place)).collect();
        let mut links: Vec<_> = plan.links.iter().collect();
        links.sort_by_key(|link| link.least());
        for link in links {
            let [one, other] = link.ends.map(|end| joined[number(end)]);
            if let (Some(here), Some(there)) = (host[one], host[other])
                && here != there
            {
                continue;
            }
            host[one] = host[one].or(host[other]);
            joined.iter_mut().filter(|place| **place == other).for_each(|place| *place = one);
        }
        let host_of = |place: usize| host[joined[place]].unwrap_or(0);
        let placed = Self {
            hosts,
            stations: (0..stations).map(host_of).collect(),
            switches: (stations..places.len()).map(host_of).collect(),
        };
        let is_too_short = |link: usize| plan.links[link].least() < LEAST_BETWEEN_HOSTS;
        let wrong = placed.between(plan).map(|(_, link)| link).find(|&link| is_too_short(link));
        wrong.map_or(Ok(placed), |link| Err(TooShort(link)))
    }

    /// How many hosts there are.
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// The host that a place is on.
    pub fn host_of(&self, place: Place) -> usize {
        match place {
            Place::Station(n) => self.stations[n],
            Place::Switch(n) => self.switches[n],
        }
    }

    /// How long it takes at least from one host to another, by the links of the plan.
    pub fn distances(&self, plan: &Plan) -> Distances {
        let ways = self.between(plan).flat_map(|([one, other], link)| {
            let least = plan.links[link].least();
            [(one, other, least), (other, one, least)]
        });
        Distances::new(self.hosts, &ways.collect::<Vec<_>>())
    }

    /// Links between hosts: the hosts of their ends, and their number.
    fn between<'a>(&'a self, plan: &'a Plan) -> impl Iterator<Item = ([usize; 2], usize)> + 'a {
        let ends = plan.links.iter().map(|link| link.ends.map(|end| self.host_of(end)));
        ends.zip(0..).filter(|([one, other], _)| one != other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Attacker, Host, Link, Loss};

    /// A network in which each link, given as (from, to, delay in ms), has no rate. Nodes are called n…, switches s….
    fn plan(links: &[(&str, &str, i64)]) -> Plan {
        let mut names: Vec<_> = links.iter().flat_map(|&(from, to, _)| [from, to]).collect();
        names.sort_unstable();
        names.dedup();
        let of = |kind| names.iter().filter(move |name| name.starts_with(kind));
        let nodes = of('n').zip(1..).map(|(name, number)| Host {
            name: (*name).to_owned(),
            address: Some(([10, 0, 0, number].into(), 24)),
        });
        let switches: Vec<_> = of('s').map(|name| (*name).to_owned()).collect();
        let attackers = of('a').map(|name| Attacker { name: (*name).to_owned() });
        let links = links.iter().map(|&(from, to, ms)| Link {
            from: from.to_owned(),
            to: to.to_owned(),
            delay: VirtualSpan::from_ms(ms),
            rate_bps: None,
            queue: 10,
            loss: Loss::default(),
        });
        let (nodes, attackers) = (nodes.collect::<Vec<_>>(), attackers.collect::<Vec<_>>());
        Plan::of(&nodes, &switches, &attackers, &links.collect::<Vec<_>>(), &[]).unwrap()
    }

    /// Nodes are on the host of their number in the name.
    fn placed(plan: &Plan) -> Result<Placement, TooShort> {
        let names: Vec<_> = plan.stations.iter().map(|station| station.name.clone()).collect();
        Placement::new(plan, 4, |place| match place {
            Place::Station(n) => names[n].strip_prefix('n')?.parse().ok(),
            Place::Switch(_) => None,
        })
    }

    #[test]
    fn a_switch_goes_where_its_shortest_link_leads() {
        let plan = plan(&[("n0", "s", 3), ("n1", "s", 1), ("n2", "s", 2), ("a", "s", 9)]);
        let placed = placed(&plan).unwrap();
        assert_eq!((placed.switches[0], &placed.stations[..]), (1, &[0, 1, 2, 1][..]));
        let distances = placed.distances(&plan);
        assert_eq!(distances.between(0, 2), VirtualSpan::from_ms(5));
        assert_eq!(distances.between(1, 1), VirtualSpan::from_ms(4));
        assert_eq!(distances.between(0, 3), VirtualSpan::MAX);
    }

    #[test]
    fn only_the_longest_of_the_links_between_two_nodes_lies_between_hosts() {
        let plan = plan(&[("n0", "s0", 1), ("s0", "s1", 2), ("s1", "s2", 5), ("s2", "n1", 4)]);
        assert_eq!(placed(&plan).unwrap().switches, [0, 0, 1]);
    }

    #[test]
    fn what_no_host_is_named_for_is_on_the_first() {
        let plan = plan(&[("n0", "s0", 1), ("a", "s1", 1), ("n1", "s0", 1)]);
        assert_eq!(placed(&plan).unwrap().switches, [0, 0]);
    }

    #[test]
    fn a_link_between_hosts_takes_time() {
        let plan = plan(&[("n0", "s0", 1), ("n1", "n2", 0)]);
        assert_eq!(placed(&plan), Err(TooShort(1)));
    }
}
