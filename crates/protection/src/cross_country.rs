//! Cross-country faults: two phases to earth, each at a place of its own at the same time.
//!
//! What the currents add up to then is no fault at one place: the loop between both phases measures something
//! in between, and the negative sequence is that of both. But the voltage of one phase to earth is what its own
//! current and the residual current drop over the line up to its fault, whatever flows elsewhere, if that fault
//! is bolted (Ziegler, *Numerical Distance Protection*, 2011). So each loop to earth may be judged alone, as
//! phase selection for single-pole tripping does (Kasztenny, Campbell and Mazereeuw, *Phase selection for
//! single-pole tripping: weak infeed conditions and cross-country faults*, 2000).
//!
//! What makes a loop look so that is none of a fault inside is a resistance: what two faults share to earth shifts
//! the loop of the leading phase towards the relay, and one that another fault feeds turns as that one likes.
//! Hence a loop counts only while all of this holds:
//!
//! - Its voltage is in phase with the drop over the zone, as without a resistance, and well below it.
//! - What the faults add to the current of its phase flows the way that is looked, at the angle of the line, and
//!   the residual current adds to the drop. In a phase that a fault behind feeds, it flows the other way.
//! - No loop between it and another phase stands on the line: that is a fault of both at one place, which this
//!   loop measures.
//! - One phase is healthy.
//!
//! Where such a phase is found and the other one is not in the zone, what the loop between them says is explained:
//! a breaker with a drive for each pole trips one.
//!
//! Price: a fault inside through a resistance of more than a few percent of the zone is left to the other loops, and
//! so is one while nothing is known of the load before it.

use super::PhaseSet;
use super::complex::{Complex, Degrees};
use super::loops::{DROP_OFF_RATIO, Of, Zone};
use super::phases::{largest, residual};
use super::recent::{Recent, Transformers};

/// Share of the residual in the largest phase current from which each loop to earth is judged.
const EARTH_SHARE_MIN: f64 = 0.3;
/// Share of the zone up to which a loop may have its fault, and by which it may be off the line: what a resistance
/// drops has any angle to the drop over the line, and seldom just this one.
const PLACE_MAX: f64 = 0.9;
const OFF_LINE_MAX: f64 = 0.03;
/// The same for a loop that was found.
const OFF_LINE_HELD_MAX: f64 = 0.06;
/// Largest angle between the voltage that is healthy and the drop over the zone, and between it and what the added
/// current of the phase alone drops. Bolted faults inside stay below, with both sources up to 40 degrees apart.
const DROP_DEG_MAX: f64 = 60.0;
const ADDED_DEG_MAX: f64 = 45.0;
/// Share of what is added to the current of the phase alone in the drop of its loop. The rest is the residual
/// current: against it, or alone, it says nothing of this phase.
const OWN_SHARES: std::ops::Range<f64> = 0.2..0.95;
/// Share of the largest added current below which a phase is healthy.
const HEALTHY_SHARE_MAX: f64 = 0.35;
/// From where on, as a share of the zone, and how far off the line a loop between two phases may stand if both have
/// their fault at one place.
const SAME_PLACE_MIN: f64 = -0.1;
const SAME_PLACE_OFF_MAX: f64 = 0.1;
/// Where a loop to earth may have a fault in the zone, however inexactly it is seen, and how far off the line.
const INSIDE: std::ops::RangeInclusive<f64> = -0.02..=1.02;
const INSIDE_OFF_MAX: f64 = 0.4;

/// What loops are compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Compared {
    /// Positive sequence voltage that is healthy, of now or of before the fault.
    pub(super) reference: Complex,
    /// By how much the voltages of the phases may be wrong, in V.
    pub(super) doubts_v: [f64; 3],
}

