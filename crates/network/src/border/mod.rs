//! The border of a part of a network: other hosts, and how far the clock may run by what they say.
//!
//! It belongs to the network's thread, which takes frames, lets them leave and reads the clock: so what is
//! reported of this host is true at that moment, and a frame and what is said of it keep their order.
//!
//! What decides is in [`hosts`]: here are sockets. Each two hosts have one connection, made by the one with
//! the higher number. It may break and is made again. Whoever reaches the port can make one, too: until it
//! has sent a record that only the other host can have written it changes nothing, and a few of these at a time are borne for some seconds.

mod asking;
mod brake;
mod bus;
mod connection;
mod free;
mod holding;
mod idle;
mod lost;
mod silence;
#[cfg(test)]
mod tests;
mod turns;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;

use domain::Domain;
use hosts::holds::Say;
use hosts::seal::PairSecret;
use hosts::session::Session;
use hosts::stream::Greeting;
use hosts::words::{Clock, Word};
use hosts::{Grants, Sync};
use os::tcp;
use vtime::{HostSpan, HostTime, VirtualSpan, VirtualTime};

use super::Frame;
use super::fabric::Departure;
use super::placement::Placement;
use super::plan::Plan;
use super::stats::FreeClock;
use asking::Asking;
pub use asking::{Asked, OtherHosts};
use brake::Brake;
pub use bus::Following;
use connection::{Connection, Heard, READ_OCTETS};
use free::Free;
use holding::Holding;
pub use holding::{AllHeld, AllHolds, Count};
pub(super) use idle::Idle;
pub use idle::Sleep;
pub(super) use lost::Losing;
pub use lost::Lost;
use silence::Way;
pub use turns::Turns;

/// From one sign of life to the next, where nothing else is said.
const BEAT: HostSpan = HostSpan::from_ms(100);
/// From one report to the next, where nothing but the time that has passed is reported.
const SAID_LEAST: HostSpan = HostSpan::from_ns(50_000);
/// From one try to connect to the next.
const RETRY: HostSpan = HostSpan::from_ms(50);
/// How long who has connected may take to say something that only another host can say.
const PROOF_LONGEST: HostSpan = HostSpan::from_ms(2000);
/// Connections of whom that is not known, at a time; the oldest makes room.
const UNPROVEN_MAX: usize = 64;

/// Where other hosts are, and what they have to know.
#[derive(Debug)]
pub struct Border {
    /// The number of this host.
    pub me: usize,
    pub placement: Placement,
    pub sync: Sync,
    /// Where hosts with higher numbers connect to.
    pub listener: TcpListener,
    /// By host; of this one, nothing is used.
    pub peers: Vec<Peer>,
    /// How long a host may be silent before it is lost.
    pub silence_longest: HostSpan,
    /// Told, once, when each other host was there.
    pub met: Sender<()>,
    /// Told, once of each, of hosts that are silent or do not do as they should.
    pub faults: Sender<Fault>,
    /// Told what other hosts ask this one; to be answered by [`OtherHosts::answer`].
    pub asked: Sender<Asked>,
}

/// A host is silent, or does not do as it should.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub host: usize,
    /// In a sentence, with its name.
    pub reason: String,
    /// Whether it has said what no host says that works as it should: then no result is right any more.
    pub is_wrong: bool,
}

/// Where another host is, and what proves that it is that one.
#[derive(Clone, Debug)]
pub struct Peer {
    pub name: String,
    pub address: SocketAddr,
    pub secret: PairSecret,
}

/// Of connections that have proved nothing, which one goes when there are too many: the oldest of those from the address that
/// has made most, and none that this host has made. Else one who makes many would keep hosts out.
fn too_many(unproven: &[Connection]) -> Option<usize> {
    let of = |from| unproven.iter().filter(|one| one.from() == Some(from)).count();
    let made = unproven.iter().enumerate().filter_map(|(at, one)| Some((at, of(one.from()?))));
    made.min_by_key(|&(at, count)| (std::cmp::Reverse(count), at)).map(|(at, _)| at)
}

