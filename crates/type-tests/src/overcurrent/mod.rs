//! Overcurrent (50, 51; PIOC, PTOC), after IEC 60255-151.

pub mod inverse;

use std::f64::consts::TAU;

use protection::Complex;
use protection::waveform::{Fault, Wave};

use crate::line::Sample;
use crate::relay::{Seen, UnderTest};
use crate::report::{Bar, Plan, Row, Section};
use crate::wave::{Phasors, after, balanced, injected, ramp, settings};

/// An element and the frequency at which it is tested.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Case {
    pick_up_a: f64,
    is_residual: bool,
    nominal_hz: f64,
    hz: f64,
    phase: usize,
    delay_s: f64,
}

impl Case {
    fn rate(&self) -> u32 {
        (80.0 * self.nominal_hz) as u32
    }

    fn relay(&self) -> UnderTest {
        let of = if self.is_residual { "residual" } else { "phases" };
        let elements = format!(
            "  I: {{function: overcurrent, stream: s, of: {of}, pick_up: {} A, delay: {} s}}\n",
            self.pick_up_a, self.delay_s
        );
        UnderTest::new(&settings(self.nominal_hz, self.rate(), &elements), self.rate())
    }

    /// What the element does when the current of the phase follows a course of multiples of the pick-up.
    fn run(&self, seconds: f64, multiple: impl Fn(f64) -> f64) -> Seen {
        self.run_beside(0.0, seconds, multiple)
    }

    /// The same beside balanced voltages, which show the frequency.
    fn run_beside(&self, volts: f64, seconds: f64, multiple: impl Fn(f64) -> f64) -> Seen {
        let samples = injected(
            self.rate(),
            seconds,
            |_| self.hz,
            |time_s| {
                let voltages = balanced(Complex::new(volts, 0.0));
                let mut phasors = Phasors { voltages, ..Phasors::default() };
                phasors.currents[self.phase] = Complex::new(self.pick_up_a * multiple(time_s), 0.0);
                phasors
            },
        );
        self.relay().run(&samples)[0]
    }

    /// Whether it starts on a current of this multiple that begins with an offset.
    fn starts_with_offset(&self, multiple: f64, tau_s: f64, inception_rad: f64) -> bool {
        let begin_s = 0.2;
        let angle = inception_rad - TAU * self.hz * begin_s;
        let wave = Wave {
            frequency_hz: self.hz,
            before: Complex::ZERO,
            fault: Some(Fault {
                begin_s,
                end_s: f64::INFINITY,
                steady: Complex::from_polar(multiple * self.pick_up_a, angle),
                offset_tau_s: tau_s,
            }),
            harmonics: Vec::new(),
        };
        let samples: Vec<Sample> = (0..(0.7 * f64::from(self.rate())) as usize)
            .map(|number| {
                let mut sample = Sample::default();
                sample.currents[self.phase] = wave.value(number as f64 / f64::from(self.rate()));
                sample
            })
            .collect();
        self.relay().run(&samples)[0].started_s.is_some()
    }
}

fn cases(delays_s: &[f64], offs_hz: &[f64]) -> Vec<Case> {
    let mut cases = Vec::new();
    for pick_up_a in [100.0, 1e3, 10e3] {
        for is_residual in [false, true] {
            for nominal_hz in [50.0, 60.0] {
                for off_hz in offs_hz {
                    for phase in 0..3 {
                        for delay_s in delays_s.iter().copied() {
                            let hz = nominal_hz + off_hz;
                            cases.push(Case {
                                pick_up_a,
                                is_residual,
                                nominal_hz,
                                hz,
                                phase,
                                delay_s,
                            });
                        }
                    }
                }
            }
        }
    }
    cases
}

/// Shares of the pick-up at which a current with offset begins, from small to large.
const SHARES: [f64; 8] = [0.94, 0.95, 0.9525, 0.955, 0.96, 0.97, 0.98, 0.99];

/// The first share that starts gives the transient overreach, in %: at least the next smaller one did
/// not start.
fn overreach(case: &Case, tau_s: f64, inception_rad: f64) -> f64 {
    let starts = |share: &f64| case.starts_with_offset(*share, tau_s, inception_rad);
    match SHARES.iter().position(starts) {
        Some(0) => f64::INFINITY,
        Some(at) => (1.0 / SHARES[at - 1] - 1.0) * 100.0,
        None => (1.0 / SHARES[SHARES.len() - 1] - 1.0) * 100.0,
    }
}

/// By how much shorter a current may be than the time to operation and operates all the same, in ms.
fn overshoot_ms(case: &Case, multiple: f64) -> f64 {
    let begin_s = 0.2;
    let operates = |seconds: f64| {
        let end_s = begin_s + seconds;
        let lasting = |time_s: f64| {
            if (begin_s..end_s).contains(&time_s) { multiple } else { 0.0 }
        };
        case.run(begin_s + case.delay_s + 0.3, lasting).operated_s
    };
    let Some(operated_s) = operates(f64::INFINITY) else { return f64::INFINITY };
    let taken_s = operated_s - begin_s;
    let most = (0..60).rev().find(|ms| operates(taken_s - f64::from(*ms) * 1e-3).is_some());
    most.map_or(0.0, f64::from)
}

