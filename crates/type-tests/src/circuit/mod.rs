//! What the relays at the ends of a line see of faults that come one after the other: currents and
//! voltages, sample by sample.
//!
//! Everything is resistance and inductance with mutual coupling of the phases (from positive and zero
//! sequence impedances), so the circuit is linear and small: it is solved exactly. Faults are branches
//! at places of the chain source, line, source. Unknown are the three currents that leave the near
//! source and the currents of the branches,
//!
//! ```text
//! M x' + K x = u,    x = X (steady) + transient,    transient(t + h) = exp(-M⁻¹ K h) transient(t)
//! ```
//!
//! where each transient begins as what the steady state lacks of the currents that flowed, since no
//! current through an inductance jumps. No integration step, hence no error of one.

use std::f64::consts::{PI, SQRT_2};

use nalgebra::{DMatrix, DVector, Matrix3, Vector3};
use protection::{Complex, Degrees};

use crate::line::{Fault, Impedance, Line, Sample};

/// Which end of the line a relay is at; it looks into the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    Near,
    Far,
}

impl End {
    /// Its place, in the coordinate of [`Fault::place`].
    const fn place(self) -> f64 {
        match self {
            Self::Near => 0.0,
            Self::Far => 1.0,
        }
    }

    /// Whether a fault lies towards the near source, seen from here. One at an end is on the line.
    fn is_beyond(self, fault: &Fault) -> bool {
        match self {
            Self::Near => fault.place < 0.0,
            Self::Far => fault.place <= 1.0,
        }
    }
}

/// Where the voltage transformers of the near end are, seen from the breaker that closes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Transformers {
    Busbar,
    Line,
}

/// A line and all that happens to it.
#[derive(Clone, Debug)]
pub struct Course {
    /// Angular frequency, phases of the near and of the far source.
    waves: Vec<(f64, Vector3<Complex>, Vector3<Complex>)>,
    stages: Vec<Stage>,
    /// The breaker of the near end is open before it.
    closed: Option<(f64, Transformers)>,
}

/// From one change of the circuit to the next.
#[derive(Clone, Debug)]
struct Stage {
    begin_s: f64,
    faults: Vec<Fault>,
    /// Angular frequency and steady state of each wave.
    steady: Vec<(f64, DVector<Complex>)>,
    /// `-M⁻¹ K`.
    decay: DMatrix<f64>,
    /// What the steady state lacks of the state when the stage begins.
    initial: DVector<f64>,
    near: View,
    far: View,
}

/// From the state to what a relay sees.
#[derive(Clone, Debug)]
struct View {
    currents: DMatrix<f64>,
    /// What lies between the near source and the relay.
    resistance: DMatrix<f64>,
    inductance: DMatrix<f64>,
}

impl Course {
    /// A line that runs, and on which these faults come.
    ///
    /// # Panics
    /// If an impedance has no inductance.
    #[must_use]
    pub fn new(line: &Line, faults: &[Fault]) -> Self {
        Self::of(line, faults, None)
    }

    /// A line that is dead until its breaker at the near end closes.
    ///
    /// # Panics
    /// If an impedance has no inductance.
    #[must_use]
    pub fn switched_on(
        line: &Line,
        faults: &[Fault],
        closed_s: f64,
        transformers: Transformers,
    ) -> Self {
        Self::of(line, faults, Some((closed_s, transformers)))
    }

    fn of(line: &Line, faults: &[Fault], closed: Option<(f64, Transformers)>) -> Self {
        let waves =
            line.waves().into_iter().map(|(omega, near, far)| (omega, turned(near), turned(far)));
        let mut course = Self { waves: waves.collect(), stages: Vec::new(), closed };
        let closed_s = closed.map_or(0.0, |(at_s, _)| at_s);
        let mut begins: Vec<f64> = faults.iter().map(|fault| fault.begin_s.max(closed_s)).collect();
        begins.push(closed_s);
        begins.sort_by(f64::total_cmp);
        begins.dedup();
        for begin_s in begins {
            let stage = course.stage(line, begin_s, active(faults, begin_s));
            course.stages.push(stage);
        }
        course
    }

