//! The whole network as one state machine: links, switches and attackers, one event after the
//! other in virtual time.
//!
//! [`Fabric::receive`] takes a frame from a node, [`Fabric::poll`] returns what has arrived at
//! nodes by now, and [`Fabric::next_at`] says when there is more to do. However late it is asked,
//! each hop happens at its own exact time, so that lateness never adds up over several links.
//!
//! The same inputs give the same outputs. What happens at the same nanosecond happens in this
//! order: changes of the scenario, attackers, links in the order of the scenario, `from` to `to`
//! before `to` to `from`.
//!
//! Where a network lies on several hosts each has a part of it ([`Fabric::part`]). A direction is on the host
//! where it begins: there a frame waits and is sent, and once it is known when it arrives it goes to the
//! host where the direction ends ([`Fabric::take_departures`], [`Fabric::enter`]). All parts together do what
//! the whole would do, to the nanosecond.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use random::seed_for;
use vtime::{VirtualTime, Wakes};

use super::Frame;
use super::attacker::Attacker;
use super::link::Direction;
use super::placement::Placement;
use super::plan::{Change, ChangeKind, Place, Plan, PlannedLink, StationKind};
use super::stats::{AttackerStats, LinkStats, SwitchStats};
use super::switch::{Forward, Switch};

/// All links, switches and attackers of a plan.
#[derive(Clone, Debug)]
pub struct Fabric {
    placement: Placement,
    /// The host whose part this is.
    me: usize,
    now: VirtualTime,
    links: Vec<PlannedLink>,
    /// Both directions of each link: `2 * link` leads from `ends[0]` to `ends[1]`.
    directions: Vec<Direction>,
    /// What is on its way here from other hosts, by direction, with its arrival.
    inlets: BTreeMap<usize, VecDeque<(VirtualTime, Frame)>>,
    departures: Vec<Departure>,
    stations: Vec<Station>,
    switches: Vec<SwitchAt>,
    changes: VecDeque<(VirtualTime, ChangeKind)>,
    schedule: Schedule,
    /// By when they are handed over, and in which order they have come.
    arrived: BTreeMap<(VirtualTime, u64), Delivery>,
    arrivals: u64,
    taps: Vec<Tap>,
}

/// A frame that has arrived at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Index of the node among the stations of the plan.
    pub station: usize,
    /// When it is handed over.
    pub at: VirtualTime,
    pub frame: Frame,
}

/// A frame that goes on at another host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    pub to: usize,
    /// The direction in which it travels: twice the number of its link in the plan, and one more from
    /// `to` to `from`.
    pub direction: usize,
    pub arrival: VirtualTime,
    pub frame: Frame,
}

/// A frame came from another host that cannot have come from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misdirected;

/// A frame seen at an attacker, for its capture. (What nodes send and receive passes through
/// the caller of [`Fabric::receive`] and [`Fabric::poll`].)
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tap {
    /// Index of the attacker among the stations of the plan.
    pub station: usize,
    /// Whether the attacker received it (sent it otherwise).
    pub is_inbound: bool,
    pub when: VirtualTime,
    pub frame: Frame,
}

#[derive(Clone, Debug)]
struct Station {
    /// The direction of its link that leads away from it.
    out: Option<usize>,
    attacker: Option<Attacker>,
    /// When what has arrived is handed over.
    wakes: Wakes,
}

#[derive(Clone, Debug, Default)]
struct SwitchAt {
    name: String,
    switch: Switch,
    /// The directions that lead away from it; a port is an index into these.
    ports: Vec<usize>,
}

/// What acts next, in the order in which it acts at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Actor {
    Scenario,
    Attacker(usize),
    Direction(usize),
}

impl Fabric {
    /// The network of `plan`, empty, with scenario time zero at `zero`.
    pub fn new(plan: &Plan, zero: VirtualTime) -> Self {
        Self::part(plan, zero, Placement::together(plan), 0)
    }

