//! Several hosts whose frames and reports take any time to each other, beside a reference that knows all and has one list of
//! events: each host must see the same at the same times.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use hosts::{Distances, Grants, Report};
use random::{Random, seed_for};
use vtime::{VirtualSpan, VirtualTime};

const END: VirtualTime = VirtualTime::from_ns(60_000);

/// What happens at a host, in the order in which it happens at the same time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Event {
    /// A program wakes by itself.
    Wake,
    /// A frame arrives, with what is in it.
    Frame { from: usize, number: u64, content: u64 },
}

/// What a host does at an event.
#[derive(Debug, Default)]
struct Deeds {
    wake_at: Option<VirtualTime>,
    /// To whom, when it arrives, and what is in it.
    frames: Vec<(usize, VirtualTime, u64)>,
    /// It asks for what all hosts share.
    asks: bool,
}

/// A network of hosts, and what their programs do: all that follows from a seed.
#[derive(Clone, Debug)]
struct World {
    ways: Vec<(usize, usize, VirtualSpan)>,
    hosts: usize,
    /// How long programs sleep, at most.
    sleeps_max: u64,
    /// Of a thousand events, after how many a frame is sent by each way.
    chatty: u64,
    /// Of a thousand steps, in how many something comes: else there is much on its way.
    fast: u64,
}

impl World {
    fn new(random: &mut Random) -> Self {
        let hosts = random.within(2, 5) as usize;
        let mut ways = Vec::new();
        for from in 0..hosts {
            for to in 0..hosts {
                // Often a row only.
                if from != to && (from.abs_diff(to) == 1 || random.chance(400)) {
                    let least = VirtualSpan::from_ns(random.within(1, 400) as i64);
                    ways.push((from, to, least));
                }
            }
        }
        let sleeps_max = [100, 1000, 20_000][random.below(3) as usize];
        let fast = if random.chance(300) { 100 } else { 500 };
        Self { ways, hosts, sleeps_max, chatty: random.within(20, 400), fast }
    }

    fn distances(&self) -> Distances {
        Distances::new(self.hosts, &self.ways)
    }

    fn deeds(&self, host: usize, random: &mut Random, now: VirtualTime, event: Event) -> Deeds {
        let mut deeds = Deeds::default();
        let content = match event {
            Event::Wake => 0,
            Event::Frame { content, .. } => content,
        };
        *random = Random::new(seed_for(random.number(), content));
        if event == Event::Wake {
            let sleep = VirtualSpan::from_ns(random.within(1, self.sleeps_max) as i64);
            deeds.wake_at = Some(now + sleep);
        }
        let ways = || self.ways.iter().filter(|&&(from, ..)| from == host);
        // Fewer than one for each that arrives, or they become more and more.
        let chance = self.chatty.min(800 / (ways().count() as u64).max(1));
        for &(_, to, least) in ways() {
            if random.chance(chance) {
                let more = if random.chance(500) { random.below(500) as i64 } else { 0 };
                let arrival = now + least + VirtualSpan::from_ns(more);
                deeds.frames.push((to, arrival, random.number()));
            }
        }
        deeds.asks = random.chance(100);
        deeds
    }
}

type History = Vec<(VirtualTime, Event)>;

/// What happens where one list has all events, and who has asked for what all share, in which order.
fn reference(world: &World, seed: u64) -> (Vec<History>, Vec<(VirtualTime, usize)>) {
    let mut randoms: Vec<_> =
        (0..world.hosts).map(|host| Random::new(seed_for(seed, host as u64))).collect();
    let mut events: BTreeSet<_> =
        (0..world.hosts).map(|host| (VirtualTime::from_ns(1), host, Event::Wake)).collect();
    let mut sent = BTreeMap::new();
    let (mut histories, mut asked) = (vec![Vec::new(); world.hosts], Vec::new());
    while let Some((now, host, event)) = events.pop_first() {
        if now > END {
            break;
        }
        histories[host].push((now, event));
        let deeds = world.deeds(host, &mut randoms[host], now, event);
        if let Some(when) = deeds.wake_at {
            events.insert((when, host, Event::Wake));
        }
        for (to, arrival, content) in deeds.frames {
            let number: &mut u64 = sent.entry((host, to)).or_default();
            *number += 1;
            events.insert((arrival, to, Event::Frame { from: host, number: *number, content }));
        }
        if deeds.asks {
            asked.push((now, host));
        }
    }
    (histories, asked)
}

