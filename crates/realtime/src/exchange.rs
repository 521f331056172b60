//! Measurements from a real-time thread to the one that may block: the first fills one sheet, and
//! hands it over when an empty one has come back. Nobody waits, nothing is copied, no memory is
//! asked for; while no empty sheet is there, the full one goes on being filled.

use std::time::Duration;

use hdrhistogram::Histogram;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::time;

/// Longest time that a histogram distinguishes from longer ones.
const LONGEST_NS: u64 = 60_000_000_000;

/// The side of the real-time thread.
#[derive(Debug)]
pub struct Filler<T> {
    /// What it fills now.
    pub sheet: Box<T>,
    full: Producer<Box<T>>,
    empty: Consumer<Box<T>>,
}

/// The side of the thread that may block.
#[derive(Debug)]
pub struct Collector<T> {
    full: Consumer<Box<T>>,
    empty: Producer<Box<T>>,
}

/// Both sides, with three sheets.
#[must_use]
pub fn exchange<T>(new: impl Fn() -> T) -> (Filler<T>, Collector<T>) {
    let (full, from_full) = RingBuffer::new(4);
    let (mut to_empty, empty) = RingBuffer::new(4);
    for _ in 0..2 {
        to_empty.push(Box::new(new())).expect("a new queue has room");
    }
    (Filler { sheet: Box::new(new()), full, empty }, Collector { full: from_full, empty: to_empty })
}

impl<T> Filler<T> {
    /// Hands the sheet over if an empty one is there.
    pub fn hand_over(&mut self) {
        if let Ok(empty) = self.empty.pop() {
            let full = std::mem::replace(&mut self.sheet, empty);
            self.full.push(full).expect("there are fewer sheets than places");
        }
    }

    /// Hands over the last sheet, at the end.
    pub fn finish(mut self) {
        self.full.push(self.sheet).expect("there are fewer sheets than places");
    }
}

impl<T> Collector<T> {
    /// Reads each sheet that was handed over, and sends it back; `read` leaves it empty.
    pub fn collect(&mut self, mut read: impl FnMut(&mut T)) {
        while let Ok(mut sheet) = self.full.pop() {
            read(&mut sheet);
            self.empty.push(sheet).expect("there are fewer sheets than places");
        }
    }
}

/// A queue to the thread that may block, and how much found no room in it.
#[derive(Debug)]
pub struct Outbox<T> {
    queue: Producer<T>,
    /// How much found no room since the begin.
    pub lost: u64,
}

impl<T> Outbox<T> {
    /// Never waits: what finds no room is counted, and gone.
    pub fn push(&mut self, item: T) {
        self.lost += u64::from(self.queue.push(item).is_err());
    }
}

/// Both ends of a queue with so much room.
#[must_use]
pub fn outbox<T>(room: usize) -> (Outbox<T>, Consumer<T>) {
    let (queue, out) = RingBuffer::new(room);
    (Outbox { queue, lost: 0 }, out)
}

/// A histogram of times in ns, to three digits.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("these bounds are possible")
}

/// Records a span; those beyond the longest count as that.
pub fn record(histogram: &mut Histogram<u64>, span: Duration) {
    histogram.saturating_record(time::ns(span));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_while_nobody_collects() {
        let (mut filler, mut collector) = exchange(|| 0u32);
        for _ in 0..10 {
            *filler.sheet += 1;
            filler.hand_over();
        }
        let mut sum = 0;
        collector.collect(|sheet| sum += std::mem::take(sheet));
        filler.hand_over();
        collector.collect(|sheet| sum += std::mem::take(sheet));
        filler.finish();
        collector.collect(|sheet| sum += std::mem::take(sheet));
        assert_eq!(sum, 10);
    }

    #[test]
    fn quantiles_are_those_of_what_was_recorded() {
        let mut lateness = histogram();
        for us in 1..=100 {
            lateness.saturating_record_n(us * 1000, 10);
        }
        assert_eq!(lateness.len(), 1000);
        assert!(lateness.value_at_quantile(0.5).abs_diff(50_000) <= 100);
        assert!(lateness.value_at_quantile(0.99).abs_diff(99_000) <= 100);
        assert!(lateness.max().abs_diff(100_000) <= 100);
        record(&mut lateness, Duration::MAX);
        assert!(lateness.max() >= LONGEST_NS);
    }
}