    /// The part of it that is on host `me`.
    pub fn part(plan: &Plan, zero: VirtualTime, placement: Placement, me: usize) -> Self {
        let both = |link: &PlannedLink| {
            [0, 1].map(|way| {
                let seed = seed_for(link.loss.seed, way);
                Direction::new(link.delay, link.rate_bps, link.queue)
                    .losing(link.loss.per_million, seed)
            })
        };
        let stations = plan.stations.iter().map(|station| Station {
            out: None,
            attacker: (station.kind == StationKind::Attacker).then(|| Attacker::new(station.mac)),
            wakes: Wakes::AT_ONCE,
        });
        let switches =
            plan.switches.iter().map(|name| SwitchAt { name: name.clone(), ..SwitchAt::default() });
        let changes = plan.changes.iter().map(|&Change { at, what }| (zero + at, what));
        let mut fabric = Self {
            placement,
            me,
            now: VirtualTime::ZERO,
            links: plan.links.clone(),
            directions: plan.links.iter().flat_map(both).collect(),
            inlets: BTreeMap::new(),
            departures: Vec::new(),
            stations: stations.collect(),
            switches: switches.collect(),
            changes: changes.collect(),
            schedule: Schedule::default(),
            arrived: BTreeMap::new(),
            arrivals: 0,
            taps: Vec::new(),
        };
        for (link, planned) in plan.links.iter().enumerate() {
            for (side, place) in planned.ends.into_iter().enumerate() {
                let out = 2 * link + side;
                match place {
                    Place::Station(n) => fabric.stations[n].out = Some(out),
                    Place::Switch(n) => fabric.switches[n].ports.push(out),
                }
            }
        }
        fabric.reschedule(Actor::Scenario);
        fabric
    }

    /// Says when a node is handed over what has arrived at its station.
    pub fn set_wakes(&mut self, station: usize, wakes: Wakes) {
        self.stations[station].wakes = wakes;
    }

    /// A frame that a node sends at `now`. Time never goes back: an earlier `now` than the last
    /// counts as the last.
    pub fn receive(&mut self, station: usize, frame: Frame, now: VirtualTime) {
        self.advance(now);
        self.send(station, frame);
    }

    /// A host is lost: what goes there is dropped.
    pub fn lose(&mut self, host: usize) {
        for direction in 0..self.directions.len() {
            let begin = self.links[direction / 2].ends[direction % 2];
            if self.is_here(begin) && self.placement.host_of(self.end_of(direction)) == host {
                self.directions[direction].lose_end();
                self.reschedule(Actor::Direction(direction));
            }
        }
        self.departures.retain(|departure| departure.to != host);
    }

    /// What goes on at other hosts, and was not yet taken. Each reaches its host before its arrival.
    pub fn take_departures(&mut self) -> Vec<Departure> {
        std::mem::take(&mut self.departures)
    }

    /// When a frame from another host may arrive at the earliest.
    pub fn enters_not_before(&self, direction: usize) -> VirtualTime {
        let last = self.inlets.get(&direction).and_then(|inlet| inlet.back());
        last.map_or(self.now, |(last, _)| self.now.max(*last))
    }

    /// A frame from another host that arrives later than all that has happened here.
    ///
    /// # Errors
    /// When the direction does not lead here from there, or the frame is late: then that host does not do as it should.
    pub fn enter(
        &mut self,
        from: usize,
        direction: usize,
        arrival: VirtualTime,
        frame: Frame,
    ) -> Result<(), Misdirected> {
        let link = self.links.get(direction / 2).ok_or(Misdirected)?;
        let [begin, end] = [direction % 2, 1 - direction % 2].map(|side| link.ends[side]);
        let leads_here =
            !self.is_here(begin) && self.placement.host_of(begin) == from && self.is_here(end);
        if !leads_here || arrival < self.enters_not_before(direction) {
            return Err(Misdirected);
        }
        self.inlets.entry(direction).or_default().push_back((arrival, frame));
        self.reschedule(Actor::Direction(direction));
        Ok(())
    }

