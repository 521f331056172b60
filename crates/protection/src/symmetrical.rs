//! Symmetrical components (Fortescue 1918): three phasors as a positive, a negative and a zero
//! sequence, with phase A as the reference.

use super::complex::{Complex, Degrees};

/// Components of three phasors.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sequence {
    /// What turns as A, B, C.
    pub positive: Complex,
    /// What turns as A, C, B.
    pub negative: Complex,
    /// What is the same in all three.
    pub zero: Complex,
}

impl Sequence {
    /// The components of phases A, B and C.
    #[must_use]
    pub fn of([a, b, c]: [Complex; 3]) -> Self {
        let turn = Complex::polar_deg(1.0, 120.0);
        let back = turn.conj();
        Self {
            positive: (a + b * turn + c * back) * (1.0 / 3.0),
            negative: (a + b * back + c * turn) * (1.0 / 3.0),
            zero: (a + b + c) * (1.0 / 3.0),
        }
    }

    /// Phases A, B and C again.
    #[must_use]
    pub fn phases(self) -> [Complex; 3] {
        let turn = Complex::polar_deg(1.0, 120.0);
        let back = turn.conj();
        let Self { positive, negative, zero } = self;
        [
            zero + positive + negative,
            zero + positive * back + negative * turn,
            zero + positive * turn + negative * back,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn balanced_phases_are_all_positive_sequence() {
        let a = Complex::polar_deg(230.0, 17.0);
        let components = Sequence::of([a, a.turned_deg(-120.0), a.turned_deg(120.0)]);
        assert!((components.positive - a).norm() < 1e-9);
        assert!(components.negative.norm() + components.zero.norm() < 1e-9);
    }

    proptest! {
        #[test]
        fn phases_come_back(parts: [(i32, i32); 3]) {
            let phases = parts.map(|(re, im)| Complex::new(re.into(), im.into()));
            for (phase, again) in phases.iter().zip(Sequence::of(phases).phases()) {
                prop_assert!((*phase - again).norm() < 1e-5);
            }
        }
    }
}
