//! Phasors: the root mean square value and the angle of a sinusoid at the moment of the newest
//! sample, as complex numbers whose angles are in degrees.

/// A phasor or an impedance: a complex number of double precision.
pub type Complex = num_complex::Complex64;

/// Angles in degrees, as settings and people have them.
pub trait Degrees: Sized {
    /// A number from magnitude and angle.
    #[must_use]
    fn polar_deg(magnitude: f64, angle_deg: f64) -> Self;

    /// Angle, above -180 to 180 degrees.
    #[must_use]
    fn angle_deg(self) -> f64;

    /// Turned by an angle.
    #[must_use]
    fn turned_deg(self, angle_deg: f64) -> Self;
}

impl Degrees for Complex {
    fn polar_deg(magnitude: f64, angle_deg: f64) -> Self {
        Self::from_polar(magnitude, angle_deg.to_radians())
    }

    fn angle_deg(self) -> f64 {
        self.arg().to_degrees()
    }

    fn turned_deg(self, angle_deg: f64) -> Self {
        self * Self::polar_deg(1.0, angle_deg)
    }
}
