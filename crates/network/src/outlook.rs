//! What the network waits for, for whoever wants to let virtual time jump: read from any thread,
//! without a lock.
//!
//! A program writes into a socket; its kernel puts the frame into the queue of the TAP device before
//! the call returns; the network's thread takes it from there, passes it on and hands it over. So
//! that a frame is overlooked at none of these places, the thread counts its rounds: an odd number
//! while it works, an even one while it waits. It makes the number odd after its wait and before it
//! reads a device, publishes the next event and what kernels owe, then makes the number even.
//! [`Outlook::look`] reads the number, asks all devices for frames (`poll`, which does not wait),
//! reads what is published, then the number again. Quiet is what has an even number, twice
//! the same, without a frame. For a frame that was in a queue before the look began, one of three
//! things is true: it is still there, and `poll` says so; its round is not over, and one of
//! the numbers is odd or they differ; or its round was over before, and what is published knows it.
//!
//! Who jumps looks twice: looks, sees that no program can run, and looks again. If the number is still
//! the same ([`Quiet::round`]), nothing was handed to a program in between.
//!
//! What is not seen here: a frame that the kernel holds back on its way to the device, because its
//! queue of packets is served by a thread of the kernel's (`ksoftirqd`) at the moment or paces
//! (`fq`). The thread of the kernel's can run: nobody is idle then.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use domain::{poll_until, readable};
use vtime::{HostSpan, HostTime, VirtualTime};

use super::border::{Idle, Sleep};
use super::owed::{Owing, Reason};
use super::stats::RanFor;

/// A view of a running network, to be kept as long as it runs: it keeps the devices open.
#[derive(Clone, Debug)]
pub struct Outlook {
    board: Arc<Board>,
    /// Where there are other hosts.
    idle: Option<Arc<Idle>>,
}

/// What a quiet network waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quiet {
    /// Changes whenever the network does anything.
    pub round: u64,
    /// When a frame reaches the end of a link, an attacker acts or a link changes next.
    pub next_at: Option<VirtualTime>,
    /// What a kernel may have to send by a timer of its own: until then, the clock must run.
    pub owing: Option<Owing>,
    /// Something may come from other hosts, for which the kernel waits.
    pub others_may_send: bool,
}

/// A device as the network's thread and those who look share it.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) file: File,
    /// Nothing is read from it any more.
    is_gone: AtomicBool,
}

/// Where the network's thread publishes.
#[derive(Debug)]
pub(super) struct Board {
    round: AtomicU64,
    next_at: AtomicI64,
    owed_until: AtomicI64,
    /// Station and reason of what is owed.
    owing: AtomicU64,
    devices: Vec<Arc<Device>>,
    names: Vec<String>,
    ran_for: Mutex<BTreeMap<(usize, Reason), HostSpan>>,
}

/// Stands for "never" where a time is published: no event and no debt is that late or that early.
const NO_EVENT: VirtualTime = VirtualTime::MAX;
const NOT_OWED: HostTime = HostTime::from_ns(i64::MIN);

impl Outlook {
    pub(super) fn new(board: Arc<Board>, idle: Option<Arc<Idle>>) -> Self {
        Self { board, idle }
    }

    /// Tells other hosts that in this round all slept, and for what. If the network has done anything since, or knows
    /// it already, nothing happens.
    pub fn all_sleep(&self, round: u64, sleep: Sleep) {
        if let Some(idle) = &self.idle {
            idle.tell(round, sleep);
        }
    }

    /// The clock has jumped, which other hosts may have to know.
    pub fn jumped(&self, now: VirtualTime) {
        if let Some(idle) = &self.idle {
            idle.jumped(now);
        }
    }

    /// What the network waits for at virtual time `now` and host time `host`; `None` while it works
    /// or has something to do. After the end of the network, `None` for ever.
    pub fn look(&self, now: VirtualTime, host: HostTime) -> Option<Quiet> {
        let board = &*self.board;
        let round = board.round.load(Ordering::Acquire);
        if is_working(round) || board.has_frames() {
            return None;
        }
        let next_at = VirtualTime::from_ns(board.next_at.load(Ordering::Relaxed));
        let until = HostTime::from_ns(board.owed_until.load(Ordering::Relaxed));
        let owing = board.owing.load(Ordering::Relaxed);
        // What was read above, by this thread and by `poll`, is older than the number read below.
        fence(Ordering::SeqCst);
        if board.round.load(Ordering::Relaxed) != round || next_at <= now {
            return None;
        }
        Some(Quiet {
            round,
            next_at: (next_at != NO_EVENT).then_some(next_at),
            owing: (until > host).then(|| unpack(owing, until)),
            others_may_send: self.idle.as_ref().is_some_and(|idle| idle.others_may_send()),
        })
    }

