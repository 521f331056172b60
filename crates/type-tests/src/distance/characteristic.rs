//! Static accuracy of the characteristic: the impedance of each loop moves slowly along a ray into the
//! zone, as phasors in steady state, and where the zone operates is compared with its form (the ramps of
//! IEC 60255-121, annex I).

use protection::{Complex, Degrees};

use super::{Shape, Zone};
use crate::line::Kind;
use crate::plot::{Figure, Mark};
use crate::relay::UnderTest;
use crate::report::{Bar, Picture, Plan, Row, Section};
use crate::wave::{NOMINAL_V, Phasors, balanced, injected, ramp};

/// Share of the reach along a ray at which a ramp begins and ends.
const RAMP: [f64; 2] = [1.12, 0.88];
/// When it does, in s.
const RAMP_S: [f64; 2] = [0.4, 2.4];

/// A ray on which the characteristic is searched.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Ray {
    zone: Zone,
    kind: Kind,
    /// Of the ray, from the axis of resistances.
    angle_deg: f64,
    /// Frequency, as a share of nominal: by so much reactances are other than set.
    ratio: f64,
}

impl Ray {
    /// What the loop sees at the end of the zone, on this ray, in ohm.
    fn boundary_ohm(&self) -> f64 {
        let (mut inside, mut outside) = (0.0, 10.0 * self.zone.reach_ohm);
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            if self.is_inside(Complex::polar_deg(middle, self.angle_deg)) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    }

    fn is_inside(&self, seen: Complex) -> bool {
        let set = Complex::polar_deg(self.zone.reach_ohm, self.zone.angle_deg);
        let reach = Complex::new(set.re, set.im * self.ratio);
        match self.zone.shape {
            Shape::Mho => ((reach - seen) * seen.conj()).re > 0.0,
            Shape::Quadrilateral => {
                let along_ohm = seen.re - seen.im * reach.re / reach.im;
                // To earth, the line is level for the residual current, which alone the fault makes.
                let factor = match self.kind {
                    Kind::Earth(_) => self.zone.earth_factor + 1.0,
                    _ => Complex::new(1.0, 0.0),
                };
                ((reach - seen) * factor).turned_deg(self.zone.tilt_deg).im > 0.0
                    && along_ohm.abs() < self.zone.resistance_ohm()
            }
        }
    }

    /// Phasors of a loop that sees this impedance; half of the voltage is left at the boundary.
    fn phasors(&self, seen: Complex, boundary_ohm: f64) -> Phasors {
        let healthy = balanced(Complex::new(NOMINAL_V, 0.0));
        let share = 0.5 * seen.norm() / boundary_ohm;
        let mut phasors = Phasors { voltages: healthy, ..Phasors::default() };
        match self.kind {
            Kind::Earth(phase) => {
                phasors.voltages[phase] = healthy[phase] * share;
                phasors.currents[phase] =
                    phasors.voltages[phase] / (seen * (self.zone.earth_factor + 1.0));
            }
            Kind::Phases(free) => {
                let (first, second) = ((free + 1) % 3, (free + 2) % 3);
                let middle = -healthy[free] / 2.0;
                let half = (healthy[first] - healthy[second]) / 2.0 * share;
                phasors.voltages[first] = middle + half;
                phasors.voltages[second] = middle - half;
                phasors.currents[first] = half / seen;
                phasors.currents[second] = -half / seen;
            }
            _ => {
                phasors.voltages = healthy.map(|v| v * share);
                phasors.currents = phasors.voltages.map(|v| v / seen);
            }
        }
        phasors
    }

    /// The impedance at which the zone operates, in ohm.
    fn measured_ohm(&self) -> Option<f64> {
        let Zone { hz, rate, .. } = self.zone;
        let boundary_ohm = self.boundary_ohm();
        let samples = injected(
            rate,
            RAMP_S[1] + 0.1,
            |_| hz * self.ratio,
            |time_s| {
                let seen =
                    Complex::polar_deg(boundary_ohm * ramp(time_s, RAMP_S, RAMP), self.angle_deg);
                self.phasors(seen, boundary_ohm)
            },
        );
        let seen = UnderTest::new(&self.zone.settings(), rate).run(&samples)[0];
        seen.operated_s.map(|at_s| boundary_ohm * ramp(at_s, RAMP_S, RAMP))
    }
}

const KINDS: [Kind; 7] = [
    Kind::Earth(0),
    Kind::Earth(1),
    Kind::Earth(2),
    Kind::Phases(0),
    Kind::Phases(1),
    Kind::Phases(2),
    Kind::Three,
];