    /// The stage that begins with these faults, where the one before has come to.
    fn stage(&self, line: &Line, begin_s: f64, faults: Vec<Fault>) -> Stage {
        let inductances = system(line, &faults, |impedance| phases(line, impedance).inductance);
        let mut losses = system(line, &faults, |impedance| phases(line, impedance).resistance);
        for (fault, at) in faults.iter().zip(columns(&faults)) {
            let own = fault.kind.resistances(fault.resistance_ohm, fault.earth_ohm);
            let mut part = losses.view_mut((at, at), own.shape());
            part += own;
        }
        let solve = |(omega, near, far): &(f64, Vector3<Complex>, Vector3<Complex>)| {
            let mut forcing = DVector::zeros(losses.nrows());
            forcing.rows_mut(0, 3).copy_from(&(near - far));
            for (fault, at) in faults.iter().zip(columns(&faults)) {
                let across = fault.kind.branches().map(|b| Complex::new(b, 0.0)).transpose() * near;
                forcing.rows_mut(at, across.len()).copy_from(&across);
            }
            let system = losses.zip_map(&inductances, |r, l| Complex::new(r, omega * l));
            (*omega, system.lu().solve(&forcing).expect("the circuit has one solution"))
        };
        let steady: Vec<_> = self.waves.iter().map(solve).collect();
        let inverse = inductances.try_inverse().expect("everything has inductance");
        let now = values(&steady, begin_s, losses.nrows());
        let initial = match self.stages.last() {
            Some(before) => before.carried_to(&faults, begin_s) - now,
            // A line that was dead has no current; one that runs has been doing so for long.
            None if self.closed.is_some() => -now,
            None => now * 0.0,
        };
        let view = |end: End| View {
            currents: currents(end, &faults),
            resistance: drop(line, end, &faults, |z| phases(line, z).resistance),
            inductance: drop(line, end, &faults, |z| phases(line, z).inductance),
        };
        let decay = -inverse * &losses;
        let (near, far) = (view(End::Near), view(End::Far));
        Stage { begin_s, faults, steady, decay, initial, near, far }
    }

    /// What the relay at an end sees: `count` samples at `rate` a second, from time zero.
    #[must_use]
    pub fn seen_at(&self, end: End, rate: f64, count: usize) -> Vec<Sample> {
        let time_s = |number: usize| number as f64 / rate;
        let first = |begin_s: f64| ((begin_s * rate).ceil().max(0.0) as usize).min(count);
        let mut samples: Vec<Sample> =
            (0..first(self.stages[0].begin_s)).map(|n| self.dead(time_s(n))).collect();
        for (index, stage) in self.stages.iter().enumerate() {
            let last = self.stages.get(index + 1).map_or(count, |next| first(next.begin_s));
            let mut transient = stage.transient(time_s(samples.len()));
            let step = (&stage.decay / rate).exp();
            for number in samples.len()..last {
                samples.push(self.sample(stage, end, time_s(number), &transient));
                transient = &step * transient;
            }
        }
        samples
    }

    /// What the near end sees while its breaker is open.
    fn dead(&self, time_s: f64) -> Sample {
        match self.closed {
            Some((_, Transformers::Busbar)) => {
                Sample { currents: [0.0; 3], voltages: self.near_source(time_s).into() }
            }
            _ => Sample::default(),
        }
    }

    fn near_source(&self, time_s: f64) -> Vector3<f64> {
        self.waves.iter().map(|(omega, e, _)| e.map(|e| value(e, *omega, time_s))).sum()
    }

    fn sample(&self, stage: &Stage, end: End, time_s: f64, transient: &DVector<f64>) -> Sample {
        let mut state = transient.clone();
        let mut slope = &stage.decay * transient;
        for (omega, x) in &stage.steady {
            let turn = Complex::from_polar(SQRT_2, omega * time_s);
            for (at, x) in x.iter().enumerate() {
                let wave = x * turn;
                state[at] += wave.re;
                slope[at] -= omega * wave.im;
            }
        }
        let view = if end == End::Near { &stage.near } else { &stage.far };
        let currents = &view.currents * &state;
        let drop = &view.resistance * &state + &view.inductance * &slope;
        let source = self.near_source(time_s);
        Sample {
            currents: std::array::from_fn(|phase| currents[phase]),
            voltages: std::array::from_fn(|phase| source[phase] - drop[phase]),
        }
    }
}

impl Stage {
    fn transient(&self, time_s: f64) -> DVector<f64> {
        (&self.decay * (time_s - self.begin_s)).exp() * &self.initial
    }

    /// The currents of this stage as the state of one with other faults.
    fn carried_to(&self, faults: &[Fault], time_s: f64) -> DVector<f64> {
        let state = values(&self.steady, time_s, self.initial.len()) + self.transient(time_s);
        let mut carried = DVector::zeros(width(faults));
        carried.rows_mut(0, 3).copy_from(&state.rows(0, 3));
        for (fault, to) in faults.iter().zip(columns(faults)) {
            let mut own = self.faults.iter().zip(columns(&self.faults));
            let Some((was, from)) = own.find(|(was, _)| was.place == fault.place) else { continue };
            let (old, new) = (was.kind.branches(), fault.kind.branches());
            let flows = &old * state.rows(from, old.ncols());
            // All that flows goes on through the new branches, which have the old ones among them.
            let squares = (new.transpose() * &new).try_inverse().expect("branches are independent");
            carried.rows_mut(to, new.ncols()).copy_from(&(squares * new.transpose() * flows));
        }
        carried
    }
}

impl Line {
    /// What the relay at the near end sees: `count` samples at `rate` a second, from time zero.
    ///
    /// # Panics
    /// If an impedance has no inductance.
    #[must_use]
    pub fn samples(&self, fault: Option<&Fault>, rate: f64, count: usize) -> Vec<Sample> {
        Course::new(self, fault.map(std::slice::from_ref).unwrap_or_default()).seen_at(
            End::Near,
            rate,
            count,
        )
    }
}