/// Values, drop-off, times, transient overreach and overshoot.
#[must_use]
pub fn section(plan: Plan) -> Section {
    let percent = |what, most| Row::new(what, Bar::AtMost(most, "%"));
    let periods = |what, most| Row::new(what, Bar::AtMost(most, "periods"));
    let milliseconds = |what, most| Row::new(what, Bar::AtMost(most, "ms"));
    let mut value = percent("value at which it starts: error of the setting", 1.0);
    let mut drop_off = percent("drop-off (95 % of the setting): error", 1.0);
    for case in plan.pick(cases(&[0.0], &[0.0])) {
        let (out, back) = ([0.4, 1.9], [2.0, 4.0]);
        let multiple = |time_s: f64| {
            if time_s < back[0] {
                ramp(time_s, out, [0.97, 1.03])
            } else {
                ramp(time_s, back, [1.03, 0.91])
            }
        };
        let seen = case.run(4.1, multiple);
        let error = |at_s: Option<f64>, expected: f64| {
            at_s.map_or(f64::INFINITY, |at_s| (multiple(at_s) / expected - 1.0).abs() * 100.0)
        };
        let text = || format!("{case:?}: {seen:?}");
        value.measure(error(seen.started_s, 1.0), text);
        drop_off.measure(error(seen.released_s, 0.95), text);
    }
    let mut off = [
        percent("the same up to 2 Hz off nominal, with voltages beside: error", 1.0),
        percent("the same without voltages, hence at a frequency that is not known: error", 5.0),
    ];
    for case in plan.pick(cases(&[0.0], &[-2.0, -1.0, 1.0, 2.0])) {
        for (row, volts) in off.iter_mut().zip([60e3, 0.0]) {
            let multiple = |time_s: f64| ramp(time_s, [0.4, 2.9], [0.93, 1.07]);
            let seen = case.run_beside(volts, 3.0, multiple);
            let error =
                seen.started_s.map_or(f64::INFINITY, |at| (multiple(at) - 1.0).abs() * 100.0);
            row.measure(error, || format!("{case:?}: {seen:?}"));
        }
    }
    let mut start = periods("start after a step to twice the setting and more", 1.5);
    let mut release = periods("drop-off after a step from there to zero", 1.5);
    let mut operate = milliseconds("operation: error of the delay", 30.0);
    for case in plan.pick(cases(&[0.0, 0.1, 1.0], &[0.0])) {
        for multiple in [2.0, 5.0, 20.0] {
            let begin_s = 0.3 + 0.0037 * case.phase as f64;
            let end_s = begin_s + case.delay_s + 0.2;
            let seen = case.run(end_s + 0.15, |time_s| {
                if (begin_s..end_s).contains(&time_s) { multiple } else { 0.0 }
            });
            let text = || format!("{case:?} at {multiple}: {seen:?}");
            start.measure(after(seen.started_s, begin_s) * case.nominal_hz, text);
            release.measure(after(seen.released_s, end_s) * case.nominal_hz, text);
            operate.measure((after(seen.operated_s, begin_s) - case.delay_s).abs() * 1e3, text);
        }
    }
    let mut transient = percent("transient overreach, time constants of 10 to 200 ms", 5.0);
    let offsets = |case: Case| {
        [0.01, 0.02, 0.04, 0.08, 0.12, 0.2]
            .into_iter()
            .flat_map(move |tau_s| [0.0, 0.8, 1.6, 2.4].map(|angle| (case, tau_s, angle)))
    };
    let of_offsets = cases(&[0.0], &[0.0]).into_iter().flat_map(offsets).collect();
    for (case, tau_s, inception_rad) in plan.pick(of_offsets) {
        let percent = overreach(&case, tau_s, inception_rad);
        transient.measure(percent, || format!("{case:?}, {tau_s} s at {inception_rad:.1}"));
    }
    let mut overshoot = milliseconds("overshoot time, at five times the setting", 30.0);
    for case in plan.pick(cases(&[0.1], &[0.0])) {
        overshoot.measure(overshoot_ms(&case, 5.0), || format!("{case:?}"));
    }
    Section {
        title: "Overcurrent with definite time",
        what: "After IEC 60255-151. The current of one phase moves slowly through the setting and back, \
               and in steps; settings of 0.1 to 10 kA of phase and residual currents, 50 and 60 Hz. \
               Transient overreach is of currents that begin with an offset of up to their peak: at which \
               share of the setting they start the element, as an upper limit. Overshoot is by how much \
               shorter than the time to operation a current may be and operates all the same.",
        rows: [value, drop_off]
            .into_iter()
            .chain(off)
            .chain([start, release, operate, transient, overshoot])
            .collect(),
        pictures: Vec::new(),
        notes: String::new(),
    }
}
