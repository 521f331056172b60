//! Cases of the distance matrix: a line, its sources, a fault, what the transformers make of it, and what
//! a relay has to do. Each follows from its seed, so that one number names it.

use protection::{Complex, Degrees};
use random::Random;

use crate::line::{Fault, Impedance, Kind, Line, Sample, Source};
use crate::relay::{Fate, UnderTest};
use crate::transformer::{Cvt, Suppression};
use crate::wave::{NOMINAL_V, settings_of};

/// What a zone 1 has to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Duty {
    /// The fault is well inside: it must operate, in time.
    Operate,
    /// The fault is inside, near the end of the zone: it must operate.
    OperateLate,
    /// Inside by its place, but with a resistance that may take it out of the zone.
    MayOperate,
    /// Beyond the zone by more than 5 %.
    RestrainBeyond,
    /// The fault lies behind.
    RestrainBehind,
    /// There is no fault.
    RestrainLoad,
}

/// What is wrong with samples on their way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Trouble {
    None,
    /// One or two samples of one channel, from this number on, are this, in A or V.
    Outliers {
        at: usize,
        count: usize,
        channel: usize,
        value: f64,
    },
    /// So many of a thousand samples are lost, none two in a row.
    Lost {
        per_mille: u64,
        seed: u64,
    },
    /// From this number on, samples are so late, in s.
    Late {
        at: usize,
        by_s: f64,
    },
}

/// A case of the matrix, all of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    pub line: Line,
    pub fault: Option<Fault>,
    /// Source to zone impedance ratio of the source behind the relay.
    pub sir: f64,
    pub reach_ohm: f64,
    pub angle_deg: f64,
    pub quadrilateral: bool,
    pub cvt: Option<Suppression>,
    pub trouble: Trouble,
    pub duty: Duty,
    pub rate: u32,
}

/// When faults begin, in s, at the earliest.
const BEGIN_S: f64 = 0.2;
/// How long after it the relay is watched, in s.
const WATCHED_S: f64 = 0.15;

/// Which kinds of cases are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    pub cvt: bool,
    pub resistance: bool,
    pub harmonics: bool,
    pub off_nominal: bool,
    pub trouble: bool,
}