/// The faults that are there from a time on: at each place the last that has begun.
fn active(faults: &[Fault], time_s: f64) -> Vec<Fault> {
    let mut active: Vec<Fault> = Vec::new();
    let mut begun: Vec<&Fault> = faults.iter().filter(|fault| fault.begin_s <= time_s).collect();
    begun.sort_by(|a, b| a.begin_s.total_cmp(&b.begin_s));
    for fault in begun {
        active.retain(|other| other.place != fault.place);
        active.push(*fault);
    }
    active.sort_by(|a, b| a.place.total_cmp(&b.place));
    active
}

/// Where the branches of each fault begin in the state.
fn columns(faults: &[Fault]) -> impl Iterator<Item = usize> {
    faults.iter().scan(3, |next, fault| {
        let at = *next;
        *next += fault.kind.branches().ncols();
        Some(at)
    })
}

fn width(faults: &[Fault]) -> usize {
    3 + faults.iter().map(|fault| fault.kind.branches().ncols()).sum::<usize>()
}

/// One part of all impedances, by what the rows of the system are about: the way from source to
/// source, and the way from the near source through each fault.
fn system(line: &Line, faults: &[Fault], part: impl Fn(Impedance) -> Matrix3<f64>) -> DMatrix<f64> {
    let (begin, end) = (-1.0, 2.0);
    let mut system = DMatrix::zeros(width(faults), width(faults));
    system.view_mut((0, 0), (3, 3)).copy_from(&part(line.between(begin, end)));
    for (fault, at) in faults.iter().zip(columns(faults)) {
        let branches = fault.kind.branches();
        let count = branches.ncols();
        let after = -part(line.between(fault.place, end)) * &branches;
        system.view_mut((0, at), (3, count)).copy_from(&after);
        let before = branches.transpose() * part(line.between(begin, fault.place));
        system.view_mut((at, 0), (count, 3)).copy_from(&before);
        for (other, from) in faults.iter().zip(columns(faults)) {
            if other.place < fault.place {
                let there = other.kind.branches();
                let shared =
                    -branches.transpose() * part(line.between(other.place, fault.place)) * &there;
                system.view_mut((at, from), shared.shape()).copy_from(&shared);
            }
        }
    }
    system
}

/// From the state to the currents into the line at an end.
fn currents(end: End, faults: &[Fault]) -> DMatrix<f64> {
    let mut currents = DMatrix::zeros(3, width(faults));
    currents.view_mut((0, 0), (3, 3)).fill_with_identity();
    for (fault, at) in faults.iter().zip(columns(faults)).filter(|(f, _)| end.is_beyond(f)) {
        let branches = fault.kind.branches();
        currents.view_mut((0, at), branches.shape()).copy_from(&-branches);
    }
    if end == End::Far { -currents } else { currents }
}

/// From the state to one part of the drop between the near source and an end.
fn drop(
    line: &Line,
    end: End,
    faults: &[Fault],
    part: impl Fn(Impedance) -> Matrix3<f64>,
) -> DMatrix<f64> {
    let mut drop = DMatrix::zeros(3, width(faults));
    drop.view_mut((0, 0), (3, 3)).copy_from(&part(line.between(-1.0, end.place())));
    for (fault, at) in faults.iter().zip(columns(faults)).filter(|(f, _)| end.is_beyond(f)) {
        let less = -part(line.between(fault.place, end.place())) * fault.kind.branches();
        drop.view_mut((0, at), less.shape()).copy_from(&less);
    }
    drop
}

/// Resistance and inductance of three coupled phases.
struct Phases {
    resistance: Matrix3<f64>,
    inductance: Matrix3<f64>,
}

fn phases(line: &Line, impedance: Impedance) -> Phases {
    let own = (impedance.positive * 2.0 + impedance.zero) / 3.0;
    let mutual = (impedance.zero - impedance.positive) / 3.0;
    let omega = 2.0 * PI * line.nominal_hz;
    let of = |own: f64, mutual: f64| {
        Matrix3::from_fn(|row, column| if row == column { own } else { mutual })
    };
    Phases { resistance: of(own.re, mutual.re), inductance: of(own.im / omega, mutual.im / omega) }
}

/// Phases A, B and C of a wave.
fn turned(a: Complex) -> Vector3<Complex> {
    Vector3::new(a, a.turned_deg(-120.0), a.turned_deg(120.0))
}

/// The value of a root mean square phasor at a time.
fn value(phasor: Complex, omega: f64, time_s: f64) -> f64 {
    SQRT_2 * (phasor * Complex::from_polar(1.0, omega * time_s)).re
}

/// The sum of steady states at a time.
fn values(steady: &[(f64, DVector<Complex>)], time_s: f64, width: usize) -> DVector<f64> {
    let zero = DVector::zeros(width);
    steady.iter().fold(zero, |sum, (omega, x)| sum + x.map(|x| value(x, *omega, time_s)))
}

#[cfg(test)]
mod tests;
