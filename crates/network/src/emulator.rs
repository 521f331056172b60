//! The thread between TAP devices and fabric.
//!
//! It waits until a node has sent something, the next frame is due or the clock has changed;
//! stamps what it reads with virtual time; and hands over what has arrived. A frame is never
//! handed over early, and nothing is while the clock is stopped (held or at its horizon): then
//! there is no host time to wait for, and only a change of the clock ends the wait. How late
//! frames are handed over is counted, because it is an error of this testbed, not of the network.
//!
//! Work per round is bounded, so that one busy node does not starve the others.

#[cfg(test)]
pub(super) mod harness;
#[cfg(test)]
mod outlook_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use vtime::{HostTime, VirtualSpan, VirtualTime, Wakes};

use super::Frame;
use super::border::{AllHolds, Border, Entering, Hosts, Idle, Losing, Lost, OtherHosts, Turns};
use super::capture::{Heading, Recorder};
use super::fabric::{Delivery, Fabric};
use super::outlook::{Board, Device, Outlook};
use super::owed::Owed;
use super::plan::{Place, Plan};
use super::stats::{InterfaceStats, LatenessCounter, NetworkStats};
use super::{repeats, tap};
use domain::{Domain, NodeTime, Pace, Watch, host_now, poll_until, readable, readable_or_writable};

/// Frames read from one node, and handed over to all, per round.
const FRAMES_PER_ROUND: usize = 64;

/// Above every program of the testbed, canaries too.
const PRIORITY: i32 = 95;

/// Longest frame that a device can hand out: the largest MTU and its headers.
const FRAME_OCTETS_MAX: usize = 65_536 + 18;

/// A running network. Stops when dropped.
#[derive(Debug)]
pub struct Emulator {
    board: Arc<Board>,
    turns: Option<Arc<Turns>>,
    all_holds: Option<Arc<AllHolds>>,
    other_hosts: Option<Arc<OtherHosts>>,
    idle: Option<Arc<Idle>>,
    losing: Option<Arc<Losing>>,
    /// Closing it stops the thread.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<NetworkStats>>,
}

/// Starts the network of `plan`: `taps` are the devices of its nodes by name, `zero` is scenario
/// time zero in the domain's time, and `captures` the folder for `<node>.pcapng` and
/// `<attacker>.pcapng`, if frames are to be kept. `nodes` says when nodes get what has arrived,
/// and when what they send leaves them, by name, unless that is at once. With a `border` this is the part of
/// the network on one of several hosts, and the clock runs as far as the others grant; it has to be held, or granted
/// nothing, before.
///
/// # Errors
/// When a node has no device, a capture cannot be made, or the kernel gives no thread.
pub fn start(
    plan: &Plan,
    taps: BTreeMap<String, OwnedFd>,
    domain: Arc<Domain>,
    zero: VirtualTime,
    captures: Option<&Path>,
    nodes: &BTreeMap<String, Arc<NodeTime>>,
    border: Option<Border>,
) -> io::Result<Emulator> {
    let (stopped, stop) = io::pipe()?;
    let mut round = Round::new((plan, border), taps, domain, zero, captures, stopped)?;
    for (station, name) in round.names.iter().enumerate() {
        if let Some(node) = nodes.get(name) {
            round.fabric.set_wakes(station, node.wakes());
            round.computing[station] = node.takes_processor_time().then(|| Arc::clone(node));
        }
    }
    let board = Arc::clone(&round.board);
    let turns = round.hosts.as_ref().and_then(Hosts::turns);
    let idle = round.hosts.as_ref().map(Hosts::idle);
    let losing = round.hosts.as_ref().map(Hosts::losing);
    let all_holds = round.hosts.as_ref().map(Hosts::all_holds);
    let other_hosts = round.hosts.as_ref().map(Hosts::others);
    let thread = thread::Builder::new().name("network".into()).spawn(move || round.run())?;
    let (stop, thread) = (Some(stop), Some(thread));
    Ok(Emulator { board, turns, all_holds, other_hosts, idle, losing, stop, thread })
}

impl Emulator {
    /// What the network waits for, to be read from any thread.
    #[must_use]
    pub fn outlook(&self) -> Outlook {
        Outlook::new(Arc::clone(&self.board), self.idle.clone())
    }

    /// Whose turn it is at what all hosts share; `None` where there is one host, and where all have to be held for that.
    #[must_use]
    pub fn turns(&self) -> Option<Arc<Turns>> {
        self.turns.clone()
    }

