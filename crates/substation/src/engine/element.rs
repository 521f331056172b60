//! One element as settings made it, and where it gets what it looks at.

use iec61850::SampleTime;

use super::context::{Context, place};
use super::cycle::Cycle;
use super::logic::{Logic, View};
use super::stream::{CURRENTS, Subscribed, VOLTAGES, current};
use crate::settings::{Element, Function, Input, Protection, Quantity};
use protection::admittance::Admittance;
use protection::breaker_failure::BreakerFailure;
use protection::broken_conductor::BrokenConductor;
use protection::ct_supervision::CtSupervision;
use protection::differential::{Differential, Side};
use protection::direction::Directional;
use protection::distance::Distance;
use protection::frequency_limit::Frequency;
use protection::frequency_rate::{FrequencyRate, Seen};
use protection::fuse_failure::FuseFailure;
use protection::overcurrent::Overcurrent;
use protection::pole_discordance::PoleDiscordance;
use protection::power::Power;
use protection::power_swing::PowerSwing;
use protection::restricted_earth::RestrictedEarth;
use protection::synchro_check::SynchroCheck;
use protection::thermal::Thermal;
use protection::voltage::Voltage;
use protection::{Complex, Decision, Measured, PhaseSet, Sequence};

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
        charging_s: f64,
        /// Room for what all sides measure.
        sides: Vec<Side>,
    },
    Admittance(Admittance),
    BreakerFailure {
        breaker: Option<usize>,
        element: BreakerFailure,
    },
    FuseFailure(FuseFailure),
    PowerSwing(PowerSwing),
    BrokenConductor(BrokenConductor),
    FrequencyRate(Box<FrequencyRate>),
    Power(Power),
    CtSupervision(CtSupervision),
    Logic(Logic),
    Thermal(Thermal),
    RestrictedEarth(RestrictedEarth),
    SynchroCheck(SynchroCheck),
    Reclosing(Box<Cycle>),
    PoleDiscordance(Option<usize>, PoleDiscordance),
}

/// When an element is looked at in a step. What it says of this step is seen by later ranks; what a
/// later rank says, as that a pole is open, is seen in the next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rank {
    /// Blocks others and trips nothing.
    Guard,
    /// Looks at streams, whatever other elements say.
    Measuring,
    /// Looks at what elements say that measure, at the same step.
    Logic,
    /// Looks at what others decide, and closes breakers.
    Closing,
}

impl Rank {
    pub(super) const ALL: [Self; 4] = [Self::Guard, Self::Measuring, Self::Logic, Self::Closing];
}

impl Running {
    pub(super) const fn rank(&self) -> Rank {
        match self.kind {
            Kind::FuseFailure(_) | Kind::PowerSwing(_) | Kind::CtSupervision(_) => Rank::Guard,
            Kind::Logic(_) => Rank::Logic,
            Kind::Reclosing(_) => Rank::Closing,
            _ => Rank::Measuring,
        }
    }