    /// The name of the node at a station; the empty text if there is none.
    pub fn name(&self, station: usize) -> &str {
        self.board.names.get(station).map_or("", String::as_str)
    }

    /// Counts host time for which the clock ran only because of what a kernel may have owed. The
    /// statistics of the network show it.
    pub fn note_ran_for(&self, owing: Owing, span: HostSpan) {
        let mut ran_for = self.board.ran_for.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = ran_for.entry((owing.station, owing.reason)).or_insert(HostSpan::ZERO);
        *sum = HostSpan::from_ns(sum.as_ns().saturating_add(span.as_ns()));
    }
}

impl Device {
    pub(super) fn new(file: File) -> Self {
        Self { file, is_gone: AtomicBool::new(false) }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    pub(super) fn mark_gone(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }
}

impl Board {
    /// Of a network that works, with these devices and names of stations.
    pub(super) fn new(devices: Vec<Arc<Device>>, names: Vec<String>) -> Self {
        Self {
            round: AtomicU64::new(1),
            next_at: AtomicI64::new(NO_EVENT.as_ns()),
            owed_until: AtomicI64::new(NOT_OWED.as_ns()),
            owing: AtomicU64::new(0),
            devices,
            names,
            ran_for: Mutex::default(),
        }
    }

    /// The network's thread has done what there was to do, and is going to wait.
    pub(super) fn begin_wait(&self, next_at: Option<VirtualTime>, owing: Option<Owing>) {
        let round = self.round.load(Ordering::Relaxed);
        assert!(is_working(round), "only who works begins to wait");
        self.next_at.store(next_at.unwrap_or(NO_EVENT).as_ns(), Ordering::Relaxed);
        let until = owing.map_or(NOT_OWED, |owing| owing.until);
        self.owed_until.store(until.as_ns(), Ordering::Relaxed);
        self.owing.store(owing.map_or(0, pack), Ordering::Relaxed);
        self.round.store(round.wrapping_add(1), Ordering::Release);
    }

    /// The round of the wait that is over, while the network's thread works.
    pub(super) fn waited(&self) -> u64 {
        self.round.load(Ordering::Relaxed).wrapping_sub(1)
    }

    /// The network's thread has waited, and is going to read devices and to publish.
    pub(super) fn end_wait(&self) {
        let round = self.round.load(Ordering::Relaxed);
        assert!(!is_working(round), "only who waits ends a wait");
        self.round.store(round.wrapping_add(1), Ordering::Relaxed);
        // Nobody sees a frame taken, or anything new published, and not this number.
        fence(Ordering::SeqCst);
    }

    /// Host time noted by those who looked, by name of node and reason.
    pub(super) fn ran_for(&self) -> Vec<RanFor> {
        let ran_for = self.ran_for.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = ran_for.iter().filter_map(|(&(station, reason), span)| {
            let node = self.names.get(station)?.clone();
            Some(RanFor { node, reason, host_ns: span.as_ns() })
        });
        noted.collect()
    }