/// Phases to earth whose fault is in the zone, each for itself; `found` are those of just now.
pub(super) fn phases(
    recent: &Recent,
    compared: &Compared,
    zone: &Zone,
    found: PhaseSet,
) -> PhaseSet {
    if residual(recent.slopes).norm() < EARTH_SHARE_MIN * largest(recent.slopes) {
        return PhaseSet::NONE;
    }
    let judged = (0..3).filter(|phase| {
        let is_found = found.has(*phase);
        let of_fault =
            is_found && recent.before.is_none() || is_of_fault(*phase, recent, compared, zone);
        of_fault && is_in_zone(*phase, recent, compared, zone, is_found)
    });
    judged.fold(PhaseSet::NONE, |phases, phase| phases | Of::Earth(phase).phases())
}

/// Whether the loop of this phase stands in the zone and on the line.
fn is_in_zone(
    phase: usize,
    recent: &Recent,
    compared: &Compared,
    zone: &Zone,
    is_found: bool,
) -> bool {
    let (scale, off_max) =
        if is_found { (DROP_OFF_RATIO, OFF_LINE_HELD_MAX) } else { (1.0, OFF_LINE_MAX) };
    let dropped = zone.drop(Of::Earth(phase), recent);
    let doubt = compared.doubts_v[phase] / dropped.norm();
    // The drop has the offset that the voltage has, but where transformers take it away.
    let also = match recent.transformers {
        Transformers::Capacitive => recent.voltage_slopes,
        Transformers::Inductive => recent.voltages,
    };
    [recent.voltages, also].into_iter().all(|voltages| {
        let at = voltages[phase] / dropped;
        (0.0..PLACE_MAX * scale - doubt).contains(&at.re) && at.im.abs() < off_max
    })
}

/// Whether what the faults add to the currents is that of a fault of this phase on the side of the zone, and not
/// of one that it shares.
fn is_of_fault(phase: usize, recent: &Recent, compared: &Compared, zone: &Zone) -> bool {
    let Some(before) = recent.before.map(|before| before.currents) else { return false };
    let added: [Complex; 3] = std::array::from_fn(|p| recent.slopes[p] - before[p]);
    let [next, last] = [(phase + 1) % 3, (phase + 2) % 3];
    let has_healthy =
        added[next].norm().min(added[last].norm()) < HEALTHY_SHARE_MAX * largest(added);
    let dropped = zone.drop(Of::Earth(phase), recent);
    let own = recent.drop(zone.reach, added[phase], added[phase]) * zone.way.sign();
    let reference = compared.reference.turned_deg(-120.0 * phase as f64);
    let lies_within = |drop: Complex, deg_max: f64| (drop / reference).angle_deg().abs() < deg_max;
    has_healthy
        && recent.slopes[phase].norm() > zone.current_a_min
        && lies_within(dropped, DROP_DEG_MAX)
        && lies_within(own, ADDED_DEG_MAX)
        && OWN_SHARES.contains(&(own.norm() / dropped.norm()))
        && ![next, last].iter().any(|other| is_at_one_place(phase, *other, recent, compared, zone))
}

/// Whether two phases may have their fault at one place, as far as their voltages are known.
fn is_at_one_place(
    phase: usize,
    other: usize,
    recent: &Recent,
    compared: &Compared,
    zone: &Zone,
) -> bool {
    let pair = Of::Phases(phase, other);
    let dropped = zone.drop(pair, recent);
    let at = pair.of(recent.voltages) / dropped;
    let doubt = compared.doubts_v[phase].hypot(compared.doubts_v[other]) / dropped.norm();
    at.re > SAME_PLACE_MIN - doubt && at.im.abs() < SAME_PLACE_OFF_MAX + doubt
}