#[derive(Clone, Debug)]
enum Item {
    Frame { arrival: VirtualTime, event: Event },
    Report(Report),
}

struct Host {
    grants: Grants,
    /// So far its clock may run, as it was told last.
    granted: VirtualTime,
    clock: VirtualTime,
    random: Random,
    events: BTreeSet<(VirtualTime, Event)>,
    history: History,
    sent: Vec<u64>,
    /// Its programs sleep as is known; else they may do something at any time.
    is_known_idle: bool,
    /// It is held until it has what it has asked for.
    asks_at: Option<VirtualTime>,
    /// Of those that are lost, how many it was told of.
    told: usize,
    is_dead: bool,
}

struct Run {
    world: World,
    random: Random,
    hosts: Vec<Host>,
    channels: BTreeMap<(usize, usize), VecDeque<Item>>,
    asked: Vec<(VirtualTime, usize)>,
    reports: u64,
    /// In the order in which all are told.
    lost: Vec<usize>,
}

impl Run {
    fn new(world: &World, seed: u64, order: u64) -> Self {
        let host = |host: usize| Host {
            grants: Grants::new(host, world.distances()),
            granted: VirtualTime::ZERO,
            clock: VirtualTime::ZERO,
            random: Random::new(seed_for(seed, host as u64)),
            events: BTreeSet::from([(VirtualTime::from_ns(1), Event::Wake)]),
            history: Vec::new(),
            sent: vec![0; world.hosts],
            is_known_idle: false,
            asks_at: None,
            told: 0,
            is_dead: false,
        };
        Self {
            world: world.clone(),
            random: Random::new(order),
            hosts: (0..world.hosts).map(host).collect(),
            channels: BTreeMap::new(),
            asked: Vec::new(),
            reports: 0,
            lost: Vec::new(),
        }
    }

    /// Until all hosts are past the end. Panics where nothing can happen any more before.
    fn finish(&mut self) {
        let mut idle = 0;
        while !self.hosts.iter().all(|host| host.is_done()) {
            let did = if self.random.chance(self.world.fast) { self.deliver() } else { self.act() };
            idle = if did { 0 } else { idle + 1 };
            assert!(idle < 2_000, "nothing happens any more:\n{}", self.shown());
        }
    }

    /// The same, while some hosts are lost, and the others are told of that sooner or later.
    fn finish_with_losses(&mut self) {
        let mut idle = 0;
        while !(0..self.hosts.len()).all(|host| self.is_lost(host) || self.is_done_with_all(host)) {
            let did = match self.random.below(1000) {
                0..2 => self.lose(),
                2..40 => self.tell(),
                _ if self.random.chance(self.world.fast) => self.deliver(),
                _ => self.act(),
            };
            idle = if did { 0 } else { idle + 1 };
            assert!(idle < 5_000, "nothing happens any more:\n{}", self.shown());
        }
    }

    fn is_lost(&self, host: usize) -> bool {
        self.lost.contains(&host)
    }

    fn is_done_with_all(&self, host: usize) -> bool {
        self.hosts[host].is_done() && self.hosts[host].told == self.lost.len()
    }

    /// A host dies, and of what it has sent last some get more than others; or it only seems to be dead.
    fn lose(&mut self) -> bool {
        let host = self.random.below(self.hosts.len() as u64) as usize;
        if self.is_lost(host) || self.hosts.len() < self.lost.len() + 3 {
            return false;
        }
        self.lost.push(host);
        self.hosts[host].is_dead = self.random.chance(500);
        for to in 0..self.hosts.len() {
            let cut = self.random.below(6) as usize;
            if let Some(channel) = self.channels.get_mut(&(host, to))
                && self.hosts[host].is_dead
            {
                channel.truncate(channel.len().saturating_sub(cut));
            }
        }
        true
    }

