//! Faults during a power swing, for a distance element that the swing blocks.
//!
//! A swing is balanced and moves: the loops of healthy phases wander through the zone, and no voltage has an
//! angle to be compared with. A bolted fault stands still: the voltage of its loop is what its currents drop
//! over the line up to it, whatever swings. So a loop counts here whose voltage, as a share of the drop over
//! the zone, is a real number within the zone, and rests.
//!
//! - In an unbalanced fault, negative and zero sequence say on which side it is and leave one phase, or the
//!   two others: the swing has neither.
//! - An open pole has both too, and its other phases go on swinging: while a phase carries nothing, no unbalanced
//!   fault is looked for. A swing that goes through a zone flows in all of them.
//! - A fault of three phases is told by its rest alone. A swing that turns rests too, but not on the line,
//!   where the machines are in opposition and fall out of step; a slow one that passes there is near each
//!   place for as long as near the one before, and a fault for five times as long or more.
//!
//! Price: some periods, and no resistance to speak of; a fault through a large one waits for the swing's end.

use std::time::Duration;

use iec61850::SampleTime;

use super::PhaseSet;
use super::complex::Complex;
use super::direction::{REVERSE_SHARE, Way, negative_sequence_way};
use super::loops::{DROP_OFF_RATIO, LOOPS, Of, Zone, distinct_phase};
use super::recent::{Before, Recent};
use super::symmetrical::Sequence;

/// Share of the zero in the negative sequence current from which a fault is to earth.
const EARTH_SHARE_MIN: f64 = 0.15;
/// Share of the drop over the zone from which the voltage of three phases says on which side a fault is; below
/// it does what the fault adds, so many periods after an inception while before it is still what would be now.
const SURE_SHARE: f64 = 0.04;
const FRESH_PERIODS: f64 = 1.5;
/// Share of the zone by which a loop may be off the line, and lie behind although the fault is ahead.
const OFF_LINE_MAX: f64 = 0.2;
/// The same of three phases, which nothing else tells from a swing.
const BALANCED_OFF_MAX: f64 = 0.1;
const BEHIND_MAX: f64 = 0.1;
/// Least sine of the angle between the drop over the zone and the negative sequence of a loop.
const ACROSS_MIN: f64 = 0.2;
/// A move below this share of the zone is none, and how long a loop must stand still.
const STILL_SHARE_MAX: f64 = 0.04;
const STILL_TIME: Duration = Duration::from_millis(40);
/// The same where nothing is unbalanced, and how many times as long as the step before.
const BALANCED_TIME: Duration = Duration::from_millis(100);
const BALANCED_STEPS: u32 = 5;

/// Where the loops stand, in a swing.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct SwingFault {
    /// Loops that stand in the zone, in the order of `LOOPS`.
    loops: [Option<Rest>; 6],
    /// The positive sequence, anywhere.
    balanced: Option<Rest>,
}

/// Something that stands still.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rest {
    since: SampleTime,
    /// As a share of the zone.
    at: Complex,
    /// How long it was near the place before, where that was seen.
    step: Option<Duration>,
    /// Whether the zone looks that way, where a voltage is too low to say.
    is_ahead: bool,
    /// Whether the inception that brought it there is still fresh; a later one says nothing of its side.
    is_fresh: bool,
    /// Whether it has stood still for long enough: then it may move, as long as it stays in the zone.
    is_found: bool,
}

impl Rest {
    /// What has become of it, now that it is there.
    fn followed(old: Option<Self>, now: SampleTime, at: Complex) -> Self {
        match old {
            Some(rest) if (at - rest.at).norm() <= STILL_SHARE_MAX => rest,
            _ => {
                let step = old.map(|rest| now.since(rest.since));
                let is_found = old.is_some_and(|rest| rest.is_found);
                let is_ahead = old.is_some_and(|rest| rest.is_found && rest.is_ahead);
                Self { since: now, at, step, is_ahead, is_fresh: true, is_found }
            }
        }
    }
}

impl SwingFault {
    /// Phases of the fault in the zone, once it was seen for long enough.
    pub(super) fn update(&mut self, now: SampleTime, recent: &Recent, zone: &Zone) -> PhaseSet {
        let way = negative_sequence_way(recent, zone.reach);
        let is_balanced = self.rests_balanced(now, recent, zone, way.is_none());
        let is_ahead = way == Some(zone.way);
        let of_fault = if is_ahead { loops(recent, zone) } else { [false; 6] };
        let is_pole_open = recent.slopes.iter().any(|phase| phase.norm() < zone.current_a_min);
        let mut phases = if is_balanced { PhaseSet::ALL } else { PhaseSet::NONE };
        for (index, each) in LOOPS.into_iter().enumerate() {
            let old = self.loops[index].take();
            let at = match old {
                _ if !of_fault[index] => None,
                Some(Rest { is_found: true, .. }) => place_held(each, recent, zone),
                _ if is_pole_open => None,
                _ => place(each, recent, zone),
            };
            self.loops[index] = at.map(|at| {
                let mut rest = Rest::followed(old, now, at);
                rest.is_found |= now.since(rest.since) >= STILL_TIME;
                rest
            });
            if self.loops[index].is_some_and(|rest| rest.is_found) {
                phases = phases | each.phases();
            }
        }
        phases
    }

