//! Elements that look at what others say: switch onto fault, teleprotection, breaker supervision.

use iec61850::SampleTime;

use super::context::{Context, place};
use super::stream::{CURRENTS, Subscribed, VOLTAGES, current};
use crate::settings::{Function, Input, Protection, Quantity};
use protection::breaker_supervision::{self, BreakerSupervision};
use protection::switch_onto_fault::{self, SwitchOntoFault};
use protection::teleprotection::{self, Teleprotection};
use protection::{Complex, Decision, PhaseSet};

/// An element that runs. Others and breakers are known by their places.
#[derive(Clone, Debug)]
pub(super) enum Logic {
    SwitchOntoFault {
        breaker: Option<usize>,
        follows: Vec<usize>,
        element: SwitchOntoFault,
        sees: bool,
    },
    Teleprotection {
        breaker: Option<usize>,
        forward: Vec<usize>,
        underreaching: Vec<usize>,
        reverse: Vec<usize>,
        element: Teleprotection,
        /// It and all elements that it names can see, and nothing blocks them.
        sees: bool,
    },
    BreakerSupervision {
        breaker: Option<usize>,
        /// Reclosing elements that close it.
        closing: Vec<usize>,
        element: BreakerSupervision,
    },
}

/// Places of the reclosing elements of a breaker.
fn closing(protection: &Protection, breaker: &str) -> Vec<usize> {
    let closes = |function: &Function| match function {
        Function::Reclosing(element) => element.breaker == breaker,
        _ => false,
    };
    let elements = protection.elements.values().enumerate();
    elements.filter(|(_, element)| closes(&element.function)).map(|(place, _)| place).collect()
}

/// What an element is shown in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'e> {
    pub(super) now: SampleTime,
    pub(super) stream: Option<&'e Subscribed>,
    pub(super) context: &'e Context<'e>,
}

impl View<'_> {
    fn is_blocked(&self) -> bool {
        self.context.is_guarded || self.context.inputs.is(Input::Block)
    }

    /// Whether all of these can see.
    fn can_see(&self, places: &[usize]) -> bool {
        places.iter().all(|place| self.context.blind.get(*place) == Some(&false))
    }

    /// Whether a power swing keeps one of these from seeing faults at once.
    fn is_swing(&self, places: &[usize]) -> bool {
        places.iter().any(|place| self.context.swinging.get(*place) == Some(&true))
    }

    /// Decisions of those that have started.
    fn started(&self, places: &[usize]) -> impl Iterator<Item = Decision> {
        let said = places.iter().filter_map(|place| self.context.decisions.get(*place));
        said.copied().filter(|said| said.start)
    }

    fn has_started(&self, places: &[usize]) -> bool {
        self.started(places).next().is_some()
    }

    /// Phases of those that have started, while all of these know them.
    fn phases(&self, places: &[usize]) -> PhaseSet {
        let known = |said: Decision| Some(said.phases).filter(|phases| !phases.is_empty());
        let mut each = self.started(places).map(known);
        each.try_fold(PhaseSet::NONE, |all, phases| Some(all | phases?)).unwrap_or_default()
    }

    fn is_closed(&self, breaker: Option<usize>) -> Option<bool> {
        *self.context.positions.get(breaker?)?
    }

    /// Voltages of phases to earth, in V.
    fn phases_v(&self) -> Option<[f64; 3]> {
        let measured = self.stream?.measured(&[VOLTAGES])?;
        Some(measured.bay.voltages.map(Complex::norm))
    }
}

impl Logic {
    /// The element of this function, at rest.
    ///
    /// # Panics
    /// If it is a function of another family.
    pub(super) fn new(function: &Function, protection: &Protection) -> Self {
        let breakers = &protection.trips.elements_by_breaker;
        let breaker = |name: &Option<String>| place(breakers, name.as_ref()?);
        let places = |names: &[String]| {
            names.iter().filter_map(|name| place(&protection.elements, name)).collect()
        };
        match function {
            Function::SwitchOntoFault(settings) => Self::SwitchOntoFault {
                breaker: breaker(&settings.breaker),
                follows: places(&settings.elements),
                element: SwitchOntoFault::new(settings.settings),
                sees: false,
            },
            Function::Teleprotection(settings) => Self::Teleprotection {
                breaker: breaker(&settings.breaker),
                forward: places(&settings.forward),
                underreaching: places(&settings.underreaching),
                reverse: places(&settings.reverse),
                element: Teleprotection::new(settings.settings),
                sees: false,
            },
            Function::BreakerSupervision { breaker, settings } => Self::BreakerSupervision {
                breaker: place(breakers, breaker),
                closing: closing(protection, breaker),
                element: BreakerSupervision::new(*settings),
            },
            other => unreachable!("{other:?} looks at no other element"),
        }
    }

    /// Whether what it looks at could be trusted at the last step.
    pub(super) const fn sees(&self) -> bool {
        match self {
            Self::SwitchOntoFault { sees, .. } | Self::Teleprotection { sees, .. } => *sees,
            Self::BreakerSupervision { .. } => true,
        }
    }

    /// What it says now.
    pub(super) fn step(&mut self, view: &View<'_>) -> Decision {
        match self {
            Self::SwitchOntoFault { breaker, follows, element, sees } => {
                let measured = view.stream.and_then(|stream| stream.measured(&[CURRENTS]));
                *sees = measured.is_some();
                let seen = measured.map(|measured| switch_onto_fault::Seen {
                    current: current(Quantity::Phases, measured),
                    voltage_v: view.phases_v().map(|v| v.into_iter().fold(0.0, f64::max)),
                    is_closed: view.is_closed(*breaker),
                    is_started: view.has_started(follows),
                });
                element.update(view.now, seen.filter(|_| !view.is_blocked()).as_ref())
            }
            Self::Teleprotection { breaker, forward, underreaching, reverse, element, sees } => {
                let has_both =
                    |stream: &Subscribed| stream.measured(&[CURRENTS, VOLTAGES]).is_some();
                let named = [&forward[..], &underreaching[..], &reverse[..]];
                *sees = view.stream.is_some_and(has_both)
                    && !view.is_blocked()
                    && named.iter().all(|places| view.can_see(places));
                let seen = teleprotection::Seen {
                    forward: view.has_started(forward),
                    phases: view.phases(forward),
                    underreaching: view.has_started(underreaching),
                    reverse: view.has_started(reverse),
                    received: view.context.inputs.said(Input::Receive),
                    phases_v: view.phases_v().filter(|_| *sees),
                    is_closed: view.is_closed(*breaker),
                    is_swing: named.iter().any(|places| view.is_swing(places)),
                };
                element.update(view.now, (!view.is_blocked()).then_some(&seen))
            }
            Self::BreakerSupervision { breaker, closing, element } => {
                let inputs = view.context.inputs;
                let told = breaker_supervision::Told {
                    // A single pole is told from the others by pole discordance.
                    trip: breaker
                        .is_some_and(|breaker| view.context.tripped[breaker] == PhaseSet::ALL),
                    close: inputs.is(Input::Close)
                        || view.started(closing).any(|said| said.operate),
                    is_closed: view.is_closed(*breaker),
                    is_pole_open: breaker.is_some_and(|breaker| {
                        view.context.pole_open[breaker] && view.context.open[breaker].is_some()
                    }),
                    circuit: inputs.said(Input::Circuit),
                };
                element.update(view.now, (!view.is_blocked()).then_some(told))
            }
        }
    }
}
