//! Complex numbers, as far as phasors need them. A phasor is the root mean square value and the
//! angle of a sinusoid at the moment of the newest sample.

use std::f64::consts::PI;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A complex number.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Complex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

impl Complex {
    /// Zero.
    pub const ZERO: Self = Self { re: 0.0, im: 0.0 };
    /// One.
    pub const ONE: Self = Self { re: 1.0, im: 0.0 };

    /// A number from its parts.
    #[must_use]
    pub const fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    /// A number from magnitude and angle.
    #[must_use]
    pub fn polar(magnitude: f64, angle_rad: f64) -> Self {
        Self { re: magnitude * angle_rad.cos(), im: magnitude * angle_rad.sin() }
    }

    /// A number from magnitude and angle.
    #[must_use]
    pub fn polar_deg(magnitude: f64, angle_deg: f64) -> Self {
        Self::polar(magnitude, angle_deg * PI / 180.0)
    }

    /// Magnitude.
    #[must_use]
    pub fn magnitude(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// Square of the magnitude, without a root.
    #[must_use]
    pub fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    /// Angle, above -180 to 180 degrees.
    #[must_use]
    pub fn angle_deg(self) -> f64 {
        self.im.atan2(self.re) * 180.0 / PI
    }

    /// Angle, above -π to π.
    #[must_use]
    pub fn angle_rad(self) -> f64 {
        self.im.atan2(self.re)
    }

    /// The conjugate.
    #[must_use]
    pub const fn conjugate(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    /// Turned by an angle.
    #[must_use]
    pub fn turned_deg(self, angle_deg: f64) -> Self {
        self * Self::polar_deg(1.0, angle_deg)
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Neg for Complex {
    type Output = Self;
    fn neg(self) -> Self {
        Self { re: -self.re, im: -self.im }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

impl Mul<f64> for Complex {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self { re: self.re * factor, im: self.im * factor }
    }
}

impl Div for Complex {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        self * other.conjugate() * (1.0 / other.square())
    }
}

impl Sum for Complex {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::ZERO, Add::add)
    }
}