    /// What is to be handed over to nodes by `now` and was not yet, in order of time, then of arrival. What was
    /// to be handed over while a node is busy, as is known by now, is handed over afterwards.
    pub fn poll(&mut self, now: VirtualTime) -> Vec<Delivery> {
        self.advance(now);
        let later = self.arrived.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.arrived, later);
        let (due, put_off): (Vec<_>, Vec<_>) = due
            .into_iter()
            .map(|((_, number), delivery)| {
                let at = self.stations[delivery.station].wakes.put_off(delivery.at);
                (number, Delivery { at, ..delivery })
            })
            .partition(|(_, delivery)| delivery.at <= now);
        let put_off =
            put_off.into_iter().map(|(number, delivery)| ((delivery.at, number), delivery));
        self.arrived.extend(put_off);
        due.into_iter().map(|(_, delivery)| delivery).collect()
    }

    /// Frames that have not been polled, on all links.
    pub fn under_way(&self) -> impl Iterator<Item = &Frame> {
        let arrived = self.arrived.values().map(|delivery| &delivery.frame);
        let entered = self.inlets.values().flatten().map(|(_, frame)| frame);
        self.directions.iter().flat_map(Direction::under_way).chain(entered).chain(arrived)
    }

    /// When there is something to do; that may have passed where deliveries wait to be polled.
    pub fn next_at(&self) -> Option<VirtualTime> {
        let waiting = self.arrived.first_key_value().map(|(_, delivery)| delivery.at);
        waiting.into_iter().chain(self.schedule.first().map(|(at, _)| at)).min()
    }

    /// What attackers sent and received since the last call.
    pub fn take_taps(&mut self) -> Vec<Tap> {
        std::mem::take(&mut self.taps)
    }

    /// What links counted, in the order of the scenario.
    pub fn link_stats(&self) -> Vec<LinkStats> {
        let links = self.links.iter().zip(self.directions.chunks_exact(2));
        let stats = links.map(|(link, directions)| {
            let [from, to] = link.names.clone();
            let (forward, backward) = (directions[0].stats(), directions[1].stats());
            LinkStats { from, to, forward, backward }
        });
        stats.collect()
    }

    /// What switches have counted, by name.
    pub fn switch_stats(&self) -> BTreeMap<String, SwitchStats> {
        self.switches.iter().map(|at| (at.name.clone(), at.switch.stats())).collect()
    }

    /// What the attacker at a station counted; `None` for a node, and for one on another host.
    pub fn attacker_stats(&self, station: usize) -> Option<AttackerStats> {
        let is_here = self.is_here(Place::Station(station));
        let attacker = self.stations.get(station)?.attacker.as_ref();
        attacker.filter(|_| is_here).map(Attacker::stats)
    }

    /// Does all that is due by `now`, each thing at its own time.
    fn advance(&mut self, now: VirtualTime) {
        while let Some((at, actor)) = self.schedule.first()
            && at <= now
        {
            self.now = self.now.max(at);
            match actor {
                Actor::Scenario => self.change(),
                Actor::Attacker(station) => self.poison(station),
                Actor::Direction(direction) => self.arrive(direction),
            }
            self.reschedule(actor);
        }
        self.now = self.now.max(now);
    }

    fn change(&mut self) {
        let Some((_, what)) = self.changes.pop_front() else { return };
        match what {
            ChangeKind::Link { link, up } => self.set_link(link, up),
            ChangeKind::Poison { attacker, .. } if !self.is_here(Place::Station(attacker)) => {}
            ChangeKind::Poison { attacker, victims } => {
                let now = self.now;
                if let Some(host) = &mut self.stations[attacker].attacker {
                    host.attack(now, victims);
                }
                self.reschedule(Actor::Attacker(attacker));
            }
        }
    }

    fn set_link(&mut self, link: usize, up: bool) {
        for (side, place) in self.links[link].ends.into_iter().enumerate() {
            // What is on its way from another host was not sent here if it was to be cut off.
            if !self.is_here(place) {
                continue;
            }
            let out = 2 * link + side;
            self.directions[out].set_up(up);
            self.reschedule(Actor::Direction(out));
            if let Place::Switch(n) = place
                && !up
            {
                let port = self.switches[n].port_of(out);
                self.switches[n].switch.forget(port);
            }
        }
    }

    fn poison(&mut self, station: usize) {
        let now = self.now;
        let host = self.stations[station].attacker.as_mut();
        for frame in host.map(|host| host.take_due(now)).unwrap_or_default() {
            self.send(station, frame);
        }
    }

    /// The first frame of a direction has reached its end.
    fn arrive(&mut self, direction: usize) {
        let due = match self.inlets.get_mut(&direction) {
            Some(inlet) => inlet.pop_front_if(|(arrival, _)| *arrival <= self.now),
            None => self.directions[direction].take_due(self.now),
        };
        let Some((_, frame)) = due else { return };
        // The opposite direction is the one that leads away from there.
        match self.end_of(direction) {
            // It has gone there when it was sent.
            elsewhere if !self.is_here(elsewhere) => {}
            Place::Station(station) => self.reach(station, frame),
            Place::Switch(switch) => self.pass(switch, direction ^ 1, &frame),
        }
    }

    fn reach(&mut self, station: usize, frame: Frame) {
        let when = self.now;
        let Some(attacker) = &mut self.stations[station].attacker else {
            let at = self.stations[station].wakes.at(when);
            self.arrivals += 1;
            self.arrived.insert((at, self.arrivals), Delivery { station, at, frame });
            return;
        };
        let answer = attacker.receive(&frame);
        self.taps.push(Tap { station, is_inbound: true, when, frame });
        if let Some(answer) = answer {
            self.send(station, answer);
        }
    }

    /// A frame passes a switch, having come in where the direction `back` leads away.
    fn pass(&mut self, switch: usize, back: usize, frame: &Frame) {
        let at = &mut self.switches[switch];
        let port = at.port_of(back);
        match at.switch.forward(self.now, port, frame) {
            Forward::Filter => {}
            Forward::To(port) => self.offer(self.switches[switch].ports[port], frame),
            Forward::Flood => {
                for other in 0..self.switches[switch].ports.len() {
                    if other != port {
                        self.offer(self.switches[switch].ports[other], frame);
                    }
                }
            }
        }
    }

    fn send(&mut self, station: usize, frame: Frame) {
        let Station { out, attacker, .. } = &self.stations[station];
        let out = *out;
        if attacker.is_some() {
            let frame = Frame::clone(&frame);
            self.taps.push(Tap { station, is_inbound: false, when: self.now, frame });
        }
        if let Some(out) = out {
            self.offer(out, &frame);
        }
    }

    fn offer(&mut self, direction: usize, frame: &Frame) {
        let sent = self.directions[direction].offer(self.now, Frame::clone(frame));
        let Some(arrival) = sent else { return };
        self.reschedule(Actor::Direction(direction));
        let end = self.end_of(direction);
        if !self.is_here(end) && !self.is_cut_by(direction / 2, arrival) {
            let (to, frame) = (self.placement.host_of(end), Frame::clone(frame));
            self.departures.push(Departure { to, direction, arrival, frame });
        }
    }

    /// Whether a link goes down from now on until that time.
    fn is_cut_by(&self, link: usize, when: VirtualTime) -> bool {
        let mut soon = self.changes.iter().take_while(|(at, _)| *at <= when);
        soon.any(|&(_, what)| what == ChangeKind::Link { link, up: false })
    }

    /// Where a direction leads.
    fn end_of(&self, direction: usize) -> Place {
        self.links[direction / 2].ends[1 - direction % 2]
    }

    fn is_here(&self, place: Place) -> bool {
        self.placement.host_of(place) == self.me
    }

    fn reschedule(&mut self, actor: Actor) {
        let at = match actor {
            Actor::Scenario => self.changes.front().map(|&(at, _)| at),
            Actor::Attacker(n) => self.stations[n].attacker.as_ref().and_then(Attacker::next),
            Actor::Direction(n) => match self.inlets.get(&n) {
                Some(inlet) => inlet.front().map(|&(arrival, _)| arrival),
                None => self.directions[n].next(),
            },
        };
        self.schedule.set(actor, at);
    }
}

impl SwitchAt {
    fn port_of(&self, out: usize) -> usize {
        let port = self.ports.iter().position(|&port| port == out);
        port.expect("a direction that ends at a switch has its opposite among its ports")
    }
}

/// Who acts when: at most one time for each actor.
#[derive(Clone, Debug, Default)]
struct Schedule {
    order: BTreeSet<(VirtualTime, Actor)>,
    times: BTreeMap<Actor, VirtualTime>,
}

impl Schedule {
    fn first(&self) -> Option<(VirtualTime, Actor)> {
        self.order.first().copied()
    }

    fn set(&mut self, actor: Actor, at: Option<VirtualTime>) {
        if self.times.get(&actor).copied() == at {
            return;
        }
        let before = match at {
            Some(at) => self.times.insert(actor, at),
            None => self.times.remove(&actor),
        };
        if let Some(before) = before {
            self.order.remove(&(before, actor));
        }
        if let Some(at) = at {
            self.order.insert((at, actor));
        }
    }
}

#[cfg(test)]
mod tests;
