//! The samples of one source at one rate, in order, as integers of a stream: 1 mA and 10 mV.
//!
//! Streams of one source share its generator and may be some samples apart, so the newest samples
//! are kept. A pole of a breaker that opens ends its current at the next zero, and the voltage of that
//! phase is healthy until it is closed again: voltage transformers are on the busbar.

use std::time::Duration;

use iec61850::SampleTime;
use iec61850::wire::{Quality, Sample};
use protection::PhaseSet;

use super::plant::{PhasorWaves, Phasors};
use super::playback::Playback;
use super::waves::{Phases, Waves};

/// Samples of all channels at one moment.
pub(crate) type Samples = [Sample; 8];

/// How many samples are kept: more than the longest phase at the fastest rate, and a frame.
const KEPT: usize = 512;
const CURRENT_BIT_A: f64 = 0.001;
const VOLTAGE_BIT_V: f64 = 0.01;

/// Where values come from.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "there are a handful of them")]
pub(crate) enum Values {
    Waves(Waves),
    Playback(Playback),
    /// They follow a simulated grid.
    Plant(PhasorWaves),
}

#[derive(Clone, Debug)]
pub(crate) struct Generator {
    values: Values,
    kept: Vec<Samples>,
    next: u64,
    episode: u64,
    /// The last current of each phase, to see its zero.
    last_a: [f64; 3],
    is_interrupted: [bool; 3],
    /// How many samples the phases of the fault carry no current.
    dead_samples: u64,
    /// The sample from which on the currents of open poles, those of the fault among them, are zero, in
    /// this episode.
    pub(crate) interrupted_at: Option<u64>,
}

impl Generator {
    pub(crate) fn new(values: Values) -> Self {
        Self {
            values,
            kept: vec![Samples::default(); KEPT],
            next: 0,
            episode: 0,
            last_a: [0.0; 3],
            is_interrupted: [false; 3],
            dead_samples: 0,
            interrupted_at: None,
        }
    }

    /// The samples with this number, which is among the newest or comes next; contacts of the poles
    /// `open` are apart now.
    ///
    /// # Panics
    /// When the sample is forgotten already.
    pub(crate) fn samples(&mut self, number: u64, open: PhaseSet) -> Samples {
        assert!(number + KEPT as u64 > self.next, "sample {number} of {}", self.next);
        while self.next <= number {
            self.kept[self.next as usize % KEPT] = self.make(self.next, open);
            self.next += 1;
        }
        self.kept[number as usize % KEPT]
    }

    /// What the samples from now on are made of, where they follow a simulated grid.
    pub(crate) const fn set_phasors(&mut self, phasors: Phasors) {
        if let Values::Plant(waves) = &mut self.values {
            waves.set(phasors);
        }
    }

    /// The present episode and when its fault began, once it has.
    pub(crate) fn fault_begun(&self, rate: u16) -> Option<(u64, SampleTime)> {
        let begin_s = match &self.values {
            Values::Waves(waves) => waves.inception_s(self.episode)?,
            Values::Playback(playback) => {
                playback.inception(self.episode)? as f64 / f64::from(rate)
            }
            // The simulated grid knows when it fails.
            Values::Plant(_) => return None,
        };
        let newest_s = self.next.checked_sub(1)? as f64 / f64::from(rate);
        let begin = SampleTime::ZERO.plus(Duration::from_secs_f64(begin_s));
        (newest_s >= begin_s).then_some((self.episode, begin))
    }

    /// When a record has been played once; nothing where values have no end.
    pub(crate) fn once(&self, rate: u16) -> Option<SampleTime> {
        match &self.values {
            Values::Playback(playback) => {
                Some(SampleTime::of_sample(playback.length(), rate.into()))
            }
            Values::Waves(_) | Values::Plant(_) => None,
        }
    }

    pub(crate) fn episode_at(&self, number: u64) -> u64 {
        match &self.values {
            Values::Waves(waves) => waves.place(number).0,
            Values::Playback(playback) => playback.place(number).0,
            Values::Plant(_) => 0,
        }
    }

