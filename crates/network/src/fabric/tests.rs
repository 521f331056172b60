//! The fabric without a kernel: frames in, frames out, at which time.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use vtime::VirtualSpan;

use super::*;
use crate::attacker::Victim;
use crate::plan::{Loss, Station as Planned};
use crate::stats::DirectionStats;
use crate::wire::{Ethernet, MacAddress};

const MS: i64 = 1_000_000;

fn at(ns: i64) -> VirtualTime {
    VirtualTime::from_ns(ns)
}

fn mac(station: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, u8::try_from(station).unwrap()])
}

fn ip(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(station).unwrap())
}

/// A frame of 60 octets whose last two carry a number.
fn frame(from: usize, to: MacAddress, number: u16) -> Frame {
    let mut payload = [0; 46];
    payload[44..].copy_from_slice(&number.to_be_bytes());
    let frame = Ethernet {
        destination: to,
        source: mac(from),
        ethertype: 0x88b5,
        tag: None,
        payload: &payload,
    };
    frame.encode().into()
}

fn number_of(frame: &[u8]) -> u16 {
    u16::from_be_bytes(*frame.last_chunk().unwrap())
}

fn link(from: Place, to: Place, rate_bps: Option<u64>) -> PlannedLink {
    let names = [format!("{from:?}"), format!("{to:?}")];
    let (delay, loss) = (VirtualSpan::from_ms(1), Loss::default());
    PlannedLink { names, ends: [from, to], delay, rate_bps, queue: 3, loss }
}

/// Stations 0, 1 at switch 0; 2 and the attacker 3 at switch 1; a trunk between the switches.
/// Each link takes 1 ms, and 1 ms more for a short frame where it has a rate.
fn two_switches(rate_bps: Option<u64>, changes: Vec<Change>) -> Plan {
    let kind = |n| if n < 3 { StationKind::Node(ip(n), 24) } else { StationKind::Attacker };
    let station = |n| Planned { name: format!("s{n}"), mac: mac(n), kind: kind(n) };
    let ends = [
        (Place::Station(0), Place::Switch(0)),
        (Place::Station(1), Place::Switch(0)),
        (Place::Switch(0), Place::Switch(1)),
        (Place::Switch(1), Place::Station(2)),
        (Place::Switch(1), Place::Station(3)),
    ];
    Plan {
        stations: (0..4).map(station).collect(),
        switches: vec!["near".into(), "far".into()],
        links: ends.map(|(from, to)| link(from, to, rate_bps)).into(),
        changes,
    }
}

const SHORT_FRAME_IN_1_MS: Option<u64> = Some(672_000);

fn arrivals(deliveries: &[Delivery]) -> Vec<(usize, i64)> {
    deliveries.iter().map(|d| (d.station, d.at.as_ns() / MS)).collect()
}

#[test]
fn an_unknown_receiver_is_looked_for_everywhere_and_then_known() {
    let mut fabric = Fabric::new(&two_switches(SHORT_FRAME_IN_1_MS, vec![]), at(0));
    fabric.receive(0, frame(0, mac(2), 1), at(0));
    assert_eq!(fabric.next_at(), Some(at(2 * MS)));
    // However late the fabric is asked, each hop took place at its own time.
    assert_eq!(arrivals(&fabric.poll(at(100 * MS))), [(1, 4), (2, 6)]);
    fabric.receive(2, frame(2, mac(0), 2), at(100 * MS));
    assert_eq!(arrivals(&fabric.poll(at(200 * MS))), [(0, 106)]);
    assert_eq!(fabric.attacker_stats(3).unwrap().overheard, 1);
    assert_eq!(fabric.next_at(), None);
}

#[test]
fn nothing_arrives_while_the_clock_is_stopped() {
    let mut fabric = Fabric::new(&two_switches(None, vec![]), at(0));
    fabric.receive(0, frame(0, mac(1), 1), at(5));
    for _ in 0..1000 {
        assert_eq!(fabric.poll(at(5)), []);
    }
    assert_eq!(fabric.poll(at(5 + 2 * MS - 1)), []);
    assert_eq!(arrivals(&fabric.poll(at(5 + 2 * MS))), [(1, 2)]);
}

