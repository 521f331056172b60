//! Which setting group is active (SGCB, IEC 61850-7-2), and the elements of the others, made at the
//! start and at rest until theirs is.
//!
//! A change takes one step. An element whose settings are the same in both groups does not notice it;
//! one whose settings differ is at rest in that step and looks again in the next: what the old
//! settings had begun says nothing about the new ones. Trips belong to no group: a pulse lasts as long
//! as it would have, a lockout stays.
//!
//! A change in the middle of a fault would begin the delay of its clearance anew. So it waits while an
//! element sees one whose settings differ (SIPROTEC 7SD5 manual, C53000-G1176-C169, 2.1.3: "it is not
//! possible to change between setting groups during a power system fault"), but not for longer than
//! [`WAIT_MAX`]: a start that lasts is a state, such as load above a pick-up or a dead line, and the
//! other group may be its remedy.

use std::time::Duration;

use iec61850::SampleTime;

use super::element::Running;
use crate::settings::{Element, Protection};
use protection::Decision;

/// How long a change waits at most: longer than delays that clear faults are.
pub const WAIT_MAX: Duration = Duration::from_secs(10);

/// Setting groups of the elements of a relay.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// In each group, which of its settings hold for each element; none where it is off.
    chosen: Vec<Vec<Option<usize>>>,
    /// Each element with each of its settings, at rest; none in place of what runs.
    resting: Vec<Vec<Option<Running>>>,
    /// Which of its settings each element runs with, or would if it were not off.
    running: Vec<usize>,
    /// Elements that began in this step.
    fresh: Vec<bool>,
    /// Places of the active group, and of the one that is wanted, since when.
    active: usize,
    wanted: Option<(usize, SampleTime)>,
}

impl Groups {
    /// Groups of these settings, and the elements of the active one.
    pub(super) fn new(protection: &Protection) -> (Self, Vec<Running>) {
        let groups = &protection.groups;
        let mut chosen = vec![Vec::new(); usize::from(groups.count())];
        let (mut resting, mut elements) = (Vec::new(), Vec::new());
        for (name, first) in &protection.elements {
            let mut different: Vec<&Element> = vec![first];
            chosen[0].push(Some(0));
            for (chosen, others) in chosen[1..].iter_mut().zip(&groups.others) {
                let place = match others.get(name) {
                    None => Some(0),
                    Some(None) => None,
                    Some(Some(other)) => {
                        let known = different.iter().position(|known| *known == other);
                        Some(known.unwrap_or_else(|| {
                            different.push(other);
                            different.len() - 1
                        }))
                    }
                };
                chosen.push(place);
            }
            let mut made = different.iter().map(|one| Running::new(one, protection));
            elements.push(made.next().expect("the first is there"));
            resting.push(std::iter::once(None).chain(made.map(Some)).collect());
        }
        let count = elements.len();
        let active = usize::from(groups.active.saturating_sub(1)).min(chosen.len() - 1);
        let (running, fresh) = (vec![0; count], vec![false; count]);
        let mut made = Self { chosen, resting, running, fresh, active, wanted: None };
        made.place(&mut elements);
        (made, elements)
    }

    /// Number of the active group, from 1.
    pub(super) const fn active(&self) -> u8 {
        self.active as u8 + 1
    }

    /// Asks for a group by its number, from 1; says whether that is new. To ask for the active one
    /// takes back what was asked before.
    pub(super) fn want(&mut self, now: SampleTime, number: u8) -> bool {
        let place = usize::from(number).wrapping_sub(1);
        if place >= self.chosen.len() || self.wanted.is_some_and(|(wanted, _)| wanted == place) {
            return false;
        }
        let was_wanted = self.wanted.is_some();
        self.wanted = (place != self.active).then_some((place, now));
        was_wanted || self.wanted.is_some()
    }

    /// Changes to the group that is wanted if it is time; answers its number then.
    pub(super) fn step(
        &mut self,
        now: SampleTime,
        decisions: &[Decision],
        elements: &mut [Running],
    ) -> Option<u8> {
        self.fresh.fill(false);
        let (wanted, since) = self.wanted?;
        let (old, new) = (&self.chosen[self.active], &self.chosen[wanted]);
        let differ = old.iter().zip(new).map(|(old, new)| old != new);
        let mut starts = differ.clone().zip(decisions).map(|(differs, said)| differs && said.start);
        if starts.any(|starts| starts) && now.since(since) < WAIT_MAX {
            return None;
        }
        for (fresh, differs) in self.fresh.iter_mut().zip(differ) {
            *fresh = differs;
        }
        (self.active, self.wanted) = (wanted, None);
        self.place(elements);
        Some(self.active())
    }

    /// Whether an element is off in the active group.
    pub(super) fn is_off(&self, element: usize) -> bool {
        self.chosen[self.active][element].is_none()
    }

    /// Whether an element may look at nothing in this step.
    pub(super) fn is_blind(&self, element: usize) -> bool {
        self.fresh[element] || self.is_off(element)
    }

    /// Puts the elements of the active group in place of those that are there.
    fn place(&mut self, elements: &mut [Running]) {
        let each = self.chosen[self.active].iter().zip(&mut self.running).zip(&mut self.resting);
        for (((chosen, running), resting), element) in each.zip(elements) {
            let Some(chosen) = *chosen else { continue };
            if let Some(new) = resting[chosen].take() {
                resting[*running] = Some(std::mem::replace(element, new));
                *running = chosen;
            }
        }
    }
}
