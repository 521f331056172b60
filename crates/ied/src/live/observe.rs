//! What a data object makes of what is known of a relay: value, quality, time.
//!
//! Start, operation and trip have the time of the event. The quality of an element is good while all
//! its streams are valid. In the mode `test` all has the quality of a test.

use iec61850::wire::{Quality, UtcTime, Value, Width};
use protection::measurands::{Measurands, Power};
use protection::{Complex, Degrees, PhaseSet};
use substation::settings::Mode;

use super::{Live, Since};

/// Where the value of a data object comes from; numbers as in [`Live`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Mode,
    Health,
    HostHealth,
    /// It speaks for itself.
    NoProxy,
    Start(usize),
    Operate(usize),
    Trip(usize),
    Position(usize),
    Current(usize, usize),
    Voltage(usize, usize),
    ActivePower(usize),
    ReactivePower(usize),
    Frequency(usize),
}

/// What a data object says now.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Observed {
    pub(crate) values: Vec<Value>,
    pub(crate) quality: Quality,
    pub(crate) at: UtcTime,
}

impl Live {
    /// What a data object says.
    pub(crate) fn observe(&self, source: Source) -> Observed {
        let (values, is_good, at) = match source {
            Source::Mode => (vec![enumerated(self.mode_number())], true, self.begin),
            Source::Health => {
                let Since { value, at } = self.is_well;
                (vec![enumerated(health(value))], true, at)
            }
            Source::HostHealth => {
                (vec![enumerated(health(!self.is_host_limited))], true, self.begin)
            }
            Source::NoProxy => (vec![Value::Boolean(false)], true, self.begin),
            Source::Start(n) => self.of_element(n, self.elements[n].start),
            Source::Operate(n) => self.of_element(n, self.elements[n].operate),
            Source::Trip(n) => {
                let Since { value, at } = self.breakers[n].is_tripped;
                (vec![Value::Boolean(value)], true, at)
            }
            Source::Position(n) => {
                let Since { value, at } = self.breakers[n].open;
                (vec![double_point(value)], value.is_some(), at)
            }
            Source::Current(n, phase) => {
                self.measured(n, |m| m.currents.map(|currents| polar(currents.phases[phase])), 2)
            }
            Source::Voltage(n, phase) => {
                self.measured(n, |m| m.voltages.map(|voltages| polar(voltages.phases[phase])), 2)
            }
            Source::ActivePower(n) => {
                self.measured(n, |m| total(m).map(|power| float(power.active_w())), 1)
            }
            Source::ReactivePower(n) => {
                self.measured(n, |m| total(m).map(|power| float(power.reactive_var())), 1)
            }
            Source::Frequency(n) => self.measured(n, |m| m.frequency_hz.map(float), 1),
        };
        let validity = if is_good { Quality::GOOD } else { Quality::INVALID };
        let test = if self.mode == Mode::Test { Quality::TEST } else { Quality::GOOD };
        Observed { values, quality: Quality(validity.0 | test.0), at }
    }

    fn of_element(&self, number: usize, known: Since<bool>) -> (Vec<Value>, bool, UtcTime) {
        let is_trusted = self.elements[number].streams.iter().all(|place| self.streams[*place]);
        (vec![Value::Boolean(known.value)], is_trusted, known.at)
    }

    fn measured(
        &self,
        stream: usize,
        read: impl FnOnce(&Measurands) -> Option<Vec<Value>>,
        count: usize,
    ) -> (Vec<Value>, bool, UtcTime) {
        let Since { value, at } = &self.measurands[stream];
        match value.as_ref().and_then(read) {
            Some(values) => (values, self.streams[stream], *at),
            None => (vec![Value::Float32(0.0); count], false, *at),
        }
    }

    /// `Mod` and `Beh` (IEC 61850-7-4, annex A).
    const fn mode_number(&self) -> i64 {
        match self.mode {
            Mode::On => 1,
            Mode::Test => 3,
        }
    }
}

/// Ok, or a warning (IEC 61850-7-4, `HealthKind`).
const fn health(is_well: bool) -> i64 {
    if is_well { 1 } else { 2 }
}

pub(crate) const fn enumerated(number: i64) -> Value {
    Value::Integer(number, Width::Bits8)
}

/// Off, on, or between, also where poles differ (IEC 61850-8-1, clause 8.1.3.7: two bits).
fn double_point(open: Option<PhaseSet>) -> Value {
    let bits = match open {
        Some(PhaseSet::NONE) => 0x80,
        Some(PhaseSet::ALL) => 0x40,
        _ => 0,
    };
    Value::BitString(vec![bits], 6)
}

/// The power of all phases together.
fn total(measurands: &Measurands) -> Option<Power> {
    measurands.power()?.into_iter().find_map(|(of, power)| (of == "total").then_some(power))
}

fn polar(phasor: Complex) -> Vec<Value> {
    vec![Value::Float32(phasor.norm() as f32), Value::Float32(phasor.angle_deg() as f32)]
}

fn float(value: f64) -> Vec<Value> {
    vec![Value::Float32(value as f32)]
}
