//! From the samples of a stream to what elements look at: windows, filters that follow the
//! frequency, phasors.
//!
//! There are two kinds. Phasors of a whole period, currents without their decaying offset, are for what
//! is compared with a limit. Phasors since the last inception, with the voltage of before it, are for
//! distance and direction; see [`super::recent`].

use super::admittance::{HARMONIC_MAX, Residual};
use super::complex::Complex;
use super::differential::Side;
use super::direction::Bay;
use super::filter::{FREQUENCY_HZ_MAX, FREQUENCY_HZ_MIN, Filter, Offset, Window};
use super::frequency::FrequencyTracker;
use super::inception::Inception;
use super::memory::Memory;
use super::plausible::Plausible;
use super::recent::{Before, Fit, Recent, SPAN_MIN, STEADY_PERIODS, Transformers};
use super::symmetrical::Sequence;

/// Channels of 9-2LE: Ia, Ib, Ic, In, Ua, Ub, Uc, Un.
pub const CHANNELS: usize = 8;
/// Change of frequency that new filters are worth: 0.005 Hz are 0.01 % of error.
const STEP_HZ: f64 = 0.005;

/// Share of the largest voltage of late below which the frequency is not looked at: what is induced on
/// a dead line has any.
const VOLTAGE_SHARE_MIN: f64 = 0.2;
/// Periods for which a voltage is there until it may have a frequency that is not known.
const ALIVE_PERIODS: f64 = 1.5;
/// Periods for which a frequency is sought: what is induced on a dead line may ring below all of them.
const SEEKING_PERIODS: f64 = 25.0;
/// Periods after an inception in which frequency holds.
const HOLD_PERIODS: f64 = 2.5;
/// Phase currents, the current of the star point and phase voltages among the channels.
const CURRENTS: usize = 0;
const NEUTRAL: usize = 3;
const VOLTAGES: usize = 4;

/// Measures the channels of one stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Measuring {
    rate: u32,
    nominal_hz: f64,
    transformers: Transformers,
    channels: [Plausible; CHANNELS],
    windows: [Window; CHANNELS],
    /// Number of the newest sample in the windows.
    number: u64,
    inception: Inception,
    memory: Memory,
    tracker: FrequencyTracker,
    voltage_v_min: f64,
    /// Positive sequence voltage at the last measurement, in V.
    voltage_v: f64,
    /// Number of the newest sample at which it was too low to have a frequency.
    dead_until: u64,
    /// Number of the newest sample at which no frequency was sought.
    seeking_after: u64,
    /// The largest positive sequence voltage since the start, in V.
    voltage_v_max: f64,
    /// The frequency that the filters are for.
    frequency_hz: f64,
    fit: Fit,
    fundamental: Filter,
    without_offset: Filter,
    second: Filter,
    fifth: Filter,
    /// All harmonics of residual quantities, for the frequency below.
    residual: [Filter; HARMONIC_MAX],
    residual_hz: f64,
}

/// Phasors of a stream at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Currents in A and voltages in V.
    pub bay: Bay,
    /// Fifth harmonics of the currents.
    pub fifth_harmonics: [Complex; 3],
    /// Phasors since the last inception; `None` so shortly after it that there are none.
    pub recent: Option<Recent>,
    /// The frequency, if it was measured now and not held.
    pub frequency_hz: Option<f64>,
}

impl Measured {
    /// The currents as one side of a differential element, still in A.
    #[must_use]
    pub const fn side(&self) -> Side {
        Side {
            fundamental: self.bay.currents,
            second: self.bay.second_harmonics,
            fifth: self.fifth_harmonics,
        }
    }
}

impl Measuring {
    /// Nothing is measured yet; the frequency is believed above `voltage_v_min`, and changes of
    /// currents below `current_a_min` are noise.
    #[must_use]
    pub fn new(
        (rate, nominal_hz): (u32, f64),
        transformers: Transformers,
        (voltage_v_min, current_a_min): (f64, f64),
    ) -> Self {
        let filter = |harmonic, offset| Filter::new(rate, nominal_hz, harmonic, offset);
        let samples_max = (f64::from(rate) / FREQUENCY_HZ_MIN) as usize + 4;
        Self {
            rate,
            nominal_hz,
            transformers,
            channels: [Plausible::new(rate, nominal_hz); CHANNELS],
            windows: std::array::from_fn(|_| Window::new(rate)),
            number: 0,
            inception: Inception::new(current_a_min, voltage_v_min),
            memory: Memory::new(rate),
            tracker: FrequencyTracker::new(rate, nominal_hz, voltage_v_min),
            voltage_v_min,
            voltage_v: 0.0,
            dead_until: 0,
            seeking_after: 0,
            voltage_v_max: 0.0,
            frequency_hz: nominal_hz,
            fit: Fit::new(rate, nominal_hz, samples_max),
            fundamental: filter(1, Offset::Kept),
            without_offset: filter(1, Offset::Removed),
            second: filter(2, Offset::Removed),
            fifth: filter(5, Offset::Removed),
            residual: std::array::from_fn(|index| filter(index as u8 + 1, Offset::Kept)),
            residual_hz: nominal_hz,
        }
    }

