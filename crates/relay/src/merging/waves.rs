//! The waves of three phases that settings describe, at any sample: load, harmonics, and a fault
//! that begins at an angle of the voltage, once or again and again.
//!
//! A fault that comes again comes with the same waves: time is counted from the begin of its
//! episode, and `every` is a whole number of periods, so nothing jumps between two of them.

use std::time::Duration;

use protection::waveform::{CurrentTransformer, Fault, Wave};
use protection::{Complex, Degrees, PhaseSet};
use substation::settings::merging_unit::{Waveform, WaveformFault};

/// Values of the phases: currents in A, voltages in V.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Phases {
    pub(crate) current_a: [f64; 3],
    pub(crate) voltage_v: [f64; 3],
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Waves {
    currents: [Wave; 3],
    voltages: [Wave; 3],
    transformers: Option<Transformers>,
    rate: u16,
    /// Begin of the fault in its episode.
    inception_s: Option<f64>,
    lasts_s: f64,
    faulted: PhaseSet,
    /// After how many samples without current the fault is gone, and the episode in which it is.
    dies_after_samples: Option<u64>,
    died_in: Option<u64>,
    /// Episode of the newest sample, and its time there.
    newest: (u64, f64),
    every_samples: Option<u64>,
}

/// One current transformer for each phase, in primary values.
#[derive(Clone, PartialEq, Debug)]
struct Transformers {
    new: CurrentTransformer,
    phases: [CurrentTransformer; 3],
    ratio: f64,
}

impl Waves {
    pub(crate) fn new(settings: &Waveform, rate: u16) -> Self {
        let fault = settings.fault.as_ref();
        let inception_s = fault.map(|fault| inception_s(fault, settings));
        let [mut currents, mut voltages] = [
            (settings.current, &settings.current_harmonics),
            (settings.voltage, &settings.voltage_harmonics),
        ]
        .map(|(phasor, harmonics)| three_phases(phasor, harmonics, settings.frequency_hz));
        if let (Some(fault), Some(begin_s)) = (fault, inception_s) {
            add_fault(&mut currents, &mut voltages, fault, settings.voltage, begin_s);
        }
        let transformers = settings.transformer.map(|transformer| {
            let new = CurrentTransformer::new(
                transformer.burden_ohm,
                transformer.saturation_v,
                settings.frequency_hz,
                transformer.remanence,
            );
            Transformers {
                phases: std::array::from_fn(|_| new.clone()),
                new,
                ratio: transformer.ratio,
            }
        });
        let every = fault.and_then(|fault| fault.every);
        let samples = |time: Duration| (time.as_secs_f64() * f64::from(rate)).round() as u64;
        Self {
            currents,
            voltages,
            transformers,
            rate,
            inception_s,
            lasts_s: fault
                .and_then(|fault| fault.lasts)
                .map_or(f64::INFINITY, |lasts| lasts.as_secs_f64()),
            faulted: fault.map_or(PhaseSet::NONE, |fault| PhaseSet::of(fault.phases)),
            dies_after_samples: fault.and_then(|fault| fault.dies_after).map(samples),
            died_in: None,
            newest: (0, 0.0),
            every_samples: every.map(samples),
        }
    }

    /// Values at a sample; samples are asked for in order, because a current transformer
    /// remembers.
    pub(crate) fn at(&mut self, sample: u64) -> Phases {
        let (episode, within) = self.place(sample);
        let time_s = within as f64 / f64::from(self.rate);
        self.newest = (episode, time_s);
        let is_over = self.died_in == Some(episode)
            || self.inception_s.is_some_and(|begin_s| time_s >= begin_s + self.lasts_s);
        let value = |wave: &Wave| if is_over { healthy(wave, time_s) } else { wave.value(time_s) };
        let mut phases = Phases {
            current_a: self.currents.each_ref().map(value),
            voltage_v: self.voltages.each_ref().map(value),
        };
        if let Some(transformers) = &mut self.transformers {
            if within == 0 && episode > 0 {
                transformers.phases = std::array::from_fn(|_| transformers.new.clone());
            }
            let step_s = 1.0 / f64::from(self.rate);
            for (transformer, current_a) in
                transformers.phases.iter_mut().zip(&mut phases.current_a)
            {
                let secondary_a = transformer.pass(*current_a / transformers.ratio, step_s);
                *current_a = secondary_a * transformers.ratio;
            }
        }
        phases
    }

