//! Who holds all clocks, where they stand then, and when they go on: S(p) of Hannon et al. 2019, where the
//! clocks stand while the sum of requests is at least one, without their bus.
//!
//! Each stop of all is a round. Whoever is asked to hold while the clocks run stops its own, begins the next
//! round and says where it stands ([`Say::Stop`]). Everybody who hears of it stops, and says the same. The
//! largest of these times becomes the place where all stand: those behind run on to it, nobody goes back.
//! Each says where it stands, and again if that was not the largest ([`Say::Stands`]); when all stand there, the hold is
//! in force. Two who ask at once begin the same round, and it is one stop.
//!
//! A clock that runs may be told to stop at a time that it has not reached. If that is as far ahead as a word needs to
//! the others, all of them can stop there, and nobody has to wait until everybody has heard where all others are.
//!
//! Holds are counted by each host for itself, and told. The host with the lowest number sees that all stand and none
//! holds, and lets all go on ([`Say::Go`]). As that may be on its way, who asks for the first hold of a host
//! once it has said that it stands begins the next round, too; but not before it knows that all have begun this one.
//!
//! A host that is lost holds no more, and is not waited for. Which hosts are lost is decided by whoever
//! has started them all, and told to each in the same order; a view is what comes between two of these.
//! Words of a view count in that view only, and with each one everybody says again where it is: else one
//! could have heard of a lost host where all are to stand, and another one not.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use vtime::VirtualTime;

use crate::ns;

/// What a host tells all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Message {
    /// How many hosts were lost, as the sender knows.
    pub view: u32,
    pub round: u64,
    pub say: Say,
}

/// What it says of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Say {
    /// Its clock has stopped here, or will, and so many holds are its own.
    Stop {
        #[serde(with = "ns")]
        at: VirtualTime,
        holds: u32,
    },
    /// Its clock stands here, and goes on only if another one has stopped later.
    Stands {
        #[serde(with = "ns")]
        at: VirtualTime,
    },
    /// So many holds are its own now.
    Holds(u32),
    /// All are there, and nobody holds any more.
    Go,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Do {
    /// Stop the clock, and call [`Holds::stopped`]; or let it run to a time and no further, and call
    /// [`Holds::stops_at`] and once it is there [`Holds::reached`].
    Stop,
    /// Let it go on to this time and no further; call [`Holds::reached`] once it is there.
    RunTo(VirtualTime),
    Say(Message),
    /// Let the clock run.
    Run,
}

/// More than hosts say while one of them was not told yet that another one is lost.
const AHEAD_MAX: usize = 10_000;

/// What one host knows of the present round.
#[derive(Clone, Debug)]
pub struct Holds {
    me: usize,
    view: u32,
    /// The last one that has begun here; 0 before the first.
    round: u64,
    phase: Phase,
    hosts: Vec<Host>,
    /// A hold was asserted when the word to go on might have been under way, and nobody was told yet.
    is_untold: bool,
    /// Words of views that have not come here.
    ahead: VecDeque<(usize, Message)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Runs,
    /// It was told to stop, and has not yet said where.
    Stops,
    /// It has stopped, and goes on at most to where all will stand.
    Still {
        /// Where it is, or will be.
        here: VirtualTime,
        is_there: bool,
        /// All others are there, too.
        are_all: bool,
    },
}

#[derive(Clone, Copy, Default, Debug)]
struct Host {
    holds: u32,
    /// Where it has stopped in this round.
    at: Option<VirtualTime>,
    /// Where it has said that it stands.
    stands: Option<VirtualTime>,
    is_lost: bool,
}

impl Holds {
    /// Those of one of so many hosts, whose clocks run.
    pub fn new(me: usize, hosts: usize) -> Self {
        let hosts = vec![Host::default(); hosts];
        let ahead = VecDeque::new();
        Self { me, view: 0, round: 0, phase: Phase::Runs, hosts, is_untold: false, ahead }
    }