    /// Whether the positive sequence rests in the zone.
    fn rests_balanced(
        &mut self,
        now: SampleTime,
        recent: &Recent,
        zone: &Zone,
        is_balanced: bool,
    ) -> bool {
        let positive = |of: [Complex; 3]| Sequence::of(of).positive;
        let current = positive(recent.slopes);
        if current.norm() < zone.current_a_min {
            self.balanced = None;
            return false;
        }
        let dropped = recent.drop(zone.reach, positive(recent.currents), current) * zone.way.sign();
        let at = positive(recent.voltages) / dropped;
        let mut rest = Rest::followed(self.balanced, now, at);
        rest.is_fresh &= recent.age < FRESH_PERIODS;
        if at.re.abs() > SURE_SHARE {
            rest.is_ahead = at.re > 0.0;
        } else if rest.is_fresh {
            rest.is_ahead = added_is_ahead(recent, zone);
        }
        let scale = if rest.is_found { DROP_OFF_RATIO } else { 1.0 };
        let off_max = BALANCED_OFF_MAX.min(zone.resistance_ohm / zone.reach.norm());
        // Of an unknown step nothing is long enough.
        let is_long = rest
            .step
            .is_some_and(|step| now.since(rest.since) >= BALANCED_TIME.max(step * BALANCED_STEPS));
        let is_in_zone =
            rest.is_ahead && at.re <= scale && at.im.abs() <= off_max * scale && is_balanced;
        rest.is_found = is_in_zone && (rest.is_found || is_long);
        self.balanced = Some(rest);
        rest.is_found
    }
}

/// Whether what the fault adds comes from the zone's side: the positive sequence voltage that it takes away
/// is what its own current drops over the source behind the relay, and over line and far source for one behind.
fn added_is_ahead(recent: &Recent, zone: &Zone) -> bool {
    let Some(Before { voltage: Some(before), currents }) = recent.before else { return false };
    let positive = |of: [Complex; 3]| Sequence::of(of).positive;
    let added = positive(recent.slopes) - positive(currents);
    let dropped = recent.drop(zone.reach, added, added);
    let share = (positive(recent.voltages) - before) / dropped;
    (share.re < REVERSE_SHARE) == (zone.way == Way::Forward)
}

/// Loops that an unbalanced fault may be in, by what the swing has not.
fn loops(recent: &Recent, zone: &Zone) -> [bool; 6] {
    let sequence = Sequence::of(recent.slopes);
    let is_to_earth = sequence.zero.norm() > EARTH_SHARE_MIN * sequence.negative.norm();
    let phase = distinct_phase(sequence);
    LOOPS.map(|each| {
        let carries = each.of(recent.slopes).norm() > zone.current_a_min;
        carries
            && match each {
                Of::Earth(one) => is_to_earth && one == phase,
                Of::Phases(first, second) => !is_to_earth || (first != phase && second != phase),
            }
    })
}

/// Where a loop has its fault, as a share of the zone, if in it: where what is left of its voltage is in phase
/// with the negative sequence current of the loop, as what a resistance drops.
fn place(each: Of, recent: &Recent, zone: &Zone) -> Option<Complex> {
    let dropped = zone.drop(each, recent);
    let negative = Sequence::of(recent.slopes).negative;
    let fed = each.of(Sequence { negative, ..Sequence::default() }.phases());
    let across = |of: Complex| (of * fed.conj()).im / fed.norm();
    // Where both are in phase, a resistance looks like a piece of line.
    if across(dropped).abs() < ACROSS_MIN * dropped.norm() {
        return None;
    }
    let voltage = each.of(recent.voltages);
    let at = across(voltage) / across(dropped);
    let off = (voltage - dropped * at).norm() / dropped.norm();
    let is_on_line = off <= off_line_max(each, zone);
    ((-BEHIND_MAX..=1.0).contains(&at) && is_on_line).then(|| voltage / dropped)
}

