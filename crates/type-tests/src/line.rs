//! A line between two sources, with a fault on it or behind the relay: currents and voltages at the
//! relay, sample by sample.
//!
//! Everything is resistance and inductance with mutual coupling of the phases (from positive and zero
//! sequence impedances), so the circuit is linear and small: it is solved exactly. With a fault, the
//! branches of the fault divide the circuit into a side of the relay and a side beyond. Unknown are the
//! three currents of the left side and the currents of the fault's branches,
//!
//! ```text
//! M x' + K x = u,    x = X (steady) + transient,    transient(t + h) = exp(-M⁻¹ K h) transient(t)
//! ```
//!
//! where the transient begins as what the steady state lacks of the currents that flowed, since no
//! current through an inductance jumps. No integration step, hence no error of one.

use std::f64::consts::{PI, SQRT_2};

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};
use substation::protection::Complex;

/// Positive and zero sequence impedance at nominal frequency, in ohm; both need inductance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Impedance {
    pub positive: Complex,
    pub zero: Complex,
}

impl Impedance {
    /// A multiple of it.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { positive: self.positive * factor, zero: self.zero * factor }
    }

    /// This and another impedance in series.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { positive: self.positive + other.positive, zero: self.zero + other.zero }
    }
}

/// A voltage behind an impedance.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// Phase to earth, root mean square, in V, and its angle at time zero.
    pub voltage: Complex,
    pub impedance: Impedance,
    /// Further waves of the voltage: frequency in Hz, and phase A to earth. They turn as the
    /// fundamental does: an order of 3 in phases is no zero sequence here.
    pub disturbing: Vec<(f64, Complex)>,
}

/// Phases, and earth, that a fault connects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Phase to earth; 0 is phase A.
    Earth(usize),
    /// Between the two phases other than this one.
    Phases(usize),
    /// The two phases other than this one, and earth.
    PhasesEarth(usize),
    Three,
    /// Three phases and earth.
    ThreeEarth,
}

impl Kind {
    /// Each kind in each phase.
    pub const ALL: [Self; 11] = [
        Self::Earth(0),
        Self::Earth(1),
        Self::Earth(2),
        Self::Phases(0),
        Self::Phases(1),
        Self::Phases(2),
        Self::PhasesEarth(0),
        Self::PhasesEarth(1),
        Self::PhasesEarth(2),
        Self::Three,
        Self::ThreeEarth,
    ];

    /// Which phases each branch of the fault joins: +1 where its current leaves the line.
    fn branches(self) -> DMatrix<f64> {
        let unit = |phase: usize| std::array::from_fn(|p| f64::from(u8::from(p == phase)));
        let pair = |from: usize, to: usize| {
            let (a, b): ([f64; 3], [f64; 3]) = (unit(from), unit(to));
            [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
        };
        let columns: Vec<[f64; 3]> = match self {
            Self::Earth(phase) => vec![unit(phase)],
            Self::Phases(free) => vec![pair((free + 1) % 3, (free + 2) % 3)],
            Self::PhasesEarth(free) => vec![unit((free + 1) % 3), unit((free + 2) % 3)],
            Self::Three => vec![pair(0, 1), pair(1, 2)],
            Self::ThreeEarth => vec![unit(0), unit(1), unit(2)],
        };
        DMatrix::from_fn(3, columns.len(), |row, branch| columns[branch][row])
    }

    /// Resistances of and between the branches, in ohm: `phase_ohm` in each connected phase, and
    /// `earth_ohm` in what they share to earth.
    fn resistances(self, phase_ohm: f64, earth_ohm: f64) -> DMatrix<f64> {
        let count = self.branches().ncols();
        let to_earth = matches!(self, Self::Earth(_) | Self::PhasesEarth(_) | Self::ThreeEarth);
        DMatrix::from_fn(count, count, |a, b| match (to_earth, a == b) {
            (true, true) => phase_ohm + earth_ohm,
            (true, false) => earth_ohm,
            (false, true) => 2.0 * phase_ohm,
            (false, false) => -phase_ohm,
        })
    }

    /// Whether a phase, by its place, is in it.
    #[must_use]
    pub fn has(self, phase: usize) -> bool {
        self.branches().row(phase).iter().any(|joined| *joined != 0.0)
    }

    /// Whether current flows to earth.
    #[must_use]
    pub const fn is_to_earth(self) -> bool {
        matches!(self, Self::Earth(_) | Self::PhasesEarth(_) | Self::ThreeEarth)
    }
}

/// A fault on the line, or behind the relay.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fault {
    pub kind: Kind,
    /// Where, as a share of the line; below zero behind the relay, and above one beyond the line, as a
    /// share of the source there.
    pub place: f64,
    pub begin_s: f64,
    /// Of each connected phase, in ohm.
    pub resistance_ohm: f64,
    /// What the connected phases share to earth, in ohm.
    pub earth_ohm: f64,
}