    pub(super) fn new(element: &Element, protection: &Protection) -> Self {
        let stream = |name: &String| place(&protection.streams, name);
        let kind = match &element.function {
            Function::Overcurrent { of, settings } => {
                Kind::Overcurrent(*of, Overcurrent::new(*settings))
            }
            Function::Directional(settings) => Kind::Directional(Directional::new(*settings)),
            Function::Voltage(settings) => Kind::Voltage(Voltage::new(*settings)),
            Function::Frequency(settings) => Kind::Frequency(Frequency::new(*settings)),
            Function::Distance(settings) => Kind::Distance(Distance::new(*settings)),
            Function::Differential { settings, sides, charging_s } => Kind::Differential {
                charging_s: *charging_s,
                element: Differential::new(*settings),
                rated: sides.clone(),
                sides: Vec::with_capacity(sides.len()),
            },
            Function::Admittance(settings) => Kind::Admittance(Admittance::new(*settings)),
            Function::BreakerFailure { breaker, settings } => Kind::BreakerFailure {
                breaker: place(&protection.trips.elements_by_breaker, breaker),
                element: BreakerFailure::new(*settings),
            },
            Function::FuseFailure(settings) => Kind::FuseFailure(FuseFailure::new(*settings)),
            Function::PowerSwing(settings) => Kind::PowerSwing(PowerSwing::new(*settings)),
            Function::BrokenConductor(settings) => {
                Kind::BrokenConductor(BrokenConductor::new(*settings))
            }
            Function::FrequencyRate(settings) => {
                Kind::FrequencyRate(Box::new(FrequencyRate::new(*settings)))
            }
            Function::Power(settings) => Kind::Power(Power::new(*settings)),
            Function::CtSupervision(settings) => Kind::CtSupervision(CtSupervision::new(*settings)),
            Function::SwitchOntoFault(_)
            | Function::Teleprotection(_)
            | Function::BreakerSupervision { .. } => {
                Kind::Logic(Logic::new(&element.function, protection))
            }
            Function::Thermal(settings) => Kind::Thermal(Thermal::new(*settings)),
            Function::RestrictedEarth(settings) => {
                Kind::RestrictedEarth(RestrictedEarth::new(*settings))
            }
            Function::SynchroCheck(settings) => Kind::SynchroCheck(SynchroCheck::new(*settings)),
            Function::Reclosing(settings) => {
                Kind::Reclosing(Box::new(Cycle::new(settings, protection)))
            }
            Function::PoleDiscordance { breaker, delay } => Kind::PoleDiscordance(
                place(&protection.trips.elements_by_breaker, breaker),
                PoleDiscordance::new(*delay),
            ),
        };
        Self { streams: element.streams.iter().filter_map(stream).collect(), kind }
    }