impl Case {
    /// The case of a seed.
    #[must_use]
    pub fn draw(seed: u64, choice: Choice) -> Self {
        let mut random = Random::new(seed);
        for _ in 0..3 {
            random.number();
        }
        let mut between = |from: f64, to: f64| from + (to - from) * random.share();
        let nominal_hz = if between(0.0, 1.0) < 0.7 { 50.0 } else { 60.0 };
        let frequency_hz = if choice.off_nominal {
            nominal_hz + between(-3.0, 3.0)
        } else {
            nominal_hz + between(-0.1, 0.1)
        };
        let rate = if between(0.0, 1.0) < 0.5 { 80.0 * nominal_hz } else { 4000.0 } as u32;
        let angle_deg = between(60.0, 88.0);
        let length_ohm = 2f64.powf(between(0.0, 6.0));
        let sir = 10f64.powf(between(-0.3, 1.3));
        let far_ratio = 10f64.powf(between(-0.7, 1.0));
        let reach_share = 0.8;
        let reach_ohm = reach_share * length_ohm;
        let positive = Complex::polar_deg(length_ohm, angle_deg);
        let zero_ratio = between(2.0, 4.0);
        let zero = Complex::polar_deg(length_ohm * zero_ratio, angle_deg - between(0.0, 8.0));
        let impedance = Impedance { positive, zero };
        let load_deg = between(-25.0, 25.0);
        let mut source = |ohm: f64, angle: f64| {
            let own = Complex::polar_deg(ohm, between(80.0, 88.0));
            let zero = Complex::polar_deg(ohm * between(0.5, 3.0), between(75.0, 87.0));
            let mut disturbing = Vec::new();
            if choice.harmonics {
                for _ in 0..(1.0 + between(0.0, 3.0)) as usize {
                    let order = if between(0.0, 1.0) < 0.5 {
                        between(2.0, 12.0).round()
                    } else {
                        between(1.5, 12.0)
                    };
                    let size = NOMINAL_V * between(0.0, 0.03);
                    disturbing
                        .push((nominal_hz * order, Complex::polar_deg(size, between(0.0, 360.0))));
                }
            }
            Source {
                voltage: Complex::polar_deg(NOMINAL_V * between(0.95, 1.05), angle),
                impedance: Impedance { positive: own, zero },
                disturbing,
            }
        };
        let near = source(sir * reach_ohm, 0.0);
        let far = source(far_ratio * length_ohm, load_deg);
        let line = Line { nominal_hz, frequency_hz, near, impedance, far };
        let kind = Kind::ALL[random.below(11) as usize];
        let mut between = |from: f64, to: f64| from + (to - from) * random.share();
        let (place, duty) = match between(0.0, 10.0) {
            x if x < 3.5 => (reach_share * between(0.0, 0.7), Duty::Operate),
            x if x < 4.5 => (reach_share * between(0.7, 0.95), Duty::OperateLate),
            x if x < 7.5 => (reach_share * between(1.05, 1.25), Duty::RestrainBeyond),
            x if x < 9.5 => (-between(0.0, 0.5), Duty::RestrainBehind),
            _ => (0.0, Duty::RestrainLoad),
        };
        let begin_s = BEGIN_S + between(0.0, 1.0) / frequency_hz;
        let resistance_ohm = if choice.resistance && kind.is_to_earth() {
            0.15 * length_ohm.min(20.0) * between(0.0, 1.0)
        } else {
            0.0
        };
        let fault = Fault { kind, place, begin_s, resistance_ohm, earth_ohm: 0.0 };
        let duty = match duty {
            Duty::Operate | Duty::OperateLate if resistance_ohm > 0.0 => Duty::MayOperate,
            duty => duty,
        };
        let cvt = choice.cvt.then(|| {
            if between(0.0, 1.0) < 0.5 { Suppression::Active } else { Suppression::Passive }
        });
        let quadrilateral = between(0.0, 1.0) < 0.5;
        let trouble = if choice.trouble {
            let at = (f64::from(rate) * between(0.15, 0.3)) as usize;
            match between(0.0, 3.0) {
                x if x < 1.0 => {
                    let channel = between(0.0, 6.0) as usize;
                    let most = if channel < 3 { 50_000.0 } else { 4.0 * NOMINAL_V };
                    let value = between(-most, most);
                    Trouble::Outliers { at, count: between(1.0, 3.0) as usize, channel, value }
                }
                x if x < 2.0 => Trouble::Lost { per_mille: 10, seed },
                _ => Trouble::Late { at, by_s: between(0.0, 0.02) },
            }
        } else {
            Trouble::None
        };
        Self {
            line,
            fault: (duty != Duty::RestrainLoad).then_some(fault),
            sir,
            reach_ohm,
            angle_deg,
            quadrilateral,
            cvt,
            trouble,
            duty,
            rate,
        }
    }

    /// Settings of the relay: zone 1 as set, and a directional overcurrent element that looks ahead.
    #[must_use]
    pub fn settings(&self) -> String {
        let k0 = (self.line.impedance.zero - self.line.impedance.positive)
            / (self.line.impedance.positive * 3.0);
        let shape = if self.quadrilateral {
            format!(
                "quadrilateral, resistance: {0:.3} ohm, earth_resistance: {0:.3} ohm",
                0.8 * self.reach_ohm
            )
        } else {
            "mho".to_owned()
        };
        let (hz, rate, reach, angle) =
            (self.line.nominal_hz, self.rate, self.reach_ohm, self.angle_deg);
        let (factor, factor_deg) = (k0.norm(), k0.angle_deg());
        let transformers = if self.cvt.is_some() { "capacitive" } else { "inductive" };
        let late = if let Trouble::Late { .. } = self.trouble { "20 ms" } else { "2 ms" };
        let keys = format!(", late_max: {late}, voltage_transformers: {transformers}");
        let zone = |name: &str, way: &str| {
            format!(
                "  {name}: {{function: distance, stream: s, shape: {shape}, reach: {reach:.4} ohm, \
                 angle: {angle:.3} deg, way: {way}, earth_factor: {factor:.4}, earth_factor_angle: \
                 {factor_deg:.3} deg, current_min: 30 A, healthy: 40 kV, delay: 0 s}}\n"
            )
        };
        let elements = "  Forward: {function: directional_overcurrent, stream: s, pick_up: 200 A, \
                        delay: 0 s, way: forward, characteristic: 45 deg, polarising_min: 1 kV}\n"
            .to_owned()
            + &zone("Z1", "forward")
            + &zone("ZR", "reverse");
        settings_of(&[("s", &keys)], hz, rate, &elements)
    }

