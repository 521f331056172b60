//! Instantaneous overcurrent of the space vector (Park 1929, Clarke 1943): the three phase currents
//! of one moment are one vector, whose length is the same at each moment of a symmetrical current.
//!
//! So a three-phase fault is seen, and is seen to be over, in the very sample in which that
//! happens, without the cycle that a phasor takes. The price: of a single-phase fault the length
//! swings with twice the frequency, between nothing and two thirds of its peak, and a decaying
//! direct current counts in full. Two limits, pick-up and drop-off, keep a steady current from
//! chattering; and so many samples in a row must be beyond a limit as are set, since one that is wrong is
//! no current.

/// Limits of the space vector.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Length above which it operates: root mean square value of a symmetrical current, in A.
    pub pick_up_a: f64,
    /// Length below which it drops off, in A; not above `pick_up_a`.
    pub drop_off_a: f64,
    /// How many samples in a row must be beyond a limit.
    pub samples: u32,
}

/// An instantaneous overcurrent element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SpaceVector {
    settings: Settings,
    is_above: bool,
    /// Samples in a row that say other than `is_above`.
    others: u32,
}

impl SpaceVector {
    /// An element that has seen no current yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, is_above: false, others: 0 }
    }

    /// Takes in the phase currents of one moment, in A; says whether the vector is too long.
    pub fn update(&mut self, [a, b, c]: [f64; 3]) -> bool {
        let square = length_squared_a2([a, b, c]);
        let limit_a =
            if self.is_above { self.settings.drop_off_a } else { self.settings.pick_up_a };
        let differs = (square > limit_a * limit_a) != self.is_above;
        self.others = if differs { self.others + 1 } else { 0 };
        if self.others >= self.settings.samples {
            (self.is_above, self.others) = (!self.is_above, 0);
        }
        self.is_above
    }

    /// Samples are missing or not to be trusted.
    pub const fn forget(&mut self) {
        (self.is_above, self.others) = (false, 0);
    }
}

/// Square of the length, as the root mean square value of the symmetrical current of this length.
fn length_squared_a2([a, b, c]: [f64; 3]) -> f64 {
    let alpha = (2.0 * a - b - c) / 3.0;
    let beta_squared = (b - c) * (b - c) / 3.0;
    alpha.mul_add(alpha, beta_squared) / 2.0
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{SQRT_2, TAU};

    use proptest::prelude::*;

    use super::*;

    fn symmetrical(rms_a: f64, angle_rad: f64) -> [f64; 3] {
        [0.0, 1.0, 2.0].map(|phase| rms_a * SQRT_2 * (angle_rad - phase * TAU / 3.0).cos())
    }

    proptest! {
        #[test]
        fn a_symmetrical_current_is_as_long_at_each_moment(rms_a in 0.0..1e5, angle in 0.0..TAU) {
            let length = length_squared_a2(symmetrical(rms_a, angle)).sqrt();
            prop_assert!((length - rms_a).abs() <= 1e-9 * rms_a, "{length} of {rms_a}");
        }
    }

    #[test]
    fn it_operates_and_drops_off_with_the_sample_itself() {
        let said = says(1, [400.0, 2100.0, 1500.0, 1001.0, 999.0, 1500.0]);
        assert_eq!(said, [false, true, true, true, false, false]);
    }

    fn says<const N: usize>(samples: u32, lengths_a: [f64; N]) -> [bool; N] {
        let settings = Settings { pick_up_a: 2000.0, drop_off_a: 1000.0, samples };
        let mut element = SpaceVector::new(settings);
        lengths_a.map(|rms_a| element.update(symmetrical(rms_a, 0.7)))
    }

    #[test]
    fn one_or_two_wrong_samples_operate_nothing_and_drop_nothing_off() {
        assert_eq!(says(3, [400.0, 9e4, 9e4, 400.0, 9e4, 9e4, 400.0]), [false; 7]);
        let said = says(3, [2100.0, 2100.0, 2100.0, 0.0, 0.0, 2100.0, 0.0, 0.0, 0.0]);
        assert_eq!(said, [false, false, true, true, true, true, true, true, false]);
    }

    #[test]
    fn a_residual_current_alone_is_no_vector() {
        assert!(length_squared_a2([500.0; 3]) < 1e-9);
    }
}
