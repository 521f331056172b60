//! Elements on waves, as a relay runs them: samples through the supervision of their stream into
//! windows, phasors every millisecond, decisions.

use std::time::Duration;

use iec61850::SampleTime;
use iec61850::stream::{self, State, Supervision, Verdict};
use iec61850::wire::{Quality, Synchronisation};
use protection::differential::{self, Differential, Side};
use protection::direction::Way;
use protection::distance::{self, Distance, Shape};
use protection::overcurrent::{self, Current, Overcurrent, Timing};
use protection::recent::Transformers;
use protection::waveform::{CurrentTransformer, Fault, Wave, inrush};
use protection::{Complex, Degrees, Measured, Measuring};

use crate::samples::{AMPERE, RATE, VOLT, channel, framed, seconds};

/// Samples between two runs of the task.
const TASK: u32 = 4;
/// When faults begin, in samples.
const BEGIN: u32 = 800;

/// A merging unit and a subscriber.
struct Line {
    supervision: Supervision,
    measuring: Measuring,
}

/// How a sample arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Good,
    Lost,
    Invalid,
    Unsynchronised,
}

impl Line {
    fn new() -> Self {
        let settings = stream::Settings {
            rate: RATE as u16,
            channels: 8,
            conf_rev: 1,
            late_max: Duration::from_millis(2),
            recovery_samples: 100,
            simulated: false,
            takes_tests: false,
        };
        Self {
            supervision: Supervision::new(settings),
            measuring: Measuring::new((RATE, 50.0), Transformers::Capacitive, (1000.0, 20.0)),
        }
    }

    /// A sample in A and V.
    fn take(&mut self, number: u32, sample: &[f64; 8], fate: Fate) {
        let quality = if fate == Fate::Invalid { Quality::INVALID } else { Quality::GOOD };
        let channels: [[u8; 8]; 8] = std::array::from_fn(|place| {
            let unit = if place < 4 { AMPERE } else { VOLT };
            channel(sample[place] * unit, quality)
        });
        if fate == Fate::Lost {
            return;
        }
        let is_synchronised = fate != Fate::Unsynchronised;
        let clock = if is_synchronised { Synchronisation::Global } else { Synchronisation::None };
        let supervision = &mut self.supervision;
        match framed(number, clock, &channels, |header, asdu| {
            supervision.receive(at(number), header, asdu)
        }) {
            Verdict::Use { held } => self.measuring.bridge(held, sample),
            Verdict::Begin => self.measuring.clear(),
            Verdict::Drop => return,
        }
        self.measuring.push(sample);
    }

    /// What elements may look at now.
    fn measure(&mut self, needs_synchronisation: bool) -> Option<Measured> {
        let usable = (0..8).all(|channel| self.supervision.is_usable(channel));
        let synchronised = !needs_synchronisation || self.supervision.is_synchronised();
        (usable && synchronised).then(|| self.measuring.measure()).flatten()
    }
}

fn at(number: u32) -> SampleTime {
    SampleTime::of_sample(number.into(), RATE)
}

fn wave(before: Complex, steady: Option<Complex>, offset_tau_s: f64) -> Wave {
    let begin_s = seconds(BEGIN);
    let fault = steady.map(|steady| Fault { begin_s, end_s: f64::INFINITY, steady, offset_tau_s });
    Wave { frequency_hz: 50.0, before, fault, harmonics: vec![(5, before * 0.01)] }
}

/// A three-phase fault behind `ohm` times the impedance of the line, or only load without one.
fn feeder(place: Option<f64>, angle_deg: f64) -> impl Fn(u32) -> [f64; 8] {
    let (source, line) = (Complex::new(0.5, 5.0), Complex::new(1.0, 10.0));
    let waves: Vec<(Wave, Wave)> = [0.0, -120.0, 120.0]
        .into_iter()
        .map(|turn_deg| {
            let voltage = Complex::polar_deg(63_500.0, turn_deg + angle_deg);
            let load = voltage / Complex::new(150.0, 40.0);
            let fault = place.map(|place| voltage / (source + line * place));
            let at_bus = place.zip(fault).map(|(place, current)| current * line * place);
            (wave(load, fault, 0.04), wave(voltage, at_bus, 0.0))
        })
        .collect();
    move |number| {
        let mut sample = [0.0; 8];
        for (phase, (current, voltage)) in waves.iter().enumerate() {
            sample[phase] = current.value(seconds(number));
            sample[4 + phase] = voltage.value(seconds(number));
        }
        sample
    }
}

