//! A reclosing element among the others: whose trips begin its cycle, and whose end it.

use iec61850::SampleTime;

use super::context::{Context, place};
use crate::settings::{Input, Protection, ReclosingElement};
use protection::reclosing::{Orders, Reclosing, Seen};
use protection::{Decision, PhaseSet};

/// A reclosing element that runs.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// Place of its breaker.
    pub(super) breaker: usize,
    pub(super) element: Reclosing,
    pub(super) orders: Orders,
    /// Elements whose trips begin a cycle, and the others that trip its breaker.
    initiators: Vec<usize>,
    finals: Vec<usize>,
    /// The element that releases closing, if one is needed.
    release: Option<usize>,
    needs_ready: bool,
}

impl Cycle {
    pub(super) fn new(settings: &ReclosingElement, protection: &Protection) -> Self {
        let find = |name: &String| place(&protection.elements, name);
        let rows = &protection.trips.elements_by_breaker;
        let of_breaker = rows.get(&settings.breaker).into_iter().flatten();
        let others = of_breaker.filter(|name| !settings.initiate_by.contains(name));
        Self {
            breaker: place(rows, &settings.breaker).unwrap_or(usize::MAX),
            element: Reclosing::new(settings.times.clone()),
            orders: Orders::default(),
            finals: others.filter_map(find).collect(),
            initiators: settings.initiate_by.iter().filter_map(find).collect(),
            release: settings.release.as_ref().and_then(find),
            needs_ready: settings.needs_ready,
        }
    }

    /// Started while a cycle is in progress, operated while the breaker is to close.
    pub(super) fn step(&mut self, now: SampleTime, context: &Context<'_>) -> Decision {
        let operates = |place: &usize| context.decisions.get(*place).is_some_and(|d| d.operate);
        let told = context.inputs.initiated();
        let is_told = !told.is_empty();
        let tripped = context.tripped.get(self.breaker).copied().unwrap_or(PhaseSet::NONE);
        let is_ordered = context.ordered.get(self.breaker) == Some(&true);
        let seen = Seen {
            tripped: tripped | told,
            initiates: is_told || self.initiators.iter().any(operates),
            // Another device that trips the breaker says so if it may be closed again.
            is_final: self.finals.iter().any(operates) || (is_ordered && !is_told),
            open: context.open.get(self.breaker).copied().flatten(),
            is_charged: !self.needs_ready || context.inputs.is(Input::Ready),
            is_released: self.release.as_ref().is_none_or(operates),
            is_blocked: context.inputs.is(Input::Block),
        };
        self.orders = self.element.update(now, &seen);
        Decision::new(self.element.is_in_progress(), self.orders.close)
    }
}