    fn make(&mut self, number: u64, open: PhaseSet) -> Samples {
        let (phases, recorded, (episode, _)) = match &mut self.values {
            Values::Waves(waves) => (waves.at(number), None, waves.place(number)),
            Values::Playback(playback) => {
                let (phases, neutral) = playback.at(number);
                (phases, Some(neutral), playback.place(number))
            }
            // The grid itself ends the current when its breaker opens.
            Values::Plant(waves) => {
                let phases = waves.at(number);
                return self.encode(number, phases, None);
            }
        };
        if episode != self.episode {
            (self.episode, self.interrupted_at, self.dead_samples) = (episode, None, 0);
        }
        self.interrupt(number, open, &phases);
        self.last_a = phases.current_a;
        self.encode(number, phases, recorded)
    }

    /// Poles that are open interrupt at the next zero; those that conduct do so at once.
    fn interrupt(&mut self, number: u64, open: PhaseSet, phases: &Phases) {
        for phase in 0..3 {
            let is_zero = self.last_a[phase] * phases.current_a[phase] <= 0.0;
            self.is_interrupted[phase] = open.has(phase) && (self.is_interrupted[phase] || is_zero);
        }
        let interrupted = PhaseSet::of(self.is_interrupted);
        let faulted = match &self.values {
            Values::Waves(waves) => waves.faulted(),
            Values::Playback(_) | Values::Plant(_) => PhaseSet::ALL,
        };
        if open.is_empty() || (interrupted | open | faulted) != interrupted {
            self.dead_samples = 0;
            return;
        }
        self.interrupted_at.get_or_insert(number);
        self.dead_samples += 1;
        if let Values::Waves(waves) = &mut self.values {
            waves.dead_for(self.dead_samples);
        }
    }

    fn encode(&self, number: u64, mut phases: Phases, recorded: Option<[f64; 2]>) -> Samples {
        let is_touched = self.is_interrupted.contains(&true);
        if is_touched {
            let healthy = match &self.values {
                Values::Waves(waves) => waves.healthy_voltages(number),
                Values::Playback(_) | Values::Plant(_) => phases.voltage_v,
            };
            for phase in (0..3).filter(|phase| self.is_interrupted[*phase]) {
                phases.current_a[phase] = 0.0;
                phases.voltage_v[phase] = healthy[phase];
            }
        }
        let sums = [phases.current_a.iter().sum(), phases.voltage_v.iter().sum()];
        let (neutral, quality) = match recorded {
            Some(neutral) if !is_touched => (neutral, Quality::GOOD),
            _ => (sums, Quality::DERIVED),
        };
        let sample =
            |value: f64, bit: f64, quality| Sample { value: (value / bit).round() as i32, quality };
        let [ia, ib, ic] =
            phases.current_a.map(|value| sample(value, CURRENT_BIT_A, Quality::GOOD));
        let [ua, ub, uc] =
            phases.voltage_v.map(|value| sample(value, VOLTAGE_BIT_V, Quality::GOOD));
        let neutral_a = sample(neutral[0], CURRENT_BIT_A, quality);
        let neutral_v = sample(neutral[1], VOLTAGE_BIT_V, quality);
        [ia, ib, ic, neutral_a, ua, ub, uc, neutral_v]
    }
}

#[cfg(test)]
mod tests {
    use substation::settings::merging_unit::{self, Source};

    use super::*;

    const RATE: u16 = 4800;

    /// A fault at 0.2 s of each second.
    fn unit() -> merging_unit::MergingUnit {
        let text = "
merging_unit: test
frequency: 50 Hz
sources:
  bay:
    kind: waveform
    voltage: 60 kV
    current: 400 A
    fault: {at: 200 ms, every: 1 s, phases: abc, current: 8 kA, voltage_left: 10 %, tau: 20 ms}
streams:
  bay: {sv_id: MU01, destination: 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4800 Hz, source: bay}
";
        merging_unit::read("unit.yaml", text).unwrap()
    }

    fn generator() -> Generator {
        let unit = unit();
        let Source::Waveform(waveform) = &unit.sources["bay"] else { unreachable!("it is one") };
        Generator::new(Values::Waves(Waves::new(waveform, RATE)))
    }