#[test]
fn a_link_that_goes_down_takes_what_it_carries_and_what_was_learned_behind_it() {
    let down =
        Change { at: VirtualSpan::from_ms(10), what: ChangeKind::Link { link: 3, up: false } };
    let up = Change { at: VirtualSpan::from_ms(20), what: ChangeKind::Link { link: 3, up: true } };
    let zero = at(1000 * MS);
    let mut fabric = Fabric::new(&two_switches(None, vec![down, up]), zero);
    let from_zero = |ms| zero + VirtualSpan::from_ms(ms);
    fabric.receive(2, frame(2, mac(0), 0), from_zero(0));
    // Reaches the far switch at 9 ms and is on the last link when that goes down at 10 ms.
    fabric.receive(0, frame(0, mac(2), 1), from_zero(7));
    fabric.receive(0, frame(0, mac(2), 2), from_zero(12));
    fabric.receive(0, frame(0, mac(2), 3), from_zero(18));
    let got = fabric.poll(from_zero(50));
    let got = got.iter().filter(|delivery| delivery.station == 2);
    // Frame 3 reaches the far switch at 20 ms: changes come first.
    assert_eq!(got.map(|delivery| number_of(&delivery.frame)).collect::<Vec<_>>(), [3]);
    let stats = fabric.link_stats()[3].forward;
    assert_eq!((stats.dropped_cut, stats.dropped_link_down, stats.delivered), (1, 1, 1));
    // Frame 0 was flooded, and 2 and 3 as well, since their receiver was forgotten.
    let far = fabric.switch_stats()["far"];
    assert_eq!((far.flooded, far.forwarded), (3, 1));
}

#[test]
fn an_attack_begins_at_its_time_and_draws_frames_to_the_attacker() {
    let victim = |n| Victim { ip: ip(n), mac: mac(n) };
    let what = ChangeKind::Poison { attacker: 3, victims: [victim(0), victim(2)] };
    let attack = Change { at: VirtualSpan::from_ms(10), what };
    let mut fabric = Fabric::new(&two_switches(None, vec![attack]), at(0));
    assert_eq!(fabric.next_at(), Some(at(10 * MS)));
    // Nobody has spoken before, so all four forged replies reach everybody.
    let arrived = arrivals(&fabric.poll(at(59 * MS)));
    assert_eq!(arrived, [[(2, 12); 4], [(0, 13); 4], [(1, 13); 4]].concat());
    assert_eq!(fabric.take_taps().len(), 4);
    fabric.receive(0, frame(0, mac(3), 1), at(59 * MS));
    assert!(arrivals(&fabric.poll(at(65 * MS))).iter().all(|(_, ms)| *ms >= 60));
    assert_eq!(fabric.attacker_stats(3).unwrap().dropped, 1);
    let inbound = fabric.take_taps().into_iter().filter(|tap| tap.is_inbound);
    let inbound: Vec<_> = inbound.map(|tap| (tap.station, tap.when)).collect();
    assert_eq!(inbound, [(3, at(62 * MS))]);
}

/// Frames offered anywhere at random times, polled at random times.
#[derive(Clone, Debug)]
struct Step {
    pause_ns: i64,
    from: usize,
    to: MacAddress,
    polls: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let to = prop_oneof![(0usize..4).prop_map(mac), Just(MacAddress::BROADCAST)];
    let step = (0..2 * MS, 0usize..3, to, any::<bool>())
        .prop_map(|(pause_ns, from, to, polls)| Step { pause_ns, from, to, polls });
    proptest::collection::vec(step, 1..80)
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = (0..80i64, 0usize..5, any::<bool>()).prop_map(|(ms, link, up)| Change {
        at: VirtualSpan::from_ms(ms),
        what: ChangeKind::Link { link, up },
    });
    proptest::collection::vec(change, 0..6).prop_map(|mut changes| {
        changes.sort_by_key(|change| change.at);
        changes
    })
}

