//! What is computed of three phasors, one for each phase, wherever phases are compared with a limit.

use super::complex::Complex;

/// Magnitude of the largest.
#[must_use]
pub fn largest(phasors: [Complex; 3]) -> f64 {
    phasors.map(Complex::norm).into_iter().fold(0.0, f64::max)
}

/// The residual quantity of three phases: their sum, three times the zero sequence.
#[must_use]
pub fn residual(phasors: [Complex; 3]) -> Complex {
    phasors.into_iter().sum()
}

/// Complex power of each phase, `U I*`, in VA.
#[must_use]
pub fn powers(voltages: [Complex; 3], currents: [Complex; 3]) -> [Complex; 3] {
    [0, 1, 2].map(|phase| voltages[phase] * currents[phase].conj())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    #[test]
    fn a_phase_that_is_larger_than_the_others_is_the_largest_and_makes_a_residual() {
        let phasors = [0.0, -120.0, 120.0].map(|angle_deg| Complex::polar_deg(10.0, angle_deg));
        assert!(residual(phasors).norm() < 1e-9);
        let unequal = [phasors[0], phasors[1] * 3.0, phasors[2]];
        assert!((largest(unequal) - 30.0).abs() < 1e-9);
        assert!((residual(unequal) - phasors[1] * 2.0).norm() < 1e-9);
        let all: Complex = powers(unequal, phasors).into_iter().sum();
        assert!((all - Complex::new(500.0, 0.0)).norm() < 1e-9);
    }
}