impl Fault {
    /// The same, as the relay at the far end has it.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Self { place: 1.0 - self.place, ..self }
    }
}

/// A line with its two sources; the relay is at the near end and looks into the line.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// At which impedances are given, in Hz.
    pub nominal_hz: f64,
    /// Of the sources, in Hz.
    pub frequency_hz: f64,
    pub near: Source,
    pub impedance: Impedance,
    pub far: Source,
}

/// Currents into the line in A, and voltages to earth in V.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sample {
    pub currents: [f64; 3],
    pub voltages: [f64; 3],
}

/// Resistance and inductance of three coupled phases.
struct Phases {
    resistance: Matrix3<f64>,
    inductance: Matrix3<f64>,
}

impl Line {
    fn phases(&self, impedance: Impedance) -> Phases {
        let own = (impedance.positive * 2.0 + impedance.zero) / 3.0;
        let mutual = (impedance.zero - impedance.positive) / 3.0;
        let omega = 2.0 * PI * self.nominal_hz;
        let of = |own: f64, mutual: f64| {
            Matrix3::from_fn(|row, column| if row == column { own } else { mutual })
        };
        Phases {
            resistance: of(own.re, mutual.re),
            inductance: of(own.im / omega, mutual.im / omega),
        }
    }

    /// Waves of both sources: angular frequency, near and far voltage of phase A.
    fn waves(&self) -> Vec<(f64, Complex, Complex)> {
        let omega = |hz: f64| 2.0 * PI * hz;
        let mut waves = vec![(omega(self.frequency_hz), self.near.voltage, self.far.voltage)];
        waves.extend(self.near.disturbing.iter().map(|(hz, v)| (omega(*hz), *v, Complex::ZERO)));
        waves.extend(self.far.disturbing.iter().map(|(hz, v)| (omega(*hz), Complex::ZERO, *v)));
        waves
    }

    /// The same line, as the relay at the far end has it.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self { near: self.far.clone(), far: self.near.clone(), ..self.clone() }
    }

    /// What the relay sees: `count` samples at `rate` a second, from time zero.
    ///
    /// # Panics
    /// If an impedance has no inductance.
    #[must_use]
    pub fn samples(&self, fault: Option<&Fault>, rate: f64, count: usize) -> Vec<Sample> {
        let begin_s = fault.map_or(f64::INFINITY, |fault| fault.begin_s);
        let healthy = self.healthy();
        let faulted = fault.map(|fault| Faulted::new(self, fault, healthy.currents(begin_s)));
        let first = ((begin_s * rate).ceil().max(0.0) as usize).min(count);
        let time_s = |number: usize| number as f64 / rate;
        let mut samples: Vec<Sample> = (0..first).map(|n| healthy.sample(time_s(n))).collect();
        if let Some(faulted) = faulted {
            let step = (faulted.decay.clone() / rate).exp();
            let lead = faulted.decay.clone() * (time_s(first) - begin_s);
            let mut transient = lead.exp() * &faulted.initial;
            for number in first..count {
                samples.push(faulted.sample(time_s(number), &transient));
                transient = &step * transient;
            }
        }
        samples
    }

    fn healthy(&self) -> Healthy {
        let near = self.phases(self.near.impedance);
        let whole = self.phases(self.near.impedance.plus(self.impedance).plus(self.far.impedance));
        let waves = self
            .waves()
            .into_iter()
            .map(|(omega, e_near, e_far)| {
                let (e_near, e_far) = (turned(e_near), turned(e_far));
                let current = solve3(&whole, omega, e_near - e_far);
                let voltage = e_near - apply3(&near, omega, &current);
                (omega, current, voltage)
            })
            .collect();
        Healthy { waves }
    }
}

