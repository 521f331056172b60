//! Hosts that ask for holds and give them back, at any time, also at the same, while others are lost.

use std::collections::{BTreeMap, VecDeque};

use hosts::Holds;
use hosts::holds::{Do, Message, Say};
use random::{Random, seed_for};
use vtime::{VirtualSpan, VirtualTime};

struct Host {
    holds: Holds,
    own: u32,
    clock: VirtualTime,
    runs: bool,
    runs_to: Option<VirtualTime>,
    /// It was told to stop, and does so a while later.
    is_to_stop: bool,
    is_dead: bool,
    /// How many of the lost ones it was told of.
    view: usize,
}

struct Run {
    random: Random,
    hosts: Vec<Host>,
    channels: BTreeMap<(usize, usize), VecDeque<Message>>,
    loses: bool,
    /// In the order in which all are told.
    lost: Vec<usize>,
    stands: u64,
    most_holders: usize,
}

impl Run {
    fn new(seed: u64, loses: bool) -> Self {
        let mut random = Random::new(seed);
        let count = random.within(1, 5) as usize;
        let hosts = (0..count).map(|me| Host {
            holds: Holds::new(me, count),
            own: 0,
            clock: VirtualTime::from_ns(random.below(1000) as i64),
            runs: true,
            runs_to: None,
            is_to_stop: false,
            is_dead: false,
            view: 0,
        });
        let hosts = hosts.collect();
        let (channels, lost) = (BTreeMap::new(), Vec::new());
        Self { random, hosts, channels, loses, lost, stands: 0, most_holders: 0 }
    }

    fn obey(&mut self, me: usize, todo: Vec<Do>) {
        for deed in todo {
            match deed {
                Do::Stop => self.hosts[me].is_to_stop = true,
                Do::RunTo(at) => {
                    assert!(at > self.hosts[me].clock, "nobody goes back");
                    self.hosts[me].runs_to = Some(at);
                }
                Do::Say(message) => {
                    self.say(me, message);
                    // Where it would hurt most.
                    let per_mille = if message.say == Say::Go { 40 } else { 4 };
                    if self.may_lose(me) && self.random.chance(per_mille) {
                        self.lose(me);
                    }
                }
                Do::Run => {
                    assert_eq!(self.hosts[me].own, 0, "who holds does not go on");
                    self.hosts[me].runs = true;
                }
            }
        }
    }

    fn say(&mut self, me: usize, message: Message) {
        for to in (0..self.hosts.len()).filter(|&to| to != me) {
            self.channels.entry((me, to)).or_default().push_back(message);
        }
    }

    /// While a hold of a host is in force all clocks stand, at the same nanosecond.
    fn check(&mut self) {
        let hosts = self.hosts.iter().enumerate();
        let present: Vec<_> = hosts.filter(|(number, _)| !self.lost.contains(number)).collect();
        for (_, host) in &present {
            let Some(at) = host.holds.stand().filter(|_| host.own > 0) else { continue };
            for (number, other) in &present {
                let is_still = !other.runs && other.runs_to.is_none();
                assert!(is_still && other.clock == at, "host {number} is elsewhere");
            }
            self.stands += 1;
        }
        let holders = present.iter().filter(|(_, host)| host.own > 0).count();
        self.most_holders = self.most_holders.max(holders);
    }

    fn step(&mut self, may_hold: bool) -> bool {
        let me = self.random.below(self.hosts.len() as u64) as usize;
        let deed = self.random.below(20);
        if self.hosts[me].is_dead {
            return false;
        }
        match deed {
            0 if may_hold => {
                self.hosts[me].own += 1;
                let todo = self.hosts[me].holds.hold();
                self.obey(me, todo);
            }
            1..=2 if self.hosts[me].own > 0 => {
                self.hosts[me].own -= 1;
                let todo = self.hosts[me].holds.release().unwrap();
                self.obey(me, todo);
            }
            3 if may_hold && self.may_lose(me) && self.random.chance(10) => self.lose(me),
            // Who is shut out is not told, or not of itself.
            4..=6 if self.lost.get(self.hosts[me].view).is_some_and(|&lost| lost != me) => {
                let lost = self.lost[self.hosts[me].view];
                self.hosts[me].view += 1;
                let todo = self.hosts[me].holds.is_lost(lost);
                self.obey(me, todo);
            }
            7..=9 => return self.tick(me),
            10..=19 => return self.deliver(me),
            _ => return false,
        }
        true
    }

    fn may_lose(&self, me: usize) -> bool {
        self.loses && !self.lost.contains(&me) && self.hosts.len() > self.lost.len() + 1
    }

    /// A host dies, and of what it has said last some have heard and others will not; or it only seems to be dead.
    fn lose(&mut self, me: usize) {
        self.lost.push(me);
        if self.random.chance(500) {
            return;
        }
        self.hosts[me].is_dead = true;
        for to in 0..self.hosts.len() {
            let lost = self.random.below(3) as usize;
            if let Some(channel) = self.channels.get_mut(&(me, to)) {
                channel.truncate(channel.len().saturating_sub(lost));
            }
        }
    }

