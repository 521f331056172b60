//! Distance (21, PDIS), after IEC 60255-121.

pub mod characteristic;
pub mod closing;
pub mod cross_country;
pub mod evolving;
pub mod reach;
pub mod speed;
pub mod swing;

use protection::{Complex, Degrees};

use crate::line::{Fault, Impedance, Kind, Line, Source};
use crate::wave::{NOMINAL_V, settings};

/// Form of a zone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Shape {
    Mho,
    Quadrilateral,
}

/// A zone and the line that it protects.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Zone {
    pub shape: Shape,
    /// Positive sequence impedance up to its end, in ohm.
    pub reach_ohm: f64,
    pub angle_deg: f64,
    /// `(Z0 - Z1) / 3 Z1` of the line.
    pub earth_factor: Complex,
    /// Of the upper line of a quadrilateral, downwards.
    pub tilt_deg: f64,
    /// Nominal frequency of the grid, in Hz.
    pub hz: f64,
    pub rate: u32,
}

impl Zone {
    /// A zone of a line whose zero sequence impedance is three times the positive one, with 80 samples
    /// a period.
    #[must_use]
    pub fn new(shape: Shape, reach_ohm: f64, angle_deg: f64, hz: f64) -> Self {
        let earth_factor = Complex::new(2.0 / 3.0, 0.0);
        Self {
            shape,
            reach_ohm,
            angle_deg,
            earth_factor,
            tilt_deg: 5.0,
            hz,
            rate: (80.0 * hz) as u32,
        }
    }

    /// How far a quadrilateral reaches along the resistances, in ohm.
    #[must_use]
    pub fn resistance_ohm(&self) -> f64 {
        0.8 * self.reach_ohm
    }

    /// The line of the settings that is this zone, without delay, with further keys.
    #[must_use]
    pub fn element(&self, name: &str, way: &str, more: &str) -> String {
        let shape = match self.shape {
            Shape::Mho => "mho".to_owned(),
            Shape::Quadrilateral => format!(
                "quadrilateral, resistance: {0:.4} ohm, earth_resistance: {0:.4} ohm, tilt: {1} deg",
                self.resistance_ohm(),
                self.tilt_deg
            ),
        };
        let (factor, factor_deg) = (self.earth_factor.norm(), self.earth_factor.angle_deg());
        format!(
            "  {name}: {{function: distance, stream: s, shape: {shape}, reach: {:.5} ohm, angle: \
             {:.3} deg, way: {way}, earth_factor: {factor:.5}, earth_factor_angle: {factor_deg:.3} \
             deg, current_min: 30 A, healthy: 40 kV, delay: 0 s{more}}}\n",
            self.reach_ohm, self.angle_deg
        )
    }

    /// Settings of a relay with this zone alone.
    #[must_use]
    pub fn settings(&self) -> String {
        settings(self.hz, self.rate, &self.element("Z1", "forward", ""))
    }

    /// The line, half as long again as the zone, fed from behind the relay through a source of this
    /// impedance ratio; the far end is open.
    #[must_use]
    pub fn line(&self, sir: f64) -> Line {
        let positive = Complex::polar_deg(1.5 * self.reach_ohm, self.angle_deg);
        let impedance = Impedance { positive, zero: positive * (self.earth_factor * 3.0 + 1.0) };
        let behind = Complex::polar_deg(sir * self.reach_ohm, 85.0);
        // An open end: next to nothing flows through a megohm.
        let open = Complex::new(0.0, 1e6);
        Line {
            nominal_hz: self.hz,
            frequency_hz: self.hz,
            near: Source {
                voltage: Complex::new(NOMINAL_V, 0.0),
                impedance: Impedance { positive: behind, zero: behind },
                disturbing: Vec::new(),
            },
            impedance,
            far: Source {
                voltage: Complex::new(NOMINAL_V, 0.0),
                impedance: Impedance { positive: open, zero: open },
                disturbing: Vec::new(),
            },
        }
    }

    /// A bolted fault at a share of the zone.
    #[must_use]
    pub fn fault(&self, kind: Kind, share: f64, begin_s: f64) -> Fault {
        Fault { kind, place: share / 1.5, begin_s, resistance_ohm: 0.0, earth_ohm: 0.0 }
    }

    /// A moment after `from_s` at which the voltage of phase A has this angle, in degrees.
    #[must_use]
    pub fn inception_s(&self, from_s: f64, angle_deg: f64) -> f64 {
        (from_s * self.hz).ceil() / self.hz + angle_deg / 360.0 / self.hz
    }
}
