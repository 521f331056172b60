//! One subscribed stream: its supervision, and what is measured of it.

use std::f64::consts::PI;
use std::ops::Range;
use std::time::Duration;

use iec61850::SampleTime;
use iec61850::stream::{Counters, State, Supervision, Verdict};
use iec61850::wire::Synchronisation;

use super::arrival::Arrival;
use crate::settings::{Quantity, Stream, SynchronisationNeeded};
use protection::admittance::Residual;
use protection::differential::Side;
use protection::measure::CHANNELS;
use protection::overcurrent::Current;
use protection::phases::{largest, residual};
use protection::restricted_earth::Winding;
use protection::synchro_check::Sides;
use protection::{Complex, Measurands, Measured, Measuring, Sequence};

/// A of one bit of a current and V of one bit of a voltage (9-2LE).
pub const UNITS: [f64; CHANNELS] = [1e-3, 1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2, 1e-2];
/// Voltage below which the frequency is not looked at: induced noise has any.
pub(crate) const VOLTAGE_V_MIN: f64 = 100.0;
/// Peak of a current below which its changes are noise.
pub(crate) const CURRENT_A_MIN: f64 = 20.0;
/// Phase currents among the channels.
pub(super) const CURRENTS: Range<usize> = 0..3;
/// The current of a star point among the channels.
const NEUTRAL: Range<usize> = 3..4;
/// Phase voltages among the channels.
pub(super) const VOLTAGES: Range<usize> = 4..7;
/// Newest samples of two streams further apart than this are not compared.
const APART_MAX: Duration = Duration::from_millis(3);

#[derive(Clone, Debug)]
pub(super) struct Subscribed {
    supervision: Supervision,
    needed: SynchronisationNeeded,
    rate: u16,
    measuring: Measuring,
    /// Of the newest sample that was used.
    synchronisation: Synchronisation,
    smp_cnt: u16,
    newest: Option<SampleTime>,
    state: State,
    measured: Option<Measured>,
    /// The newest sample has a fourth current that was measured, and no sum of the others.
    has_neutral: bool,
}

impl Subscribed {
    pub(super) fn new(stream: &Stream, frequency_hz: f64) -> Self {
        let rate = stream.supervision.rate;
        Self {
            supervision: Supervision::new(stream.supervision),
            needed: stream.synchronisation,
            rate,
            measuring: Measuring::new(
                (rate.into(), frequency_hz),
                stream.transformers,
                (VOLTAGE_V_MIN, CURRENT_A_MIN),
            ),
            synchronisation: Synchronisation::None,
            smp_cnt: 0,
            newest: None,
            state: State::Waiting,
            measured: None,
            has_neutral: false,
        }
    }

    /// Takes a sample; answers whether it is used.
    pub(super) fn receive(&mut self, arrival: &Arrival) -> bool {
        let asdu = arrival.asdu();
        let mut sample = [0.0; CHANNELS];
        for ((to, raw), unit) in sample.iter_mut().zip(asdu.channels.iter()).zip(UNITS) {
            *to = f64::from(raw.value) * unit;
        }
        match self.supervision.receive(arrival.at, arrival.header(), &asdu) {
            Verdict::Use { held } => self.measuring.bridge(held, &sample),
            Verdict::Begin => self.measuring.clear(),
            Verdict::Drop => return false,
        }
        self.measuring.push(&sample);
        (self.smp_cnt, self.synchronisation) = (asdu.smp_cnt, asdu.smp_synch);
        let neutral = asdu.channels.get(NEUTRAL.start);
        self.has_neutral = neutral.is_some_and(|sample| !sample.quality.is_derived());
        self.newest = Some(arrival.at);
        true
    }

    /// Measures what can be trusted now; answers the state if it is another one.
    pub(super) fn step(&mut self, now: SampleTime) -> Option<State> {
        self.supervision.poll(now);
        let is_valid = self.supervision.state() == State::Valid && self.is_synchronised_enough();
        self.measured = if is_valid { self.measuring.measure() } else { None };
        let state = self.state();
        (std::mem::replace(&mut self.state, state) != state).then_some(state)
    }

    pub(super) const fn counters(&self) -> &Counters {
        self.supervision.counters()
    }

    /// As supervision sees it, and invalid without the clock that it must follow.
    pub(super) fn state(&self) -> State {
        match self.supervision.state() {
            State::Valid if !self.is_synchronised_enough() => State::Invalid,
            state => state,
        }
    }

    pub(super) const fn newest(&self) -> Option<SampleTime> {
        self.newest
    }

    /// What was measured, if all these channels can be used.
    pub(super) fn measured(&self, channels: &[Range<usize>]) -> Option<&Measured> {
        let are_usable = channels.iter().cloned().flatten().all(|c| self.supervision.is_usable(c));
        self.measured.as_ref().filter(|_| are_usable)
    }

