//! When what is due reaches each node and its programs, as the scenario says.
//!
//! Where no two nodes run at the same instant, each has one nanosecond of 10 (of 100 where there are more than 10 nodes, and
//! so on): at times that people write, the nodes of a scenario then come one after the other as they stand there.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{NodeTime, Pace};
use scenario::model::Order;
use vtime::Wakes;

use super::orders::Setup;

/// By the names of nodes.
pub(super) fn of_nodes(setup: &Setup) -> BTreeMap<String, Arc<NodeTime>> {
    let places = places(setup.nodes.len());
    let nodes = setup.nodes.iter().zip(0..).map(|(node, place)| {
        let charged = Wakes::AT_ONCE
            .charged(node.compute.per_wakeup)
            .for_processor_time(node.compute.per_processor_time_millionths);
        let wakes = match (setup.pace, setup.order_of_nodes) {
            (Pace::Real | Pace::Skip, _) => Wakes::AT_ONCE,
            (Pace::Events, Order::Together) => charged,
            (Pace::Events, Order::OneNodeAtATime) => charged.in_turn(place, places),
        };
        (node.name.clone(), Arc::new(NodeTime::new(&node.name, wakes)))
    });
    nodes.collect()
}

/// By the names of programs.
pub(super) fn of_programs(
    setup: &Setup,
    nodes: &BTreeMap<String, Arc<NodeTime>>,
) -> BTreeMap<String, Arc<NodeTime>> {
    let of_node = |node: &scenario::model::Node| Arc::clone(&nodes[&node.name]);
    let programs = setup.nodes.iter().flat_map(|node| {
        node.programs.iter().map(move |program| (program.name.clone(), of_node(node)))
    });
    programs.collect()
}

/// The first power of ten that is no less than the number of nodes.
fn places(nodes: usize) -> u32 {
    let powers = (1..u32::BITS).map_while(|power| 10_u32.checked_pow(power));
    powers.clone().find(|places| *places as usize >= nodes).or(powers.last()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_a_nanosecond_of_ten_or_of_as_many_as_it_takes() {
        let found = [0, 1, 10, 11, 100, 101, 1000, 1001].map(places);
        assert_eq!(found, [10, 10, 10, 100, 100, 1000, 1000, 10_000]);
        assert_eq!(places(usize::MAX), 1_000_000_000);
    }
}
