//! Waves as a test set injects them: sinusoids whose size, angle and frequency follow a course, without
//! a network behind them.

use std::f64::consts::{SQRT_2, TAU};

use protection::{Complex, Degrees};

use crate::line::Sample;

/// Nominal voltage from phase to earth, in V, of a grid of 110 kV.
pub const NOMINAL_V: f64 = 63_500.0;
/// Key of a stream, for [`settings_of`]: its voltage transformers do not ring. Without it a relay takes
/// them for capacitive ones, and waits longer.
pub const INDUCTIVE: &str = ", voltage_transformers: inductive";

/// Phasors of the phases at a moment, root mean square, in A and V.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Phasors {
    pub currents: [Complex; 3],
    pub voltages: [Complex; 3],
}

/// Balanced phasors, A first.
#[must_use]
pub fn balanced(a: Complex) -> [Complex; 3] {
    [a, a.turned_deg(-120.0), a.turned_deg(120.0)]
}

/// Samples at `rate` a second of phasors that turn with `hz`, both given by the time, for `seconds`.
pub fn injected(
    rate: u32,
    seconds: f64,
    hz: impl Fn(f64) -> f64,
    phasors: impl Fn(f64) -> Phasors,
) -> Vec<Sample> {
    let mut angle_rad = 0.0;
    let step_s = 1.0 / f64::from(rate);
    (0..(seconds * f64::from(rate)) as usize)
        .map(|number| {
            let time_s = number as f64 * step_s;
            let turn = Complex::from_polar(SQRT_2, angle_rad);
            angle_rad = (angle_rad + TAU * hz(time_s + step_s / 2.0) * step_s) % TAU;
            let Phasors { currents, voltages } = phasors(time_s);
            let value = |of: [Complex; 3]| of.map(|phasor| (phasor * turn).re);
            Sample { currents: value(currents), voltages: value(voltages) }
        })
        .collect()
}

/// A value that goes evenly from `from` to `to` between two times, and rests before and after.
#[must_use]
pub fn ramp(time_s: f64, [begin_s, end_s]: [f64; 2], [from, to]: [f64; 2]) -> f64 {
    from + (to - from) * ((time_s - begin_s) / (end_s - begin_s)).clamp(0.0, 1.0)
}

/// Seconds from a moment to what comes after it; infinite if that never comes, or came before.
#[must_use]
pub fn after(at_s: Option<f64>, from_s: f64) -> f64 {
    at_s.map(|at_s| at_s - from_s).filter(|after_s| *after_s >= 0.0).unwrap_or(f64::INFINITY)
}

/// Settings of a relay with one stream `s` of this nominal frequency and rate, and these elements. Its
/// voltages come from transformers that do not ring.
#[must_use]
pub fn settings(hz: f64, rate: u32, elements: &str) -> String {
    settings_of(&[("s", INDUCTIVE)], hz, rate, elements)
}

/// The same with several streams, or with further keys of them: name and keys, each behind a comma.
#[must_use]
pub fn settings_of(streams: &[(&str, &str)], hz: f64, rate: u32, elements: &str) -> String {
    let stream = |(number, (name, keys)): (usize, &(&str, &str))| {
        let app_id = 0x4000 + number;
        format!(
            "{name}: {{sv_id: {name}, destination: '01:0c:cd:04:00:01', app_id: {app_id:#x}, rate: \
             {rate} Hz{keys}}}"
        )
    };
    let streams: Vec<String> = streams.iter().enumerate().map(stream).collect();
    format!(
        "relay: type_test\nfrequency: {hz} Hz\nstreams: {{{}}}\nelements:\n{elements}",
        streams.join(", ")
    )
}