    /// Whether the currents of a winding and of its star point can be used.
    pub(super) fn has_winding(&self) -> bool {
        self.has_neutral && self.measured(&[CURRENTS, NEUTRAL]).is_some()
    }

    /// The currents of a winding, as [`Subscribed::measured`].
    pub(super) fn winding(&self) -> Option<Winding> {
        let measured = self.measured.as_ref().filter(|_| self.has_winding())?;
        Some(Winding { phases: measured.bay.currents, neutral: self.measuring.neutral()? })
    }

    /// What is shown of it, while it is valid.
    pub(super) fn measurands(&self) -> Option<Measurands> {
        let is_usable = |channels| self.measured(&[channels]).is_some();
        Some(Measurands::of(self.measured.as_ref()?, is_usable(CURRENTS), is_usable(VOLTAGES)))
    }

    /// Residual quantities, as [`Subscribed::measured`].
    pub(super) fn residual(&mut self) -> Option<Residual> {
        self.measured(&[CURRENTS, VOLTAGES])?;
        self.measuring.residual()
    }

    /// The currents as one side of a differential element in A, turned to the moment of the newest
    /// sample of `reference`, without what charges `charging_s` where there are voltages. Both must
    /// follow a clock, whatever else the settings say.
    pub(super) fn side(&self, reference: &Self, charging_s: f64) -> Option<Side> {
        let measured = self.measured(&[CURRENTS])?;
        let ahead_s = self.behind(reference)?;
        let turn = |phasors: [Complex; 3], order: f64| {
            let angle_rad = 2.0 * PI * measured.bay.frequency_hz * order * ahead_s;
            phasors.map(|phasor| phasor * Complex::from_polar(1.0, angle_rad))
        };
        let charged_s = self.measured(&[VOLTAGES]).map_or(0.0, |_| charging_s);
        let Side { fundamental, second, fifth } =
            measured.side().without_charging(measured.bay.voltages, charged_s);
        Some(Side {
            fundamental: turn(fundamental, 1.0),
            second: turn(second, 2.0),
            fifth: turn(fifth, 5.0),
        })
    }

    /// Voltages of a line, this one, and of the busbar, at the moment of the busbar's newest sample.
    /// Both must follow a clock, whatever else the settings say.
    pub(super) fn beside(&self, bus: &Self) -> Option<Sides> {
        let (line, other) = (self.measured(&[VOLTAGES])?, bus.measured(&[VOLTAGES])?);
        let turn_rad = 2.0 * PI * line.bay.frequency_hz * self.behind(bus)?;
        let slip_hz = line.frequency_hz.zip(other.frequency_hz).map(|(line, bus)| line - bus);
        Some(Sides {
            line: line.bay.voltages.map(|phasor| phasor * Complex::from_polar(1.0, turn_rad)),
            bus: other.bay.voltages,
            slip_hz,
        })
    }

    /// By how much its newest sample is older than that of another stream, in s; nothing unless both
    /// follow a clock, or if they are too far apart.
    fn behind(&self, reference: &Self) -> Option<f64> {
        let follows = |stream: &Self| stream.supervision.is_synchronised();
        let behind_s = wrapped(reference.second() - self.second());
        let is_near = behind_s.abs() <= APART_MAX.as_secs_f64();
        (follows(self) && follows(reference) && is_near).then_some(behind_s)
    }

    /// Where in its second the newest sample is.
    fn second(&self) -> f64 {
        f64::from(self.smp_cnt) / f64::from(self.rate)
    }

    fn is_synchronised_enough(&self) -> bool {
        match self.needed {
            SynchronisationNeeded::None => true,
            SynchronisationNeeded::Local => self.synchronisation.is_synchronised(),
            SynchronisationNeeded::Global => self.synchronisation == Synchronisation::Global,
        }
    }
}

/// The current that an overcurrent element looks at.
pub(super) fn current(of: Quantity, measured: &Measured) -> Current {
    let (fundamental, second) = (measured.bay.currents, measured.bay.second_harmonics);
    let (fundamental_a, second_harmonic_a) = match of {
        Quantity::Phases => (largest(fundamental), largest(second)),
        Quantity::Residual => (residual(fundamental).norm(), residual(second).norm()),
        Quantity::NegativeSequence => {
            // Second harmonics of a balanced current are negative sequence whole: an inrush is known by
            // the share that they have in the phases.
            let negative_a = Sequence::of(fundamental).negative.norm();
            let share = largest(second) / largest(fundamental).max(f64::MIN_POSITIVE);
            (negative_a, negative_a * share)
        }
    };
    Current { fundamental_a, second_harmonic_a }
}

/// A difference of two places in a second, the short way round.
fn wrapped(difference_s: f64) -> f64 {
    difference_s - difference_s.round()
}
