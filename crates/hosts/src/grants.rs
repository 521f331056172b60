//! How far the clock of a host may run, so that no frame from another host is ever late
//! (`sync: granted`): a conservative simulation whose parts are real programs.
//!
//! Each host says before which time nothing happens there ([`Report::next`]). What happens at a host at `t` matters
//! at another one at `t` plus their distance at the earliest, so the clock of a host may run until just before the least of
//! these sums over all hosts, and over all frames that are under way. While all sleep, one report of each
//! takes all clocks to the next event, however far that is; with promises from neighbour to neighbour
//! (null messages) it would take as many rounds as the shortest delay fits into that time.
//!
//! For that, what is known of all hosts has to fit together. A frame is under way until its receiver says
//! otherwise; and a report that knows of another host's report is put by until that one has come, too.
//! So all the reports that are taken into account are a consistent cut (Mattern 1989): what was received in it
//! was sent in it or was sent after it by who is in it with an earlier time, and what was sent in it is under way or received.
//!
//! A clock stops one nanosecond before the earliest arrival, so all frames of an instant are there before
//! it begins, and it is the same instant in each run.
//!
//! A host that is lost sends nothing any more to whoever was told so. But another one may not have been told yet, take its
//! frames and send on what follows from them. So a clock goes no further than it might when its host was told, until all
//! that are left have reported that they were told, too; only then the lost one, and what it may have said to others
//! and not here, is left out.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use vtime::{VirtualSpan, VirtualTime};

use crate::distances::Distances;
use crate::report::{GROUPS_MAX, Group, Report, Wrong};

/// What one host knows of all.
#[derive(Clone, Debug)]
pub struct Grants {
    me: usize,
    distances: Distances,
    /// By host. Of this one, what it has said.
    hosts: Vec<Known>,
    /// All that has happened here up to this time is done.
    done: VirtualTime,
    /// Nobody here does anything before, unless a frame arrives.
    idle_until: Option<VirtualTime>,
    /// Nobody here does anything before, unless a frame arrives or a timer of a kernel ends.
    for_timers: Option<VirtualTime>,
    /// Arrivals that lie ahead, of frames from other hosts.
    arriving: BTreeSet<VirtualTime>,
    /// The earliest arrival of frames that were received since the last report.
    unsaid: VirtualTime,
    wants: Option<VirtualTime>,
    /// So far it goes on between reports while it is not idle.
    step: VirtualSpan,
    /// How many hosts are lost, as this one was told.
    view: u32,
    /// While not all others are known to have been told the same: nothing arrives here before, but for what is brought
    /// about here.
    bound: Option<VirtualTime>,
}

/// More reports than come from one host while one from another is on its way.
const PUT_BY_MAX: usize = 100_000;

/// What is known of a host.
#[derive(Clone, Debug)]
struct Known {
    report: Report,
    /// Reports that know of others which have not come.
    put_by: VecDeque<Report>,
    /// Frames sent to it from here, and those of them that it has not said to have received.
    sent: u64,
    under_way: VecDeque<Group>,
    /// Frames received from it here.
    received: u64,
    is_lost: bool,
}

/// A frame has arrived after its time, or a report is wrong: a host does not do as it should, and no result
/// is right any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It arrived by as much too late.
    Late(VirtualSpan),
    Wrong(Wrong),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(span) => write!(out, "sent a frame that is late by {span}"),
            Self::Wrong(Wrong::Hosts) => write!(out, "reports of another number of hosts"),
            Self::Wrong(Wrong::Number) => write!(out, "has left out a report, or repeats one"),
            Self::Wrong(Wrong::Unsent) => write!(out, "reports that it has what was never sent"),
            Self::Wrong(Wrong::Less) => write!(out, "reports that it has less than before"),
            Self::Wrong(Wrong::Ahead) => write!(out, "knows of reports that do not come"),
        }
    }
}

