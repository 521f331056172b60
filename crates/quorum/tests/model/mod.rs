//! All runs of small stations, one step after the other, with stateright: not what is likely, but
//! all that can be, until nothing new comes.
//!
//! The nodes are the very state machines that relays run, with proofs as symbols, so that the
//! hostile node says whatever can be said without the keys of others. Time goes by in whole ticks,
//! each clock for itself, no two more than a tick apart. A relay decides what it likes, when it
//! likes. What was said arrives at any time, any number of times, in any order, or never.
//!
//! What makes that finite, and small:
//!
//! - A run lasts a few ticks, and dwells are as short as they may be: the breaker moves, dwells,
//!   moves back, and statements from before expire.
//! - What changes nothing is no step. So it may happen any number of times.
//! - State machines forget what has expired, so that pasts that make no difference are one state.
//! - Questions and heartbeats that repeat themselves lie behind the end of a run: the network
//!   repeats what was said anyway, and an acknowledgement counts by its gen.
//! - What a receiver refuses now and for ever is forgotten: statements that have expired, or of
//!   gens that have passed. That they are refused is shown, not assumed, by the stations in which
//!   statements come late.
//! - Relay nodes of the Peer Protocol hear each other in few of the stations: see [`alone`].
//! - Progress is shown on a network that delivers everything between correct nodes once, before
//!   any clock ticks, with relays that stand by what they have decided.
mod alone;
mod judge;
mod lies;
mod station;
mod steps;

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::Ordering;
use std::thread::available_parallelism;

use quorum::{Action, NodeId, Protocol};
use stateright::{Checker, HasDiscoveries, Model};

use alone::Alone;
use station::{Network, Station};

/// Explores all there is, and says how much that was.
fn explore<M>(name: &str, model: M) -> impl Checker<M>
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let threads = available_parallelism().map_or(1, usize::from);
    let checker = model.checker().threads(threads).finish_when(HasDiscoveries::AnyFailures);
    let checker = checker.spawn_bfs().join();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    println!("model::{name}: {states} states, up to {depth} steps deep");
    checker.assert_properties();
    checker
}

/// A hostile node, two correct ones, and one in recovery all the time.
#[test]
#[ignore = "long: millions of states"]
fn arbiter_two_up() {
    let station = Station::new(Protocol::Arbiter, Network::Any, 2, 5, 3);
    let checker = explore("arbiter_two_up", station);
    assert_ne!(checker.model().evidence.load(Ordering::Relaxed), 0, "nobody is ever blamed");
}

/// A hostile node and three correct ones.
#[test]
#[ignore = "long: millions of states"]
fn arbiter_three_up() {
    explore("arbiter_three_up", Station::new(Protocol::Arbiter, Network::Any, 3, 1, 1));
}

/// A correct node, and a hostile one that completes what it wants, or wanted long ago.
#[test]
fn arbiter_late_statements() {
    let station = Station::new(Protocol::Arbiter, Network::Any, 1, 6, 3);
    explore("arbiter_late_statements", Station { late_ticks: 2, ..station });
}

/// The hostile node is reborn, and then another one is hostile.
#[test]
fn arbiter_rebirth() {
    let station = Station::new(Protocol::Arbiter, Network::Any, 1, 1, 1);
    explore("arbiter_rebirth", Station { heir: Some(NodeId::ALL[3]), ..station });
}

/// The breaker moves in time, from either state.
#[test]
fn arbiter_progress() {
    for stands in [Action::Trip, Action::Close] {
        let station = Station::new(Protocol::Arbiter, Network::Prompt, 2, 5, 2);
        explore("arbiter_progress", Station { stands, ..station });
    }
}

/// A relay node on its own, and all that its peers can say to it.
#[test]
#[ignore = "long: millions of states"]
fn peer_node() {
    let checker = explore("peer_node", Alone::new(3, 1));
    let evidence = &checker.model().station.evidence;
    assert_ne!(evidence.load(Ordering::Relaxed), 0, "nobody is ever blamed");
}

/// A hostile node that certifies all it can, two correct ones, and one in recovery.
#[test]
fn peer_two_up() {
    let station = Station::new(Protocol::Peer, Network::Any, 2, 6, 2);
    explore("peer_two_up", Station { peers_hear: false, ..station });
}

/// A correct node, and a hostile one that certifies what it wants, or wanted long ago.
#[test]
fn peer_late_statements() {
    let station = Station::new(Protocol::Peer, Network::Any, 1, 6, 2);
    explore("peer_late_statements", Station { peers_hear: false, late_ticks: 2, ..station });
}

/// Two correct nodes that hear each other, on a network that does as it likes.
#[test]
fn peer_whole() {
    explore("peer_whole", Station::new(Protocol::Peer, Network::Any, 2, 1, 1));
}

/// The breaker moves in time, from either state.
#[test]
#[ignore = "long: millions of states"]
fn peer_progress() {
    for stands in [Action::Trip, Action::Close] {
        let station = Station::new(Protocol::Peer, Network::Prompt, 2, 4, 2);
        explore("peer_progress", Station { stands, ..station });
    }
}