    /// Takes the next sample in, in A and V.
    #[inline]
    pub fn push(&mut self, sample: &[f64; CHANNELS]) {
        let mut is_taken = false;
        for ((channel, window), value) in
            self.channels.iter_mut().zip(&mut self.windows).zip(sample)
        {
            if let Some(value) = channel.push(*value) {
                window.push(value);
                is_taken = true;
            }
        }
        if is_taken {
            self.number += 1;
            self.look_for_inception();
        }
    }

    /// Takes samples in between the last one and the next, which is still to come: on the line between
    /// both.
    pub fn bridge(&mut self, missing: u8, next: &[f64; CHANNELS]) {
        let last: [f64; CHANNELS] = std::array::from_fn(|index| self.channels[index].newest());
        for place in 1..=missing {
            let share = f64::from(place) / f64::from(missing + 1);
            let between: [f64; CHANNELS] =
                std::array::from_fn(|index| last[index] + (next[index] - last[index]) * share);
            self.push(&between);
        }
    }

    /// Forgets all samples, not the frequency.
    pub fn clear(&mut self) {
        self.windows.iter_mut().for_each(Window::clear);
        self.channels.iter_mut().for_each(Plausible::clear);
        self.inception.restart(self.number + 1);
        self.memory = Memory::new(self.rate);
    }

    fn look_for_inception(&mut self) {
        let peaks = |first: usize| [0, 1, 2].map(|phase| self.channels[first + phase].peak());
        let windows = [&self.windows[CURRENTS..3], &self.windows[VOLTAGES..7]];
        let period_samples = self.fundamental.period_samples();
        let peaks = [peaks(CURRENTS), peaks(VOLTAGES)];
        // A voltage of another frequency than is known yet is not what it was a period ago either.
        // One that has just come back is: nothing is what it was.
        let alive_samples = (self.number - self.dead_until) as f64;
        let wants = !self.tracker.is_found() && alive_samples >= ALIVE_PERIODS * period_samples;
        if !wants {
            self.seeking_after = self.number;
        }
        let sought_samples = (self.number - self.seeking_after) as f64;
        let is_seeking = wants && sought_samples < SEEKING_PERIODS * period_samples;
        if !is_seeking && self.inception.update(self.number, period_samples, windows, peaks) {
            self.memory.keep(self.inception.begin(), self.frequency_hz);
        }
    }

    /// Measures at the newest sample; `None` until there are enough.
    pub fn measure(&mut self) -> Option<Measured> {
        let voltages = self.three(&self.fundamental, VOLTAGES, 0)?;
        self.follow(&voltages);
        let bay = Bay {
            currents: self.three(&self.without_offset, CURRENTS, 0)?,
            second_harmonics: self.three(&self.second, CURRENTS, 0)?,
            voltages,
            frequency_hz: self.frequency_hz,
        };
        let fifth_harmonics = self.three(&self.fifth, CURRENTS, 0)?;
        let recent = self.recent(&bay);
        let frequency_hz = self.tracker.measured_hz();
        Some(Measured { bay, fifth_harmonics, recent, frequency_hz })
    }