    fn peak_a(generator: &mut Generator, samples: std::ops::Range<u64>, is_open: bool) -> f64 {
        let open = if is_open { PhaseSet::ALL } else { PhaseSet::NONE };
        samples
            .map(|number| f64::from(generator.samples(number, open)[0].value) * 0.001)
            .fold(0.0, |peak, value| f64::max(peak, value.abs()))
    }

    #[test]
    fn a_breaker_ends_the_fault_at_zeros_and_closes_for_the_next() {
        let mut generator = generator();
        assert!(peak_a(&mut generator, 0..960, false) < 600.0);
        assert_eq!(generator.fault_begun(RATE), None);
        assert!(peak_a(&mut generator, 960..1300, false) > 8000.0);
        let (episode, begin) = generator.fault_begun(RATE).unwrap();
        assert!(episode == 0 && (200_000_000..220_000_000).contains(&begin.ns()));
        // It is open from here on; within a period all currents were zero once.
        let last = generator.samples(1299, PhaseSet::ALL)[0].value;
        let next = generator.samples(1300, PhaseSet::ALL)[0].value;
        assert!(last.signum() != next.signum() || next != 0, "it does not chop");
        peak_a(&mut generator, 1301..1400, true);
        assert!(generator.interrupted_at.is_some_and(|at| (1300..1400).contains(&at)));
        assert_eq!(peak_a(&mut generator, 1400..4800, true), 0.0);
        let healthy =
            (4700..4800).map(|n| generator.samples(n, PhaseSet::ALL)[4].value).max().unwrap();
        assert!(f64::from(healthy) * 0.01 > 80_000.0);
        assert!(peak_a(&mut generator, 4800..5700, false) > 500.0);
        assert!(generator.interrupted_at.is_none() && generator.episode_at(5699) == 1);
        assert!(peak_a(&mut generator, 5700..6100, false) > 8000.0);
    }

    #[test]
    fn streams_that_are_some_samples_apart_get_the_same_samples() {
        let mut generator = generator();
        let ahead: Vec<Samples> = (0..300).map(|n| generator.samples(n, PhaseSet::NONE)).collect();
        let behind: Vec<Samples> = (0..300).map(|n| generator.samples(n, PhaseSet::ALL)).collect();
        assert_eq!(ahead, behind);
        // Currents and voltages add up to what is derived, to a bit each.
        for samples in ahead {
            let sum: i32 = samples[..3].iter().map(|sample| sample.value).sum();
            assert!((sum - samples[3].value).abs() <= 2 && samples[3].quality.is_derived());
        }
    }
    #[test]
    fn an_arc_dies_while_its_phase_carries_no_current_and_other_poles_carry_load() {
        let peaks = |dies_after: &str| {
            let Source::Waveform(mut waveform) = unit().sources["bay"].clone() else {
                unreachable!("it is one")
            };
            let fault = waveform.fault.as_mut().expect("it has one");
            (fault.phases, fault.every) = ([true, false, false], None);
            fault.dies_after = settings::units::duration(dies_after).ok();
            let mut generator = Generator::new(Values::Waves(Waves::new(&waveform, RATE)));
            let mut peak = |samples: std::ops::Range<u64>, open| {
                let all = samples.map(|number| generator.samples(number, open));
                all.fold([0.0; 3], |peaks, samples| {
                    [0, 1, 2].map(|phase| {
                        f64::max(peaks[phase], f64::from(samples[phase].value.abs()) * 0.001)
                    })
                })
            };
            let a = PhaseSet::phase(0);
            let struck = peak(0..1400, PhaseSet::NONE);
            peak(1400..1500, a);
            let open = peak(1500..2500, a);
            let closed = peak(2500..3500, PhaseSet::NONE);
            [struck, open, closed]
        };
        let is_load = |peak_a: f64| (550.0..580.0).contains(&peak_a);
        // It is open for 0.2 s.
        for (dies_after, is_gone) in [("150 ms", true), ("300 ms", false)] {
            let [struck, open, closed] = peaks(dies_after);
            assert!(struck[0] > 8000.0 && open[0] == 0.0, "{struck:?} {open:?}");
            assert!(is_load(open[1]) && is_load(open[2]), "{open:?}");
            assert_eq!(is_load(closed[0]), is_gone, "{dies_after}: {closed:?}");
        }
    }
}
