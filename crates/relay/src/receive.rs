//! The thread that receives: takes frames in batches, decodes them, and queues what the relay
//! subscribes to. All that it leaves is counted.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use iec61850::SampleTime;
use iec61850::goose::Expected;
use iec61850::stream::StreamKey;
use iec61850::wire::{Goose, SampledValues, WireError};
use realtime::exchange::{Filler, histogram, record};
use realtime::time::{self, Now};
use rtrb::Producer;
use serde::Serialize;
use substation::engine::Arrival;
use substation::settings::Relay;

use crate::malformed::Malformed;
use os::packet::{Batch, FRAME_OCTETS_MAX, Frame, PacketSocket, wait};

/// Frames taken at once.
const BATCH: usize = 64;
/// How soon it notices that it shall stop.
const WAIT: Duration = Duration::from_millis(100);
const HAND_OVER: Duration = Duration::from_millis(250);

/// A GOOSE frame on its way to the task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GooseFrame {
    octets: [u8; FRAME_OCTETS_MAX],
    length: usize,
}

impl GooseFrame {
    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub(crate) struct Counters {
    pub(crate) frames: u64,
    /// Refused by the decoder.
    pub(crate) malformed: u64,
    /// The same, by the field at which the decoder stopped.
    pub(crate) malformed_fields: Malformed,
    /// Samples and messages of streams and publishers that nobody subscribed to.
    pub(crate) unknown: u64,
    /// Samples and messages that found the queue to the task full.
    #[serde(skip)]
    pub(crate) queue_full: u64,
}

impl Counters {
    /// A frame that the decoder refused.
    pub(crate) fn malformed(&mut self, error: WireError) {
        self.malformed += 1;
        self.malformed_fields.note(error);
    }

    /// Decodes a frame, and gives the samples of these streams, in the order of their names, to
    /// `take`.
    pub(crate) fn samples(
        &mut self,
        streams: &[StreamKey],
        at: SampleTime,
        octets: &[u8],
        mut take: impl FnMut(Arrival),
    ) {
        let frame = match SampledValues::decode(octets) {
            Ok(frame) => frame,
            Err(error) => return self.malformed(error),
        };
        for asdu in frame.asdus() {
            match streams.iter().position(|key| key.matches(&frame.header, &asdu)) {
                Some(stream) => take(Arrival::new(stream as u16, at, frame.header, &asdu)),
                None => self.unknown += 1,
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct ReceiveFigures {
    /// From the kernel's stamp to here, for each frame.
    pub(crate) latency: Histogram<u64>,
    pub(crate) counters: Counters,
}

impl Default for ReceiveFigures {
    fn default() -> Self {
        Self { latency: histogram(), counters: Counters::default() }
    }
}

/// What is subscribed to, and where it goes.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Streams in the order of their names.
    pub(crate) streams: Vec<StreamKey>,
    /// GOOSE messages in the order of their names.
    pub(crate) messages: Vec<Expected>,
    pub(crate) samples: Producer<Arrival>,
    pub(crate) goose: Producer<GooseFrame>,
    pub(crate) figures: Filler<ReceiveFigures>,
    counters: Counters,
}

impl Receiver {
    pub(crate) fn new(
        relay: &Relay,
        samples: Producer<Arrival>,
        goose: Producer<GooseFrame>,
        figures: Filler<ReceiveFigures>,
    ) -> Self {
        let streams = relay.protection.streams.values().map(|stream| stream.key.clone()).collect();
        let messages = relay.subscriptions.values().map(|s| s.expected.clone()).collect();
        Self { streams, messages, samples, goose, figures, counters: Counters::default() }
    }

    /// Receives until it shall stop; `busy_ns` sums up how long it was at work.
    pub(crate) fn run(
        mut self,
        sampled_values: &PacketSocket,
        goose: &PacketSocket,
        busy_ns: &AtomicU64,
        stop: &AtomicBool,
    ) -> io::Result<()> {
        let mut batch = Batch::new(BATCH);
        let mut handed_over = time::own();
        while !stop.load(Ordering::Relaxed) {
            wait(&[sampled_values, goose], WAIT)?;
            let begin = time::own();
            if receive(sampled_values, &mut batch)? > 0 {
                self.take(&batch, Self::take_samples);
            }
            if receive(goose, &mut batch)? > 0 {
                self.take(&batch, Self::take_message);
            }
            let end = time::own();
            busy_ns.fetch_add(time::ns(end.since(begin)), Ordering::Relaxed);
            self.figures.sheet.counters = self.counters;
            if end.since(handed_over) > HAND_OVER {
                handed_over = end;
                self.figures.hand_over();
            }
        }
        self.figures.sheet.counters = self.counters;
        self.figures.finish();
        Ok(())
    }

    fn take(&mut self, batch: &Batch, kind: fn(&mut Self, SampleTime, &[u8])) {
        // One reading of both clocks for the batch: the frames are already here.
        let now = Now::read();
        for Frame { octets, received_realtime_ns, .. } in batch.frames() {
            self.counters.frames += 1;
            let stamp = time::stamp(received_realtime_ns);
            record(&mut self.figures.sheet.latency, now.common.since(stamp));
            kind(self, now.own_at(stamp), octets);
        }
    }

    fn take_samples(&mut self, at: SampleTime, octets: &[u8]) {
        let Self { streams, samples, counters, .. } = self;
        let mut lost = 0;
        counters.samples(streams, at, octets, |arrival| {
            lost += u64::from(samples.push(arrival).is_err());
        });
        counters.queue_full += lost;
    }

    fn take_message(&mut self, _at: SampleTime, octets: &[u8]) {
        let message = match Goose::decode(octets) {
            Ok(message) => message,
            Err(error) => return self.counters.malformed(error),
        };
        if !self.messages.iter().any(|expected| expected.matches(&message)) {
            self.counters.unknown += 1;
            return;
        }
        let mut frame = GooseFrame { octets: [0; FRAME_OCTETS_MAX], length: octets.len() };
        frame.octets[..octets.len()].copy_from_slice(octets);
        self.counters.queue_full += u64::from(self.goose.push(frame).is_err());
    }
}

/// An interface that is down tells so once and then is silent; it may come up again.
pub(crate) fn receive(socket: &PacketSocket, batch: &mut Batch) -> io::Result<usize> {
    match socket.receive(batch) {
        Err(error) if error.raw_os_error() == Some(libc::ENETDOWN) => Ok(0),
        result => result,
    }
}