    /// What the relay is given.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let count = ((BEGIN_S + 0.02 + WATCHED_S) * f64::from(self.rate)) as usize;
        let lead = if self.cvt.is_some() { (0.6 * f64::from(self.rate)) as usize } else { 0 };
        let mut line = self.line.clone();
        let mut fault = self.fault;
        if let Some(fault) = &mut fault {
            fault.begin_s += lead as f64 / f64::from(self.rate);
        }
        // Periods of the lead are whole ones only at nominal frequency: turn the sources back.
        let back = Complex::from_polar(
            1.0,
            -2.0 * std::f64::consts::PI * line.frequency_hz * lead as f64 / f64::from(self.rate),
        );
        line.near.voltage *= back;
        line.far.voltage *= back;
        let mut samples = line.samples(fault.as_ref(), self.rate.into(), count + lead);
        if let Some(suppression) = self.cvt {
            Cvt::transform(suppression, line.nominal_hz, self.rate.into(), &mut samples);
        }
        let mut samples = samples.split_off(lead);
        if let Trouble::Outliers { at, count, channel, value } = self.trouble {
            for sample in &mut samples[at..at + count] {
                match channel {
                    0..3 => sample.currents[channel] = value,
                    _ => sample.voltages[channel - 3] = value,
                }
            }
        }
        samples
    }

    /// What a relay does, and what of it is wrong.
    #[must_use]
    pub fn run(&self) -> Outcome {
        let relay = UnderTest::new(&self.settings(), self.rate);
        let samples = self.samples();
        let seen = match self.trouble {
            Trouble::Late { at, by_s } => {
                relay.run_with(&samples, |n| if n == at { Fate::Late(by_s) } else { Fate::Arrives })
            }
            Trouble::Lost { per_mille, seed } => {
                let mut random = Random::new(seed ^ 0x5eed);
                let mut was_lost = false;
                relay.run_with(&samples, move |_| {
                    was_lost = !was_lost && random.chance(per_mille);
                    if was_lost { Fate::Lost } else { Fate::Arrives }
                })
            }
            _ => relay.run(&samples),
        };
        let begin_s = self.fault.map_or(0.0, |fault| fault.begin_s);
        let after = |at: Option<f64>| at.map(|at_s| (at_s - begin_s) * self.line.frequency_hz);
        let [forward, zone, reverse] = [0, 1, 2].map(|element| after(seen[element].operated_s));
        let mut wrong = Vec::new();
        let behind = self.duty == Duty::RestrainBehind;
        match self.duty {
            Duty::Operate | Duty::OperateLate if zone.is_none() => {
                wrong.push("zone 1 does not operate");
            }
            Duty::RestrainBeyond if zone.is_some() => wrong.push("zone 1 overreaches"),
            Duty::RestrainBehind if zone.is_some() => {
                wrong.push("zone 1 operates on a fault behind");
            }
            Duty::RestrainLoad if zone.is_some() => wrong.push("zone 1 operates on load"),
            _ => {}
        }
        if zone.is_some_and(|periods| periods < 0.0) {
            wrong.push("zone 1 operates before the fault");
        }
        if behind && forward.is_some_and(|periods| periods > 0.0) {
            wrong.push("67 forward operates on a fault behind");
        }
        if !behind && reverse.is_some() {
            wrong.push("the reverse zone operates");
        }
        Outcome { zone_periods: zone, wrong }
    }
}

/// What a relay did.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Periods of the grid from the inception to the operation of zone 1.
    pub zone_periods: Option<f64>,
    pub wrong: Vec<&'static str>,
}