    /// Phases of the fault; none without one.
    pub(crate) const fn faulted(&self) -> PhaseSet {
        self.faulted
    }

    /// Its phases have carried no current for so many samples, up to the newest: an arc is gone.
    pub(crate) fn dead_for(&mut self, samples: u64) {
        let (episode, time_s) = self.newest;
        let has_begun = self.inception_s.is_some_and(|begin_s| time_s >= begin_s);
        if has_begun && self.dies_after_samples.is_some_and(|enough| samples >= enough) {
            self.died_in = Some(episode);
        }
    }

    /// Voltages as they would be without a fault.
    pub(crate) fn healthy_voltages(&self, sample: u64) -> [f64; 3] {
        let (_, within) = self.place(sample);
        let time_s = within as f64 / f64::from(self.rate);
        self.voltages.each_ref().map(|wave| healthy(wave, time_s))
    }

    /// Which episode a sample belongs to, and its number within.
    pub(crate) fn place(&self, sample: u64) -> (u64, u64) {
        self.every_samples.map_or((0, sample), |every| (sample / every, sample % every))
    }

    /// When the fault of an episode begins, in seconds since sample 0.
    pub(crate) fn inception_s(&self, episode: u64) -> Option<f64> {
        let before = episode * self.every_samples.unwrap_or_default();
        self.inception_s.map(|within_s| before as f64 / f64::from(self.rate) + within_s)
    }
}

fn healthy(wave: &Wave, time_s: f64) -> f64 {
    Wave { fault: None, ..wave.clone() }.value(time_s)
}

/// Phase A and the two that lag it by thirds, with harmonics that a shift of time shifts too.
fn three_phases(phasor: Complex, harmonics: &[(u8, f64)], frequency_hz: f64) -> [Wave; 3] {
    [0.0, -120.0, 120.0].map(|shift_deg| {
        let harmonics = harmonics.iter().map(|(order, share)| {
            let shift_deg = shift_deg * f64::from(*order);
            (*order, phasor * Complex::polar_deg(*share, shift_deg))
        });
        Wave {
            frequency_hz,
            before: phasor * Complex::polar_deg(1.0, shift_deg),
            fault: None,
            harmonics: harmonics.collect(),
        }
    })
}

/// The first moment from `at` on at which the voltage of the first faulted phase is at its angle.
/// Angles are those of a sine, values those of a cosine: hence the quarter.
fn inception_s(fault: &WaveformFault, settings: &Waveform) -> f64 {
    let first = fault.phases.iter().position(|is_faulted| *is_faulted).unwrap_or(0);
    let phase_deg = [0.0, -120.0, 120.0][first];
    let at_s = fault.at.as_secs_f64();
    let now_deg = 360.0 * settings.frequency_hz * at_s + phase_deg + 90.0;
    // Rounding must not make a period of nothing.
    let ahead_deg = (fault.inception_deg - now_deg).rem_euclid(360.0);
    let ahead_deg = if ahead_deg > 360.0 - 1e-6 { 0.0 } else { ahead_deg };
    at_s + ahead_deg / 360.0 / settings.frequency_hz
}

/// Faults by their phases: three draw their own current, two draw the current of the voltage
/// between them, one draws its own through earth.
fn add_fault(
    currents: &mut [Wave; 3],
    voltages: &mut [Wave; 3],
    fault: &WaveformFault,
    voltage: Complex,
    begin_s: f64,
) {
    let angle = |phasor: Complex| Complex::polar_deg(1.0, phasor.angle_deg());
    let lag = Complex::polar_deg(fault.current_a, -fault.lag_deg);
    let turned = [0.0, -120.0, 120.0]
        .map(|shift_deg| Complex::polar_deg(1.0, voltage.angle_deg() + shift_deg));
    let steady: [Complex; 3] = match fault.phases {
        [true, true, false] => pair(angle(turned[0] - turned[1]) * lag, 0, 1),
        [false, true, true] => pair(angle(turned[1] - turned[2]) * lag, 1, 2),
        [true, false, true] => pair(angle(turned[2] - turned[0]) * lag, 2, 0),
        _ => turned.map(|turned| turned * lag),
    };
    for (phase, steady) in steady.into_iter().enumerate().filter(|(phase, _)| fault.phases[*phase])
    {
        let end_s = f64::INFINITY;
        let offset_tau_s = fault.tau.as_secs_f64();
        currents[phase].fault = Some(Fault { begin_s, end_s, steady, offset_tau_s });
        let steady = voltages[phase].before * Complex::new(fault.voltage_left, 0.0);
        voltages[phase].fault = Some(Fault { begin_s, end_s, steady, offset_tau_s: 0.0 });
    }
}

