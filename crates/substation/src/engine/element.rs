//! One element as settings made it, and where it gets what it looks at.

use super::stream::{CURRENTS, Subscribed, VOLTAGES};
use crate::protection::admittance::Admittance;
use crate::protection::breaker_failure::BreakerFailure;
use crate::protection::differential::{Differential, Side};
use crate::protection::direction::Directional;
use crate::protection::distance::Distance;
use crate::protection::frequency_limit::Frequency;
use crate::protection::overcurrent::{Current, Overcurrent};
use crate::protection::voltage::Voltage;
use crate::protection::{Complex, Decision, Measured};
use crate::settings::{Element, Function, Quantity};
use crate::time::SampleTime;

/// An element that runs.
#[derive(Clone, Debug)]
pub(super) struct Running {
    /// Its streams, by number; most have one.
    streams: Vec<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Overcurrent(Quantity, Overcurrent),
    Directional(Directional),
    Voltage(Voltage),
    Frequency(Frequency),
    Distance(Distance),
    Differential {
        element: Differential,
        rated: Vec<(f64, u8)>,
        /// Room for what all sides measure.
        sides: Vec<Side>,
    },
    Admittance(Admittance),
    BreakerFailure {
        breaker: Option<usize>,
        element: BreakerFailure,
    },
}

impl Running {
    pub(super) fn new(element: &Element, streams: &[&String], breakers: &[String]) -> Self {
        let place =
            |name: &String| streams.iter().position(|known| *known == name).unwrap_or(usize::MAX);
        let kind = match &element.function {
            Function::Overcurrent { of, settings } => {
                Kind::Overcurrent(*of, Overcurrent::new(*settings))
            }
            Function::Directional(settings) => Kind::Directional(Directional::new(*settings)),
            Function::Voltage(settings) => Kind::Voltage(Voltage::new(*settings)),
            Function::Frequency(settings) => Kind::Frequency(Frequency::new(*settings)),
            Function::Distance(settings) => Kind::Distance(Distance::new(*settings)),
            Function::Differential { settings, sides } => Kind::Differential {
                element: Differential::new(*settings),
                rated: sides.clone(),
                sides: Vec::with_capacity(sides.len()),
            },
            Function::Admittance(settings) => Kind::Admittance(Admittance::new(*settings)),
            Function::BreakerFailure { breaker, settings } => Kind::BreakerFailure {
                breaker: breakers.iter().position(|known| known == breaker),
                element: BreakerFailure::new(*settings),
            },
        };
        Self { streams: element.streams.iter().map(place).collect(), kind }
    }

    /// What it says now; `tripped` is of the step before.
    pub(super) fn step(
        &mut self,
        now: SampleTime,
        streams: &mut [Subscribed],
        tripped: &[bool],
        is_blocked: bool,
    ) -> Decision {
        let stream = self.streams.first().copied().filter(|_| !is_blocked);
        if let Kind::Differential { element, rated, sides } = &mut self.kind {
            let all_there = !is_blocked && gather(&self.streams, streams, rated, sides).is_some();
            return element.update(now, all_there.then_some(&sides[..]));
        }
        if let Kind::Admittance(element) = &mut self.kind {
            let residual = stream.and_then(|s| streams.get_mut(s)).and_then(Subscribed::residual);
            return element.update(now, residual.as_ref());
        }
        let stream = stream.and_then(|stream| streams.get(stream));
        let measured = |channels| stream.and_then(|stream| stream.measured(channels));
        let (currents, voltages) = ([CURRENTS], [VOLTAGES]);
        let both = [CURRENTS, VOLTAGES];
        match &mut self.kind {
            Kind::Overcurrent(of, element) => {
                element.update(now, measured(&currents).map(|measured| current(*of, measured)))
            }
            Kind::Directional(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::Distance(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::Voltage(element) => {
                let phases_v = |m: &Measured| m.bay.voltages.map(Complex::magnitude);
                element.update(now, measured(&voltages).map(phases_v))
            }
            Kind::Frequency(element) => {
                element.update(now, measured(&voltages).and_then(|m| m.frequency_hz))
            }
            Kind::BreakerFailure { breaker, element } => {
                let trip = breaker.is_some_and(|breaker| tripped[breaker]);
                let current_a =
                    measured(&currents).map(|m| current(Quantity::Phases, m).fundamental_a);
                let orders = element.update(now, trip, current_a);
                Decision { start: orders.retrip, operate: orders.backup }
            }
            Kind::Differential { .. } | Kind::Admittance(_) => {
                unreachable!("these two were served above")
            }
        }
    }
}

fn current(of: Quantity, measured: &Measured) -> Current {
    let value = |phasors: [Complex; 3]| match of {
        Quantity::Phases => phasors.map(Complex::magnitude).into_iter().fold(0.0, f64::max),
        Quantity::Residual => phasors.into_iter().sum::<Complex>().magnitude(),
    };
    Current {
        fundamental_a: value(measured.bay.currents),
        second_harmonic_a: value(measured.bay.second_harmonics),
    }
}

/// Collects all sides of a differential element; `None` if one of them is missing.
fn gather(
    places: &[usize],
    streams: &[Subscribed],
    rated: &[(f64, u8)],
    sides: &mut Vec<Side>,
) -> Option<()> {
    sides.clear();
    let reference = streams.get(*places.first()?)?;
    for (place, (base_a, clock)) in places.iter().zip(rated) {
        sides.push(streams.get(*place)?.side(reference)?.referred(*clock, *base_a));
    }
    Some(())
}