    /// Whether a frame waits in a device. What cannot be asked may have one.
    fn has_frames(&self) -> bool {
        let present = self.devices.iter().filter(|device| !device.is_gone());
        let mut fds: Vec<_> = present.map(|device| readable(device.file.as_fd())).collect();
        poll_until(&mut fds, Some(HostTime::ZERO)).map_or(true, |ready| ready > 0)
    }
}

const fn is_working(round: u64) -> bool {
    round % 2 == 1
}

/// Reasons by their number on the board.
const REASONS: [Reason; 5] =
    [Reason::Data, Reason::Handshake, Reason::ClosedWindow, Reason::Neighbour, Reason::TooMany];

fn pack(owing: Owing) -> u64 {
    let reason = REASONS.iter().position(|&reason| reason == owing.reason);
    let reason = reason.expect("all reasons are listed");
    (owing.station * REASONS.len() + reason) as u64
}

fn unpack(owing: u64, until: HostTime) -> Owing {
    let number = usize::try_from(owing).unwrap_or(0);
    Owing { station: number / REASONS.len(), reason: REASONS[number % REASONS.len()], until }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixDatagram;
    use std::thread;

    use super::*;

    fn board() -> (Arc<Board>, Outlook) {
        let board = Arc::new(Board::new(Vec::new(), vec!["alice".into(), "bob".into()]));
        (Arc::clone(&board), Outlook::new(board, None))
    }

    fn look(outlook: &Outlook) -> Option<Quiet> {
        outlook.look(VirtualTime::from_ns(100), HostTime::from_ns(100))
    }

    #[test]
    fn only_who_waits_is_quiet() {
        let (board, outlook) = board();
        assert_eq!(look(&outlook), None);
        board.begin_wait(None, None);
        let first = look(&outlook).unwrap();
        assert_eq!((first.next_at, first.owing), (None, None));
        assert_eq!(look(&outlook), Some(first));
        board.end_wait();
        assert_eq!(look(&outlook), None);
        board.begin_wait(None, None);
        assert_ne!(look(&outlook).unwrap().round, first.round);
    }

    #[test]
    fn what_is_due_is_not_quiet() {
        let (board, outlook) = board();
        let at = VirtualTime::from_ns(101);
        board.begin_wait(Some(at), None);
        assert_eq!(look(&outlook).unwrap().next_at, Some(at));
        assert_eq!(outlook.look(at, HostTime::ZERO), None);
    }

    #[test]
    fn what_is_owed_is_shown_until_it_is_over() {
        let (board, outlook) = board();
        let owings =
            REASONS.map(|reason| Owing { station: 1, reason, until: HostTime::from_ns(101) });
        for owing in owings {
            board.begin_wait(None, Some(owing));
            assert_eq!(look(&outlook).unwrap().owing, Some(owing));
            let quiet = outlook.look(VirtualTime::ZERO, owing.until).unwrap();
            assert_eq!(quiet.owing, None);
            board.end_wait();
        }
        outlook.note_ran_for(owings[0], HostSpan::from_ms(2));
        outlook.note_ran_for(owings[0], HostSpan::from_ms(3));
        let expected = RanFor { node: "bob".into(), reason: Reason::Data, host_ns: 5_000_000 };
        assert_eq!(board.ran_for(), [expected]);
        assert_eq!((outlook.name(0), outlook.name(2)), ("alice", ""));
    }

    /// One thread reads frames as the network's does, and two others write one and look as soon as it
    /// is written. What a quiet network knows then is that frame, or one after it.
    #[test]
    fn no_frame_is_overlooked() {
        const FRAMES: u64 = 20_000;
        let [(one, ones), (other, others)] = [(); 2].map(|()| UnixDatagram::pair().unwrap());
        let devices = [one, other].map(|socket| {
            socket.set_nonblocking(true).unwrap();
            Arc::new(Device::new(File::from(std::os::fd::OwnedFd::from(socket))))
        });
        let board = Arc::new(Board::new(devices.to_vec(), Vec::new()));
        let outlook = Outlook::new(Arc::clone(&board), None);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut known = [0u64; 2];
                while !is_over.load(Ordering::Relaxed) {
                    // What each writer has written, where the other one looks for it.
                    let [low, high] = known.map(|number| i64::try_from(number).unwrap());
                    let next_at = VirtualTime::from_ns(1 + (high << 32) + low);
                    board.begin_wait(Some(next_at), None);
                    let mut fds = [0, 1].map(|n| readable(devices[n].file.as_fd()));
                    let until = domain::host_now() + HostSpan::from_ms(10);
                    poll_until(&mut fds, Some(until)).unwrap();
                    board.end_wait();
                    for (device, known) in devices.iter().zip(&mut known) {
                        let mut frame = [0; 8];
                        while (&device.file).read(&mut frame).is_ok() {
                            *known = u64::from_le_bytes(frame);
                        }
                    }
                }
            });
            let writers = [(&ones, 0), (&others, 32)].map(|(socket, shift)| {
                let outlook = &outlook;
                scope.spawn(move || {
                    let mut overlooked = 0;
                    for number in 1..=FRAMES {
                        socket.send(&number.to_le_bytes()).unwrap();
                        // Now and then without a wait, so that several frames are there at a time.
                        let known = loop {
                            match outlook.look(VirtualTime::ZERO, HostTime::ZERO) {
                                Some(quiet) => break Some(quiet.next_at.unwrap().as_ns() - 1),
                                None if number % 3 == 0 => break None,
                                None => {}
                            }
                        };
                        let known = known.map(|known| known.unsigned_abs() >> shift & 0xffff_ffff);
                        overlooked += u64::from(known.is_some_and(|known| known < number));
                    }
                    overlooked
                })
            });
            let overlooked = writers.map(|writer| writer.join().unwrap());
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(overlooked, [0, 0]);
        });
    }
}