    fn tick(&mut self, me: usize) -> bool {
        let span = VirtualSpan::from_ns(self.random.within(1, 50) as i64);
        let host = &mut self.hosts[me];
        if host.is_to_stop {
            let did_run = host.runs;
            (host.is_to_stop, host.runs, host.runs_to) = (false, false, None);
            let ahead = host.clock + VirtualSpan::from_ns(self.random.within(1, 60) as i64);
            // Where others will stop, if that is not past yet, or somewhere else; or at once.
            let at = host.holds.furthest().filter(|at| *at > host.clock).unwrap_or(ahead);
            let todo = if did_run && self.random.chance(500) {
                host.runs_to = Some(at);
                host.holds.stops_at(at)
            } else {
                host.holds.stopped(host.clock)
            };
            self.obey(me, todo);
            return true;
        }
        if host.runs {
            host.clock = host.clock + span;
        } else if let Some(to) = host.runs_to {
            host.clock = (host.clock + span).min(to);
            if host.clock == to {
                host.runs_to = None;
                let todo = host.holds.reached(to);
                self.obey(me, todo);
            }
            return true;
        }
        false
    }

    fn deliver(&mut self, me: usize) -> bool {
        let full = self.channels.iter().filter(|((_, to), items)| *to == me && !items.is_empty());
        let full: Vec<_> = full.map(|(&(from, _), _)| from).collect();
        if full.is_empty() {
            return false;
        }
        let from = self.random.pick(&full);
        let message = self.channels.get_mut(&(from, me)).unwrap().pop_front().unwrap();
        let todo = self.hosts[me].holds.heard(from, message);
        self.obey(me, todo);
        true
    }

    /// Nothing is left to be said or done.
    fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < 2000 {
            quiet = if self.step(false) { 0 } else { quiet + 1 };
            self.check();
        }
    }
}

#[test]
fn all_stand_at_the_same_nanosecond_if_and_only_if_somebody_holds() {
    let (mut stands, mut most, mut lost) = (0, 0, 0);
    for seed in 0..2000 {
        let mut run = Run::new(seed_for(seed, 1), true);
        for _ in 0..run.random.within(50, 1500) {
            run.step(true);
            run.check();
        }
        // Releases come as steps, so in the end nobody holds.
        run.settle();
        for (number, host) in run.hosts.iter().enumerate() {
            if !run.lost.contains(&number) {
                assert!(host.runs && host.own == 0, "seed {seed}: host {number} stands");
            }
        }
        stands += run.stands;
        most = most.max(run.most_holders);
        lost += run.lost.len();
    }
    assert!(stands > 10_000 && most >= 3 && lost > 500, "{stands} {most} {lost}");
}

#[test]
fn a_hold_stays_until_it_is_released() {
    for seed in 0..300 {
        let mut run = Run::new(seed_for(seed, 2), false);
        let holder = run.random.below(run.hosts.len() as u64) as usize;
        let todo = run.hosts[holder].holds.hold();
        run.obey(holder, todo);
        // The simulation does not know of it, so it is not given back.
        let mut quiet = 0;
        while quiet < 2000 {
            quiet = if run.step(false) { 0 } else { quiet + 1 };
        }
        let at = run.hosts[holder].holds.stand().expect("all stand");
        for host in &run.hosts {
            assert!(!host.runs && host.clock == at && host.holds.stand() == Some(at));
        }
        let todo = run.hosts[holder].holds.release().unwrap();
        run.obey(holder, todo);
        run.settle();
        assert!(run.hosts.iter().all(|host| host.runs));
        assert!(run.hosts[holder].holds.release().is_none());
    }
}

/// A host stands and asks for a hold before it knows that a third one has begun, while the first one lets all go on.
#[test]
fn a_hold_that_crosses_the_word_to_go_on_is_never_lost() {
    for is_lost in [false, true] {
        let at = VirtualTime::from_ns(10);
        let mut holds = Holds::new(1, 3);
        let mut view = 0;
        let stop = Message { view, round: 1, say: Say::Stop { at, holds: 1 } };
        assert_eq!(holds.heard(0, stop), [Do::Stop]);
        assert_eq!(holds.stopped(at).len(), 2, "where it is, and that it stands");
        assert_eq!(holds.hold(), [], "the others may have gone on, or not have begun");
        if is_lost {
            view = 1;
            holds.is_lost(2);
        }
        assert_eq!(holds.heard(0, Message { view, round: 1, say: Say::Go }), [Do::Stop]);
        let said = holds.stopped(at);
        let next = Message { view, round: 2, say: Say::Stop { at, holds: 1 } };
        assert!(said.contains(&Do::Say(next)), "{said:?}");
    }
}

/// What a host has said before it heard that another one is lost may be before it heard where that one has stopped.
#[test]
fn words_of_an_earlier_view_do_not_count() {
    let [at, later] = [5, 9].map(VirtualTime::from_ns);
    let mut holds = Holds::new(0, 3);
    assert_eq!(holds.hold(), [Do::Stop]);
    holds.stopped(at);
    holds.is_lost(2);
    for say in [Say::Stop { at, holds: 0 }, Say::Stands { at }] {
        assert_eq!(holds.heard(1, Message { view: 0, round: 1, say }), []);
    }
    assert_eq!(holds.stand(), None);
    let stop = Say::Stop { at: later, holds: 0 };
    assert_eq!(holds.heard(1, Message { view: 1, round: 1, say: stop }), [Do::RunTo(later)]);
}

#[test]
fn one_host_alone_stops_and_goes_on_at_once() {
    let mut holds = Holds::new(0, 1);
    let at = VirtualTime::from_ns(7);
    assert_eq!(holds.hold(), [Do::Stop]);
    assert_eq!(holds.stopped(at).len(), 2, "where it is, and that it stands");
    assert_eq!(holds.stand(), Some(at));
    assert!(holds.release().unwrap().contains(&Do::Run));
}
