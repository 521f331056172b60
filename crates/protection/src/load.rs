//! Load encroachment (load blinder): impedances of load that lie in a zone are no fault.
//!
//! A long zone that covers resistance at the fault reaches into the impedances of heavy load. Load is
//! balanced, resistive and far from the relay: the positive sequence impedance has at least a resistance
//! and at most an angle, into the line or out of it, and there is hardly any negative or zero sequence.
//! While all of that holds, no loop measures anything. A fault between phases or to earth unbalances the
//! currents, whatever load flows; one of all three phases has the angle of the line. So what is lost is
//! a balanced fault whose resistance is that of load (Schweitzer and Roberts 1993).

use super::recent::Recent;
use super::symmetrical::Sequence;

/// Share of the negative or zero in the positive sequence current from which a condition is not
/// balanced: more than lines and loads make, as usual in the trade.
const UNBALANCE_SHARE_MAX: f64 = 0.1;

/// The region of load in the plane of positive sequence impedances.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// The least resistance that load has, in ohm.
    pub resistance_ohm: f64,
    /// The largest angle that load has, inductive or capacitive, in degrees.
    pub angle_deg: f64,
}

impl Load {
    /// Whether what was measured is load.
    #[must_use]
    pub fn covers(&self, recent: &Recent) -> bool {
        let current = Sequence::of(recent.slopes);
        let current_a = current.positive.norm();
        let unbalance_a = current.negative.norm().max(current.zero.norm());
        if unbalance_a > UNBALANCE_SHARE_MAX * current_a {
            return false;
        }
        let seen = Sequence::of(recent.voltages).positive / current.positive;
        let resistance_ohm = seen.re.abs();
        resistance_ohm >= self.resistance_ohm
            && seen.im.abs() <= resistance_ohm * self.angle_deg.to_radians().tan()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::direction::Way;
    use crate::distance::{self, Distance, Shape};
    use crate::recent::Before;
    use crate::{Complex, Degrees};
    use iec61850::SampleTime;
    use std::time::Duration;

    const LOAD: Load = Load { resistance_ohm: 40.0, angle_deg: 30.0 };

    /// What is measured of an impedance in all phases, and these shares of negative and zero sequence.
    fn seen(impedance: Complex, negative: f64, zero: f64) -> Recent {
        let voltage = Complex::polar_deg(63_500.0, 40.0);
        let positive = voltage / impedance;
        let share = |share: f64| positive.turned_deg(75.0) * share;
        let currents = Sequence { positive, negative: share(negative), zero: share(zero) };
        let voltages = Sequence { positive: voltage, ..Sequence::default() };
        Recent::steady(currents.phases(), voltages.phases(), voltage)
    }

    #[test]
    fn load_of_either_way_is_covered_and_what_is_closer_or_steeper_is_not() {
        let polar = Complex::polar_deg;
        for (impedance, is) in [
            (Complex::new(41.0, 0.0), true),
            (Complex::new(39.0, 0.0), false),
            (Complex::new(-41.0, 5.0), true),
            (polar(60.0, 29.0), true),
            (polar(60.0, -29.0), true),
            (polar(60.0, 151.0), true),
            (polar(60.0, 31.0), false),
            (polar(60.0, -31.0), false),
            // Faults of all phases: on the line, and with some resistance.
            (polar(60.0, 84.0), false),
            (Complex::new(5.0, 20.0), false),
        ] {
            assert_eq!(LOAD.covers(&seen(impedance, 0.0, 0.0)), is, "{impedance}");
        }
    }

    #[test]
    fn what_is_not_balanced_is_a_fault_whatever_load_flows() {
        let heavy = Complex::new(45.0, 10.0);
        assert!(LOAD.covers(&seen(heavy, 0.09, 0.09)));
        assert!(!LOAD.covers(&seen(heavy, 0.11, 0.0)));
        assert!(!LOAD.covers(&seen(heavy, 0.0, 0.11)));
        // Nothing flows: there is no impedance, and no load either.
        let nothing = Recent::steady([Complex::ZERO; 3], seen(heavy, 0.0, 0.0).voltages, heavy);
        assert!(!LOAD.covers(&nothing));
    }

    /// The first millisecond in which a zone that reaches far to the right starts, of load up to 100 ms
    /// and of something else from then on.
    fn starts(load: Option<Load>, before: &Recent, after: &Recent) -> Option<u64> {
        let mut element = Distance::new(distance::Settings {
            shape: Shape::Quadrilateral {
                resistance_ohm: 60.0,
                earth_resistance_ohm: 80.0,
                tilt_deg: 0.0,
            },
            reach: Complex::new(3.0, 30.0),
            way: Way::Forward,
            earth_factor: Complex::new(0.7, 0.0),
            current_a_min: 100.0,
            healthy_v: 40_000.0,
            delay: Duration::ZERO,
            load,
        });
        (0..200).find(|ms| {
            let recent = if *ms < 100 { before } else { after };
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(Some(recent)), false).start
        })
    }

    #[test]
    fn load_in_the_zone_starts_nothing_and_faults_out_of_that_load_do() {
        let heavy = seen(Complex::new(45.0, 10.0), 0.0, 0.0);
        assert_eq!(starts(None, &heavy, &heavy), Some(2));
        assert_eq!(starts(Some(LOAD), &heavy, &heavy), None);
        // Of all phases, 70 % of the way.
        let fault = seen(Complex::new(2.0, 21.0), 0.0, 0.0);
        assert_eq!(starts(Some(LOAD), &heavy, &fault), Some(102));
        // Between B and C, through 5 ohm, and the load goes on in A.
        let mut fault = heavy;
        let behind = Complex::new(0.5, 5.0);
        let across = heavy.voltages[1] - heavy.voltages[2];
        let loop_a = across / ((behind + Complex::new(4.5, 20.0)) * 2.0);
        fault.slopes[1] += loop_a;
        fault.slopes[2] -= loop_a;
        fault.voltages[1] -= behind * loop_a;
        fault.voltages[2] += behind * loop_a;
        fault.currents = fault.slopes;
        fault.voltage_slopes = fault.voltages;
        fault.before = Some(Before { currents: heavy.slopes, ..fault.before.unwrap() });
        assert_eq!(starts(Some(LOAD), &heavy, &fault), Some(102));
    }
}
