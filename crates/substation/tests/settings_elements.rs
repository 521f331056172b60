//! What settings of single elements refuse, and what the engine makes of those that it takes.

use substation::settings::{self, Function, Relay};

/// A relay with one stream and these elements.
fn read(elements: &str) -> Result<Relay, String> {
    let text = format!(
        "relay: bay\nfrequency: 50 Hz\nstreams:\n  line: {{sv_id: A, destination: '01:0c:cd:04:00:01', \
         app_id: 0x4000, rate: 4000 Hz}}\nelements:\n{elements}\n"
    );
    settings::read("relay.yaml", &text).map_err(|problems| {
        problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("; ")
    })
}

/// The function of one element with these keys.
fn function(keys: &str) -> Result<Function, String> {
    let relay = read(&format!("  X: {{stream: line, {keys}}}"))?;
    Ok(relay.protection.elements["X"].function.clone())
}

/// Each text is refused with these words.
fn refused(all: &[(&str, &str)]) {
    for (keys, words) in all {
        let said = function(keys).expect_err(keys);
        assert!(said.contains(words), "{keys}: {said}");
    }
}

#[test]
fn a_voltage_element_is_of_one_quantity_and_one_kind_of_time() {
    use protection::voltage::{Of, Timing};
    let read =
        function("function: voltage, of: negative_sequence, side: over, pick_up: 1 V, k: 0.5");
    let Ok(Function::Voltage(settings)) = read else { panic!("{read:?}") };
    assert_eq!((settings.of, settings.timing), (Of::NegativeSequence, Timing::Dependent(0.5)));
    refused(&[
        ("function: voltage, side: over, pick_up: 1 kV", "X: there must be either `delay` or `k`"),
        (
            "function: voltage, side: over, pick_up: 1 kV, delay: 0 s, k: 1",
            "k: there must be either `delay` or `k`",
        ),
        (
            "function: voltage, of: residual, side: under, pick_up: 1 kV, delay: 0 s",
            "side: this voltage is low in a healthy network",
        ),
        (
            "function: voltage, of: residual, side: over, phases: all, pick_up: 1 kV, delay: 0 s",
            "phases: there is one such voltage, not three",
        ),
        (
            "function: voltage, side: under, pick_up: 1 kV, dead_below: 1 kV, delay: 0 s",
            "dead_below: below it the element is blocked",
        ),
    ]);
}

#[test]
fn a_negative_sequence_is_compared_in_amperes_or_as_a_ratio() {
    use substation::settings::Quantity;
    let read = function("function: overcurrent, of: negative_sequence, pick_up: 20 A, delay: 3 s");
    let Ok(Function::Overcurrent { of: Quantity::NegativeSequence, .. }) = read else {
        panic!("{read:?}")
    };
    let read = function("function: broken_conductor, ratio: 20 %, current_min: 50 A, delay: 30 s");
    let Ok(Function::BrokenConductor(settings)) = read else { panic!("{read:?}") };
    assert_eq!(settings.ratio, 0.2);
    refused(&[
        ("function: broken_conductor, ratio: 5 %, current_min: 50 A, delay: 3 s", "10 to 100 %"),
        (
            "function: directional_overcurrent, of: negative_sequence, pick_up: 1 A, delay: 0 s, \
             way: forward, characteristic: 0 deg, polarising_min: 1 kV",
            "of: `negative_sequence` is not one of the allowed words",
        ),
    ]);
}

#[test]
fn a_rate_of_change_of_frequency_has_its_unit_and_a_gate_that_can_open() {
    let keys = "function: frequency_rate, side: falling, voltage_min: 40 kV, delay: 500 ms";
    let read = function(&format!("{keys}, pick_up: 0.5 Hz/s, below: 49.8 Hz"));
    let Ok(Function::FrequencyRate(settings)) = read else { panic!("{read:?}") };
    assert_eq!((settings.pick_up_hz_per_s, settings.below_hz), (0.5, 49.8));
    refused(&[
        (&format!("{keys}, pick_up: 0.5 Hz"), "`Hz` is a unit of frequency"),
        (&format!("{keys}, pick_up: 50 Hz/s"), "give 0.1 to 10 Hz/s"),
        (
            &format!("{keys}, pick_up: 1 Hz/s, above: 50 Hz, below: 49 Hz"),
            "above: no frequency is above this and below `below`",
        ),
    ]);
}

