//! Datagrams from and to the other parties: nothing leaves here that the channel has not found to
//! be authentic and new.
//!
//! Each party has a socket, a small buffer in the kernel and a [pace](super::pace) of its own, so that
//! a party that floods is left waiting alone.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use os::datagram::DatagramSocket;
use os::packet::{Batch, Ready};
use quorum::channel::{Channels, Refusal};
use quorum::wire::Payload;
use quorum::{CommonTime, Party};
use realtime::time;
use serde::Serialize;
use substation::settings::quorum::Quorum;

use super::pace::{BATCH, Pace};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Counters {
    pub(crate) received: u64,
    pub(crate) opened: u64,
    /// No datagrams of this protocol.
    pub(crate) malformed: u64,
    /// For somebody else, or from another's address.
    pub(crate) misdirected: u64,
    pub(crate) other_epoch: u64,
    /// From somebody whose working key is not known.
    pub(crate) unknown_key: u64,
    pub(crate) replayed: u64,
    pub(crate) wrong_tag: u64,
    /// Times that a party had to wait for the next tick.
    pub(crate) floods: u64,
    /// Times that a party, under whose address much was refused, had to wait for a quarter of one.
    pub(crate) pauses: u64,
    pub(crate) sent: u64,
    /// Not taken by the kernel.
    pub(crate) unsent: u64,
}

/// A datagram that is authentic and new.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) from: Party,
    pub(crate) payload: Payload,
    /// When the kernel got it.
    pub(crate) stamp: CommonTime,
}

#[derive(Debug)]
pub(crate) struct Bus {
    pub(crate) channels: Channels,
    peers: Vec<Peer>,
    batch: Batch,
    pub(crate) counters: Counters,
}

#[derive(Debug)]
struct Peer {
    party: Party,
    socket: DatagramSocket,
    pace: Pace,
    /// It may have something.
    is_ready: bool,
}

impl Bus {
    /// Opens a socket for each of the others.
    pub(crate) fn open(quorum: &Quorum, channels: Channels) -> io::Result<Self> {
        let me = channels.working().party();
        let local = quorum.address(me);
        let others = Party::ALL.into_iter().filter(|party| *party != me);
        let peers = others.map(|party| {
            let socket = DatagramSocket::open(local, quorum.address(party))?;
            Ok(Peer { party, socket, pace: Pace::new(), is_ready: true })
        });
        let peers = peers.collect::<io::Result<_>>()?;
        Ok(Self { channels, peers, batch: Batch::new(BATCH), counters: Counters::default() })
    }

    /// A tick has begun: allowances are whole again.
    pub(crate) fn begin_tick(&mut self) {
        for peer in &mut self.peers {
            peer.pace.begin_tick();
            peer.is_ready = true;
        }
    }

    /// Sockets of those who may be heard now.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let heard = self.peers.iter().filter(|peer| peer.pace.is_heard());
        heard.map(|peer| peer.socket.as_fd())
    }

    /// Those of [`Bus::sockets`] that have something, as a wait has found; only these are looked at
    /// before the next tick or the next wait. Answers how many there were.
    pub(crate) fn found(&mut self, ready: Ready) -> usize {
        let heard = self.peers.iter_mut().filter(|peer| peer.pace.is_heard());
        heard.enumerate().map(|(place, peer)| peer.is_ready = ready.has(place)).count()
    }

    /// When the next pause of somebody is over.
    pub(crate) fn next_resume(&self) -> Option<CommonTime> {
        self.peers.iter().filter_map(|peer| peer.pace.paused_until()).min()
    }

    /// Takes some datagrams of each party in.
    pub(crate) fn receive(&mut self, now: CommonTime, inbox: &mut Vec<Received>) -> io::Result<()> {
        for peer in &mut self.peers {
            peer.is_ready |= peer.pace.resume(now);
            if !peer.pace.is_heard() || !peer.is_ready {
                continue;
            }
            let count = peer.socket.receive(&mut self.batch)?;
            let heard = inbox.len();
            let mut repeatable = 0;
            self.counters.received += count as u64;
            for datagram in self.batch.frames() {
                match self.channels.open(datagram.octets) {
                    Ok((from, payload)) if from == peer.party => {
                        self.counters.opened += 1;
                        repeatable += usize::from(payload.kind().is_boot());
                        let stamp = time::stamp(datagram.received_realtime_ns);
                        inbox.push(Received { from, payload, stamp });
                    }
                    Ok(_) => self.counters.misdirected += 1,
                    Err(refusal) => *self.counters.of(refusal) += 1,
                }
            }
            // What anybody can record and repeat is nobody's own doing, however authentic.
            let refused = count - (inbox.len() - heard) + repeatable;
            self.counters.pauses += u64::from(peer.pace.take(now, count, refused));
            self.counters.floods += u64::from(peer.pace.is_used_up());
        }
        Ok(())
    }

    /// Sends a payload; what the kernel does not take is lost, as datagrams may be.
    pub(crate) fn send(&mut self, to: Party, payload: &Payload) {
        let Some(peer) = self.peers.iter().find(|peer| peer.party == to) else { return };
        let counters = &mut self.counters;
        self.channels.seal(to, payload, |octets| match peer.socket.send(octets) {
            Ok(true) => counters.sent += 1,
            Ok(false) | Err(_) => counters.unsent += 1,
        });
    }
}

impl Counters {
    const fn of(&mut self, refusal: Refusal) -> &mut u64 {
        match refusal {
            Refusal::Malformed(_) => &mut self.malformed,
            Refusal::Misdirected => &mut self.misdirected,
            Refusal::Epoch(_) => &mut self.other_epoch,
            Refusal::UnknownKey => &mut self.unknown_key,
            Refusal::Replayed => &mut self.replayed,
            Refusal::Tag => &mut self.wrong_tag,
        }
    }
}
