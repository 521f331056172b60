//! Samples, or the GOOSE of a foreign relay, into what decides.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use iec61850::stream::StreamKey;
use iec61850::wire::Goose;
use os::packet::{Batch, Frame, PacketSocket};
use quorum::CommonTime;
use realtime::time::{self, Now};
use substation::decider::Decider;

use crate::receive::{Counters, receive};

/// Frames taken at once.
const BATCH: usize = 64;

/// Where frames come from.
#[derive(Debug)]
pub(crate) struct Frames<'s> {
    socket: &'s PacketSocket,
    /// Streams in the order of their names; none where GOOSE comes instead.
    streams: Option<Vec<StreamKey>>,
    batch: Batch,
    pub(crate) counters: Counters,
    /// When the kernel got the newest frame.
    pub(crate) newest: CommonTime,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Taken {
    pub(crate) count: usize,
    /// No more are waiting, so what was taken is the present.
    pub(crate) is_all: bool,
}

impl Taken {
    pub(crate) const NOTHING: Self = Self { count: 0, is_all: true };
}

impl<'s> Frames<'s> {
    /// Of a socket: samples of these streams, or GOOSE if there are none.
    pub(crate) fn new(socket: &'s PacketSocket, streams: Option<Vec<StreamKey>>) -> Self {
        let (batch, counters) = (Batch::new(BATCH), Counters::default());
        Self { socket, streams, batch, counters, newest: CommonTime::ZERO }
    }

    /// What is to be waited for.
    pub(crate) fn socket(&self) -> BorrowedFd<'s> {
        self.socket.as_fd()
    }

    /// Takes what waits in, as far as it fits into a batch.
    pub(crate) fn receive(&mut self, now: Now, decider: &mut Decider) -> io::Result<Taken> {
        let count = receive(self.socket, &mut self.batch)?;
        for Frame { octets, received_realtime_ns, .. } in self.batch.frames() {
            self.counters.frames += 1;
            self.newest = time::stamp(received_realtime_ns);
            let at = now.own_at(self.newest);
            if let Some(streams) = &self.streams {
                self.counters.samples(streams, at, octets, |arrival| decider.sample(&arrival));
                continue;
            }
            match Goose::decode(octets) {
                Ok(message) => decider.message(at, &message),
                Err(error) => self.counters.malformed(error),
            }
        }
        Ok(Taken { count, is_all: count < self.batch.capacity() })
    }
}