impl Grants {
    /// Those of one of several hosts, which are all at virtual zero.
    pub fn new(me: usize, distances: Distances) -> Self {
        let known = Known {
            report: Report::none(distances.hosts()),
            put_by: VecDeque::new(),
            sent: 0,
            under_way: VecDeque::new(),
            received: 0,
            is_lost: false,
        };
        Self {
            me,
            hosts: vec![known; distances.hosts()],
            done: VirtualTime::ZERO,
            idle_until: None,
            for_timers: None,
            arriving: BTreeSet::new(),
            unsaid: VirtualTime::MAX,
            wants: None,
            step: VirtualSpan::from_ns(distances.least_from(me).as_ns() / 2),
            view: 0,
            bound: None,
            distances,
        }
    }

    /// All that was to happen here up to `now` is done. Who was idle is not any more if its time has come.
    pub fn advanced(&mut self, now: VirtualTime) {
        self.done = self.done.max(now);
        let arrival = self.first_arrival();
        let is_over = |until: &VirtualTime| *until.min(&arrival) <= self.done;
        self.idle_until = self.idle_until.filter(|until| !is_over(until));
        self.for_timers = self.for_timers.filter(|until| !is_over(until));
        self.arriving = self.arriving.split_off(&(self.done + VirtualSpan::from_ns(1)));
    }

    /// Nobody here does anything before `when`, but for what frames bring about that have not arrived.
    pub fn is_idle_until(&mut self, when: VirtualTime) {
        (self.idle_until, self.for_timers) = (Some(when), None);
    }

    /// The same, but for a timer of a kernel, which may end at any time of the host.
    pub fn waits_for_timers_until(&mut self, when: VirtualTime) {
        (self.idle_until, self.for_timers) = (None, Some(when));
    }

    /// Until when nobody here does anything, if that was said and nobody has woken since.
    pub const fn idle_until(&self) -> Option<VirtualTime> {
        self.idle_until
    }

    /// Until when only a timer of a kernel can end here, if that was said and nobody has woken since.
    pub const fn for_timers_until(&self) -> Option<VirtualTime> {
        self.for_timers
    }

    /// Somebody does something at `now`. If nothing was to happen then, a promise that was made stays: what is
    /// sent is to be stamped with the time that is the answer.
    pub fn is_awake(&mut self, now: VirtualTime) -> VirtualTime {
        (self.idle_until, self.for_timers) = (None, None);
        self.told().max(now)
    }

    /// A frame leaves for another host, where it arrives at `arrival`.
    pub fn sent(&mut self, to: usize, arrival: VirtualTime) {
        let known = &mut self.hosts[to];
        known.sent += 1;
        known.under_way.push_back(Group { last: known.sent, arrival });
        if let Some(bound) = &mut self.bound {
            *bound = (*bound).min(arrival + self.distances.between(to, self.me));
        }
    }

    /// A host is lost: nobody waits for it, and it sends nothing any more that counts. Whoever decides that tells all
    /// others of lost hosts in the same order.
    pub fn is_lost(&mut self, host: usize) {
        let next_of = |host| if host == self.me { VirtualTime::MAX } else { self.next_of(host) };
        let known = self.earliest_arrival_by(self.me, next_of);
        self.bound.get_or_insert(known);
        self.view += 1;
        self.hosts[host].is_lost = true;
        self.hosts[host].put_by.clear();
        self.take_all();
    }

    /// A frame has come from another host, which arrives at `arrival`.
    ///
    /// # Errors
    /// If that has passed.
    pub fn received(&mut self, from: usize, arrival: VirtualTime) -> Result<(), Fault> {
        self.hosts[from].received += 1;
        self.unsaid = self.unsaid.min(arrival);
        if arrival <= self.done {
            return Err(Fault::Late(self.done - arrival));
        }
        self.arriving.insert(arrival);
        Ok(())
    }

    /// Another host has said something.
    ///
    /// # Errors
    /// If no host says that which works as it should.
    pub fn heard(&mut self, from: usize, report: Report) -> Result<(), Fault> {
        if self.hosts[from].is_lost {
            return Ok(());
        }
        let last = self.hosts[from].put_by.back().unwrap_or(&self.hosts[from].report);
        report.follows(last).map_err(Fault::Wrong)?;
        if self.hosts[from].put_by.len() >= PUT_BY_MAX {
            return Err(Fault::Wrong(Wrong::Ahead));
        }
        self.check_what_it_knows(from, &report).map_err(Fault::Wrong)?;
        self.hosts[from].put_by.push_back(report);
        self.take_all();
        Ok(())
    }