/// For how long a clock may wait for other hosts, at least, before that is worth a word.
const WAITED_LONG: HostSpan = HostSpan::from_ms(1000);

/// A fifth of what has passed.
fn span_of(now: VirtualTime) -> HostSpan {
    HostSpan::from_ns(now.as_ns() / 5)
}

/// A frame that has come from another host.
#[derive(Debug)]
pub(super) struct Entering {
    pub(super) from: usize,
    pub(super) direction: usize,
    pub(super) arrival: VirtualTime,
    pub(super) frame: Frame,
}

/// The border while the network runs.
#[derive(Debug)]
pub(super) struct Hosts {
    me: usize,
    grants: Grants,
    /// If clocks run by themselves, and nothing is granted.
    free: Option<Free>,
    listener: TcpListener,
    links: Vec<PeerLink>,
    unproven: Vec<Connection>,
    /// Connections that nobody has made whom it knows.
    strangers: u64,
    brake: Brake,
    /// For what is read.
    octets: Vec<u8>,
    turns: Arc<Turns>,
    idle: Arc<Idle>,
    holding: Holding,
    asking: Asking,
    losing: Arc<Losing>,
    /// The last report was at this host time.
    said_at: HostTime,
    silence_longest: HostSpan,
    /// `None` once it was told.
    met: Option<Sender<()>>,
    faults: Sender<Fault>,
}

/// All that there is about one other host.
#[derive(Debug)]
struct PeerLink {
    peer: Peer,
    session: Session,
    connection: Option<Connection>,
    /// How many there have been.
    connections: u64,
    tried_at: Option<HostTime>,
    beat_at: HostTime,
    heard_at: HostTime,
    /// Whether it was told of that it is silent or does not do as it should.
    is_told_of: bool,
    /// It is lost, and nothing is said to it or heard of it any more.
    is_lost: bool,
    /// Whether anything was ever heard of it.
    is_met: bool,
}

impl Hosts {
    pub(super) fn new(border: Border, plan: &Plan, now: HostTime) -> io::Result<Self> {
        border.listener.set_nonblocking(true)?;
        let link = |peer| PeerLink {
            peer,
            session: Session::default(),
            connection: None,
            connections: 0,
            tried_at: None,
            beat_at: now,
            heard_at: now,
            is_told_of: false,
            is_lost: false,
            is_met: false,
        };
        let names = border.peers.iter().map(|peer| peer.name.clone()).collect();
        Ok(Self {
            me: border.me,
            grants: Grants::new(border.me, border.placement.distances(plan)),
            free: (border.sync == Sync::Free).then(|| Free::new(border.me, now)),
            listener: border.listener,
            links: border.peers.into_iter().map(link).collect(),
            unproven: Vec::new(),
            strangers: 0,
            brake: Brake::default(),
            octets: vec![0; READ_OCTETS],
            turns: Arc::new(Turns::new()?),
            idle: Arc::new(Idle::new()?),
            holding: Holding::new(border.me, border.placement.hosts(), border.sync)?,
            asking: Asking::new(names, border.asked, now)?,
            losing: Arc::new(Losing::new()?),
            said_at: now,
            silence_longest: border.silence_longest,
            met: Some(border.met),
            faults: border.faults,
        })
    }

    /// Those who wait for their turn at what all hosts share; `None` where all have to be held for that.
    pub(super) fn turns(&self) -> Option<Arc<Turns>> {
        self.free.is_none().then(|| Arc::clone(&self.turns))
    }

    /// Where all hosts are held.
    pub(super) fn all_holds(&self) -> Arc<AllHolds> {
        self.holding.all()
    }

    /// Where other hosts are asked.
    pub(super) fn others(&self) -> Arc<OtherHosts> {
        self.asking.others()
    }

    /// Where it is told that hosts are lost.
    pub(super) fn losing(&self) -> Arc<Losing> {
        Arc::clone(&self.losing)
    }

