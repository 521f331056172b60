//! Samples that no current or voltage can have made: one or two wrong ones in a row are replaced.
//!
//! The last two samples say where a sinusoid goes on. A sample that is elsewhere is a step, or wrong:
//! wrong if one of the next two is where the sinusoid would have gone on without it, since no signal
//! comes back from a step. In its place comes what lies between its neighbours. The price is that each
//! sample is taken two samples late (0.5 ms at 4000 samples a second).

use std::f64::consts::TAU;

/// Samples that are waited for before one is believed.
pub const DELAY_SAMPLES: usize = 2;
/// How far from where it is expected a sample may be, as a share of the peak of late.
const DISTANCE_MAX: f64 = 0.03;
/// Share of the distance to a sample at which another is back where it was expected.
const NEARER_SHARE: f64 = 0.25;
/// By how much the peak of late decays with each sample, so that it follows within some periods.
const DECAY: f64 = 0.998;

/// Judges the samples of one channel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Plausible {
    /// `2 cos(ωh)` of nominal frequency: a sinusoid goes on as `x[n+1] = 2 cos(ωh) x[n] - x[n-1]`.
    recursion: f64,
    /// What was taken last, newest first.
    taken: [f64; 2],
    /// What is still to be taken, oldest first.
    waiting: [f64; DELAY_SAMPLES],
    /// Samples since the start, up to those that are needed.
    filled: usize,
    peak: f64,
}

impl Plausible {
    /// A channel of sinusoids of `nominal_hz`, at `rate` samples a second.
    #[must_use]
    pub fn new(rate: u32, nominal_hz: f64) -> Self {
        let recursion = 2.0 * (TAU * nominal_hz / f64::from(rate)).cos();
        Self { recursion, taken: [0.0; 2], waiting: [0.0; 2], filled: 0, peak: 0.0 }
    }

    /// Takes the next sample in; the one of [`DELAY_SAMPLES`] before, or what stands in for it, once
    /// there is one.
    #[inline]
    pub fn push(&mut self, sample: f64) -> Option<f64> {
        let [middle, next] = self.waiting;
        self.waiting = [next, sample];
        self.filled = (self.filled + 1).min(2 * DELAY_SAMPLES + 1);
        if self.filled <= DELAY_SAMPLES {
            return None;
        }
        let is_followed = self.filled > 2 * DELAY_SAMPLES;
        let taken = if is_followed { self.judged(middle, next, sample) } else { middle };
        self.taken = [taken, self.taken[0]];
        self.peak = (self.peak * DECAY).max(taken.abs());
        Some(taken)
    }

    /// A sample, or what lies between its neighbours if one of the next two shows that it is wrong.
    #[inline]
    fn judged(&self, sample: f64, next: f64, next_but_one: f64) -> f64 {
        let [newest, before] = self.taken;
        let goes_on = |newest: f64, before: f64| self.recursion * newest - before;
        let limit = DISTANCE_MAX * self.peak;
        let expected = goes_on(newest, before);
        if (sample - expected).abs() <= limit {
            return sample;
        }
        let expected_next = goes_on(expected, newest);
        let expected_last = goes_on(expected_next, expected);
        // What is foreseen is less certain the further it is ahead, or if a fault begins just there: back
        // is what is much nearer to it than to the sample in question.
        let (off, off_last) = ((next - expected_next).abs(), (next_but_one - expected_last).abs());
        let nearer = |later: f64| NEARER_SHARE * (sample - later).abs();
        // The next one may be wrong too; the one behind it is not then.
        let is_next_back = off <= (2.0 * limit).max(nearer(next).min(self.peak));
        if is_next_back && 3.0 * off <= 2.0 * off_last.max(limit) {
            newest + (next - newest) / 2.0
        } else if off_last <= (3.0 * limit).max(nearer(next_but_one)) {
            newest + (next_but_one - newest) / 3.0
        } else {
            sample
        }
    }

    /// The newest sample, which nothing was decided about yet.
    #[must_use]
    pub const fn newest(&self) -> f64 {
        self.waiting[DELAY_SAMPLES - 1]
    }

    /// The largest value of late, without wrong samples.
    #[must_use]
    pub const fn peak(&self) -> f64 {
        self.peak
    }

    /// Starts as if no sample had come.
    pub const fn clear(&mut self) {
        (self.filled, self.peak) = (0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::TAU;

    fn wave(number: usize) -> f64 {
        100.0 * (TAU * number as f64 / 80.0 + 0.4).cos()
    }

    #[test]
    fn a_wave_and_a_step_pass_as_they_are() {
        let mut channel = Plausible::new(4000, 50.0);
        for number in 0..400 {
            let value = if number < 200 { wave(number) } else { 0.1 * wave(number) };
            if let Some(passed) = channel.push(value) {
                let was = number - DELAY_SAMPLES;
                let expected = if was < 200 { wave(was) } else { 0.1 * wave(was) };
                assert_eq!(passed, expected, "{number}");
            }
        }
    }

    proptest! {
        #[test]
        fn one_or_two_wrong_samples_of_five_are_not_seen(
            at in 100usize..300, gap in 1usize..4, wrong: [i32; 2],
        ) {
            let mut channel = Plausible::new(4000, 50.0);
            for number in 0..400 {
                let value = match number {
                    n if n == at => f64::from(wrong[0]),
                    n if n == at + gap => f64::from(wrong[1]),
                    n => wave(n),
                };
                if let Some(passed) = channel.push(value) {
                    let expected = wave(number - DELAY_SAMPLES);
                    prop_assert!((passed - expected).abs() <= 4.0, "{passed} for {expected} at {number}");
                }
            }
        }
    }
}