    /// What it says now.
    pub(super) fn step(
        &mut self,
        now: SampleTime,
        streams: &mut [Subscribed],
        context: &Context<'_>,
    ) -> Decision {
        if let Kind::Logic(logic) = &mut self.kind {
            let stream = self.streams.first().and_then(|stream| streams.get(*stream));
            return logic.step(&View { now, stream, context });
        }
        let is_blocked = context.is_guarded || context.inputs.is(Input::Block);
        let stream = self.streams.first().copied().filter(|_| !is_blocked);
        if let Kind::Differential { element, rated, charging_s, sides } = &mut self.kind {
            let all_there =
                !is_blocked && gather(&self.streams, streams, rated, *charging_s, sides).is_some();
            return element.update(now, all_there.then_some(&sides[..]));
        }
        if let Kind::Admittance(element) = &mut self.kind {
            let residual = stream.and_then(|s| streams.get_mut(s)).and_then(Subscribed::residual);
            return element.update(now, residual.as_ref());
        }
        if let Kind::Reclosing(cycle) = &mut self.kind {
            return cycle.step(now, context);
        }
        let stream = stream.and_then(|stream| streams.get(stream));
        let measured = |channels| stream.and_then(|stream| stream.measured(channels));
        let (currents, voltages) = ([CURRENTS], [VOLTAGES]);
        let both = [CURRENTS, VOLTAGES];
        match &mut self.kind {
            Kind::Overcurrent(of, element) => {
                let seen = measured(&currents);
                let decision = element.update(now, seen.map(|measured| current(*of, measured)));
                let phases = |seen: &Measured| match of {
                    Quantity::Phases => element.phases(seen.bay.currents),
                    Quantity::Residual => PhaseSet::EARTH,
                    Quantity::NegativeSequence => PhaseSet::NONE,
                };
                decision.in_phases(seen.map(phases).unwrap_or_default())
            }
            Kind::Directional(element) => {
                element.update(now, measured(&both).map(|m| (&m.bay, m.recent.as_ref())))
            }
            Kind::Distance(element) => {
                element.update(now, measured(&both).map(|m| m.recent.as_ref()), context.is_swing)
            }
            Kind::FuseFailure(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::PowerSwing(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::Voltage(element) => {
                element.update(now, measured(&voltages).map(|m| m.bay.voltages))
            }
            Kind::Frequency(element) => {
                let of = |m: &Measured| {
                    Some((m.frequency_hz?, Sequence::of(m.bay.voltages).positive.norm()))
                };
                element.update(now, measured(&voltages).and_then(of))
            }
            Kind::BreakerFailure { breaker, element } => {
                let tripped = breaker.map_or(PhaseSet::NONE, |breaker| context.tripped[breaker]);
                let tripped = tripped | context.inputs.initiated();
                let currents_a = measured(&currents).map(|m| m.bay.currents.map(Complex::norm));
                let orders = element.update(now, tripped, currents_a);
                Decision::new(orders.retrip, orders.backup)
            }
            Kind::BrokenConductor(element) => {
                element.update(now, measured(&currents).map(|m| m.bay.currents))
            }
            Kind::FrequencyRate(element) => {
                let seen = |m: &Measured| Seen {
                    frequency_hz: m.frequency_hz,
                    voltage_v: Sequence::of(m.bay.voltages).positive.norm(),
                };
                element.update(now, measured(&voltages).map(seen))
            }
            Kind::Power(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::CtSupervision(element) => element.update(now, measured(&both).map(|m| &m.bay)),
            Kind::Thermal(element) => {
                // What heats goes on heating, whoever blocks the element.
                let stream = self.streams.first().and_then(|stream| streams.get(*stream));
                let measured = stream.and_then(|stream| stream.measured(&currents));
                let decision = element.update(now, measured.map(|m| m.bay.currents));
                if is_blocked { Decision::NONE } else { decision }
            }
            Kind::RestrictedEarth(element) => {
                element.update(now, stream.and_then(Subscribed::winding).as_ref())
            }
            Kind::SynchroCheck(element) => {
                let bus = self.streams.get(1).and_then(|bus| streams.get(*bus));
                let sides = stream.zip(bus).and_then(|(line, bus)| line.beside(bus));
                element.update(now, sides.as_ref())
            }
            Kind::PoleDiscordance(breaker, element) => {
                let open = breaker.and_then(|breaker| context.open[breaker]);
                let is_on_purpose = breaker.is_some_and(|breaker| context.pole_open[breaker]);
                element.update(now, open.filter(|_| !is_blocked), is_on_purpose)
            }
            Kind::Differential { .. }
            | Kind::Admittance(_)
            | Kind::Logic(_)
            | Kind::Reclosing(_) => {
                unreachable!("these were served above")
            }
        }
    }
}

impl Running {
    /// The cycle of a reclosing element.
    pub(super) const fn cycle(&self) -> Option<&Cycle> {
        match &self.kind {
            Kind::Reclosing(cycle) => Some(cycle),
            _ => None,
        }
    }

    /// Whether its streams can be trusted in the channels that it looks at.
    pub(super) fn sees(&self, streams: &[Subscribed]) -> bool {
        let channels: &[_] = match &self.kind {
            Kind::Overcurrent(..)
            | Kind::Differential { .. }
            | Kind::BreakerFailure { .. }
            | Kind::BrokenConductor(_)
            | Kind::Thermal(_) => &[CURRENTS],
            Kind::Voltage(_)
            | Kind::Frequency(_)
            | Kind::FrequencyRate(_)
            | Kind::SynchroCheck(_) => &[VOLTAGES],
            Kind::Logic(logic) => return logic.sees(),
            _ => &[CURRENTS, VOLTAGES],
        };
        let sees = |stream: &Subscribed| match self.kind {
            Kind::RestrictedEarth(_) => stream.has_winding(),
            _ => stream.measured(channels).is_some(),
        };
        self.streams.iter().all(|place| streams.get(*place).is_some_and(sees))
    }
}

/// Collects all sides of a differential element; `None` if one of them is missing, or if the charging
/// current of a line would have to be known and no side has voltages.
fn gather(
    places: &[usize],
    streams: &[Subscribed],
    rated: &[(f64, u8)],
    charging_s: f64,
    sides: &mut Vec<Side>,
) -> Option<()> {
    sides.clear();
    let reference = streams.get(*places.first()?)?;
    // Each end that has voltages takes its part of the line's charging current.
    let ends = places.iter().filter(|place| {
        streams.get(**place).is_some_and(|stream| stream.measured(&[VOLTAGES]).is_some())
    });
    let part_s = match ends.count() {
        0 if charging_s > 0.0 => return None,
        ends => charging_s / ends.max(1) as f64,
    };
    for (place, (base_a, clock)) in places.iter().zip(rated) {
        sides.push(streams.get(*place)?.side(reference, part_s)?.referred(*clock, *base_a));
    }
    Some(())
}
