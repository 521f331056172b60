//! The newest samples of a stream by their numbers, as they came.

use std::collections::VecDeque;

/// The channels of a sample in bits of 9-2LE.
pub(super) type Raw = [i32; 8];

/// Samples from a first number on; one that did not come is missing.
#[derive(Clone, Debug)]
pub(super) struct Track {
    first: u64,
    samples: VecDeque<Option<Raw>>,
    /// Most samples that are kept.
    room: usize,
}

impl Track {
    /// An empty one; all of its memory is there from now on.
    pub(super) fn new(room: usize) -> Self {
        Self { first: 0, samples: VecDeque::with_capacity(room), room }
    }

    /// Takes a sample in. One from before the first is left; one far beyond the newest begins anew.
    pub(super) fn put(&mut self, number: u64, sample: Raw) {
        let room = self.room as u64;
        let next = self.first + self.samples.len() as u64;
        if self.samples.is_empty() || number >= next + room || number + room < self.first {
            self.samples.clear();
            self.first = number;
        }
        let begin = (number + 1).saturating_sub(room);
        if begin > self.first {
            self.forget_before(begin);
        }
        let Some(place) = number.checked_sub(self.first) else { return };
        let place = place as usize;
        while self.samples.len() <= place {
            self.samples.push_back(None);
        }
        self.samples[place] = Some(sample);
    }

    /// Gives the samples other numbers, higher by this.
    pub(super) fn shift(&mut self, by: i64) {
        self.first = self.first.saturating_add_signed(by);
    }

    /// Forgets what is before a number.
    pub(super) fn forget_before(&mut self, number: u64) {
        let old = number.saturating_sub(self.first).min(self.samples.len() as u64);
        self.samples.drain(..old as usize);
        self.first += old;
    }

    /// A sample by its number, if it is there.
    fn get(&self, number: u64) -> Option<Raw> {
        let place = number.checked_sub(self.first)?;
        *self.samples.get(usize::try_from(place).ok()?)?
    }
}

/// The samples of a stream as they stand on the axis of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<'t> {
    pub(super) name: &'t str,
    pub(super) rate: u16,
    pub(super) track: &'t Track,
    /// By how much their numbers are ahead of those of the axis.
    pub(super) shift: i64,
}

impl Placed<'_> {
    /// A sample by its number on the axis, if it is there.
    pub(super) fn get(&self, number: u64) -> Option<Raw> {
        self.track.get(number.checked_add_signed(self.shift)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_found_by_their_numbers_within_the_room() {
        let mut track = Track::new(5);
        for number in [100, 101, 104, 103] {
            track.put(number, [number as i32; 8]);
        }
        let there = |track: &Track| -> Vec<u64> {
            (90..200).filter(|number| track.get(*number).is_some()).collect()
        };
        assert_eq!(there(&track), [100, 101, 103, 104]);
        track.put(106, [106; 8]);
        assert_eq!(there(&track), [103, 104, 106], "two were one too many");
        track.put(50, [0; 8]);
        track.put(101, [0; 8]);
        assert_eq!(there(&track), [101], "a clock that was set back begins anew");
        track.put(190, [190; 8]);
        assert_eq!(there(&track), [190]);
        track.shift(-40);
        assert_eq!(there(&track), [150]);
        let placed = Placed { name: "line", rate: 4000, track: &track, shift: 30 };
        assert_eq!(placed.get(120), Some([190; 8]));
        track.forget_before(200);
        assert!(there(&track).is_empty());
    }

    #[test]
    fn no_sample_asks_for_more_memory() {
        let mut track = Track::new(1000);
        let room = track.samples.capacity();
        for number in (0..100_000).step_by(7).chain([100_900, 101_880, 5, 6]) {
            track.put(number, [0; 8]);
            assert!(track.samples.len() <= 1000);
        }
        assert_eq!(track.samples.capacity(), room);
    }
}