/// Phases A, B and C of a wave.
fn turned(a: Complex) -> Vector3<Complex> {
    let turn = |degrees: f64| a * Complex::from_polar(1.0, degrees.to_radians());
    Vector3::new(a, turn(-120.0), turn(120.0))
}

fn complex3(phases: &Phases, omega: f64) -> Matrix3<Complex> {
    phases.resistance.zip_map(&phases.inductance, |r, l| Complex::new(r, omega * l))
}

fn apply3(phases: &Phases, omega: f64, current: &Vector3<Complex>) -> Vector3<Complex> {
    complex3(phases, omega) * current
}

fn solve3(phases: &Phases, omega: f64, voltage: Vector3<Complex>) -> Vector3<Complex> {
    complex3(phases, omega).lu().solve(&voltage).expect("impedances are not zero")
}

/// The value of root mean square phasors at a time.
fn value(phasor: Complex, omega: f64, time_s: f64) -> f64 {
    SQRT_2 * (phasor * Complex::from_polar(1.0, omega * time_s)).re
}

/// Before the fault: steady waves only.
struct Healthy {
    /// Angular frequency, currents and voltages at the relay.
    waves: Vec<(f64, Vector3<Complex>, Vector3<Complex>)>,
}

impl Healthy {
    fn currents(&self, time_s: f64) -> Vector3<f64> {
        self.waves.iter().map(|(omega, i, _)| i.map(|i| value(i, *omega, time_s))).sum()
    }

    fn sample(&self, time_s: f64) -> Sample {
        let voltages: Vector3<f64> =
            self.waves.iter().map(|(omega, _, v)| v.map(|v| value(v, *omega, time_s))).sum();
        Sample { currents: self.currents(time_s).into(), voltages: voltages.into() }
    }
}

/// With the fault: steady waves and what decays.
struct Faulted {
    /// Angular frequency, state, and derivative of the state of each wave.
    waves: Vec<(f64, DVector<Complex>)>,
    /// `-M⁻¹ K`.
    decay: DMatrix<f64>,
    /// What the steady state lacks of the state when the fault begins.
    initial: DVector<f64>,
    /// From the state, its derivative and the sources' voltages to what the relay sees.
    view: View,
    sources: Vec<(f64, Complex)>,
}

/// Which side of the fault the relay is on, and what lies between it and its source.
struct View {
    /// Left currents are the relay's, or right ones turned round.
    is_left: bool,
    branches: DMatrix<f64>,
    resistance: Matrix3<f64>,
    inductance: Matrix3<f64>,
}