    /// One more hold is asserted here. It is in force once [`Self::stand`] says where.
    pub fn hold(&mut self) -> Vec<Do> {
        let own = &mut self.hosts[self.me];
        own.holds += 1;
        let (is_first, stands, holds) = (own.holds == 1, own.stands.is_some(), own.holds);
        match self.phase {
            Phase::Runs => self.begin(),
            Phase::Still { .. } if is_first && stands => {
                self.is_untold = true;
                self.begin_if_untold()
            }
            Phase::Still { .. } if self.is_untold => Vec::new(),
            Phase::Still { .. } => vec![self.says(Say::Holds(holds))],
            Phase::Stops => Vec::new(),
        }
    }

    /// One hold less. `None` if there was none of this host's.
    pub fn release(&mut self) -> Option<Vec<Do>> {
        let own = &mut self.hosts[self.me];
        own.holds = own.holds.checked_sub(1)?;
        let holds = own.holds;
        self.is_untold &= holds > 0;
        if self.phase == Phase::Stops {
            return Some(Vec::new());
        }
        let mut todo = vec![self.says(Say::Holds(holds))];
        self.go_on(&mut todo);
        Some(todo)
    }

    /// The clock has stopped here, as was asked for.
    pub fn stopped(&mut self, at: VirtualTime) -> Vec<Do> {
        let mut todo = Vec::new();
        if self.phase == Phase::Stops {
            self.phase = Phase::Still { here: at, is_there: true, are_all: false };
            self.say_where(at, &mut todo);
            self.go_on(&mut todo);
        }
        todo
    }

    /// The clock, which runs, will stop here, as was asked for: a time that it has not reached.
    pub fn stops_at(&mut self, at: VirtualTime) -> Vec<Do> {
        let mut todo = Vec::new();
        if self.phase == Phase::Stops {
            self.phase = Phase::Still { here: at, is_there: false, are_all: false };
            self.say_where(at, &mut todo);
            self.go_on(&mut todo);
        }
        todo
    }

    /// The latest time at which a host has stopped in this round, or will, as far as that is known here.
    pub fn furthest(&self) -> Option<VirtualTime> {
        self.present().filter_map(|host| host.at).max()
    }

    /// The clock has come to where it was to run to.
    pub fn reached(&mut self, at: VirtualTime) -> Vec<Do> {
        let mut todo = Vec::new();
        if let Phase::Still { here, is_there, .. } = &mut self.phase
            && *here == at
        {
            *is_there = true;
            self.go_on(&mut todo);
        }
        todo
    }

    /// Another host has said something.
    pub fn heard(&mut self, from: usize, message: Message) -> Vec<Do> {
        let mut todo = Vec::new();
        if message.view > self.view {
            if self.ahead.len() < AHEAD_MAX {
                self.ahead.push_back((from, message));
            }
        } else if message.view == self.view && !self.hosts[from].is_lost {
            self.take(from, message, &mut todo);
        }
        todo
    }

    /// A host is lost: it holds no more, and nobody waits for it.
    pub fn is_lost(&mut self, host: usize) -> Vec<Do> {
        self.view += 1;
        self.hosts[host] = Host { is_lost: true, ..Host::default() };
        for host in &mut self.hosts {
            (host.at, host.stands) = (None, None);
        }
        let mut todo = Vec::new();
        match &mut self.phase {
            Phase::Runs if self.round > 0 => todo.push(self.says(Say::Go)),
            Phase::Runs | Phase::Stops => {}
            Phase::Still { here, are_all, .. } => {
                *are_all = false;
                let here = *here;
                self.say_where(here, &mut todo);
            }
        }
        for (from, message) in std::mem::take(&mut self.ahead) {
            todo.extend(self.heard(from, message));
        }
        self.go_on(&mut todo);
        todo
    }

    /// Where all clocks stand; `None` while one of them may run.
    pub fn stand(&self) -> Option<VirtualTime> {
        match self.phase {
            Phase::Still { here, are_all: true, .. } => Some(here),
            _ => None,
        }
    }