    /// Where all hosts are held at once; `None` where there is one host.
    #[must_use]
    pub fn all_holds(&self) -> Option<Arc<AllHolds>> {
        self.all_holds.clone()
    }

    /// Where other hosts are asked; `None` where there is one host.
    #[must_use]
    pub fn other_hosts(&self) -> Option<Arc<OtherHosts>> {
        self.other_hosts.clone()
    }

    /// Another host is lost: nobody waits for it, and what goes there is dropped and counted. All hosts are to be told of
    /// lost ones in the same order.
    pub fn lose(&self, lost: Lost) {
        if let Some(losing) = &self.losing {
            losing.tell(lost);
        }
    }

    /// Stops the network; what is under way stays there. Returns what was counted.
    #[must_use]
    pub fn stop(mut self) -> NetworkStats {
        self.end().unwrap_or_default()
    }

    fn end(&mut self) -> Option<NetworkStats> {
        self.stop = None;
        // A panic aborts the process, so the thread has always ended by itself.
        self.thread.take()?.join().ok()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

struct Round {
    domain: Arc<Domain>,
    watch: Watch,
    stopped: PipeReader,
    fabric: Fabric,
    hosts: Option<Hosts>,
    /// What kernels owe; looked for only where the clock may jump over it.
    owed: Option<Owed>,
    board: Arc<Board>,
    /// By station; attackers have none.
    interfaces: Vec<Option<Interface>>,
    names: Vec<String>,
    /// By station, those whose programs keep them busy by what they compute.
    computing: Vec<Option<Arc<NodeTime>>>,
    /// What such nodes have sent, by when it leaves them, in the order in which they have sent it.
    leaving: BTreeMap<(VirtualTime, u64), (usize, Frame)>,
    sent: u64,
    /// Arrived and not yet handed over.
    outbox: VecDeque<Delivery>,
    recorder: Option<Recorder>,
    lateness: LatenessCounter,
    buffer: Vec<u8>,
    warnings: Vec<String>,
}

struct Interface {
    device: Arc<Device>,
    stats: InterfaceStats,
}

impl Round {
    fn new(
        (plan, border): (&Plan, Option<Border>),
        mut taps: BTreeMap<String, OwnedFd>,
        domain: Arc<Domain>,
        zero: VirtualTime,
        captures: Option<&Path>,
        stopped: PipeReader,
    ) -> io::Result<Self> {
        let mut interfaces: Vec<_> = plan.stations.iter().map(|_| None).collect();
        let names: Vec<_> = plan.stations.iter().map(|station| station.name.clone()).collect();
        let is_here = |station: usize| {
            let hosts = border.as_ref().map(|border| (&border.placement, border.me));
            hosts.is_none_or(|(placement, me)| placement.host_of(Place::Station(station)) == me)
        };
        let captured = names.iter().enumerate();
        let captured: Vec<_> =
            captured.map(|(station, name)| is_here(station).then(|| name.clone())).collect();
        for (name, ..) in plan.nodes() {
            let station = names.iter().position(|station| station == name);
            let station = station.expect("nodes are stations");
            if !is_here(station) {
                continue;
            }
            let device = taps.remove(name).ok_or_else(|| {
                let text = format!("node `{name}` has a link but no TAP device");
                io::Error::new(io::ErrorKind::NotFound, text)
            })?;
            let device = Arc::new(Device::new(device.into()));
            let stats = InterfaceStats::default();
            interfaces[station] = Some(Interface { device, stats });
        }
        let present = interfaces.iter().flatten();
        let devices = present.map(|interface| Arc::clone(&interface.device)).collect();
        let fabric = match &border {
            Some(border) => Fabric::part(plan, zero, border.placement.clone(), border.me),
            None => Fabric::new(plan, zero),
        };
        Ok(Self {
            watch: domain.watch()?,
            fabric,
            hosts: border.map(|border| Hosts::new(border, plan, host_now())).transpose()?,
            owed: (domain.pace() != Pace::Real).then(Owed::default),
            board: Arc::new(Board::new(devices, names.clone())),
            recorder: captures.map(|folder| Recorder::begin(folder, &captured)).transpose()?,
            domain,
            stopped,
            interfaces,
            computing: vec![None; names.len()],
            names,
            leaving: BTreeMap::new(),
            sent: 0,
            outbox: VecDeque::new(),
            lateness: LatenessCounter::default(),
            buffer: vec![0; FRAME_OCTETS_MAX],
            warnings: Vec::new(),
        })
    }

    fn run(mut self) -> NetworkStats {
        // Else every frame would be late by up to 50 us, and wait for whatever else the host computes:
        // a wire is never late. Where the priority is not allowed, frames are later, and the results
        // say by how much.
        os::realtime::exact_timeouts();
        let _ = os::realtime::fifo(PRIORITY);
        loop {
            let ready = match self.wait() {
                Ok(ready) => ready,
                Err(error) => {
                    self.warnings.push(format!("the network ended early: {error}"));
                    break;
                }
            };
            // Forgotten before the clock is read below, so that no change is missed.
            self.watch.clear();
            let has_entered = self.enter();
            for station in ready.stations {
                self.take_from(station);
            }
            self.deliver();
            self.record_attackers();
            self.settle(has_entered);
            if let Some(hosts) = &mut self.hosts {
                hosts.hold_together(&self.domain);
                hosts.pass_on();
                hosts.flush(host_now());
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.write_due(host_now());
            }
            if ready.is_stopped {
                break;
            }
        }
        self.finish()
    }

    /// Takes what has come from other hosts. Returns whether there was a frame among it.
    fn enter(&mut self) -> bool {
        let Some(hosts) = &mut self.hosts else { return false };
        for host in hosts.lose() {
            self.fabric.lose(host);
        }
        hosts.take_idle(self.board.waited());
        let entering = hosts.take(host_now());
        let has_entered = !entering.is_empty();
        for Entering { from, direction, arrival, frame } in entering {
            let (least, now) = (self.fabric.enters_not_before(direction), self.domain.now());
            let is_borne = hosts.may_be_late() && arrival < now;
            if is_borne {
                hosts.was_late(now - arrival);
            }
            let is_too_late = is_borne && arrival < least;
            if is_too_late {
                // What is lost here, its handing over does not count: it comes now. Others may still come to their nodes
                // at their time.
                self.domain.lateness().frames.note((now - arrival).as_ns());
            }
            let arrival = if is_too_late { now.max(least) } else { arrival };
            if self.fabric.enter(from, direction, arrival, frame).is_err() {
                hosts.fail(from, "has sent a frame that cannot come from there");
            }
        }
        has_entered
    }

    /// Lets frames leave for other hosts, tells these what is done here, and the clock how far it may run.
    fn settle(&mut self, has_entered: bool) {
        if self.hosts.is_none() {
            return;
        }
        // Also while the clock is held: what is due by then goes on, and only nodes get nothing. Else one host that is
        // held could wait for another one that is.
        let now = self.domain.now();
        self.send_what_leaves(now);
        self.outbox.extend(self.fabric.poll(now));
        let Some(hosts) = &mut self.hosts else { return };
        for departure in self.fabric.take_departures() {
            hosts.depart(departure);
        }
        if let Some(horizon) = hosts.settle(now, host_now()) {
            self.domain.let_run_until(horizon);
        }
        if has_entered {
            self.domain.nudge();
        }
    }

    fn take_from(&mut self, station: usize) {
        let host = host_now();
        for _ in 0..FRAMES_PER_ROUND {
            let Some(interface) = &mut self.interfaces[station] else { return };
            match (&interface.device.file).read(&mut self.buffer) {
                Ok(0) => return self.mark_gone(station, "end of file"),
                Ok(length) => {
                    let frame = Frame::from(&self.buffer[..length]);
                    if let Some(owed) = &mut self.owed {
                        owed.sent(station, &frame, host);
                    }
                    if self.is_needless_repeat(&frame) {
                        self.count(station, |stats| stats.withheld_repeats += 1);
                        continue;
                    }
                    self.count(station, |stats| stats.sent += 1);
                    self.send(station, frame);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return self.mark_gone(station, &error.to_string()),
            }
        }
    }

    /// Sends a frame at once, or, if its node has computed, when that is over.
    fn send(&mut self, station: usize, frame: Frame) {
        let now = self.domain.now();
        self.send_what_leaves(now);
        let promised = self.hosts.as_mut().map_or(now, |hosts| hosts.is_awake(now));
        if promised > now {
            self.count(station, |stats| stats.put_off += 1);
        }
        let leaves = self.look_at(station).map_or(now, |wakes| wakes.leaves(now)).max(promised);
        if leaves > now {
            self.sent += 1;
            self.leaving.insert((leaves, self.sent), (station, frame));
        } else {
            self.leave(station, frame, now);
        }
    }

    /// Sends what leaves its node by `now`, before anything in the network happens at that time.
    fn send_what_leaves(&mut self, now: VirtualTime) {
        while let Some(first) = self.leaving.first_entry()
            && first.key().0 <= now
        {
            let ((at, _), (station, frame)) = first.remove_entry();
            self.leave(station, frame, at);
        }
    }

    fn leave(&mut self, station: usize, frame: Frame, at: VirtualTime) {
        // At that very time where the clock stands. Where it runs, captures say when frames were seen, in that order.
        self.record(station, self.domain.now(), Heading::Outbound, &frame);
        self.fabric.receive(station, frame, at);
    }

    /// What the node at a station has computed until now, if that takes virtual time.
    fn look_at(&mut self, station: usize) -> Option<Wakes> {
        let node = self.computing[station].as_ref()?;
        let (wakes, _) = self.domain.look_at(node);
        self.fabric.set_wakes(station, wakes);
        Some(wakes)
    }

    /// Whether a frame was sent only because host time passed while the clock was stopped.
    fn is_needless_repeat(&self, frame: &[u8]) -> bool {
        let next = self.domain.now() + VirtualSpan::from_ns(1);
        self.domain.host_time_of(next).is_none() && repeats::is_needless(frame, self.under_way())
    }

    /// Frames that are to be handed over.
    fn under_way(&self) -> impl Iterator<Item = &[u8]> {
        let outbox = self.outbox.iter().map(|delivery| &delivery.frame);
        let leaving = self.leaving.values().map(|(_, frame)| frame);
        self.fabric.under_way().chain(outbox).chain(leaving).map(|frame| &frame[..])
    }

    fn count(&mut self, station: usize, add: impl FnOnce(&mut InterfaceStats)) {
        if let Some(interface) = &mut self.interfaces[station] {
            add(&mut interface.stats);
        }
    }

    /// Reads no more from a device that was taken away.
    fn mark_gone(&mut self, station: usize, why: &str) {
        if let Some(interface) = &mut self.interfaces[station] {
            interface.device.mark_gone();
        }
        let name = &self.names[station];
        self.warnings.push(format!("the interface of node `{name}` is gone: {why}"));
    }

    /// Hands over what has arrived, unless the clock is stopped.
    fn deliver(&mut self) {
        let Some(now) = self.running_now() else { return };
        self.send_what_leaves(now);
        for (station, node) in self.computing.iter().enumerate() {
            if let Some(node) = node {
                self.fabric.set_wakes(station, node.wakes());
            }
        }
        self.outbox.extend(self.fabric.poll(now));
        let host = host_now();
        for _ in 0..FRAMES_PER_ROUND {
            let Some(now) = self.running_now() else { return };
            let Some(delivery) = self.outbox.pop_front() else { return };
            self.deliver_one(now, host, &delivery);
        }
    }

    fn deliver_one(&mut self, now: VirtualTime, host: HostTime, delivery: &Delivery) {
        assert!(delivery.at <= now, "no frame is handed over before it has arrived");
        let Some(interface) = &mut self.interfaces[delivery.station] else { return };
        match (&interface.device.file).write(&delivery.frame) {
            Ok(_) => {
                interface.stats.received += 1;
                let late = (now - delivery.at).as_ns();
                self.lateness.count(late.unsigned_abs());
                self.domain.lateness().frames.note(late);
                if let Some(owed) = &mut self.owed {
                    owed.delivered(delivery.station, &delivery.frame, host);
                }
                self.record(delivery.station, now, Heading::Inbound, &delivery.frame);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                interface.stats.dropped_blocked += 1;
            }
            Err(_) => interface.stats.dropped_refused += 1,
        }
    }

    fn record_attackers(&mut self) {
        for tap in self.fabric.take_taps() {
            let heading = if tap.is_inbound { Heading::Inbound } else { Heading::Outbound };
            self.record(tap.station, tap.when, heading, &tap.frame);
        }
    }

    fn record(&mut self, station: usize, when: VirtualTime, heading: Heading, frame: &[u8]) {
        if let Some(recorder) = &mut self.recorder {
            let realtime_ns = self.domain.realtime_ns(when);
            recorder.record(station, realtime_ns, heading, frame, host_now());
        }
    }

    /// Virtual time now, or `None` while nobody may act, as the clock is held.
    fn running_now(&self) -> Option<VirtualTime> {
        self.domain.now_unless_held()
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut fds = vec![readable(self.watch.fd()), readable(self.stopped.as_fd())];
        let mut stations = Vec::with_capacity(self.interfaces.len());
        for (station, interface) in self.interfaces.iter().enumerate() {
            if let Some(interface) = interface
                && !interface.device.is_gone()
            {
                fds.push(readable(interface.device.file.as_fd()));
                stations.push(station);
            }
        }
        let taps = fds.len();
        for (fd, writes) in self.hosts.iter().flat_map(Hosts::descriptors) {
            fds.push(if writes { readable_or_writable(fd) } else { readable(fd) });
        }
        let next_at = self.next_at();
        self.watch.is_for(next_at);
        let owing =
            self.owed.as_ref().and_then(|owed| owed.owes_beside(host_now(), self.under_way()));
        self.board.begin_wait(next_at, owing);
        let ready = poll_until(&mut fds, self.wait_until());
        self.board.end_wait();
        ready?;
        let mut is_ready = fds[2..taps].iter().map(|fd| !fd.revents().is_empty());
        stations.retain(|_| is_ready.next() == Some(true));
        Ok(Ready { stations, is_stopped: !fds[1].revents().is_empty() })
    }

    /// When there is something to do next.
    fn next_at(&self) -> Option<VirtualTime> {
        let next = self.outbox.front().map(|delivery| delivery.at).or(self.fabric.next_at());
        let leaves = self.leaving.first_key_value().map(|((at, _), _)| *at);
        next.into_iter().chain(leaves).min()
    }

    /// The host time at which the next frame is due or captures are to be written.
    fn wait_until(&self) -> Option<HostTime> {
        let due =
            self.running_now().and(self.next_at()).and_then(|at| self.domain.host_time_of(at));
        let says = self.hosts.as_ref().map(|hosts| {
            let now = host_now();
            let (says_at, not_before) = hosts.says_at();
            let runs = self.running_now();
            let says = runs.and_then(|_| self.domain.host_time_of(says_at));
            let stands = hosts.runs_to().and_then(|at| runs.and(self.domain.host_time_of(at)));
            let says = says.map(|says| says.max(not_before));
            says.into_iter().chain(stands).chain([hosts.due(now)]).min().unwrap_or(now)
        });
        let written = self.recorder.as_ref().and_then(Recorder::due);
        due.into_iter().chain(says).chain(written).min()
    }

    fn finish(mut self) -> NetworkStats {
        if let Some(hosts) = &mut self.hosts {
            hosts.end();
        }
        let mut warnings = self.warnings;
        warnings.extend(self.hosts.iter().flat_map(|hosts| hosts.warnings(&self.domain)));
        let losses = self.recorder.map(Recorder::finish).unwrap_or_default();
        warnings.extend(losses.iter().map(|lost| lost.reason.clone()));
        let mut stats = NetworkStats {
            links: self.fabric.link_stats(),
            switches: self.fabric.switch_stats(),
            lateness: self.lateness.summary(),
            warnings,
            losses,
            ran_for: self.board.ran_for(),
            free_clocks: self.hosts.iter().filter_map(Hosts::free_clock).collect(),
            ..NetworkStats::default()
        };
        for (station, name) in self.names.into_iter().enumerate() {
            if let Some(interface) = &self.interfaces[station] {
                let mut counted = interface.stats;
                counted.dropped_unread = tap::unread(&interface.device.file).unwrap_or(0);
                if counted.dropped_unread > 0 {
                    stats.warnings.push(format!(
                        "{} frames of node `{name}` were lost before the network read them: the \
                         host is too slow for this scenario; increase tdf",
                        counted.dropped_unread
                    ));
                }
                if counted.put_off > 0 {
                    stats.warnings.push(format!(
                        "{} frames of node `{name}` left it later than they were sent: a kernel had a timer \
                         (`kernel_timers: late`) or a program was woken from outside, where other hosts had been told \
                         that all sleep",
                        counted.put_off
                    ));
                }
                if counted.withheld_repeats > 0 && self.domain.pace() == Pace::Events {
                    stats.warnings.push(format!(
                        "{} frames of node `{name}` that were under way were sent again by its kernel (and kept \
                         back): the host needed longer for an instant than a kernel waits (200 ms for TCP, \
                         1 s for ARP), and it may have gone on as after a loss; run less beside this",
                        counted.withheld_repeats
                    ));
                }
                stats.nodes.insert(name, counted);
            } else if let Some(attacker) = self.fabric.attacker_stats(station) {
                stats.attackers.insert(name, attacker);
            }
        }
        stats
    }
}

#[derive(Debug)]
struct Ready {
    stations: Vec<usize>,
    is_stopped: bool,
}