fn largest(measured: &Measured) -> Current {
    let magnitude =
        |phasors: [Complex; 3]| phasors.map(Complex::norm).into_iter().fold(0.0, f64::max);
    Current {
        fundamental_a: magnitude(measured.bay.currents),
        second_harmonic_a: magnitude(measured.bay.second_harmonics),
    }
}

/// What 50 and 21 say of a feeder: milliseconds from the fault to each operation.
fn run(wave: impl Fn(u32) -> [f64; 8], fate: impl Fn(u32) -> Fate) -> [Option<f64>; 2] {
    let timing = Timing::Definite(Duration::ZERO);
    let settings = overcurrent::Settings { pick_up_a: 3000.0, timing, second_harmonic_max: None };
    let mut overcurrent = Overcurrent::new(settings);
    let mut distance = Distance::new(distance::Settings {
        shape: Shape::Mho,
        reach: Complex::new(1.0, 10.0) * 0.8,
        way: Way::Forward,
        earth_factor: Complex::new(0.7, 0.0),
        current_a_min: 600.0,
        healthy_v: 40_000.0,
        delay: Duration::ZERO,
        load: None,
    });
    let (mut line, mut operated) = (Line::new(), [None; 2]);
    for number in 0..BEGIN + 800 {
        line.take(number, &wave(number), fate(number));
        if number % TASK != 0 {
            continue;
        }
        line.supervision.poll(at(number));
        let measured = line.measure(false);
        let decisions = [
            overcurrent.update(at(number), measured.as_ref().map(largest)),
            distance.update(at(number), measured.as_ref().map(|seen| seen.recent.as_ref()), false),
        ];
        for (operated, decision) in operated.iter_mut().zip(decisions) {
            if decision.operate && operated.is_none() {
                assert!(number >= BEGIN, "before the fault, at {number}");
                *operated = Some((seconds(number) - seconds(BEGIN)) * 1e3);
            }
        }
    }
    operated
}

#[test]
fn a_fault_is_seen_within_a_period_whatever_its_moment() {
    for angle_deg in [0.0, 45.0, 90.0, 135.0] {
        let [overcurrent, distance] = run(feeder(Some(0.5), angle_deg), |_| Fate::Good);
        for operated in [overcurrent, distance] {
            let operated_ms = operated.expect("a fault in the zone");
            assert!((2.0..=28.0).contains(&operated_ms), "{operated_ms} ms at {angle_deg} degrees");
        }
    }
}

#[test]
fn load_and_faults_beyond_operate_nothing() {
    assert_eq!(run(feeder(None, 0.0), |_| Fate::Good), [None, None]);
    for angle_deg in [0.0, 45.0, 90.0] {
        // 5 % beyond the reach of the zone, with the offset of the worst moment.
        assert_eq!(run(feeder(Some(0.85), angle_deg), |_| Fate::Good)[1], None, "{angle_deg}");
    }
}

#[test]
fn lost_samples_neither_operate_nor_hide_a_fault() {
    let good = run(feeder(Some(0.5), 30.0), |_| Fate::Good);
    for first in [BEGIN - 40, BEGIN - 1, BEGIN + 3, BEGIN + 20] {
        // A single one is held and costs next to nothing.
        let one = |number| if number == first { Fate::Lost } else { Fate::Good };
        let operated = run(feeder(Some(0.5), 30.0), one);
        for (operated, good) in operated.iter().zip(&good) {
            let (operated, good) = (operated.expect("seen"), good.expect("seen"));
            assert!((operated - good).abs() <= 5.0, "{operated} ms, not {good} ms, at {first}");
        }
        assert_eq!(run(feeder(None, 30.0), one), [None, None]);
        // Two make the stream invalid for as long as the filter looks back, 25 ms.
        let two =
            |number| if (first..first + 2).contains(&number) { Fate::Lost } else { Fate::Good };
        let operated = run(feeder(Some(0.5), 30.0), two);
        assert!(
            operated.iter().all(|operated| operated.is_some_and(|ms| ms <= 60.0)),
            "{operated:?}"
        );
        assert_eq!(run(feeder(None, 30.0), two), [None, None]);
    }
}

#[test]
fn an_invalid_stream_blocks() {
    let invalid = |number| if number > BEGIN - 8 { Fate::Invalid } else { Fate::Good };
    assert_eq!(run(feeder(Some(0.5), 0.0), invalid), [None, None]);
}