    /// A host is told of the next one that is lost. One that is lost itself is not told of that.
    fn tell(&mut self) -> bool {
        let me = self.random.below(self.hosts.len() as u64) as usize;
        let Some(&lost) = self.lost.get(self.hosts[me].told) else { return false };
        if lost == me {
            return false;
        }
        self.hosts[me].told += 1;
        self.hosts[me].grants.is_lost(lost);
        true
    }

    fn shown(&self) -> String {
        let mut lines = Vec::new();
        for (number, host) in self.hosts.iter().enumerate() {
            let next = host.events.first().map(|(when, _)| *when);
            let horizon = host.grants.horizon();
            lines.push(format!("{number}: at {}, next {next:?}, {horizon}", host.clock));
        }
        lines.join("\n")
    }

    /// The first of what is on its way from somebody to somebody comes.
    fn deliver(&mut self) -> bool {
        let full: Vec<_> = self
            .channels
            .iter()
            .filter(|(_, items)| !items.is_empty())
            .map(|(&way, _)| way)
            .collect();
        if full.is_empty() {
            return false;
        }
        let (from, to) = self.random.pick(&full);
        let item = self.channels.get_mut(&(from, to)).unwrap().pop_front().unwrap();
        let host = &mut self.hosts[to];
        if host.is_dead || self.lost[..host.told].contains(&from) {
            return true;
        }
        // What becomes of a host that only seems to be dead is of no importance.
        let is_lost = self.lost.contains(&to);
        match item {
            _ if is_lost => return true,
            Item::Frame { arrival, event } => {
                host.grants.received(from, arrival).unwrap();
                assert!(arrival > host.clock, "late");
                host.events.insert((arrival, event));
            }
            Item::Report(report) => host.grants.heard(from, report).unwrap(),
        }
        true
    }

    /// A host goes on as far as it may, or part of the way, or says something.
    fn act(&mut self) -> bool {
        let me = self.random.below(self.hosts.len() as u64) as usize;
        if self.hosts[me].is_dead {
            return false;
        }
        let before = (self.hosts[me].clock, self.reports, self.asked.len());
        if let Some(at) = self.hosts[me].asks_at {
            self.hosts[me].grants.wants(Some(at));
            if self.hosts[me].grants.others_are_past(at) {
                self.asked.push((at, me));
                self.hosts[me].asks_at = None;
                self.hosts[me].grants.wants(None);
            }
        } else {
            self.move_on(me);
        }
        if let Some(report) = self.hosts[me].grants.report() {
            self.reports += 1;
            for to in (0..self.hosts.len()).filter(|&to| to != me) {
                self.push(me, to, Item::Report(report.clone()));
            }
        }
        before != (self.hosts[me].clock, self.reports, self.asked.len())
    }

    fn move_on(&mut self, me: usize) {
        // A clock runs on by what it was told while more becomes known.
        if self.random.chance(500) {
            self.hosts[me].granted = self.hosts[me].grants.horizon();
        }
        let horizon = self.hosts[me].granted;
        let next = self.hosts[me].events.first().map(|(when, _)| *when);
        let way = self.random.below(3);
        let host = &mut self.hosts[me];
        let next = next.unwrap_or(VirtualTime::MAX);
        if next <= horizon && next <= END && way > 0 {
            host.clock = next;
            host.is_known_idle = false;
            // What an event brings about comes later.
            while let Some(&(when, event)) = self.hosts[me].events.first()
                && when == next
            {
                self.hosts[me].events.pop_first();
                self.happen(me, event);
            }
            self.hosts[me].grants.advanced(next);
        } else if way == 1 {
            host.grants.is_idle_until(next);
            host.is_known_idle = true;
        } else {
            // It runs on as a clock does.
            let most = horizon.min(next - VirtualSpan::from_ns(1)).min(END);
            let span = (most - host.clock).as_ns();
            if span > 0 {
                let part = self.random.within(1, span.unsigned_abs());
                host.clock = host.clock + VirtualSpan::from_ns(part as i64);
                host.grants.advanced(host.clock);
            }
        }
    }