    /// Others are to say as soon as they are past this time.
    pub fn wants(&mut self, past: Option<VirtualTime>) {
        self.wants = past;
    }

    /// Nothing happens here before this time, unless a frame brings it about that was not received; nor before what
    /// was promised, whoever has woken.
    pub fn next(&self) -> VirtualTime {
        let here = self.awaited().unwrap_or(self.done);
        here.max(self.done).max(self.told())
    }

    /// How far the clock may run by what is known: no frame arrives before or at this time any more.
    pub fn horizon(&self) -> VirtualTime {
        let first = match self.bound {
            Some(bound) => bound.min(self.next() + self.distances.between(self.me, self.me)),
            None => self.earliest_arrival(self.me),
        };
        if first == VirtualTime::MAX { first } else { first - VirtualSpan::from_ns(1) }
    }

    /// Whether something may come from another host before anything could come back of what is sent here now, though no
    /// timer of a kernel ends.
    pub fn others_may_send(&self) -> bool {
        if self.bound.is_some() {
            return true;
        }
        let own = self.next() + self.distances.between(self.me, self.me);
        // If no timer ends, and nobody has a turn before this host is past it.
        let next_of = |host: usize| match self.hosts[host].report {
            _ if host == self.me => self.next(),
            Report { wants: Some(turn), .. } if !self.is_past(turn, host) => VirtualTime::MAX,
            Report { for_timers: Some(until), .. } => until,
            Report { next, .. } => next,
        };
        self.earliest_arrival_by(self.me, next_of) < own
    }

    /// Whether no other host does anything any more before `when`, nor, if it has a lower number, at that time. So
    /// hosts take turns with what they all have.
    pub fn others_are_past(&self, when: VirtualTime) -> bool {
        self.bound.is_none()
            && self.others().all(|(host, known)| {
                let first = known.report.next.min(self.earliest_arrival(host));
                first > when || first == when && host > self.me
            })
    }

    /// Whether this host is past a time at which another one waits for its turn.
    fn is_past(&self, turn: VirtualTime, host: usize) -> bool {
        let next = self.next();
        next > turn || next == turn && host < self.me
    }

    /// What is to be said to all others now, if it is worth it.
    pub fn report(&mut self) -> Option<Report> {
        let (next, told) = (self.next(), self.told());
        let is_idle = next > self.done;
        let is_enough = next > told && (is_idle || next - told >= self.step);
        let is_wanted = self
            .others()
            .any(|(_, known)| known.report.wants.is_some_and(|past| told <= past && past < next));
        let own = &self.hosts[self.me].report;
        let is_news =
            own.wants != self.wants || own.for_timers != self.for_timers || own.view != self.view;
        if !is_enough && !is_wanted && !is_news {
            return None;
        }
        let report = Report {
            number: own.number + 1,
            view: self.view,
            next,
            received: self.hosts.iter().map(|known| known.received).collect(),
            under_way: self.hosts.iter().map(|known| grouped(&known.under_way)).collect(),
            heard: self.hosts.iter().map(|known| known.report.number).collect(),
            for_timers: self.for_timers,
            wants: self.wants,
        };
        self.unsaid = VirtualTime::MAX;
        self.hosts[self.me].report = report.clone();
        Some(report)
    }

    /// When a clock that runs has come so far that it is worth a report.
    pub fn says_at(&self) -> VirtualTime {
        let wanted = self.others().filter_map(|(_, known)| known.report.wants);
        let soon = wanted.filter(|&past| past >= self.told());
        let soon = soon.map(|past| past + VirtualSpan::from_ns(1)).min();
        soon.map_or(self.told() + self.step, |soon| soon.min(self.told() + self.step))
    }

    /// Before this time nothing happens here as others know.
    fn told(&self) -> VirtualTime {
        self.hosts[self.me].report.next.min(self.unsaid)
    }

    /// When something happens here next, if nobody is awake.
    fn awaited(&self) -> Option<VirtualTime> {
        self.idle_until.map(|when| when.min(self.first_arrival()))
    }