    /// Takes it that hosts are lost, if that was told. Returns which.
    pub(super) fn lose(&mut self) -> Vec<usize> {
        let mut lost = Vec::new();
        for Lost { host, reason } in self.losing.take() {
            let is_other = host != self.me && host < self.links.len();
            if !is_other || self.links[host].is_lost {
                continue;
            }
            let link = &mut self.links[host];
            (link.is_lost, link.connection) = (true, None);
            self.unproven.retain(|one| !one.is_to(host));
            self.asking.is_out(host, &reason);
            self.grants.is_lost(host);
            self.holding.is_lost(host);
            let first = self.links.iter().position(|link| !link.is_lost).unwrap_or(self.me);
            if let Some(free) = &mut self.free {
                free.is_lost(host, first);
            }
            lost.push(host);
        }
        lost
    }

    /// Passes on what is asked and answered.
    pub(super) fn pass_on(&mut self) {
        for (to, word) in self.asking.step() {
            self.say(to, &word);
        }
    }

    /// Lets no clock run while another host has to take much that was sent to it.
    fn put_the_brake_on(&mut self, domain: &Arc<Domain>) {
        let heard = self.links.iter().filter(|link| !link.is_lost);
        let waiting = heard.map(|link| link.session.kept_octets()).max();
        let all = self.free.as_ref().map(|_| self.holding.all());
        self.brake.step(waiting.unwrap_or(0), domain, all.as_ref());
    }

    /// Holds the clock, lets it run to where all will stand, or lets it run on, as all hosts have agreed.
    pub(super) fn hold_together(&mut self, domain: &Arc<Domain>) {
        self.put_the_brake_on(domain);
        if let Some(free) = &mut self.free {
            for (to, word) in free.step(domain, self.holding.runs_since()) {
                self.say(to, &word);
            }
        }
        for message in self.holding.step(domain) {
            if message.say == Say::Go
                && let Some(at) = self.holding.went_at()
            {
                self.say_to_all(&Word::Clock(Clock::Goes { at }));
            }
            self.say_to_all(&Word::Holds(message));
        }
    }

    /// Whether frames may come after their time on the clock of this host, which runs by itself.
    pub(super) const fn may_be_late(&self) -> bool {
        self.free.is_some()
    }

    /// One has, by so much.
    pub(super) fn was_late(&mut self, by: VirtualSpan) {
        if let Some(free) = &mut self.free {
            free.was_late(by);
        }
    }

    /// What of connections between hosts one should look at before one trusts the results, at the end.
    pub(super) fn warnings(&self, domain: &Domain) -> Vec<String> {
        let name = &self.links[self.me].peer.name;
        let waited = domain.waited_for_hosts();
        let waits = (waited > WAITED_LONG.max(span_of(domain.now()))).then(|| {
            format!(
                "the clock of host `{name}` stood for {:.1} s for want of word from other hosts: that takes longer than \
                 the shortest links between them; give these links longer delays, or the hosts a faster connection",
                waited.as_ns() as f64 / 1e9
            )
        });
        let broke = self.links.iter().filter(|link| link.connections > 1).map(|link| {
            let (other, times) = (&link.peer.name, link.connections - 1);
            format!("the connection of host `{name}` with `{other}` broke {times} times and was made again")
        });
        let strangers = (self.strangers > 0).then(|| {
            let (count, port) = (self.strangers, self.listener.local_addr().map_or(0, |at| at.port()));
            format!("host `{name}`: {count} connections to its port {port} did not prove to be those of another host, and were refused")
        });
        let waits = waits.into_iter().chain(self.brake.warning(name)).chain(broke).chain(strangers);
        waits.chain(self.free.iter().flat_map(|free| free.warnings(name))).collect()
    }

    /// What is known of clocks that run by themselves, at the end.
    pub(super) fn free_clock(&self) -> Option<FreeClock> {
        let name = &self.links[self.me].peer.name;
        self.free.as_ref().map(|free| free.account(name))
    }

    /// Where the clock is to stand with others, while it is on the way.
    pub(super) const fn runs_to(&self) -> Option<VirtualTime> {
        self.holding.runs_to()
    }

