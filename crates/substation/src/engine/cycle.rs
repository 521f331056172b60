//! A reclosing element among the others: whose trips begin its cycle, and whose end it, and whom it blocks
//! while a pole is open.

use std::time::Duration;

use iec61850::SampleTime;

use super::context::{Context, place};
use crate::settings::{Input, Protection, ReclosingElement};
use protection::reclosing::{Orders, Reclosing, Seen};
use protection::{Decision, PhaseSet};

/// For how many periods after a pole was closed filters hold samples of the open one: windows of phasors
/// are up to 1.25 periods long, and contacts that tell the position may close before the poles do.
const SETTLING_PERIODS: f64 = 2.5;

/// A reclosing element that runs.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// Place of its breaker.
    pub(super) breaker: Option<usize>,
    pub(super) element: Reclosing,
    pub(super) orders: Orders,
    /// Elements whose trips begin a cycle, and the others that trip its breaker.
    initiators: Vec<usize>,
    finals: Vec<usize>,
    /// The element that releases closing, if one is needed.
    release: Option<usize>,
    needs_ready: bool,
    /// When a pole was last open on purpose, and for how long after that filters show it.
    pole_open: Option<SampleTime>,
    settling: Duration,
}

impl Cycle {
    pub(super) fn new(settings: &ReclosingElement, protection: &Protection) -> Self {
        let find = |name: &String| place(&protection.elements, name);
        let rows = &protection.trips.elements_by_breaker;
        let of_breaker = rows.get(&settings.breaker).into_iter().flatten();
        let others = of_breaker.filter(|name| !settings.initiate_by.contains(name));
        Self {
            breaker: place(rows, &settings.breaker),
            element: Reclosing::new(settings.times.clone()),
            orders: Orders::default(),
            finals: others.filter_map(find).collect(),
            initiators: settings.initiate_by.iter().filter_map(find).collect(),
            release: settings.release.as_ref().and_then(find),
            needs_ready: settings.needs_ready,
            pole_open: None,
            settling: Duration::from_secs_f64(SETTLING_PERIODS / protection.frequency_hz),
        }
    }

    /// Started while a cycle is in progress, operated while the breaker is to close.
    pub(super) fn step(&mut self, now: SampleTime, context: &Context<'_>) -> Decision {
        let operates = |place: &usize| context.decisions.get(*place).is_some_and(|d| d.operate);
        let told = context.inputs.initiated();
        let is_told = !told.is_empty();
        let tripped = self.breaker.map_or(PhaseSet::NONE, |breaker| context.tripped[breaker]);
        let is_ordered = self.breaker.is_some_and(|breaker| context.ordered[breaker]);
        let seen = Seen {
            tripped: tripped | told,
            initiates: is_told || self.initiators.iter().any(operates),
            // Another device that trips the breaker says so if it may be closed again.
            is_final: self.finals.iter().any(operates) || (is_ordered && !is_told),
            open: self.breaker.and_then(|breaker| context.open[breaker]),
            is_charged: !self.needs_ready || context.inputs.is(Input::Ready),
            is_released: self.release.as_ref().is_none_or(operates),
            is_blocked: context.inputs.is(Input::Block),
        };
        self.orders = self.element.update(now, &seen);
        let lasts = |at: &SampleTime| now.since(*at) < self.settling;
        let is_open = self.element.is_pole_open();
        self.pole_open = if is_open { Some(now) } else { self.pole_open.filter(lasts) };
        Decision::new(self.element.is_in_progress(), self.orders.close)
    }

    /// Whether elements that an open pole misleads are blocked.
    pub(super) const fn blocks(&self) -> bool {
        self.pole_open.is_some()
    }
}