/// Plays the steps; returns deliveries and the time of sending of each frame.
fn play(fabric: &mut Fabric, steps: &[Step]) -> (Vec<Delivery>, Vec<VirtualTime>) {
    let (mut now, mut got, mut sent) = (at(0), Vec::new(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        now = now + VirtualSpan::from_ns(step.pause_ns);
        let number = u16::try_from(number).unwrap();
        fabric.receive(step.from, frame(step.from, step.to, number), now);
        sent.push(now);
        if step.polls {
            let arrived = fabric.poll(now);
            assert!(arrived.iter().all(|delivery| delivery.at <= now));
            got.extend(arrived);
        }
    }
    (got, sent)
}

proptest! {
    #[test]
    fn frames_are_conserved_in_order_and_never_early(
        steps in steps(), changes in changes(), has_rate: bool,
    ) {
        let rate_bps = if has_rate { SHORT_FRAME_IN_1_MS } else { None };
        let mut fabric = Fabric::new(&two_switches(rate_bps, changes), at(0));
        let (mut got, sent) = play(&mut fabric, &steps);

        // At any moment each direction accounts for every frame it was offered.
        let directions = |fabric: &Fabric| -> Vec<DirectionStats> {
            fabric.link_stats().iter().flat_map(|link| [link.forward, link.backward]).collect()
        };
        for stats in directions(&fabric) {
            prop_assert_eq!(stats.offered, stats.delivered + stats.dropped() + stats.in_flight);
        }
        got.extend(fabric.poll(VirtualTime::MAX));
        prop_assert_eq!(fabric.next_at(), None);
        let stats = directions(&fabric);
        prop_assert!(stats.iter().all(|stats| stats.in_flight == 0));

        // What nodes sent was offered to their links, and what these delivered was handed out.
        for (node, direction) in [(0, 0), (1, 2), (2, 7)] {
            let offered = steps.iter().filter(|step| step.from == node).count();
            prop_assert_eq!(stats[direction].offered, offered as u64);
            let received = got.iter().filter(|delivery| delivery.station == node).count();
            prop_assert_eq!(stats[direction ^ 1].delivered, received as u64);
        }

        let hop_ns = if has_rate { 2 * MS } else { MS };
        for delivery in &got {
            let number = usize::from(number_of(&delivery.frame));
            let hops = if steps[number].from.max(delivery.station) == 2 { 3 } else { 2 };
            let took = delivery.at - sent[number];
            prop_assert!(took >= VirtualSpan::from_ns(hops * hop_ns), "took {}", took);
            prop_assert!(delivery.station != steps[number].from);
        }
        prop_assert!(got.is_sorted_by_key(|delivery| delivery.at));
        for from in 0..3 {
            for to in 0..3 {
                let numbers = got.iter().filter(|d| d.station == to).map(|d| number_of(&d.frame));
                let of_pair = numbers.filter(|number| steps[usize::from(*number)].from == from);
                prop_assert!(of_pair.is_sorted_by(|one, other| one < other));
            }
        }
    }

    /// When it is asked makes no difference to what happens when.
    #[test]
    fn the_same_frames_have_the_same_fate(steps in steps(), changes in changes()) {
        let plan = two_switches(SHORT_FRAME_IN_1_MS, changes);
        let run = |polls: Option<bool>| {
            let mut steps = steps.clone();
            if let Some(polls) = polls {
                steps.iter_mut().for_each(|step| step.polls = polls);
            }
            let mut fabric = Fabric::new(&plan, at(0));
            let (mut got, _) = play(&mut fabric, &steps);
            got.extend(fabric.poll(VirtualTime::MAX));
            (got, fabric.link_stats(), fabric.switch_stats())
        };
        prop_assert_eq!(run(None), run(None));
        prop_assert_eq!(run(Some(true)), run(Some(false)));
    }
}

/// Parts of one network on as many hosts, which tell each other what leaves them, and what nodes got.
struct Parts {
    parts: Vec<Fabric>,
    placement: Placement,
    got: Vec<Delivery>,
}

impl Parts {
    fn new(plan: &Plan, placement: &Placement) -> Self {
        let part = |me| Fabric::part(plan, at(0), placement.clone(), me);
        let parts = (0..placement.hosts()).map(part).collect();
        Self { parts, placement: placement.clone(), got: Vec::new() }
    }

    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for Departure { to, direction, arrival, frame } in self.parts[from].take_departures() {
                self.parts[to].enter(from, direction, arrival, frame).unwrap();
            }
        }
    }

    fn poll(&mut self, now: VirtualTime) {
        while let Some(next) = self.parts.iter().filter_map(Fabric::next_at).min()
            && next <= now
        {
            for part in &mut self.parts {
                self.got.extend(part.poll(next));
            }
            self.exchange();
        }
    }

    fn receive(&mut self, station: usize, frame: Frame, now: VirtualTime) {
        self.poll(now);
        let host = self.placement.host_of(Place::Station(station));
        self.parts[host].receive(station, frame, now);
        self.exchange();
    }
}