fn pair(current: Complex, out: usize, back: usize) -> [Complex; 3] {
    let mut phases = [Complex::ZERO; 3];
    phases[out] = current;
    phases[back] = current * Complex::new(-1.0, 0.0);
    phases
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    const RATE: u16 = 4800;

    fn settings(phases: [bool; 3], inception_deg: f64) -> Waveform {
        Waveform {
            frequency_hz: 50.0,
            voltage: Complex::polar_deg(60_000.0, 0.0),
            current: Complex::polar_deg(400.0, -30.0),
            current_harmonics: vec![(5, 0.03)],
            voltage_harmonics: vec![],
            fault: Some(WaveformFault {
                at: Duration::from_millis(200),
                every: Some(Duration::from_secs(1)),
                lasts: None,
                phases,
                current_a: 8000.0,
                lag_deg: 80.0,
                voltage_left: 0.1,
                inception_deg,
                tau: Duration::from_millis(40),
                dies_after: None,
            }),
            transformer: None,
        }
    }

    fn run(settings: &Waveform, samples: std::ops::Range<u64>) -> Vec<Phases> {
        let mut waves = Waves::new(settings, RATE);
        samples.map(|sample| waves.at(sample)).collect()
    }

    #[test]
    fn a_fault_begins_at_its_angle_and_comes_again_alike() {
        for inception_deg in [0.0, 90.0, -45.0] {
            let settings = settings([true; 3], inception_deg);
            let waves = Waves::new(&settings, RATE);
            let begin_s = waves.inception_s(0).unwrap();
            assert!((0.2..0.22 + 1e-9).contains(&begin_s), "{begin_s}");
            let angle = 2.0 * PI * 50.0 * begin_s + PI / 2.0;
            let expected = inception_deg.to_radians().sin();
            assert!((angle.sin() - expected).abs() < 1e-6, "{inception_deg}");
            assert!((waves.inception_s(3).unwrap() - begin_s - 3.0).abs() < 1e-9);
            let all = run(&settings, 0..2 * u64::from(RATE));
            let (first, second) = all.split_at(usize::from(RATE));
            assert_eq!(first, second);
        }
    }

    #[test]
    fn currents_do_not_jump_and_two_phases_share_one_current() {
        let at = |phases: [bool; 3]| run(&settings(phases, 0.0), 0..4800);
        let step = 2.0 * PI * 50.0 / f64::from(RATE) * 8000.0 * 2.0_f64.sqrt() * 1.2;
        for phases in at([true; 3]).windows(2).take(4000) {
            for phase in 0..3 {
                let [before, after] = [0, 1].map(|index: usize| phases[index].current_a[phase]);
                assert!((before - after).abs() < step, "{before} {after}");
            }
        }
        // Long after the begin the offset is gone and what one phase takes the other brings.
        let late = at([false, true, true])[4700];
        assert!((late.current_a[1] + late.current_a[2]).abs() < 10.0);
        assert!(late.current_a[0].abs() < 600.0);
    }

    #[test]
    fn a_fault_that_lasts_is_over_and_saturation_takes_current_away() {
        let mut short = settings([true, false, false], 0.0);
        short.fault.as_mut().unwrap().lasts = Some(Duration::from_millis(100));
        let peak =
            |all: &[Phases]| all.iter().map(|phases| phases.current_a[0].abs()).fold(0.0, f64::max);
        let all = run(&short, 0..4800);
        assert!(peak(&all[1000..1400]) > 8000.0 && peak(&all[1600..]) < 700.0);
        let ideal = run(&settings([true; 3], 0.0), 960..2000);
        let mut small = settings([true; 3], 0.0);
        small.transformer = Some(substation::settings::merging_unit::Transformer {
            ratio: 1000.0,
            burden_ohm: 4.0,
            saturation_v: 30.0,
            remanence: 0.0,
        });
        let saturated = run(&small, 960..2000);
        let area = |all: &[Phases]| all.iter().map(|phases| phases.current_a[0].abs()).sum::<f64>();
        assert!(area(&saturated) < 0.8 * area(&ideal));
    }
}
