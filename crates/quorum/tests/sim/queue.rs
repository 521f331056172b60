//! What is still to happen, in the order of time; what is due at one moment, in the order in
//! which it was put there, so that a seed gives one run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Things in the order of their nanoseconds.
pub(crate) struct Queue<T> {
    order: BinaryHeap<Reverse<(u64, u64, usize)>>,
    things: Vec<Option<T>>,
    free: Vec<usize>,
    count: u64,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { order: BinaryHeap::new(), things: Vec::new(), free: Vec::new(), count: 0 }
    }

    pub(crate) fn push(&mut self, ns: u64, thing: T) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.things.push(None);
            self.things.len() - 1
        });
        self.things[place] = Some(thing);
        self.count += 1;
        self.order.push(Reverse((ns, self.count, place)));
    }

    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        let Reverse((ns, _, place)) = self.order.pop()?;
        self.free.push(place);
        Some((ns, self.things[place].take().expect("each place in the order holds a thing")))
    }
}