    fn happen(&mut self, me: usize, event: Event) {
        let host = &mut self.hosts[me];
        let now = host.clock;
        host.history.push((now, event));
        let deeds = self.world.deeds(me, &mut host.random, now, event);
        if let Some(when) = deeds.wake_at {
            host.events.insert((when, Event::Wake));
        }
        for (to, arrival, content) in deeds.frames {
            let host = &mut self.hosts[me];
            if self.lost[..host.told].contains(&to) {
                continue;
            }
            host.sent[to] += 1;
            let event = Event::Frame { from: me, number: host.sent[to], content };
            host.grants.sent(to, arrival);
            self.push(me, to, Item::Frame { arrival, event });
        }
        if deeds.asks {
            self.hosts[me].asks_at = Some(now);
        }
    }

    fn push(&mut self, from: usize, to: usize, item: Item) {
        self.channels.entry((from, to)).or_default().push_back(item);
    }
}

impl Host {
    fn is_done(&self) -> bool {
        let is_past = self.events.first().is_none_or(|(when, _)| *when > END);
        is_past && self.asks_at.is_none() && self.grants.horizon() >= END
    }
}

/// Several asks of one host at one instant are one here.
fn once(mut asked: Vec<(VirtualTime, usize)>) -> Vec<(VirtualTime, usize)> {
    asked.dedup();
    asked
}

#[test]
fn each_host_sees_what_it_would_see_if_all_were_one() {
    let (mut events, mut reports) = (0, 0);
    for seed in 0..40 {
        let world = World::new(&mut Random::new(seed));
        let (histories, asked) = reference(&world, seed);
        for order in 0..2 {
            let mut run = Run::new(&world, seed, seed_for(seed, order));
            run.finish();
            for (host, history) in run.hosts.iter().zip(&histories) {
                assert_eq!(host.history, *history, "seed {seed}, order {order}");
            }
            assert_eq!(run.asked, once(asked.clone()), "seed {seed}, order {order}");
            reports += run.reports;
        }
        events += histories.iter().map(Vec::len).sum::<usize>();
    }
    assert!(events > 5_000, "{events} events");
    assert!(reports > 10_000, "{reports} reports");
}

/// Each is told at a time of its own that another one is lost, and has heard more or less of that one than others have.
#[test]
fn no_frame_is_late_and_nobody_waits_for_ever_when_hosts_are_lost() {
    let (mut lost, mut asked) = (0, 0);
    for seed in 0..200 {
        let world = World::new(&mut Random::new(seed_for(seed, 7)));
        for order in 0..3 {
            let mut run = Run::new(&world, seed, seed_for(seed, order));
            run.finish_with_losses();
            run.asked.retain(|(_, host)| !run.lost.contains(host));
            assert!(run.asked.is_sorted(), "seed {seed}, order {order}: {:?}", run.asked);
            lost += run.lost.len();
            asked += run.asked.len();
        }
    }
    assert!(lost > 300 && asked > 1000, "{lost} {asked}");
}

/// A frame of a lost host is on its way to another one, which wakes by it or was told before it came.
#[test]
fn nobody_has_a_turn_before_all_are_told_of_a_lost_host() {
    let us = |us: i64| VirtualTime::from_ns(us * 1000);
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(3, &[(0, 1, way), (1, 0, way), (1, 2, way), (2, 1, way)]);
    let [mut asks, mut other, mut lost] = [0, 1, 2].map(|me| Grants::new(me, distances.clone()));
    lost.sent(1, us(20));
    lost.is_idle_until(us(900));
    other.is_idle_until(us(900));
    asks.heard(2, lost.report().unwrap()).unwrap();
    asks.heard(1, other.report().unwrap()).unwrap();
    asks.is_idle_until(us(30));
    let until = asks.horizon();
    assert_eq!(until, us(25) - VirtualSpan::from_ns(1));
    assert!(!asks.others_are_past(us(24)));
    asks.is_lost(2);
    assert!(asks.horizon() == until && !asks.others_are_past(us(24)));
    other.is_lost(2);
    asks.heard(1, other.report().unwrap()).unwrap();
    assert!(asks.horizon() > us(30) && asks.others_are_past(us(24)));
}