fn rays() -> Vec<Ray> {
    let mut rays = Vec::new();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        for (reach_ohm, line_deg) in [(0.8, 85.0), (8.0, 75.0), (50.0, 60.0)] {
            for (hz, factor_deg, tilt_deg, ratios) in
                [(50.0, 0.0, 5.0, &[1.0, 0.96, 1.04][..]), (60.0, -10.0, 0.0, &[1.0])]
            {
                for kind in KINDS {
                    for step in 0..15 {
                        let angle_deg = match shape {
                            Shape::Mho => line_deg - 70.0 + 10.0 * f64::from(step),
                            Shape::Quadrilateral => 8.0 * f64::from(step),
                        };
                        let mut zone = Zone::new(shape, reach_ohm, line_deg, hz);
                        zone.earth_factor = Complex::polar_deg(0.7, factor_deg);
                        zone.tilt_deg = tilt_deg;
                        for ratio in ratios {
                            rays.push(Ray { zone, kind, angle_deg, ratio: *ratio });
                        }
                    }
                }
            }
        }
    }
    rays
}

/// The accuracy of both shapes in all loops.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let bar = Bar::AtMost(2.0, "% of the reach");
    let mut rows: Vec<Row> = [Shape::Mho, Shape::Quadrilateral]
        .iter()
        .flat_map(|shape| {
            ["a phase and earth", "two phases", "three phases"]
                .map(|loops| Row::new(&format!("{shape:?}: loops of {loops}"), bar))
        })
        .collect();
    for shape in [Shape::Mho, Shape::Quadrilateral] {
        rows.push(Row::new(&format!("{shape:?}: all loops, 2 Hz off nominal"), bar));
    }
    let mut figure = [
        Figure::new("R, ohm", "X, ohm", [-6.0, 12.0], [-3.0, 11.3]).titled("mho"),
        Figure::new("R, ohm", "X, ohm", [-6.0, 12.0], [-3.0, 11.3]).titled("quadrilateral"),
    ];
    for ray in plan.pick(rays()) {
        let boundary_ohm = ray.boundary_ohm();
        let measured_ohm = ray.measured_ohm();
        let error =
            measured_ohm.map_or(f64::INFINITY, |ohm| (ohm / boundary_ohm - 1.0).abs() * 100.0);
        let group = match ray.kind {
            Kind::Earth(_) => 0,
            Kind::Phases(_) => 1,
            _ => 2,
        };
        let shape = usize::from(ray.zone.shape == Shape::Quadrilateral);
        let row = if ray.ratio == 1.0 { 3 * shape + group } else { 6 + shape };
        rows[row].measure(error, || format!("{ray:?}: {measured_ohm:?} ohm"));
        if ray.zone.reach_ohm == 8.0 && ray.zone.hz == 50.0 && ray.ratio == 1.0 {
            let point = |ohm: f64| {
                let at = Complex::polar_deg(ohm, ray.angle_deg);
                (at.re, at.im)
            };
            if let Some(ohm) = measured_ohm {
                figure[shape].mark(group, Mark::ALL[group], point(ohm));
            }
        }
    }
    for (shape, figure) in [Shape::Mho, Shape::Quadrilateral].into_iter().zip(&mut figure) {
        let zone = Zone::new(shape, 8.0, 75.0, 50.0);
        let edge = |angle_deg: f64| {
            let ohm = Ray { zone, kind: Kind::Three, angle_deg, ratio: 1.0 }.boundary_ohm();
            let at = Complex::polar_deg(ohm, angle_deg);
            (at.re, at.im)
        };
        let range = if shape == Shape::Mho { -15..=165 } else { -15..=115 };
        let mut line: Vec<_> = range.map(|angle| edge(f64::from(angle))).collect();
        if shape == Shape::Quadrilateral {
            line.insert(0, (0.0, 0.0));
            line.push((0.0, 0.0));
        }
        figure.line(3, &line);
    }
    for (group, name) in
        ["phase to earth", "two phases", "three phases", "as set"].iter().enumerate()
    {
        figure[0].legend(group, name);
    }
    Section {
        title: "Distance: static accuracy of the characteristic",
        what: "The impedance of a loop moves along a ray into the zone, by 12 % of its reach in a \
               second; the error is that of the impedance at which the zone operates, along the ray. \
               Reaches of 0.8, 8 and 50 ohm at 85, 75 and 60 degrees, 50 and 60 Hz, an earth factor of \
               0.7 with and without an angle, quadrilaterals with and without a tilt of 5 degrees, fifteen rays for each loop. Off \
               nominal, the reactances of the zone are those at the frequency that there is.",
        rows,
        pictures: vec![Picture {
            name: "characteristic",
            caption: "Where zones of 8 ohm at 75 degrees operate when the impedance of a loop moves into them.",
            svg: Figure::panels(&figure, 2, "characteristic of a mho and of a quadrilateral"),
        }],
        notes: String::new(),
    }
}
