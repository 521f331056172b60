//! Listens for orders to a breaker over GOOSE, in a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use iec61850::SampleTime;
use iec61850::wire::ethernet::ETHERTYPE_GOOSE;
use iec61850::wire::{Data, Goose, Quality};
use protection::PhaseSet;
use realtime::time::{self, Now};
use substation::settings::merging_unit::TrippedBreaker;

use super::switchgear::Orders;
use os::packet::{Batch, PacketSocket, wait};

/// How long the end of the program may wait for this thread.
const PATIENCE: Duration = Duration::from_millis(50);

/// The values of a message that are orders, if it is one of the breaker's messages.
#[derive(Debug)]
pub(crate) struct OrderWatch {
    breaker: TrippedBreaker,
    tripped: PhaseSet,
    was_closing: bool,
}

impl OrderWatch {
    pub(crate) const fn new(breaker: TrippedBreaker) -> Self {
        Self { breaker, tripped: PhaseSet::NONE, was_closing: false }
    }

    /// What this frame orders that the last one did not. Messages of test sets, of others, and of
    /// publishers that need commissioning order nothing, nor does a value whose quality says that it is
    /// a test or not good.
    pub(crate) fn take(&mut self, frame: &[u8]) -> Orders {
        let Ok(message) = Goose::decode(frame) else { return Orders::default() };
        let is_for_us = message.gocb_ref == self.breaker.reference
            && message.header.destination == self.breaker.destination
            && message.header.app_id == self.breaker.app_id
            && !message.simulation
            && !message.nds_com;
        if !is_for_us {
            return Orders::default();
        }
        let tripped = match self.breaker.pole_values[..] {
            [a, b, c] => PhaseSet::of([a, b, c].map(|value| is_true(&message, value))),
            _ if is_true(&message, self.breaker.value) => PhaseSet::ALL,
            _ => PhaseSet::NONE,
        };
        let closes = self.breaker.closes;
        let is_closing = closes.is_some_and(|closes| is_true(&message, closes.value));
        let before = std::mem::replace(&mut self.tripped, tripped);
        let was_closing = std::mem::replace(&mut self.was_closing, is_closing);
        Orders {
            trip: PhaseSet::of([0, 1, 2].map(|pole| tripped.has(pole) && !before.has(pole))),
            close: is_closing && !was_closing,
            standing: tripped,
        }
    }
}

/// Whether a value of a message is true and can be used.
fn is_true(message: &Goose<'_>, value: usize) -> bool {
    let mut values = message.all_data.elements().skip(value);
    let value = values.next();
    // A quality stands behind the value that it is of.
    let is_usable = match values.next() {
        Some(Data::BitString(bits)) => {
            Quality::from_bits(bits).is_none_or(|quality| quality.is_usable(false))
        }
        _ => true,
    };
    value == Some(Data::Boolean(true)) && is_usable
}

/// The thread; orders come out of the receiver with the time of this host.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) orders: Receiver<(SampleTime, Orders)>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(crate) fn start(interface: &str, breaker: &TrippedBreaker) -> anyhow::Result<Self> {
        let socket = PacketSocket::open(interface, ETHERTYPE_GOOSE)?;
        socket.join(breaker.destination.0)?;
        let (sender, orders) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let watch = OrderWatch::new(breaker.clone());
        let ends = is_over.clone();
        let thread = std::thread::Builder::new()
            .name("orders".into())
            .spawn(move || listen(&socket, watch, &sender, &ends))
            .context("no thread for orders")?;
        Ok(Self { orders, is_over, thread: Some(thread) })
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
    mut watch: OrderWatch,
    sender: &Sender<(SampleTime, Orders)>,
    is_over: &AtomicBool,
) {
    let mut batch = Batch::new(16);
    while !is_over.load(Ordering::Relaxed) {
        // An interface that goes down comes up again or ends the run elsewhere.
        if !wait(&[socket], PATIENCE).unwrap_or(false) || socket.receive(&mut batch).is_err() {
            continue;
        }
        for frame in batch.frames().filter(|frame| !frame.is_cut) {
            let orders = watch.take(frame.octets);
            if !orders.trip.is_empty() || orders.close {
                let received = time::stamp(frame.received_realtime_ns);
                sender.send((Now::read().own_at(received), orders)).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use iec61850::wire::{MacAddress, Value};
    use substation::settings::merging_unit::Closes;

    use super::*;
    use crate::goose;

    fn watch(value: usize) -> OrderWatch {
        OrderWatch::new(breaker(value))
    }

    fn breaker(value: usize) -> TrippedBreaker {
        TrippedBreaker {
            reference: "Q0".into(),
            destination: MacAddress([1, 0x0c, 0xcd, 1, 0, 1]),
            app_id: 1,
            value,
            pole_values: Vec::new(),
            closes: None,
            tells: None,
            opening: Duration::from_millis(50),
            position: None,
        }
    }

    #[test]
    fn poles_are_tripped_by_their_own_values_and_closed_together() {
        let closes = Some(Closes { value: 4, closing: Duration::from_millis(60) });
        let mut watch =
            OrderWatch::new(TrippedBreaker { pole_values: vec![1, 2, 3], closes, ..breaker(0) });
        let mut take =
            |values: [bool; 5]| watch.take(&goose::frame(&values.map(Value::Boolean), |_| ()));
        let (a, all) = (PhaseSet::phase(0), PhaseSet::ALL);
        let orders = |trip, close, standing| Orders { trip, close, standing };
        assert_eq!(take([true, true, false, false, false]), orders(a, false, a));
        let others = PhaseSet::of([false, true, true]);
        assert_eq!(take([true, true, true, true, false]), orders(others, false, all));
        assert_eq!(take([false; 5]), Orders::default());
        let close = [false, false, false, false, true];
        assert_eq!(take(close), orders(PhaseSet::NONE, true, PhaseSet::NONE));
        assert_eq!(take(close), Orders::default(), "the same order again");
    }

    #[test]
    fn only_a_new_trip_of_the_right_publisher_trips() {
        let mut watch = watch(1);
        let mut take = |reference: &'static str, values: [bool; 2], simulation| {
            let frame = goose::frame(&values.map(Value::Boolean), |message| {
                (message.gocb_ref, message.simulation) = (reference, simulation);
            });
            watch.take(&frame).trip == PhaseSet::ALL
        };
        let reference = "Q0";
        assert!(!take(reference, [true, false], false));
        assert!(!take("Q1", [true, true], false));
        assert!(!take(reference, [false, true], true), "a test set");
        assert!(take(reference, [false, true], false));
        assert!(!take(reference, [false, true], false), "the same trip again");
        assert!(!take(reference, [false, false], false));
        assert!(take(reference, [false, true], false));
        assert_eq!(watch.take(&[0; 60]), Orders::default());
    }

    #[test]
    fn a_trip_of_a_test_or_of_no_good_quality_trips_nothing() {
        for (quality, trips) in
            [(Quality::GOOD, true), (Quality::TEST, false), (Quality::INVALID, false)]
        {
            let bits = Value::BitString(quality.to_bits().into(), 3);
            let frame = goose::frame(&[Value::Boolean(true), bits], |_| ());
            let orders = watch(0).take(&frame);
            assert_eq!(orders.trip == PhaseSet::ALL, trips, "{quality:?}");
        }
    }
}