    fn first_arrival(&self) -> VirtualTime {
        self.arriving.first().copied().unwrap_or(VirtualTime::MAX)
    }

    /// Before this time nothing arrives at a host that it has not received.
    fn earliest_arrival(&self, at: usize) -> VirtualTime {
        self.earliest_arrival_by(at, |host| self.next_of(host))
    }

    /// The same where nothing happens at hosts by itself before these times.
    fn earliest_arrival_by(
        &self,
        at: usize,
        next_of: impl Fn(usize) -> VirtualTime,
    ) -> VirtualTime {
        let mut first = VirtualTime::MAX;
        for from in self.present() {
            first = first.min(next_of(from) + self.distances.between(from, at));
            for via in self.present().filter(|&via| via != from) {
                let Some(arrival) = self.first_under_way(from, via) else { continue };
                let span =
                    if via == at { VirtualSpan::ZERO } else { self.distances.between(via, at) };
                first = first.min(arrival + span);
            }
        }
        first
    }

    /// Those that are not lost.
    fn present(&self) -> impl Iterator<Item = usize> {
        (0..self.hosts.len()).filter(|&host| !self.hosts[host].is_lost)
    }

    /// Those of them that are not this one.
    fn others(&self) -> impl Iterator<Item = (usize, &Known)> {
        self.present().filter(|&host| host != self.me).map(|host| (host, &self.hosts[host]))
    }

    fn next_of(&self, host: usize) -> VirtualTime {
        if host == self.me { self.next() } else { self.hosts[host].report.next }
    }

    /// When the first frame arrives of those from one host to another that are under way.
    fn first_under_way(&self, from: usize, to: usize) -> Option<VirtualTime> {
        let received = if to == self.me {
            self.hosts[from].received
        } else {
            self.hosts[to].report.received[from]
        };
        let first = |groups: &mut dyn Iterator<Item = &Group>| {
            groups.filter(|group| group.last > received).map(|group| group.arrival).min()
        };
        if from == self.me {
            first(&mut self.hosts[to].under_way.iter())
        } else {
            first(&mut self.hosts[from].report.under_way[to].iter())
        }
    }

    /// Whether it knows of nothing that was not sent, as far as that is known here.
    fn check_what_it_knows(&self, from: usize, report: &Report) -> Result<(), Wrong> {
        let is_sent = report.received[self.me] <= self.hosts[from].sent
            && report.heard[self.me] <= self.hosts[self.me].report.number;
        is_sent.then_some(()).ok_or(Wrong::Unsent)
    }

    /// Takes all reports into account that know of none that has not come.
    fn take_all(&mut self) {
        while self.take_one() {}
        if self.others().all(|(_, known)| known.report.view >= self.view) {
            self.bound = None;
        }
    }

    /// Takes a report into account that was put by, if there is one that knows of none that has not come. What a lost host
    /// has said to others comes no more.
    fn take_one(&mut self) -> bool {
        let is_known = |host: usize, heard: u64| {
            let known = &self.hosts[host];
            known.is_lost || heard <= known.report.number
        };
        let found = (0..self.hosts.len()).find(|&from| {
            self.hosts[from].put_by.front().is_some_and(|report| {
                let mut heard = report.heard.iter().enumerate();
                heard.all(|(host, &heard)| host == from || is_known(host, heard))
            })
        });
        let Some(from) = found else { return false };
        let known = &mut self.hosts[from];
        known.report = known.put_by.pop_front().expect("it has one in front");
        let received = known.report.received[self.me];
        while known.under_way.pop_front_if(|frame| frame.last <= received).is_some() {}
        true
    }
}

/// The same frames in at most [`GROUPS_MAX`] groups.
fn grouped(frames: &VecDeque<Group>) -> Vec<Group> {
    let size = frames.len().div_ceil(GROUPS_MAX).max(1);
    let frames: Vec<_> = frames.iter().copied().collect();
    let group = |frames: &[Group]| {
        let arrival = frames.iter().map(|frame| frame.arrival).min()?;
        Some(Group { last: frames.last()?.last, arrival })
    };
    frames.chunks(size).filter_map(group).collect()
}
