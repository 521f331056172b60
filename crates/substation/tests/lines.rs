//! Elements of lines in a whole relay: the charging current of a cable is no fault (87L), a blown fuse
//! (60FL) and a power swing (68) trip no distance zone (21), and faults trip through all of it.

use std::f64::consts::{PI, SQRT_2};

use iec61850::SampleTime;
use iec61850::wire::{Quality, Synchronisation};
use protection::{Complex, Degrees, Sequence};
use substation::engine::{Arrival, Change, Engine};
use substation::settings;

use crate::samples::{AMPERE, RATE, VOLT, channel, sampled, seconds};

const VOLTAGE_V: f64 = 63_500.0;

/// What a merging unit sees at a moment: positive and other sequences of currents and voltages.
#[derive(Clone, Copy)]
struct Seen {
    currents: [Complex; 3],
    voltages: [Complex; 3],
    voltage_quality: Quality,
}

fn balanced(phasor: Complex) -> [Complex; 3] {
    Sequence { positive: phasor, ..Sequence::default() }.phases()
}

fn seen(current: Complex, voltage: Complex) -> Seen {
    let (currents, voltages) = (balanced(current), balanced(voltage));
    Seen { currents, voltages, voltage_quality: Quality::GOOD }
}

fn arrival(stream: u16, number: u32, seen: &Seen) -> Arrival {
    let turn = Complex::from_polar(1.0, 2.0 * PI * 50.0 * seconds(number));
    let value = |phasor: Complex, unit: f64| SQRT_2 * (phasor * turn).re * unit;
    let mut channels = [channel(0.0, Quality::GOOD); 8];
    for phase in 0..3 {
        channels[phase] = channel(value(seen.currents[phase], AMPERE), Quality::GOOD);
        channels[4 + phase] = channel(value(seen.voltages[phase], VOLT), seen.voltage_quality);
    }
    sampled(stream, (number, 0), Synchronisation::Global, &channels)
}

/// Runs a relay for so long on what each of its streams sees; answers when something first
/// operated, by the place of the element, in s.
fn operated(text: &str, duration_s: f64, see: impl Fn(f64) -> Vec<Seen>) -> Vec<Option<f64>> {
    let relay = settings::read("relay.yaml", text).expect("the settings are good");
    let mut engine = Engine::new(&relay.protection);
    let mut first = vec![None; relay.protection.elements.len()];
    for number in 0..(duration_s * f64::from(RATE)) as u32 {
        for (stream, seen) in (0..).zip(see(seconds(number))) {
            engine.sample(&arrival(stream, number, &seen));
        }
        if number % 4 == 0 {
            for change in engine.step(SampleTime::of_sample(number.into(), RATE)) {
                if let Change::Operate(element, true) = *change {
                    first[element].get_or_insert(seconds(number));
                }
            }
        }
    }
    first
}