proptest! {
    #[test]
    fn all_parts_together_do_what_the_whole_does(
        steps in steps(),
        changes in changes(),
        hosts in proptest::collection::vec(0usize..3, 6),
        has_rate: bool,
        is_attacked: bool,
        loss in 0u32..300_000,
    ) {
        let rate_bps = if has_rate { SHORT_FRAME_IN_1_MS } else { None };
        let mut plan = two_switches(rate_bps, changes);
        if is_attacked {
            let victim = |n| Victim { ip: ip(n), mac: mac(n) };
            let what = ChangeKind::Poison { attacker: 3, victims: [victim(0), victim(2)] };
            plan.changes.insert(0, Change { at: VirtualSpan::ZERO, what });
        }
        for (link, seed) in plan.links.iter_mut().zip(1..) {
            link.loss = Loss { per_million: loss, seed };
        }
        let number = |place| match place {
            Place::Station(n) => n,
            Place::Switch(n) => 4 + n,
        };
        let placement = Placement::new(&plan, 3, |place| Some(hosts[number(place)])).unwrap();
        let mut parts = Parts::new(&plan, &placement);
        let mut whole = Fabric::new(&plan, at(0));
        let mut now = at(0);
        let mut got = Vec::new();
        for (step, number) in steps.iter().zip(0..) {
            now = now + VirtualSpan::from_ns(step.pause_ns);
            let frame = frame(step.from, step.to, number);
            whole.receive(step.from, Frame::clone(&frame), now);
            got.extend(whole.poll(now));
            parts.receive(step.from, frame, now);
            parts.poll(now);
        }
        let end = now + VirtualSpan::from_s(1);
        got.extend(whole.poll(end));
        parts.poll(end);
        // Nodes of several hosts have no order among each other.
        for station in 0..3 {
            let of = |got: &[Delivery]| -> Vec<_> {
                got.iter().filter(|one| one.station == station).cloned().collect()
            };
            prop_assert_eq!(of(&got), of(&parts.got));
        }
        let part_of = |place| &parts.parts[placement.host_of(place)];
        let whole_links = whole.link_stats();
        for (number, link) in plan.links.iter().enumerate() {
            let forward = part_of(link.ends[0]).link_stats()[number].forward;
            let backward = part_of(link.ends[1]).link_stats()[number].backward;
            prop_assert_eq!((forward, backward), (whole_links[number].forward, whole_links[number].backward));
        }
        for (number, name) in plan.switches.iter().enumerate() {
            let part = part_of(Place::Switch(number)).switch_stats();
            prop_assert_eq!(part[name], whole.switch_stats()[name]);
        }
        let attacker = part_of(Place::Station(3)).attacker_stats(3);
        prop_assert_eq!(attacker, whole.attacker_stats(3));
    }
}

#[test]
fn a_frame_that_another_host_cannot_have_sent_is_refused() {
    let plan = two_switches(None, Vec::new());
    let far = |place| match place {
        Place::Station(n) => usize::from(n >= 2),
        Place::Switch(n) => n,
    };
    let placement = Placement::new(&plan, 3, |place| Some(far(place))).unwrap();
    let mut part = Fabric::part(&plan, at(0), placement, 0);
    let mut enters =
        |from, direction, ms| part.enter(from, direction, at(ms * MS), frame(2, mac(0), 1)).is_ok();
    // The trunk is link 2; towards this host is from its end to its beginning.
    assert!(enters(1, 5, 2));
    let refused =
        [(1, 4, 3), (0, 5, 3), (2, 5, 3), (1, 1, 3), (1, 10, 3), (1, usize::MAX, 3), (1, 5, 1)];
    for (from, direction, ms) in refused {
        assert!(!enters(from, direction, ms), "{from} {direction} {ms}");
    }
    assert_eq!(arrivals(&part.poll(at(10 * MS))), [(0, 3), (1, 3)]);
}

#[test]
fn what_arrives_at_a_node_that_is_busy_waits_until_it_is_free() {
    let mut fabric = Fabric::new(&two_switches(None, Vec::new()), VirtualTime::ZERO);
    let idle = Wakes::AT_ONCE.for_processor_time(1_000_000);
    let computes =
        |wakes: Wakes, ms, now| wakes.computes(vtime::HostSpan::from_ms(ms), at(now * MS));
    fabric.receive(1, frame(1, mac(0), 0), at(0));
    assert_eq!(fabric.poll(at(3 * MS)).len(), 2, "it is known where it is, now");
    fabric.receive(0, frame(0, mac(1), 1), at(3 * MS));
    fabric.receive(0, frame(0, mac(1), 2), at(4 * MS));
    // They arrive at 5 and 6 ms; then it is known that it is busy until 9 ms, and then until 12 ms.
    fabric.set_wakes(1, computes(idle, 5, 4));
    assert!(fabric.poll(at(6 * MS)).is_empty());
    assert_eq!(fabric.next_at(), Some(at(9 * MS)));
    fabric.set_wakes(1, computes(computes(idle, 5, 4), 3, 4));
    assert!(fabric.poll(at(9 * MS)).is_empty());
    assert_eq!(fabric.next_at(), Some(at(12 * MS)));
    let handed: Vec<_> =
        fabric.poll(at(12 * MS)).into_iter().map(|one| (one.at, number_of(&one.frame))).collect();
    assert_eq!(handed, [(at(12 * MS), 1), (at(12 * MS), 2)]);
}