    /// Nobody on this host waits for others any more.
    pub(super) fn end(&mut self) {
        self.turns.end();
        self.holding.all().end();
        self.asking.end();
    }

    /// Where it is told that all sleep.
    pub(super) fn idle(&self) -> Arc<Idle> {
        Arc::clone(&self.idle)
    }

    /// Takes what was found out while the network's thread waited, in that round.
    pub(super) fn take_idle(&mut self, round: u64) {
        match self.idle.take(round) {
            Some(Sleep::Until(when)) => self.grants.is_idle_until(when),
            Some(Sleep::ForTimersUntil(when)) => self.grants.waits_for_timers_until(when),
            None => {}
        }
    }

    /// Somebody here sends at `now`. The answer is when that leaves, by what others were told.
    pub(super) fn is_awake(&mut self, now: VirtualTime) -> VirtualTime {
        if self.free.is_some() { now } else { self.grants.is_awake(now) }
    }

    /// What is to be waited for: descriptors, and whether to write to them.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        let proven = self.links.iter().filter_map(|link| link.connection.as_ref());
        let connections = proven.chain(&self.unproven);
        let all = connections.map(|one| (one.descriptor(), one.has_unsent()));
        let asked = [self.holding.descriptor(), self.asking.descriptor(), self.losing.descriptor()];
        let own = [self.listener.as_fd(), self.turns.descriptor(), self.idle.descriptor()];
        let own = own.into_iter().chain(asked);
        all.chain(own.map(|fd| (fd, false)))
    }

    /// Takes what has come. Returns the frames among it.
    pub(super) fn take(&mut self, now: HostTime) -> Vec<Entering> {
        self.turns.clear();
        self.accept(now);
        self.connect(now);
        let mut entering = Vec::new();
        for mut connection in std::mem::take(&mut self.unproven) {
            let secrets = |host: usize| self.links.get(host).map(|link| link.peer.secret.clone());
            match connection.read(&mut self.octets, secrets) {
                Heard { end: Some(_), .. } => {
                    self.strangers += u64::from(!connection.is_made_here());
                }
                heard if heard.records.is_empty() => {
                    if now - connection.since() < PROOF_LONGEST {
                        self.unproven.push(connection);
                    } else {
                        self.strangers += u64::from(!connection.is_made_here());
                    }
                }
                heard => self.prove(connection, heard, now, &mut entering),
            }
        }
        for host in 0..self.links.len() {
            let Some(mut connection) = self.links[host].connection.take() else { continue };
            let heard = connection.read(&mut self.octets, |_| None);
            let is_over = heard.end.is_some();
            self.hear(host, heard.records, now, &mut entering);
            if !is_over {
                self.links[host].connection = Some(connection);
            }
        }
        self.look_for_silence(now);
        let is_there = |(host, link): (usize, &PeerLink)| {
            host == self.me || link.is_lost || link.connection.is_some()
        };
        if self.links.iter().enumerate().all(is_there)
            && let Some(met) = self.met.take()
        {
            // Whoever has waited for it may have given up.
            let _ = met.send(());
        }
        entering
    }

    /// A frame leaves for another host.
    pub(super) fn depart(&mut self, Departure { to, direction, arrival, frame }: Departure) {
        if self.free.is_none() {
            self.grants.sent(to, arrival);
        }
        let direction = u32::try_from(direction).expect("a plan has fewer links");
        self.say(to, &Word::Frame { direction, arrival, octets: frame.to_vec() });
    }

    /// All that was to happen here up to `done` is done. Tells others, if it is worth it. Returns how far the clock
    /// may run; `None` if it runs by itself.
    pub(super) fn settle(&mut self, done: VirtualTime, now: HostTime) -> Option<VirtualTime> {
        if self.free.is_some() {
            return None;
        }
        self.grants.advanced(done);
        self.grants.wants(self.turns.first());
        if let Some(report) = self.grants.report() {
            self.said_at = now;
            self.say_to_all(&Word::Report(report));
        }
        self.turns.give(|when| self.grants.others_are_past(when));
        let grants = &self.grants;
        let sleep = match grants.idle_until() {
            Some(when) => Some(Sleep::Until(when)),
            None => grants.for_timers_until().map(Sleep::ForTimersUntil),
        };
        self.idle.publish(sleep, grants.says_at(), grants.others_may_send());
        Some(self.grants.horizon())
    }

    /// Sends what is to be sent.
    pub(super) fn flush(&mut self, now: HostTime) {
        for link in &mut self.links {
            link.flush(now);
        }
    }

    /// Up to when there is nothing to be said of a clock that runs; and not before that host time, however short the ways
    /// to others are: who reports all the time leaves no processor to programs.
    pub(super) fn says_at(&self) -> (VirtualTime, HostTime) {
        let at = if self.free.is_some() { VirtualTime::MAX } else { self.grants.says_at() };
        (at, self.said_at + SAID_LEAST)
    }

    /// When to look again, whatever happens.
    pub(super) fn due(&self, now: HostTime) -> HostTime {
        let is_missing = self
            .links
            .iter()
            .enumerate()
            .any(|(host, link)| host < self.me && !link.is_lost && link.connection.is_none());
        let asks = self.free.as_ref().map_or(HostTime::MAX, Free::due);
        asks.min(now + if is_missing { RETRY } else { BEAT })
    }

    fn say_to_all(&mut self, word: &Word) {
        for host in (0..self.links.len()).filter(|&host| host != self.me).collect::<Vec<_>>() {
            self.say(host, word);
        }
    }

    fn say(&mut self, to: usize, word: &Word) {
        if self.links[to].is_lost {
            return;
        }
        if !self.links[to].session.say(word.encode()) {
            self.tell_of(to, "takes nothing any more that is sent to it", false);
        }
    }

    /// A host does not do as it should.
    pub(super) fn fail(&mut self, host: usize, what: &str) {
        self.tell_of(host, what, true);
    }

    fn tell_of(&mut self, host: usize, what: &str, is_wrong: bool) {
        let link = &mut self.links[host];
        let reason = format!("host `{}` {what}", link.peer.name);
        self.asking.lost(host, &reason);
        if !std::mem::replace(&mut link.is_told_of, true) {
            // Whoever is told may have ended the run already.
            let _ = self.faults.send(Fault { host, reason, is_wrong });
        }
    }

    fn accept(&mut self, now: HostTime) {
        // Whoever makes more of them waits: the network goes on.
        for _ in 0..UNPROVEN_MAX {
            let Ok((socket, from)) = self.listener.accept() else { return };
            if let Ok(connection) = Connection::accepted(socket, from.ip(), self.me, now) {
                self.unproven.push(connection);
            }
            if self.unproven.len() > UNPROVEN_MAX
                && let Some(one) = too_many(&self.unproven)
            {
                self.unproven.remove(one);
                self.strangers += 1;
            }
        }
    }

    /// Connects to hosts with lower numbers to which there is no connection.
    fn connect(&mut self, now: HostTime) {
        for (host, link) in self.links.iter_mut().enumerate().take(self.me) {
            let is_tried = link.tried_at.is_some_and(|at| now - at < RETRY);
            let is_under_way = self.unproven.iter().any(|one| one.is_to(host));
            if link.is_lost || link.connection.is_some() || is_tried || is_under_way {
                continue;
            }
            link.tried_at = Some(now);
            let connected = tcp::begin_to_connect(&link.peer.address)
                .and_then(|socket| Connection::made(socket, (self.me, host), now));
            if let Ok(mut connection) = connected {
                connection.greets_with(&link.peer.secret, link.session.connected());
                self.unproven.push(connection);
            }
        }
    }

    /// A connection is one of another host: it takes the place of the one before.
    fn prove(
        &mut self,
        mut connection: Connection,
        heard: Heard,
        now: HostTime,
        entering: &mut Vec<Entering>,
    ) {
        let Some(host) = connection.host().filter(|&host| host != self.me) else { return };
        let link = &mut self.links[host];
        if link.is_lost {
            return;
        }
        if !connection.is_to(host) {
            let first = link.session.connected();
            connection.send(first);
        }
        link.connection = Some(connection);
        link.connections += 1;
        self.hear(host, heard.records, now, entering);
    }

    fn hear(
        &mut self,
        host: usize,
        records: Vec<Vec<u8>>,
        now: HostTime,
        entering: &mut Vec<Entering>,
    ) {
        for record in records {
            let link = &mut self.links[host];
            link.heard_at = now;
            link.is_met = true;
            self.asking.heard(host, now);
            let Ok(word) = link.session.take(&record) else {
                return self.fail(host, "says that it has received what was not sent");
            };
            if let Some(word) = word
                && let Err(what) = self.understand(host, &word, entering)
            {
                return self.fail(host, &what);
            }
        }
    }

    fn understand(
        &mut self,
        from: usize,
        word: &[u8],
        entering: &mut Vec<Entering>,
    ) -> Result<(), String> {
        let word = Word::decode(word).map_err(|_| "says what cannot be read".to_owned())?;
        match word {
            Word::Frame { direction, arrival, octets } => {
                if self.free.is_none() {
                    self.grants.received(from, arrival).map_err(|fault| format!("{fault}"))?;
                }
                let (direction, frame) = (direction as usize, Frame::from(octets));
                entering.push(Entering { from, direction, arrival, frame });
                Ok(())
            }
            Word::Report(_) if self.free.is_some() => {
                Err("grants something, where clocks run by themselves".to_owned())
            }
            Word::Report(report) => {
                self.grants.heard(from, report).map_err(|fault| format!("{fault}"))
            }
            Word::Clock(clock) => {
                let Some(free) = &mut self.free else {
                    return Err("speaks of clocks that run by themselves".to_owned());
                };
                if let Some(at) = free.heard(from, clock) {
                    self.holding.goes_as_of(at);
                }
                Ok(())
            }
            Word::Holds(message) => {
                self.holding.heard(from, message);
                Ok(())
            }
            Word::Question(question) => {
                self.asking.was_asked(from, question).map_err(|wrong| wrong.to_string())
            }
            Word::Answer(piece) => {
                self.asking.was_answered(from, piece).map_err(|wrong| wrong.to_string())
            }
        }
    }

    fn look_for_silence(&mut self, now: HostTime) {
        let longest_ms = self.silence_longest.as_ns() / 1_000_000;
        let is_silent =
            |link: &PeerLink| !link.is_lost && now - link.heard_at > self.silence_longest;
        let others = (0..self.links.len()).filter(|&host| host != self.me);
        for host in others.filter(|&host| is_silent(&self.links[host])).collect::<Vec<_>>() {
            let what = match self.links[host].is_met {
                true => silence::after_a_meeting(longest_ms),
                false => silence::before_a_meeting(longest_ms, self.way_to(host)),
            };
            self.tell_of(host, &what, false);
        }
    }

    /// Where a connection to another host is made.
    fn way_to(&self, host: usize) -> Way<'_> {
        let waiting = &self.links[host.min(self.me)].peer;
        let (name, at) = (waiting.name.as_str(), waiting.address);
        if host < self.me { Way::There { name, at } } else { Way::Here { name, at } }
    }
}

impl PeerLink {
    /// Sends what is to be sent, and a sign of life if nothing else was for a while.
    fn flush(&mut self, now: HostTime) {
        let Some(connection) = &mut self.connection else { return };
        let mut has_said = false;
        while connection.has_room()
            && let Some(record) = self.session.next_record()
        {
            connection.send(record);
            has_said = true;
        }
        if has_said {
            self.beat_at = now + BEAT;
        } else if now >= self.beat_at {
            connection.send(self.session.beat());
            self.beat_at = now + BEAT;
        }
        if connection.write().is_err() {
            self.connection = None;
        }
    }
}

/// A greeting of this host for another one, or for whoever has connected.
fn greeting(me: usize, to: usize) -> io::Result<Greeting> {
    let number = |host: usize| u16::try_from(host).map_err(io::Error::other);
    Ok(Greeting { from: number(me)?, to: number(to)?, chance: connection::chance()? })
}