impl Faulted {
    fn new(line: &Line, fault: &Fault, relay_currents: Vector3<f64>) -> Self {
        let is_left = fault.place >= 0.0;
        let (left, right, between) = if is_left {
            let (on_line, beyond) = (fault.place.min(1.0), (fault.place - 1.0).max(0.0));
            let left = line.near.impedance.plus(line.impedance.times(on_line));
            let right = line.impedance.times(1.0 - on_line);
            let far = line.far.impedance;
            (left.plus(far.times(beyond)), right.plus(far.times(1.0 - beyond)), line.near.impedance)
        } else {
            let behind = -fault.place;
            let left = line.near.impedance.times(1.0 - behind);
            let beyond = line.impedance.plus(line.far.impedance);
            (left, line.near.impedance.times(behind).plus(beyond), beyond)
        };
        let (left, right, between) = (line.phases(left), line.phases(right), line.phases(between));
        let branches = fault.kind.branches();
        let count = branches.ncols();
        let resistances = fault.kind.resistances(fault.resistance_ohm, fault.earth_ohm);
        let system = |left: Matrix3<f64>, right: Matrix3<f64>| {
            let mut matrix = DMatrix::zeros(3 + count, 3 + count);
            matrix.view_mut((0, 0), (3, 3)).copy_from(&(left + right));
            matrix.view_mut((0, 3), (3, count)).copy_from(&(-right * &branches));
            matrix.view_mut((3, 0), (count, 3)).copy_from(&(branches.transpose() * left));
            matrix
        };
        let inductances = system(left.inductance, right.inductance);
        let mut losses = system(left.resistance, right.resistance);
        losses.view_mut((3, 3), (count, count)).copy_from(&resistances);
        let waves: Vec<_> = line
            .waves()
            .into_iter()
            .map(|(omega, e_left, e_right)| {
                let (e_left, e_right) = (turned(e_left), turned(e_right));
                let mut forcing = DVector::zeros(3 + count);
                forcing.rows_mut(0, 3).copy_from(&(e_left - e_right));
                let across = branches.map(|b| Complex::new(b, 0.0)).transpose() * e_left;
                forcing.rows_mut(3, count).copy_from(&across);
                let system = losses.zip_map(&inductances, |r, l| Complex::new(r, omega * l));
                (omega, system.lu().solve(&forcing).expect("the circuit has one solution"))
            })
            .collect();
        let inverse = inductances.try_inverse().expect("everything has inductance");
        let mut initial = DVector::zeros(3 + count);
        let steady: Vector3<f64> = waves
            .iter()
            .map(|(omega, x)| Vector3::from_fn(|p, _| value(x[p], *omega, fault.begin_s)))
            .sum();
        initial.rows_mut(0, 3).copy_from(&(relay_currents - steady));
        for branch in 0..count {
            let steady: f64 =
                waves.iter().map(|(omega, x)| value(x[3 + branch], *omega, fault.begin_s)).sum();
            initial[3 + branch] = -steady;
        }
        // The source that the relay looks back to.
        let behind =
            |(omega, near, far): (f64, Complex, Complex)| (omega, if is_left { near } else { far });
        Self {
            waves,
            decay: -inverse * losses,
            initial,
            view: View {
                is_left,
                branches,
                resistance: between.resistance,
                inductance: between.inductance,
            },
            sources: line.waves().into_iter().map(behind).collect(),
        }
    }

