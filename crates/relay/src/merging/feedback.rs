//! Listens for the trip of a breaker over GOOSE, in a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use iec61850::SampleTime;
use iec61850::wire::ethernet::ETHERTYPE_GOOSE;
use iec61850::wire::{Data, Goose, Quality};
use substation::settings::merging_unit::TrippedBreaker;

use crate::time::{self, Now};
use os::packet::{Batch, PacketSocket, wait};

/// How long the end of the program may wait for this thread.
const PATIENCE: Duration = Duration::from_millis(50);

/// The value of a message that trips, if it is one of the breaker's messages.
#[derive(Debug)]
pub(crate) struct TripWatch {
    breaker: TrippedBreaker,
    was_tripped: bool,
}

impl TripWatch {
    pub(crate) const fn new(breaker: TrippedBreaker) -> Self {
        Self { breaker, was_tripped: false }
    }

    /// Whether this frame orders a trip that the last one did not. Messages of test sets, of
    /// others, and of publishers that need commissioning order nothing, nor does a value whose
    /// quality says that it is a test or not good.
    pub(crate) fn take(&mut self, frame: &[u8]) -> bool {
        let Ok(message) = Goose::decode(frame) else { return false };
        let is_for_us = message.gocb_ref == self.breaker.reference
            && message.header.destination == self.breaker.destination
            && message.header.app_id == self.breaker.app_id
            && !message.simulation
            && !message.nds_com;
        if !is_for_us {
            return false;
        }
        let mut values = message.all_data.elements().skip(self.breaker.value);
        let value = values.next();
        // A quality stands behind the value that it is of.
        let is_usable = match values.next() {
            Some(Data::BitString(bits)) => {
                Quality::from_bits(bits).is_none_or(|quality| quality.is_usable(false))
            }
            _ => true,
        };
        let is_tripped = value == Some(Data::Boolean(true)) && is_usable;
        let is_new = is_tripped && !self.was_tripped;
        self.was_tripped = is_tripped;
        is_new
    }
}

/// The thread; trips come out of the receiver with the time of this host.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) trips: Receiver<SampleTime>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(crate) fn start(interface: &str, breaker: &TrippedBreaker) -> anyhow::Result<Self> {
        let socket = PacketSocket::open(interface, ETHERTYPE_GOOSE)?;
        socket.join(breaker.destination.0)?;
        let (sender, trips) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let watch = TripWatch::new(breaker.clone());
        let ends = is_over.clone();
        let thread = std::thread::Builder::new()
            .name("trips".into())
            .spawn(move || listen(&socket, watch, &sender, &ends))
            .context("no thread for trips")?;
        Ok(Self { trips, is_over, thread: Some(thread) })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It panics only for a bug of ours, which it has printed already.
            thread.join().ok();
        }
    }
}

fn listen(
    socket: &PacketSocket,
    mut watch: TripWatch,
    trips: &Sender<SampleTime>,
    is_over: &AtomicBool,
) {
    let mut batch = Batch::new(16);
    while !is_over.load(Ordering::Relaxed) {
        // An interface that goes down comes up again or ends the run elsewhere.
        if !wait(&[socket], PATIENCE).unwrap_or(false) || socket.receive(&mut batch).is_err() {
            continue;
        }
        for frame in batch.frames().filter(|frame| !frame.is_cut) {
            if watch.take(frame.octets) {
                let received = time::stamp(frame.received_realtime_ns);
                trips.send(Now::read().own_at(received)).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use iec61850::wire::{MacAddress, Value};

    use super::*;
    use crate::goose;

    fn watch(value: usize) -> TripWatch {
        TripWatch::new(TrippedBreaker {
            reference: "Q0".into(),
            destination: MacAddress([1, 0x0c, 0xcd, 1, 0, 1]),
            app_id: 1,
            value,
            opening: Duration::from_millis(50),
            position: None,
        })
    }

    #[test]
    fn only_a_new_trip_of_the_right_publisher_trips() {
        let mut watch = watch(1);
        let mut take = |reference: &'static str, values: [bool; 2], simulation| {
            watch.take(&goose::frame(&values.map(Value::Boolean), |message| {
                (message.gocb_ref, message.simulation) = (reference, simulation);
            }))
        };
        let reference = "Q0";
        assert!(!take(reference, [true, false], false));
        assert!(!take("Q1", [true, true], false));
        assert!(!take(reference, [false, true], true), "a test set");
        assert!(take(reference, [false, true], false));
        assert!(!take(reference, [false, true], false), "the same trip again");
        assert!(!take(reference, [false, false], false));
        assert!(take(reference, [false, true], false));
        assert!(!watch.take(&[0; 60]));
    }

    #[test]
    fn a_trip_of_a_test_or_of_no_good_quality_trips_nothing() {
        for (quality, trips) in
            [(Quality::GOOD, true), (Quality::TEST, false), (Quality::INVALID, false)]
        {
            let bits = Value::BitString(quality.to_bits().into(), 3);
            let frame = goose::frame(&[Value::Boolean(true), bits], |_| ());
            assert_eq!(watch(0).take(&frame), trips, "{quality:?}");
        }
    }
}