    /// How many holds there are of all hosts, as far as they have said so: of all of them while they stand.
    pub fn asserted(&self) -> u32 {
        if self.phase == Phase::Runs {
            return 0;
        }
        let own = self.hosts[self.me].holds;
        let others = self.hosts.iter().enumerate().filter(|(host, _)| *host != self.me);
        // What was said in an earlier round may not be so any more.
        let said = others.filter(|(_, host)| !host.is_lost && host.at.is_some());
        said.fold(own, |sum, (_, host)| sum.saturating_add(host.holds))
    }

    /// The round that was the last to begin, if the clocks run since.
    pub fn runs_since(&self) -> Option<u64> {
        (self.phase == Phase::Runs).then_some(self.round)
    }

    const fn says(&self, say: Say) -> Do {
        Do::Say(Message { view: self.view, round: self.round, say })
    }

    fn say_where(&mut self, at: VirtualTime, todo: &mut Vec<Do>) {
        let own = &mut self.hosts[self.me];
        own.at = Some(at);
        let holds = own.holds;
        todo.push(self.says(Say::Stop { at, holds }));
    }

    fn take(&mut self, from: usize, Message { round, say, .. }: Message, todo: &mut Vec<Do>) {
        let host = &mut self.hosts[from];
        match say {
            Say::Stop { at, holds } if round == self.round + 1 => {
                todo.extend(self.begin());
                let host = &mut self.hosts[from];
                (host.at, host.holds) = (Some(at), holds);
            }
            // Of a round that is over.
            _ if round != self.round || self.phase == Phase::Runs => {}
            Say::Stop { at, holds } => (host.at, host.holds) = (Some(at), holds),
            Say::Stands { at } => host.stands = Some(at),
            Say::Holds(holds) => host.holds = holds,
            Say::Go if self.hosts[self.me].holds == 0 => return self.run(todo),
            // It was under way.
            Say::Go if self.is_untold => return todo.extend(self.begin()),
            // Who holds has said so before it stood, so none says that which works as it should.
            Say::Go => {}
        }
        self.go_on(todo);
    }

    /// Begins the next round.
    fn begin(&mut self) -> Vec<Do> {
        self.round += 1;
        self.phase = Phase::Stops;
        self.is_untold = false;
        for host in &mut self.hosts {
            (host.at, host.stands) = (None, None);
        }
        vec![Do::Stop]
    }

    /// Begins the next round for a hold of which nobody was told, once all have begun this one.
    fn begin_if_untold(&mut self) -> Vec<Do> {
        let have_all_begun = self.present().all(|host| host.at.is_some());
        if self.is_untold && have_all_begun { self.begin() } else { Vec::new() }
    }

    fn run(&mut self, todo: &mut Vec<Do>) {
        self.phase = Phase::Runs;
        todo.push(Do::Run);
    }

    /// Takes all steps for which nothing is missing any more.
    fn go_on(&mut self, todo: &mut Vec<Do>) {
        let Phase::Still { mut here, mut is_there, mut are_all } = self.phase else { return };
        let Some(furthest) = self.furthest() else { return };
        if furthest > here {
            (here, is_there) = (furthest, false);
            todo.push(Do::RunTo(here));
        }
        if is_there && self.hosts[self.me].stands != Some(here) {
            self.hosts[self.me].stands = Some(here);
            todo.push(self.says(Say::Stands { at: here }));
        }
        let have_all_begun = self.present().all(|host| host.at.is_some());
        are_all |= have_all_begun && self.present().all(|host| host.stands == Some(furthest));
        self.phase = Phase::Still { here, is_there, are_all };
        let is_mine = self.hosts.iter().position(|host| !host.is_lost) == Some(self.me);
        if is_mine && are_all && self.present().all(|host| host.holds == 0) {
            todo.push(self.says(Say::Go));
            self.run(todo);
        }
        todo.extend(self.begin_if_untold());
    }

    fn present(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(|host| !host.is_lost)
    }
}
