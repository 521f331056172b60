//! What is measured of the grid as metrics and as JSON. What is not known is not there: an old value
//! would be taken for one of now.

use protection::measurands::{Measurands, Power, Quantities};
use protection::{Complex, Degrees};
use serde_json::{Value, json};

/// A metric without `qcrelay_`, its type in the exposition format, and its meaning with the unit.
pub(crate) type Family = (&'static str, &'static str, &'static str);

/// Metrics of streams. Label `of`: a phase (A, B, C), `residual` (the sum of the phases), a symmetrical
/// component, or `total`.
pub(crate) const FAMILIES: &[Family] = &[
    (
        "current_amperes",
        "gauge",
        "Current of the fundamental out of the busbar, primary, rms, in A.",
    ),
    (
        "current_degrees",
        "gauge",
        "Angle of the current against the voltage of phase A, or without it the current of phase A.",
    ),
    ("voltage_volts", "gauge", "Voltage of the fundamental to earth, primary, rms, in V."),
    ("voltage_degrees", "gauge", "Angle of the voltage against that of phase A."),
    ("active_power_watts", "gauge", "Active power out of the busbar, in W."),
    (
        "reactive_power_vars",
        "gauge",
        "Reactive power out of the busbar, in var; positive into an inductance.",
    ),
    ("apparent_power_voltamperes", "gauge", "Apparent power, in VA."),
    ("power_factor", "gauge", "Active over apparent power, with the sign of the active power."),
    ("frequency_hertz", "gauge", "Frequency of the voltages, in Hz."),
];

/// Tells each that is known: metric, what it is of, value.
pub(crate) fn each(
    measurands: Option<&Measurands>,
    mut tell: impl FnMut(&'static str, &'static str, f64),
) {
    let Some(measurands) = measurands else { return };
    for (quantities, magnitude, angle) in [
        (&measurands.currents, "current_amperes", "current_degrees"),
        (&measurands.voltages, "voltage_volts", "voltage_degrees"),
    ] {
        for (of, phasor) in quantities.iter().flat_map(Quantities::named) {
            tell(magnitude, of, phasor.norm());
            tell(angle, of, phasor.angle_deg());
        }
    }
    for (of, power) in measurands.power().into_iter().flatten() {
        tell("active_power_watts", of, power.active_w());
        tell("reactive_power_vars", of, power.reactive_var());
        tell("apparent_power_voltamperes", of, power.apparent_va());
        if let Some(factor) = power.factor() {
            tell("power_factor", of, factor);
        }
    }
    if let Some(frequency_hz) = measurands.frequency_hz {
        tell("frequency_hertz", "total", frequency_hz);
    }
}

/// The same for a summary; null while nothing is known.
pub(crate) fn json(measurands: Option<&Measurands>) -> Value {
    let Some(measurands) = measurands else { return Value::Null };
    let power = |power: Power| {
        json!({
            "active_w": power.active_w(),
            "reactive_var": power.reactive_var(),
            "apparent_va": power.apparent_va(),
            "factor": power.factor(),
        })
    };
    json!({
        "currents_a": measurands.currents.as_ref().map(quantities),
        "voltages_v": measurands.voltages.as_ref().map(quantities),
        "power": measurands.power().map(|all| {
            Value::Object(all.map(|(of, each)| (of.to_owned(), power(each))).into_iter().collect())
        }),
        "frequency_hz": measurands.frequency_hz,
    })
}

/// Each phasor by its name.
pub(crate) fn quantities(quantities: &Quantities) -> Value {
    let all = quantities.named().map(|(of, phasor)| (of.to_owned(), phasor_json(phasor)));
    Value::Object(all.into_iter().collect())
}

fn phasor_json(phasor: Complex) -> Value {
    json!({"rms": phasor.norm(), "angle_deg": phasor.angle_deg()})
}

#[cfg(test)]
pub(crate) mod tests {
    use protection::Measured;
    use protection::direction::Bay;

    use super::*;

    /// A load of 100 A that lags by 30 degrees.
    pub(crate) fn some() -> Measurands {
        let three = |magnitude, angle_deg: f64| {
            [0.0, -120.0, 120.0].map(|phase| Complex::polar_deg(magnitude, angle_deg + phase))
        };
        let none = [Complex::ZERO; 3];
        let bay = Bay {
            currents: three(100.0, -30.0),
            second_harmonics: none,
            voltages: three(10_000.0, 0.0),
            frequency_hz: 50.0,
        };
        let frequency_hz = Some(50.0);
        let measured = Measured { bay, fifth_harmonics: none, recent: None, frequency_hz };
        Measurands::of(&measured, true, true)
    }

    #[test]
    fn each_value_has_its_metric_and_what_is_not_known_has_none() {
        let mut told = Vec::new();
        each(Some(&some()), |family, of, value| told.push((family, of, value)));
        let value = |family, of| {
            told.iter().find(|each| (each.0, each.1) == (family, of)).map(|each| each.2)
        };
        let lag = value("current_degrees", "A").expect("it is known");
        assert!((lag + 30.0).abs() < 1e-9, "{told:?}");
        let active = value("active_power_watts", "total").expect("it is known");
        assert!((active - 3e6 * 0.75_f64.sqrt()).abs() < 1.0, "{told:?}");
        each(None, |family, of, value| panic!("{family} {of} {value}"));
        assert_eq!(json(None), Value::Null);
        assert_eq!(json(Some(&some()))["frequency_hz"], 50.0);
    }
}