/// A cable of 500 uS, 32 A of charging, with a pick-up of 15 A.
fn cable(charging: &str) -> String {
    format!(
        "
relay: cable
frequency: 50 Hz
streams:
  a: {{sv_id: A, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}
  b: {{sv_id: B, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4000 Hz}}
elements:
  Id:
    function: differential
    streams: [a, b]
    rated: [300 A, 300 A]
    pick_up: 5 %
    slope: 30 %
    knee: 3
    slope_beyond: 70 %
    unrestrained: 8
    delay: 0 ms
    {charging}
"
    )
}

/// Both ends of the cable with this load, and from 200 ms on a fault that draws so much.
fn ends(load_a: f64, fault_a: f64, time_s: f64) -> [Seen; 2] {
    let voltage = Complex::new(VOLTAGE_V, 0.0);
    let charging = voltage * Complex::new(0.0, 250e-6);
    let fault = Complex::new(if time_s >= 0.2 { fault_a } else { 0.0 }, 0.0);
    let load = Complex::polar_deg(load_a, -20.0);
    [seen(load + charging + fault, voltage), seen(charging - load, voltage)]
}

#[test]
fn charging_is_no_fault_and_small_faults_are_seen_through_it() {
    let with = cable("charging: 500 uS");
    let run = |text: &str, load_a, fault_a| {
        operated(text, 0.4, |time_s| ends(load_a, fault_a, time_s).into())[0]
    };
    for load_a in [0.0, 20.0] {
        assert!(run(&cable(""), load_a, 0.0).is_some(), "without compensation charging trips");
        assert_eq!(run(&with, load_a, 0.0), None);
        let fault = run(&with, load_a, 25.0).expect("a fault of less than the charging current");
        assert!((0.2..0.24).contains(&fault), "{fault} s");
    }
}

#[test]
fn the_end_that_has_voltages_compensates_for_both_and_without_any_nothing_trips() {
    let with = cable("charging: 500 uS");
    let run = |blind: [bool; 2]| {
        operated(&with, 0.4, |time_s| {
            let mut ends = ends(0.0, 0.0, time_s);
            for (end, is_blind) in ends.iter_mut().zip(blind) {
                end.voltage_quality = if is_blind { Quality::INVALID } else { Quality::GOOD };
            }
            ends.into()
        })[0]
    };
    for blind in [[true, false], [false, true], [true, true]] {
        assert_eq!(run(blind), None, "{blind:?}");
    }
}

/// A zone that sees 8 ohm ahead, guarded or not; the elements are FF, PS, Z1.
fn line(guards: &str) -> String {
    format!(
        "
relay: line
frequency: 50 Hz
streams: {{s: {{sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}}}
elements:
  FF: {{function: fuse_failure, stream: s, healthy: 50 kV, unbalance: 6 kV, current_min: 50 A}}
  PS: {{function: power_swing, stream: s, resistance: 12 ohm, reactance: 12 ohm, band: 6 ohm, current_min: 100 A}}
  Z1: {{function: distance, stream: s, shape: mho, reach: 8 ohm, angle: 84 deg, way: forward,
    earth_factor: 0.7, current_min: 100 A, healthy: 40 kV, delay: 0 s{guards}}}
"
    )
}

#[test]
fn blown_fuses_trip_no_zone_that_knows_of_them() {
    for gone in [1, 2, 3] {
        let see = |time_s: f64| {
            let voltage = Complex::new(VOLTAGE_V, 0.0);
            let mut seen = seen(Complex::polar_deg(400.0, -25.0), voltage);
            if time_s >= 0.3 {
                seen.voltages[..gone].fill(Complex::ZERO);
            }
            vec![seen]
        };
        let [failure, _, zone] = operated(&line(""), 0.7, see)[..] else { panic!() };
        assert!(failure.is_some_and(|time_s| (0.3..0.32).contains(&time_s)), "{gone}: {failure:?}");
        if gone == 3 {
            assert!(zone.is_some(), "three fuses look like a fault at the busbar");
        }
        assert_eq!(operated(&line(", fuse_failure: FF"), 0.7, see)[2], None, "{gone} fuses");
    }
}

#[test]
fn faults_trip_a_zone_with_guards_as_fast_as_one_without() {
    let (source, ahead) = (Complex::new(0.5, 5.0), Complex::new(0.4, 4.0));
    let see = |time_s: f64| {
        let voltage = Complex::new(VOLTAGE_V, 0.0);
        let current = if time_s < 0.3 {
            voltage / Complex::new(150.0, 40.0)
        } else {
            voltage / (source + ahead)
        };
        let at_bus = if time_s < 0.3 { voltage } else { current * ahead };
        vec![seen(current, at_bus)]
    };
    let free = operated(&line(""), 0.5, see)[2];
    let guarded = operated(&line(", fuse_failure: FF, power_swing: PS"), 0.5, see);
    assert!(free.is_some_and(|time_s| (0.3..0.33).contains(&time_s)), "{free:?}");
    assert_eq!(guarded, [None, None, free]);
}

/// Two machines, 24 ohm apart, that slip from 300 ms on; the relay is 4 ohm behind the middle.
fn swing(slip_hz: f64, time_s: f64) -> (Complex, Complex) {
    let angle_deg = 30.0 + 360.0 * slip_hz * (time_s - 0.3).max(0.0);
    let (near, far) =
        (Complex::polar_deg(VOLTAGE_V, 0.0), Complex::polar_deg(VOLTAGE_V, -angle_deg));
    let current = (near - far) / Complex::new(1.0, 24.0);
    (current, near - current * Complex::new(0.33, 8.0))
}

#[test]
fn a_swing_trips_no_zone_that_knows_of_it_and_a_fault_in_it_does() {
    for slip_hz in [0.5, 1.0, 2.0] {
        let swings = |time_s: f64| {
            let (current, voltage) = swing(slip_hz, time_s);
            vec![seen(current, voltage)]
        };
        let duration_s = 0.3 + 0.9 / slip_hz;
        let free = operated(&line(""), duration_s, swings);
        assert!(free[2].is_some(), "{slip_hz} Hz wanders through the zone");
        let guarded = line(", power_swing: PS");
        let told = operated(&guarded, duration_s, swings);
        assert!(told[1] < free[2] && told[1].is_some(), "{slip_hz} Hz: {told:?}");
        assert_eq!(told[2], None, "{slip_hz} Hz");
        // Two phases meet while it swings.
        let fault_s = told[1].expect("it swings") + 0.02;
        let faulty = |time_s: f64| {
            let (current, voltage) = swing(slip_hz, time_s);
            let mut seen = seen(current, voltage);
            if time_s >= fault_s {
                // What the fault adds is fed through the source behind the relay.
                let (source, ahead) = (Complex::new(0.33, 8.0), Complex::new(0.3, 3.0));
                let pair = |of: [Complex; 3]| of[1] - of[2];
                let left = pair(seen.voltages) - pair(seen.currents) * ahead;
                let added = left / ((source + ahead) * 2.0);
                seen.currents[1] += added;
                seen.currents[2] -= added;
                seen.voltages[1] -= added * source;
                seen.voltages[2] += added * source;
            }
            vec![seen]
        };
        let zone = operated(&guarded, fault_s + 0.2, faulty)[2];
        assert!(zone.is_some_and(|time_s| time_s >= fault_s), "{slip_hz} Hz: {zone:?}");
    }
}

#[test]
fn load_that_comes_into_a_zone_trips_nothing_where_its_region_is_known() {
    // The zone reaches to 45 ohm of resistance.
    let zone = ", load_resistance: 30 ohm, load_angle: 35 deg";
    let text = |load: &str| {
        line(load).replace(
            "shape: mho",
            "shape: quadrilateral, resistance: 60 ohm, earth_resistance: 60 ohm",
        )
    };
    let (source, load) = (Complex::new(0.5, 5.0), Complex::new(36.0, 5.0));
    for angle_deg in [0.0, 30.0, 60.0, 90.0, 120.0, 150.0] {
        let machine = Complex::polar_deg(VOLTAGE_V, angle_deg);
        let of = |impedance: Complex| {
            let current = machine / (source + impedance);
            (current, current * impedance)
        };
        let comes = |time_s: f64| {
            let impedance = if time_s < 0.3 { Complex::new(150.0, 40.0) } else { load };
            let (current, voltage) = of(impedance);
            vec![seen(current, voltage)]
        };
        assert!(operated(&text(""), 0.8, comes)[2].is_some(), "load lies in the zone");
        assert_eq!(operated(&text(zone), 0.8, comes)[2], None, "load at {angle_deg} degrees");
        // A fault of all phases out of that load.
        let fault = |time_s: f64| {
            let impedance = if time_s < 0.3 { load } else { Complex::new(0.5, 5.0) };
            let (current, voltage) = of(impedance);
            vec![seen(current, voltage)]
        };
        let zone = operated(&text(zone), 0.5, fault)[2];
        assert!(zone.is_some_and(|time_s| (0.3..0.34).contains(&time_s)), "{angle_deg}: {zone:?}");
    }
}

#[test]
fn a_current_transformer_that_fails_trips_nothing_that_knows_of_it_and_a_fault_does() {
    // The elements are CTS, I2>, IE>.
    let text = |guard: &str| {
        format!(
            "
relay: line
frequency: 50 Hz
streams: {{s: {{sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}}}
elements:
  CTS: {{function: ct_supervision, stream: s, residual: 40 A, unbalance: 3 kV, voltage_min: 40 kV}}
  I2>: {{function: overcurrent, stream: s, of: negative_sequence, pick_up: 60 A, delay: 50 ms{guard}}}
  IE>: {{function: overcurrent, stream: s, of: residual, pick_up: 60 A, delay: 50 ms{guard}}}
"
        )
    };
    let load = |_: f64| seen(Complex::polar_deg(300.0, -25.0), Complex::new(VOLTAGE_V, 0.0));
    let fails = |time_s: f64| {
        let mut seen = load(time_s);
        if time_s >= 0.3 {
            seen.currents[1] = Complex::ZERO;
        }
        vec![seen]
    };
    assert!(!operated(&text(""), 0.8, fails)[1..].contains(&None), "both look at it");
    let told = operated(&text(", ct_supervision: CTS"), 0.8, fails);
    assert!(told[0].is_some_and(|time_s| (0.3..0.325).contains(&time_s)), "{told:?}");
    assert_eq!(told[1..], [None, None]);
    // A fault to earth of phase A afterwards.
    let faulty = |time_s: f64| {
        let mut seen = fails(time_s).remove(0);
        if time_s >= 0.5 {
            seen.currents[0] = Complex::polar_deg(2000.0, -80.0);
            seen.voltages[0] = Complex::new(0.4 * VOLTAGE_V, 0.0);
        }
        vec![seen]
    };
    let told = operated(&text(", ct_supervision: CTS"), 0.8, faulty);
    for each in &told[1..] {
        assert!(each.is_some_and(|time_s| (0.55..0.58).contains(&time_s)), "{told:?}");
    }
}