/// What a host has promised it keeps, also if somebody wakes for whom nothing was to happen.
#[test]
fn who_wakes_unexpectedly_keeps_its_promise() {
    let us = |us: i64| VirtualTime::from_ns(us * 1000);
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    let mut hosts = [0, 1].map(|me| Grants::new(me, distances.clone()));
    let [first, second] = &mut hosts;
    first.is_idle_until(us(100));
    let report = first.report().unwrap();
    second.heard(0, report).unwrap();
    second.is_idle_until(us(500));
    // What comes back of what it does itself is nearer: nothing of it was said yet.
    assert_eq!(second.horizon(), us(105) - VirtualSpan::from_ns(1));
    // Also if it has slept again meanwhile, and for less.
    first.is_idle_until(us(20));
    assert_eq!(first.is_awake(us(3)), us(100));
    assert_eq!((first.next(), first.idle_until()), (us(100), None));
    assert_eq!(second.is_awake(us(4)), us(4), "nobody was promised anything");
    second.is_idle_until(us(500));
    // What comes before that time comes in time, and is answered before, too: nobody has promised anything of that.
    second.sent(0, us(50));
    first.received(1, us(50)).unwrap();
    assert_eq!(first.is_awake(us(50)), us(50));
    first.sent(1, us(50) + way);
    second.received(0, us(55)).unwrap();
    first.sent(1, us(100) + way);
    second.advanced(second.horizon());
    second.advanced(us(60));
    second.is_idle_until(us(500));
    second.received(0, us(105)).unwrap();
    assert_eq!(second.next(), us(105));
}

/// A kernel that waits for an answer, and another host that waits for its turn until the first one is past it.
#[test]
fn who_waits_for_a_turn_sends_nothing_before_it() {
    let us = |us: i64| VirtualTime::from_ns(us * 1000);
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    for (asks, kernel) in [(0, 1), (1, 0)] {
        let mut hosts = [0, 1].map(|me| Grants::new(me, distances.clone()));
        hosts[asks].advanced(us(2));
        hosts[asks].wants(Some(us(2)));
        let report = hosts[asks].report().unwrap();
        hosts[kernel].heard(asks, report).unwrap();
        hosts[kernel].waits_for_timers_until(us(900));
        assert!(!hosts[kernel].others_may_send(), "its clock is to run until it is past that");
        hosts[kernel].advanced(us(2) + VirtualSpan::from_ns(1));
        assert!(hosts[kernel].others_may_send(), "now it may");
        let report = hosts[kernel].report().unwrap();
        hosts[asks].heard(kernel, report).unwrap();
        assert!(hosts[asks].others_are_past(us(2)));
    }
}

/// Two kernels that wait for answers: as long as the other one may send one nobody's timer counts, and then both do.
#[test]
fn timers_of_kernels_count_when_nothing_else_can_come() {
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    let mut hosts = [0, 1].map(|me| Grants::new(me, distances.clone()));
    let [first, second] = &mut hosts;
    assert!(first.others_may_send());
    let never = VirtualTime::MAX;
    second.waits_for_timers_until(never);
    first.heard(1, second.report().unwrap()).unwrap();
    assert!(!first.others_may_send() && second.others_may_send());
    assert_eq!(first.horizon(), VirtualTime::from_ns(4999), "it may, once a timer ends");
    first.waits_for_timers_until(never);
    second.heard(0, first.report().unwrap()).unwrap();
    assert!(!second.others_may_send());
    // A program of the first one wakes before anything could come back of what the second one sends.
    first.waits_for_timers_until(VirtualTime::from_ns(3000));
    second.heard(0, first.report().unwrap()).unwrap();
    assert!(second.others_may_send());
    // A timer ends.
    assert_eq!(first.is_awake(VirtualTime::from_ns(10)), VirtualTime::from_ns(10));
    second.heard(0, first.report().unwrap()).unwrap();
    assert!(second.others_may_send());
}