    /// What was measured since the last inception, if it is long enough ago.
    fn recent(&mut self, bay: &Bay) -> Option<Recent> {
        let period_samples = self.fundamental.period_samples();
        let since = self.number + 1 - self.inception.begin();
        let age = since as f64 / period_samples;
        let count = (period_samples.round() as usize).min(since.saturating_sub(1) as usize);
        if age < SPAN_MIN {
            return None;
        }
        // Long after it everything is steady, and was measured already.
        let (mut currents, mut slopes) = (bay.currents, bay.currents);
        let (mut voltages, mut voltage_slopes) = (bay.voltages, bay.voltages);
        let mut rests_v = [0.0; 3];
        for phase in (0..3).filter(|_| age < STEADY_PERIODS) {
            let (current, voltage) =
                (&self.windows[CURRENTS + phase], &self.windows[VOLTAGES + phase]);
            currents[phase] = self.fit.of(current, count)?.phasor;
            slopes[phase] = self.fit.of_differences(current, count)?;
            let fitted = self.fit.of(voltage, count)?;
            voltages[phase] = fitted.phasor;
            rests_v[phase] = match self.transformers {
                Transformers::Capacitive => fitted.rest,
                Transformers::Inductive => fitted.rest_without_mean,
            };
            voltage_slopes[phase] = self.fit.of_differences(voltage, count)?;
        }
        if age >= 1.0 {
            let voltage = Some(Sequence::of(voltages).positive);
            self.memory.record(self.number, Before { voltage, currents: slopes });
        }
        Some(Recent {
            currents,
            slopes,
            voltages,
            voltage_slopes,
            rests_v,
            transformers: self.transformers,
            span: count as f64 / period_samples,
            age,
            before: self.memory.recall(self.number),
            frequency_ratio: self.frequency_hz / self.nominal_hz,
        })
    }

    /// The current of the fourth channel, in A: that of a star point, where one is measured.
    #[must_use]
    pub fn neutral(&self) -> Option<Complex> {
        self.without_offset.phasor(&self.windows[NEUTRAL])
    }

    /// Residual current and voltage with their harmonics, for earth faults.
    pub fn residual(&mut self) -> Option<Residual> {
        self.tune_residual();
        let mut residual = Residual {
            current: [Complex::ZERO; HARMONIC_MAX],
            voltage: [Complex::ZERO; HARMONIC_MAX],
        };
        for (index, filter) in self.residual.iter().enumerate() {
            residual.current[index] = self.three(filter, CURRENTS, 0)?.into_iter().sum();
            let sum: Complex = self.three(filter, VOLTAGES, 0)?.into_iter().sum();
            residual.voltage[index] = sum * (1.0 / 3.0);
        }
        Some(residual)
    }

    /// Tracks the frequency, and tunes the filters when it has changed.
    fn follow(&mut self, voltages: &[Complex; 3]) {
        let now = Sequence::of(*voltages).positive;
        self.voltage_v = now.norm();
        if self.voltage_v < self.voltage_v_min {
            self.dead_until = self.number;
        }
        let period_samples = self.fundamental.period_samples();
        let back = period_samples.round() as usize;
        let before = self.three(&self.fundamental, VOLTAGES, back);
        let before = before.map_or(Complex::ZERO, |before| Sequence::of(before).positive);
        let since = (self.number + 1 - self.inception.begin()) as f64 / period_samples;
        if since < HOLD_PERIODS {
            return self.tracker.hold(now, before, back);
        }
        self.voltage_v_max = self.voltage_v_max.max(self.voltage_v);
        let voltage_v_min = self.voltage_v_min.max(VOLTAGE_SHARE_MIN * self.voltage_v_max);
        self.tracker.set_magnitude_min(voltage_v_min);
        self.tracker.update(now, before, back);
        let frequency_hz = self.tracker.frequency_hz().clamp(FREQUENCY_HZ_MIN, FREQUENCY_HZ_MAX);
        if (frequency_hz - self.frequency_hz).abs() > STEP_HZ {
            self.frequency_hz = frequency_hz;
            self.fundamental.tune(self.rate, frequency_hz, 1, Offset::Kept);
            self.without_offset.tune(self.rate, frequency_hz, 1, Offset::Removed);
            self.second.tune(self.rate, frequency_hz, 2, Offset::Removed);
            self.fifth.tune(self.rate, frequency_hz, 5, Offset::Removed);
            self.fit.tune(self.rate, frequency_hz);
        }
    }

    /// Tunes the filters of residual quantities, where anybody asks for them.
    fn tune_residual(&mut self) {
        if self.residual_hz != self.frequency_hz {
            self.residual_hz = self.frequency_hz;
            for (filter, harmonic) in self.residual.iter_mut().zip(1..) {
                filter.tune(self.rate, self.frequency_hz, harmonic, Offset::Kept);
            }
        }
    }

    fn three(&self, filter: &Filter, first: usize, back: usize) -> Option<[Complex; 3]> {
        let [a, b, c] =
            [0, 1, 2].map(|phase| filter.phasor_back(&self.windows[first + phase], back));
        Some([a?, b?, c?])
    }
}