/// Where a loop has a fault that was found in the zone, as a share of it, if it is there still: whatever angle a
/// resistance has meanwhile.
fn place_held(each: Of, recent: &Recent, zone: &Zone) -> Option<Complex> {
    let at = each.of(recent.voltages) / zone.drop(each, recent);
    let is_on_line = at.im.abs() <= off_line_max(each, zone) * DROP_OFF_RATIO;
    ((-BEHIND_MAX..=DROP_OFF_RATIO).contains(&at.re) && is_on_line).then_some(at)
}

/// How far off the line a loop may be, as a share of the zone.
fn off_line_max(each: Of, zone: &Zone) -> f64 {
    let resistance_ohm = match each {
        Of::Earth(_) => zone.earth_resistance_ohm,
        Of::Phases(..) => zone.resistance_ohm,
    };
    OFF_LINE_MAX.min(resistance_ohm / zone.reach.norm())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Degrees;

    const LINE: Complex = Complex::new(1.0, 10.0);
    const FACTOR: Complex = Complex::new(0.7, 0.0);

    fn zone(way: Way) -> Zone {
        Zone {
            reach: LINE * 0.8,
            earth_factor: FACTOR,
            way,
            resistance_ohm: f64::INFINITY,
            earth_resistance_ohm: f64::INFINITY,
            current_a_min: 100.0,
        }
    }

    /// Two machines so far apart behind 10 ohm each, and on the line between them or behind the relay, at
    /// `place`, a fault of sequence currents as large as its kind draws: none, phase A to earth, B to C, or all three.
    fn seen(apart_deg: f64, place: f64, kind: &str) -> Recent {
        let source = Complex::polar_deg(10.0, 84.0);
        let (near, far) = (Complex::new(63_500.0, 0.0), Complex::polar_deg(63_500.0, -apart_deg));
        let swing = (near - far) / (source * 2.0 + LINE);
        let (left, right) = (source + LINE * place, source + LINE * (1.0 - place));
        let one = left * right / (left + right);
        let zero_line = LINE * (FACTOR * 3.0 + 1.0);
        let (left0, right0) = (source + zero_line * place, source + zero_line * (1.0 - place));
        let zero = left0 * right0 / (left0 + right0);
        let at_fault = near - swing * left;
        let (positive, negative, none) = match kind {
            "earth" => {
                let each = at_fault / (one * 2.0 + zero);
                (each, each, each)
            }
            "phases" => (at_fault / (one * 2.0), -at_fault / (one * 2.0), Complex::ZERO),
            "three" => (at_fault / one, Complex::ZERO, Complex::ZERO),
            _ => (Complex::ZERO, Complex::ZERO, Complex::ZERO),
        };
        // Behind the relay flows what the far end feeds.
        let is_ahead = place >= 0.0;
        let (share, share0) = match is_ahead {
            true => (right / (left + right), right0 / (left0 + right0)),
            false => (-left / (left + right), -left0 / (left0 + right0)),
        };
        let currents = Sequence {
            positive: swing + positive * share,
            negative: negative * share,
            zero: none * share0,
        };
        let (machine, one, zero) = match is_ahead {
            true => (near, -source, -source),
            false => (far, source + LINE, source + zero_line),
        };
        let voltages = Sequence {
            positive: machine + one * currents.positive,
            negative: one * currents.negative,
            zero: zero * currents.zero,
        };
        let mut seen = Recent::steady(currents.phases(), voltages.phases(), near);
        seen.before = None;
        seen
    }

    /// The same machines with pole A of the line open.
    fn pole_open(apart_deg: f64) -> Recent {
        let source = Complex::polar_deg(10.0, 84.0);
        let (near, far) = (Complex::new(63_500.0, 0.0), Complex::polar_deg(63_500.0, -apart_deg));
        let one = source * 2.0 + LINE;
        let nil = source * 2.0 + LINE * (FACTOR * 3.0 + 1.0);
        let positive = (near - far) / (one + one * nil / (one + nil));
        let (negative, zero) = (-positive * nil / (one + nil), -positive * one / (one + nil));
        let currents = Sequence { positive, negative, zero };
        let voltages = Sequence {
            positive: near - source * positive,
            negative: -source * negative,
            zero: -source * zero,
        };
        let mut seen = Recent::steady(currents.phases(), voltages.phases(), near);
        seen.before = None;
        seen
    }

    #[test]
    fn a_slow_swing_with_an_open_pole_is_no_fault() {
        let mut element = SwingFault::default();
        assert!(
            pole_open(170.0).slopes[0].norm() < 1e-6 && pole_open(170.0).slopes[1].norm() > 1000.0
        );
        for ms in 0..4000 {
            let seen = pole_open(160.0 + 0.36 * 0.05 * ms as f64);
            let now = SampleTime::from_ns(ms * 1_000_000);
            assert_eq!(element.update(now, &seen, &zone(Way::Forward)), PhaseSet::NONE, "{ms} ms");
        }
    }

    /// The millisecond in which the fault is found, of those that begin 130 degrees apart, after 100 ms of swing.
    fn found(way: Way, slip_hz: f64, place: f64, kind: &str) -> Option<(u64, PhaseSet)> {
        let mut element = SwingFault::default();
        // Until they are 330 degrees apart.
        (-100..(555.0 / slip_hz) as i64).find_map(|ms| {
            let kind = if ms < 0 { "none" } else { kind };
            let before = seen(130.0, place, "none");
            let mut seen = seen(130.0 + 0.36 * slip_hz * ms as f64, place, kind);
            if (0..150).contains(&ms) {
                let voltage = Some(Sequence::of(before.voltages).positive);
                seen.before = Some(Before { voltage, currents: before.slopes });
                seen.age = ms as f64 / 20.0;
            }
            // A swing that is fast changes as much as an inception does.
            if (250..260).contains(&ms) {
                let before = self::seen(130.0 + 0.36 * slip_hz * 240.0, place, kind);
                let voltage = Some(Sequence::of(before.voltages).positive);
                seen.before = Some(Before { voltage, currents: before.slopes });
                seen.age = 0.6;
            }
            let now = SampleTime::from_ns((ms + 100) as u64 * 1_000_000);
            let phases = element.update(now, &seen, &zone(way));
            (!phases.is_empty()).then_some((ms as u64, phases))
        })
    }

    #[test]
    fn loops_to_earth_have_a_resistance_of_their_own() {
        // Half an ohm in a phase is more than nothing, and less than a fifth of the zone.
        let mut seen = seen(150.0, 0.4, "earth");
        let dropped = zone(Way::Forward).drop(Of::Earth(0), &seen) / (LINE * 0.8);
        seen.voltages[0] += dropped * 0.5;
        let sees = |earth_resistance_ohm| {
            let zone = Zone { resistance_ohm: 0.0, earth_resistance_ohm, ..zone(Way::Forward) };
            place(Of::Earth(0), &seen, &zone).is_some()
        };
        assert!(sees(1.0) && !sees(0.2));
    }

    #[test]
    fn a_place_that_it_did_not_see_reached_may_be_that_of_a_slow_swing() {
        let mut element = SwingFault::default();
        for ms in 0..1000 {
            let seen = seen(179.0 + 0.36 * 0.05 * ms as f64, 0.5, "none");
            let now = SampleTime::from_ns(ms * 1_000_000);
            assert_eq!(element.update(now, &seen, &zone(Way::Forward)), PhaseSet::NONE, "{ms} ms");
        }
    }

    #[test]
    fn faults_in_the_zone_are_found_and_neither_swings_nor_faults_beyond_are() {
        let (a, c) = (PhaseSet::phase(0) | PhaseSet::EARTH, PhaseSet::phase(2));
        let pair = PhaseSet::phase(1) | c;
        for slip_hz in [0.5, 1.0, 2.0] {
            for place in [0.1, 0.4, 0.7] {
                for (kind, phases) in [("earth", a), ("phases", pair), ("three", PhaseSet::ALL)] {
                    let (ms, said) = found(Way::Forward, slip_hz, place, kind)
                        .unwrap_or_else(|| panic!("{kind} at {place}, {slip_hz} Hz"));
                    assert_eq!(said, phases, "{kind} at {place}, {slip_hz} Hz");
                    assert!(ms >= if kind == "three" { 100 } else { 40 }, "{kind}: {ms} ms");
                    assert_eq!(found(Way::Reverse, slip_hz, place, kind), None, "{kind}");
                }
            }
            for kind in ["none", "earth", "phases", "three"] {
                let beyond = found(Way::Forward, slip_hz, 0.9, kind);
                assert_eq!(beyond, None, "{kind} beyond, {slip_hz} Hz");
            }
        }
    }

    #[test]
    fn a_fault_of_three_phases_at_the_terminals_is_where_what_it_adds_points_to() {
        for slip_hz in [0.3, 0.5, 1.0] {
            for (place, way, other) in
                [(0.0, Way::Forward, Way::Reverse), (-0.03, Way::Reverse, Way::Forward)]
            {
                let ms = found(way, slip_hz, place, "three").map(|(ms, _)| ms);
                assert!(ms.is_some_and(|ms| ms >= 100), "{slip_hz} Hz at {place}: {ms:?}");
                assert_eq!(found(other, slip_hz, place, "three"), None, "{slip_hz} Hz at {place}");
            }
        }
    }
}