#[test]
fn a_power_element_has_one_limit_in_the_unit_of_its_part() {
    use protection::power::Part;
    let keys = "function: power, side: over, way: reverse, voltage_min: 5 kV, delay: 5 s";
    let read = function(&format!("{keys}, reactive: 2 Mvar"));
    let Ok(Function::Power(settings)) = read else { panic!("{read:?}") };
    assert_eq!((settings.part, settings.pick_up_va), (Part::Reactive, 2e6));
    refused(&[
        (keys, "X: there must be either `active` or `reactive`"),
        (&format!("{keys}, active: 1 MW, reactive: 1 Mvar"), "there must be either `active` or"),
        (&format!("{keys}, active: 1 Mvar"), "`Mvar` is a unit of reactive power"),
    ]);
}

#[test]
fn a_region_of_load_is_whole_and_not_where_faults_are() {
    let keys = "function: distance, shape: mho, reach: 30 ohm, angle: 60 deg, way: forward, earth_factor: 1, \
                current_min: 100 A, healthy: 40 kV, delay: 1 s";
    let load = |keys: &str| match function(keys) {
        Ok(Function::Distance(settings)) => Ok(settings.load),
        other => Err(Box::new(other)),
    };
    assert_eq!(load(keys), Ok(None));
    let region = load(&format!("{keys}, load_resistance: 40 ohm, load_angle: 30 deg"));
    assert_eq!(region.map(|region| region.map(|region| region.angle_deg)), Ok(Some(30.0)));
    refused(&[
        (&format!("{keys}, load_angle: 30 deg"), "`load_resistance` is missing"),
        (&format!("{keys}, load_resistance: 40 ohm"), "`load_angle` is missing"),
        (
            &format!("{keys}, load_resistance: 40 ohm, load_angle: 60 deg"),
            "load_angle: faults of all phases on the line have such an angle too",
        ),
    ]);
}

#[test]
fn a_supervision_of_current_transformers_is_named_by_what_it_blocks() {
    let supervision = "  CTS: {function: ct_supervision, stream: line, residual: 40 A, unbalance: 3 kV, \
                       voltage_min: 40 kV}\n  X: {stream: line, ct_supervision: CTS, ";
    let guards = |keys: &str| {
        read(&format!("{supervision}{keys}}}")).map(|r| r.protection.elements["X"].guards.clone())
    };
    for keys in [
        "function: overcurrent, of: residual, pick_up: 50 A, delay: 1 s",
        "function: overcurrent, of: negative_sequence, pick_up: 50 A, delay: 1 s",
        "function: broken_conductor, ratio: 20 %, current_min: 50 A, delay: 3 s",
        "function: directional_overcurrent, of: residual, pick_up: 1 A, delay: 1 s, way: forward, \
         characteristic: 0 deg, polarising_min: 1 kV",
        "function: distance, shape: mho, reach: 30 ohm, angle: 60 deg, way: forward, earth_factor: 1, \
         current_min: 100 A, healthy: 40 kV, delay: 1 s",
    ] {
        assert_eq!(guards(keys), Ok(vec!["CTS".to_owned()]), "{keys}");
    }
    let said = guards("function: overcurrent, pick_up: 50 A, delay: 1 s");
    assert!(said.expect_err("it is of phases").contains("does not mislead phases"));
    // Of several streams, it may be on any.
    let differential = "function: differential, streams: [line], rated: [100 A], pick_up: 30 %, slope: 30 %, \
                        knee: 3, slope_beyond: 70 %, unrestrained: 8, delay: 0 s";
    let text = format!("{supervision}{differential}}}").replace("X: {stream: line, ", "X: {");
    let said = read(&text).expect_err("it has one side only");
    assert!(said.contains("two sides or more") && !said.contains("ct_supervision"), "{said}");
    let said = guards("function: voltage, side: over, pick_up: 1 kV, delay: 0 s");
    assert!(said.expect_err("it has no currents").contains("no such key"));
}

#[test]
fn a_thermal_element_has_the_limits_that_nobody_writes() {
    let read = function("function: thermal, current_max: 600 A, time_constant: 20 min");
    let Ok(Function::Thermal(settings)) = read else { panic!("{read:?}") };
    assert_eq!(
        (settings.time_constant.as_secs(), settings.alarm, settings.release),
        (1200, 0.9, 0.95)
    );
    refused(&[
        ("function: thermal, current_max: 600 A, time_constant: 1 s", "give 10 to 86400 s"),
        ("function: thermal, current_max: 600 A, time_constant: 1 h, alarm: 100 %", "50 to 99 %"),
    ]);
}

#[test]
fn a_restricted_earth_fault_element_has_a_difference_and_a_slope() {
    let read = function("function: restricted_earth, pick_up: 40 A, slope: 40 %, delay: 0 s");
    let Ok(Function::RestrictedEarth(settings)) = read else { panic!("{read:?}") };
    assert_eq!((settings.pick_up_a, settings.slope), (40.0, 0.4));
    refused(&[("function: restricted_earth, pick_up: 40 A, slope: 2 %, delay: 0 s", "5 to 100 %")]);
}