/// While all sleep, one report of each is enough, however short the ways are.
#[test]
fn idle_time_takes_one_report_of_each_host() {
    let way = VirtualSpan::from_ns(5);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    let mut hosts = [0, 1].map(|me| Grants::new(me, distances.clone()));
    for round in 1..=10 {
        let when = VirtualTime::from_ns(round * 1_000_000_000);
        let reports = hosts.each_mut().map(|host| {
            host.is_idle_until(when);
            host.report().unwrap()
        });
        for (from, report) in reports.into_iter().enumerate() {
            hosts[1 - from].heard(from, report).unwrap();
        }
        for host in &mut hosts {
            assert!(host.horizon() >= when);
            assert!(host.report().is_none());
            host.advanced(when);
        }
    }
}

#[test]
fn who_wants_to_know_is_told_as_soon_as_it_is_so() {
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    let mut hosts = [0, 1].map(|me| Grants::new(me, distances.clone()));
    let [first, second] = &mut hosts;
    first.advanced(VirtualTime::from_ns(100));
    assert!(first.report().is_none(), "half of the way is worth a report");
    assert_eq!(first.says_at(), VirtualTime::from_ns(2500));
    second.advanced(VirtualTime::from_ns(200));
    second.wants(Some(VirtualTime::from_ns(200)));
    first.heard(1, second.report().unwrap()).unwrap();
    first.advanced(VirtualTime::from_ns(200));
    assert!(first.report().is_none());
    assert_eq!(first.says_at(), VirtualTime::from_ns(201));
    // At the same time the one with the lower number would go first.
    assert!(!second.others_are_past(VirtualTime::from_ns(200)));
    first.advanced(VirtualTime::from_ns(201));
    second.heard(0, first.report().unwrap()).unwrap();
    assert!(second.others_are_past(VirtualTime::from_ns(200)));
    assert!(first.report().is_none(), "once is enough");
}

/// Of many frames that are under way less is said, but the first to arrive counts.
#[test]
fn the_first_of_many_frames_under_way_counts() {
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(3, &[(0, 1, way), (1, 2, way)]);
    let mut sender = Grants::new(0, distances.clone());
    // Each arrives before the one that was sent before it, by another link.
    let arrivals: Vec<_> = (0..100).rev().map(|n| VirtualTime::from_ns(50_000 + n * 10)).collect();
    arrivals.iter().for_each(|&arrival| sender.sent(1, arrival));
    sender.is_idle_until(VirtualTime::MAX);
    let report = sender.report().unwrap();
    assert!(report.under_way[1].len() <= hosts::report::GROUPS_MAX);
    let mut other = Grants::new(2, distances);
    other.heard(0, report.clone()).unwrap();
    let mut between = Report { number: 1, next: VirtualTime::MAX, ..Report::none(3) };
    other.heard(1, between.clone()).unwrap();
    assert_eq!(other.horizon(), arrivals[99] + way - VirtualSpan::from_ns(1));
    (between.number, between.received) = (2, vec![100, 0, 0]);
    other.heard(1, between).unwrap();
    assert_eq!(other.horizon(), VirtualTime::MAX);
}

#[test]
fn a_report_that_cannot_be_is_refused() {
    use hosts::grants::Fault::Wrong;
    use hosts::report::Wrong::{Hosts, Less, Number, Unsent};
    let way = VirtualSpan::from_ns(5000);
    let distances = Distances::new(2, &[(0, 1, way), (1, 0, way)]);
    let mut here = Grants::new(0, distances);
    let good = Report { number: 1, next: VirtualTime::from_ns(9), ..Report::none(2) };
    let changed = |change: &dyn Fn(&mut Report)| {
        let mut report = good.clone();
        change(&mut report);
        report
    };
    let wrong = [
        (changed(&|report| report.heard = vec![0; 3]), Hosts),
        (changed(&|report| report.number = 2), Number),
        (changed(&|report| report.number = 0), Number),
        (changed(&|report| report.received = vec![1, 0]), Unsent),
        (changed(&|report| report.heard = vec![1, 0]), Unsent),
    ];
    for (report, why) in wrong {
        assert_eq!(here.heard(1, report), Err(Wrong(why)));
    }
    here.sent(1, VirtualTime::from_ns(7000));
    here.heard(1, changed(&|report| report.received = vec![1, 0])).unwrap();
    assert_eq!(here.heard(1, changed(&|report| report.number = 2)), Err(Wrong(Less)));
}