    fn sample(&self, time_s: f64, transient: &DVector<f64>) -> Sample {
        let count = self.initial.len() - 3;
        let mut state = transient.clone();
        let mut slope = &self.decay * transient;
        for (omega, x) in &self.waves {
            state += x.map(|x| value(x, *omega, time_s));
            slope += x.map(|x| value(x * Complex::new(0.0, *omega), *omega, time_s));
        }
        let side = |state: &DVector<f64>| -> Vector3<f64> {
            let left: Vector3<f64> = state.fixed_rows::<3>(0).into();
            if self.view.is_left { left } else { &self.view.branches * state.rows(3, count) - left }
        };
        let (current, slope) = (side(&state), side(&slope));
        let source: Vector3<f64> = self
            .sources
            .iter()
            .map(|(omega, e)| turned(*e).map(|e| value(e, *omega, time_s)))
            .sum();
        let voltage = source - self.view.resistance * current - self.view.inductance * slope;
        let sign = if self.view.is_left { 1.0 } else { -1.0 };
        Sample { currents: (current * sign).into(), voltages: voltage.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(angle_deg: f64, ohm: f64) -> Source {
        let voltage = Complex::from_polar(63_500.0, angle_deg.to_radians());
        let positive = Complex::from_polar(ohm, 85f64.to_radians());
        Source {
            voltage,
            impedance: Impedance { positive, zero: positive * 2.0 },
            disturbing: Vec::new(),
        }
    }

    fn line() -> Line {
        let positive = Complex::from_polar(10.0, 80f64.to_radians());
        Line {
            nominal_hz: 50.0,
            frequency_hz: 50.0,
            near: source(10.0, 5.0),
            impedance: Impedance { positive, zero: positive * 3.0 },
            far: source(0.0, 8.0),
        }
    }

    /// What is left at the fault: the voltages there, computed from the relay by the line's own model.
    fn at_fault(line: &Line, samples: &[Sample], place: f64, rate: f64) -> Vec<[f64; 3]> {
        let phases = line.phases(line.impedance.times(place));
        samples
            .windows(3)
            .map(|three| {
                let of = |n: usize| Vector3::from(three[n].currents);
                let slope = (of(2) - of(0)) * (rate / 2.0);
                let drop = phases.resistance * of(1) + phases.inductance * slope;
                (Vector3::from(three[1].voltages) - drop).into()
            })
            .collect()
    }

    #[test]
    fn a_bolted_fault_leaves_no_voltage_where_it_is_and_currents_do_not_jump() {
        for kind in Kind::ALL {
            let fault =
                Fault { kind, place: 0.6, begin_s: 0.0513, resistance_ohm: 0.0, earth_ohm: 0.0 };
            let rate = 1e5;
            let samples = line().samples(Some(&fault), rate, 12_000);
            for pair in samples.windows(2) {
                for phase in 0..3 {
                    let step = (pair[1].currents[phase] - pair[0].currents[phase]).abs();
                    assert!(step < 150.0, "{kind:?}: {step} A");
                }
            }
            for (number, volts) in at_fault(&line(), &samples, 0.6, rate).iter().enumerate() {
                if number < 5131 {
                    continue;
                }
                let left: f64 = match kind {
                    Kind::Earth(phase) => volts[phase].abs(),
                    Kind::Phases(free) => (volts[(free + 1) % 3] - volts[(free + 2) % 3]).abs(),
                    Kind::PhasesEarth(free) => {
                        volts[(free + 1) % 3].abs() + volts[(free + 2) % 3].abs()
                    }
                    Kind::Three => (volts[0] - volts[1]).abs() + (volts[1] - volts[2]).abs(),
                    Kind::ThreeEarth => volts.iter().map(|v| v.abs()).sum(),
                };
                assert!(left < 1.0, "{kind:?}: {left} V at {number}");
            }
        }
    }

    #[test]
    fn what_flows_into_the_line_at_one_end_flows_out_at_the_other_unless_the_line_is_faulty() {
        for (place, is_faulty) in [(-0.3, false), (0.4, true), (1.3, false)] {
            for kind in Kind::ALL {
                let (begin_s, resistance_ohm) = (0.05, 0.5);
                let fault = Fault { kind, place, begin_s, resistance_ohm, earth_ohm: 1.0 };
                let near = line().samples(Some(&fault), 4000.0, 400);
                let far = line().mirrored().samples(Some(&fault.mirrored()), 4000.0, 400);
                let left = |(near, far): (&Sample, &Sample)| {
                    (0..3).map(|p| (near.currents[p] + far.currents[p]).abs()).fold(0.0, f64::max)
                };
                let most = near.iter().zip(&far).map(left).fold(0.0, f64::max);
                assert_eq!(most > 1e-3, is_faulty, "{kind:?} at {place}: {most} A");
            }
        }
    }

    #[test]
    fn a_fault_behind_turns_the_current_round() {
        let fault = Fault {
            kind: Kind::ThreeEarth,
            place: -0.2,
            begin_s: 0.05,
            resistance_ohm: 0.0,
            earth_ohm: 0.0,
        };
        let line = line();
        let samples = line.samples(Some(&fault), 4000.0, 2000);
        // The transient is gone: only what comes from the far end flows.
        let whole = line.far.impedance.positive
            + line.impedance.positive
            + line.near.impedance.positive * 0.2;
        let expected = 63_500.0 / whole.norm();
        let peak = samples[1600..].iter().map(|s| s.currents[0].abs()).fold(0.0, f64::max);
        assert!((peak / SQRT_2 / expected - 1.0).abs() < 0.01, "{peak} {expected}");
    }
}