/// Whether a loop between phases is only what a fault of one of `found` and one of the other phase outside make
/// of it.
pub(super) fn is_explained(each: Of, found: PhaseSet, recent: &Recent, zone: &Zone) -> bool {
    let Of::Phases(first, second) = each else { return false };
    let other = match (found.has(first), found.has(second)) {
        (true, false) => second,
        (false, true) => first,
        _ => return false,
    };
    let at = recent.voltages[other] / zone.drop(Of::Earth(other), recent);
    !INSIDE.contains(&at.re) || at.im.abs() > INSIDE_OFF_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sequence;
    use crate::direction::Way;
    use proptest::prelude::*;

    const REACH: Complex = Complex::new(0.8, 8.0);
    const FACTOR: Complex = Complex::new(0.7, 0.0);
    const SOURCE: Complex = Complex::new(0.5, 5.0);
    const E_V: f64 = 63_500.0;

    fn zone(way: Way) -> Zone {
        Zone {
            reach: REACH,
            earth_factor: FACTOR,
            way,
            resistance_ohm: f64::INFINITY,
            earth_resistance_ohm: f64::INFINITY,
            current_a_min: 100.0,
        }
    }

    fn sources() -> [Complex; 3] {
        Sequence { positive: Complex::new(E_V, 0.0), ..Sequence::default() }.phases()
    }

    /// Phases A and B to earth ahead, at these shares of the zone and through these resistances, and one to earth
    /// that they share; A is the nearer one. Only the source behind the relay feeds them; what the far end adds to the
    /// drop over what they share is an angle of it.
    fn ahead([a, b]: [f64; 2], ohm: [f64; 2], shared: Complex) -> Recent {
        let healthy = sources();
        // Up to the nearer place both currents return through earth, beyond it only that of B.
        let mutual = REACH * FACTOR * a + shared;
        let own_a = SOURCE + REACH * (FACTOR + 1.0) * a + ohm[0] + shared;
        let own_b = SOURCE + REACH * (FACTOR + 1.0) * b + ohm[1] + shared;
        let determinant = own_a * own_b - mutual * mutual;
        let currents = [
            (healthy[0] * own_b - healthy[1] * mutual) / determinant,
            (healthy[1] * own_a - healthy[0] * mutual) / determinant,
            Complex::ZERO,
        ];
        let voltages = std::array::from_fn(|p| healthy[p] - SOURCE * currents[p]);
        Recent::steady(currents, voltages, healthy[0])
    }

    /// Phase A to earth ahead, and B behind, fed from the far end alone.
    fn behind(a: f64) -> Recent {
        let healthy = sources();
        let from_far = healthy[1] / (REACH * 3.0 * (FACTOR + 1.0));
        let own = SOURCE + REACH * (FACTOR + 1.0) * a;
        let into_a = (healthy[0] + REACH * FACTOR * a * from_far) / own;
        let voltages = [healthy[0] - SOURCE * into_a, SOURCE * 0.4 * from_far, healthy[2]];
        Recent::steady([into_a, -from_far, Complex::ZERO], voltages, healthy[0])
    }

    fn judged(recent: &Recent, way: Way, found: PhaseSet) -> PhaseSet {
        let compared = Compared { reference: sources()[0], doubts_v: [0.0; 3] };
        phases(recent, &compared, &zone(way), found)
    }

    fn place(recent: &Recent, each: Of) -> Complex {
        each.of(recent.voltages) / zone(Way::Forward).drop(each, recent)
    }

    const A: PhaseSet = PhaseSet::phase(0);

    #[test]
    fn the_phase_inside_is_found_alone_whatever_the_other_one_does() {
        for a in [0.3, 0.6, 0.85] {
            let beyond = |b, ohm| ahead([a, b], [0.0, ohm], Complex::ZERO);
            for seen in [beyond(1.2, 0.0), beyond(2.0, 4.0), behind(a)] {
                assert!((place(&seen, Of::Earth(0)) - a).norm() < 1e-9);
                let said = judged(&seen, Way::Forward, PhaseSet::NONE);
                assert_eq!(said, A | PhaseSet::EARTH, "at {a}");
                assert_eq!(judged(&seen, Way::Reverse, PhaseSet::NONE), PhaseSet::NONE, "at {a}");
                assert!(is_explained(Of::Phases(0, 1), A, &seen, &zone(Way::Forward)));
                assert!(!is_explained(Of::Phases(1, 2), A, &seen, &zone(Way::Forward)));
                assert!(!is_explained(Of::Phases(0, 1), PhaseSet::ALL, &seen, &zone(Way::Forward)));
            }
        }
    }

    #[test]
    fn two_phases_at_one_place_are_left_to_the_loop_between_them() {
        // What they share to earth shifts the loop of A, the leading one, towards the relay.
        let mut deceived = 0;
        for share in 80..140 {
            for milliohm in (0..4000).step_by(10) {
                let place_of_both = f64::from(share) / 100.0;
                let shared = Complex::polar_deg(f64::from(milliohm) / 1000.0, -38.0);
                let seen = ahead([place_of_both; 2], [0.0; 2], shared);
                let [a, b] = [0, 1].map(|phase| place(&seen, Of::Earth(phase)));
                let is_inside = |at: Complex| (0.0..0.9).contains(&at.re) && at.im.abs() < 0.03;
                deceived += usize::from(place_of_both > 1.0 && (is_inside(a) || is_inside(b)));
                let said = judged(&seen, Way::Forward, PhaseSet::NONE);
                assert_eq!(said, PhaseSet::NONE, "{place_of_both}, {milliohm} milliohm");
            }
        }
        assert!(deceived > 50, "{deceived} would be wrong by their place alone");
    }

    #[test]
    fn doubt_of_the_voltages_takes_the_end_of_the_zone_away() {
        let seen = ahead([0.8, 1.5], [0.0; 2], Complex::ZERO);
        let dropped_v = zone(Way::Forward).drop(Of::Earth(0), &seen).norm();
        for (share, is) in [(0.05, true), (0.15, false)] {
            let doubts_v = [share * dropped_v, 0.0, 0.0];
            let compared = Compared { reference: sources()[0], doubts_v };
            let said = phases(&seen, &compared, &zone(Way::Forward), PhaseSet::NONE);
            assert_eq!(!said.is_empty(), is, "{share}");
        }
    }

    #[test]
    fn one_that_was_found_stays_while_load_is_forgotten_and_none_is_found_then() {
        let mut seen = ahead([0.88, 1.5], [0.0; 2], Complex::ZERO);
        seen.before = None;
        assert_eq!(judged(&seen, Way::Forward, PhaseSet::NONE), PhaseSet::NONE);
        assert_eq!(judged(&seen, Way::Forward, A), A | PhaseSet::EARTH);
        // It has gone to where it would not be found, and then out of the zone.
        for (a, stays) in [(0.93, true), (0.96, false)] {
            let seen = ahead([a, 1.5], [0.0; 2], Complex::ZERO);
            assert_eq!(judged(&seen, Way::Forward, PhaseSet::NONE), PhaseSet::NONE);
            assert_eq!(!judged(&seen, Way::Forward, A).is_empty(), stays, "at {a}");
        }
    }

    proptest! {
        #[test]
        fn outside_no_resistance_makes_a_loop_one_inside(
            a in 1.02..1.5f64,
            further in 0.0..1.0f64,
            ohm in [0.0..20.0f64, 0.0..20.0],
            shared_ohm in 0.0..10.0f64,
            shared_deg in -60.0..60.0f64,
        ) {
            let shared = Complex::polar_deg(shared_ohm, shared_deg);
            for seen in [
                ahead([a, a + further], ohm, Complex::ZERO),
                ahead([a, a + further], [0.0, ohm[1]], Complex::ZERO),
                ahead([a, a], [0.0, 0.0], shared),
                ahead([a, a], ohm, shared),
            ] {
                for way in [Way::Forward, Way::Reverse] {
                    prop_assert_eq!(judged(&seen, way, PhaseSet::NONE), PhaseSet::NONE);
                }
            }
        }
    }
}