fn differential_element(second_harmonic_max: f64) -> Differential {
    Differential::new(differential::Settings {
        pick_up: 0.3,
        slope: 0.3,
        knee: 3.0,
        slope_beyond: 0.7,
        unrestrained: 12.0,
        second_harmonic_max,
        fifth_harmonic_max: 20.0 * second_harmonic_max,
        delay: Duration::ZERO,
    })
}

/// Whether a differential element over two streams operates; currents in A, rated 100 A.
fn differs(
    second_harmonic_max: f64,
    currents: impl Fn(u32) -> [[f64; 3]; 2],
    fate: impl Fn(u32) -> Fate,
) -> bool {
    let mut lines = [Line::new(), Line::new()];
    let mut element = differential_element(second_harmonic_max);
    (0..BEGIN + 1200).any(|number| {
        for (line, [a, b, c]) in lines.iter_mut().zip(currents(number)) {
            let volts: [f64; 3] = [0.0, -120.0, 120.0].map(|turn_deg| {
                let angle =
                    2.0 * std::f64::consts::PI * 50.0 * seconds(number) + f64::to_radians(turn_deg);
                89_800.0 * angle.cos()
            });
            line.take(number, &[a, b, c, 0.0, volts[0], volts[1], volts[2], 0.0], fate(number));
        }
        let measured = lines.each_mut().map(|line| line.measure(true));
        let sides: Option<Vec<Side>> =
            measured.iter().map(|measured| measured.map(|m| m.side().referred(0, 100.0))).collect();
        number % TASK == 0 && element.update(at(number), sides.as_deref()).operate
    })
}

/// Currents of three phases, in A, from 100 A of load to `fault_a` with its offset.
fn through(fault_a: f64) -> [Wave; 3] {
    [0.0, -120.0, 120.0].map(|turn_deg| {
        let steady = Complex::polar_deg(fault_a, turn_deg - 80.0);
        wave(Complex::polar_deg(100.0, turn_deg), Some(steady), 0.06)
    })
}

#[test]
fn a_transformer_that_saturates_at_a_fault_outside_does_not_trip_and_a_fault_inside_does() {
    for (fault_a, saturation_v) in
        [(1000.0, 400.0), (1000.0, 60.0), (800.0, 45.0), (600.0, 40.0), (350.0, 20.0)]
    {
        let waves = through(fault_a);
        // Without harmonics to block, as on a line.
        // All saturation voltages are above what the steady fault needs, offset aside.
        // Ratio 100 to 5, 1 ohm of burden: one side saturates, the other does not.
        let steps: Vec<[[f64; 3]; 2]> = {
            let mut transformers =
                [(); 3].map(|()| CurrentTransformer::new(1.0, saturation_v, 50.0, 0.0));
            let mut step = |number| {
                let ideal = waves.each_ref().map(|wave| wave.value(seconds(number)));
                let passed = std::array::from_fn(|phase| {
                    -20.0 * transformers[phase].pass(ideal[phase] / 20.0, 1.0 / f64::from(RATE))
                });
                [ideal, passed]
            };
            (0..BEGIN + 1200).map(&mut step).collect()
        };
        assert!(
            !differs(f64::INFINITY, |number| steps[number as usize], |_| Fate::Good),
            "{fault_a} A, {saturation_v} V"
        );
    }
    let waves = through(1000.0);
    let inside = |number| {
        let ideal = waves.each_ref().map(|wave| wave.value(seconds(number)));
        [ideal, ideal.map(|value| if number < BEGIN { -value } else { 0.6 * value })]
    };
    assert!(differs(0.15, inside, |_| Fate::Good));
    assert!(!differs(0.15, inside, |number| if number < BEGIN - 8 {
        Fate::Good
    } else {
        Fate::Unsynchronised
    }));
}

#[test]
fn switching_a_transformer_on_does_not_trip() {
    for angle_rad in [0.0, 0.5, 1.0, 2.0, 3.0] {
        let currents = |number| {
            let time_s = seconds(number) - seconds(BEGIN);
            let phase = |turn: f64| inrush(time_s, 50.0, 900.0, angle_rad + turn * 2.0944, 0.4);
            [[phase(0.0), phase(-1.0), phase(1.0)], [0.0; 3]]
        };
        assert!(!differs(0.15, currents, |_| Fate::Good), "{angle_rad}");
    }
}

#[test]
fn a_stream_says_when_it_can_be_used() {
    let mut line = Line::new();
    let wave = feeder(None, 0.0);
    (0..300).for_each(|number| line.take(number, &wave(number), Fate::Good));
    assert_eq!(line.supervision.state(), State::Valid);
    assert!(line.measure(true).is_some());
}
