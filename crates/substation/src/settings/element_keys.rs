//! Keys of the protection elements, with the range that makes sense for each.
//!
//! All currents, voltages and impedances are those of the primary side, root mean square. Currents
//! count out of the busbar, into what is protected.

use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Several, Within};
use ::settings::table::{Forms, Key, Shape, Table, key};
use ::settings::units::Dimension::{
    Admittance, Angle, Current, Frequency, Impedance, Number, Portion, Time, Voltage,
};

use super::texts::{TEXT, YES_NO};
use crate::protection::curve::Curve;

pub(super) static ELEMENT: Forms = Forms {
    what: "functions",
    item: "element",
    forms: &[
        &OVERCURRENT,
        &DIRECTIONAL_OVERCURRENT,
        &VOLTAGE,
        &FREQUENCY,
        &DISTANCE,
        &DIFFERENTIAL,
        &ADMITTANCE,
        &BREAKER_FAILURE,
        &FUSE_FAILURE,
        &POWER_SWING,
    ],
};

const CURVES: [&str; Curve::ALL.len()] = {
    let mut names = [""; Curve::ALL.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Curve::ALL[at].name();
        at += 1;
    }
    names
};

const AMPERES: Shape = Within(Current, 1.0, 100_000.0);
const VOLTS: Shape = Within(Voltage, 1.0, 1e6);
const OHMS: Shape = Within(Impedance, 0.01, 1000.0);
const UP_TO_300_S: Shape = Within(Time, 0.0, 300.0);

const STREAM: Key = key("stream", TEXT, Required, "the stream that it uses");
const PICK_UP_A: Key = key("pick_up", AMPERES, Required, "primary current above which it starts");
const DELAY: Key = key("delay", UP_TO_300_S, Required, "from start to operation");
const DEFINITE: Key = key("delay", UP_TO_300_S, Optional, "from start to operation, or `curve`");
const CURVE: Key = key("curve", Choice(&CURVES), Optional, "inverse-time curve, or `delay`");
const K: Key = key("k", Within(Number, 0.01, 15.0), Optional, "multiplier of the curve");
const RESET: Key = key("reset", UP_TO_300_S, Optional, "of the curve; at once without it");
const SECOND_HARMONIC: Key = key(
    "second_harmonic_max",
    Within(Portion, 0.05, 0.5),
    Optional,
    "share of the second harmonic above which it is blocked",
);
const OF: Key = key("of", Choice(&["phases", "residual"]), Default("phases"), "phase, or `3 I0`");
const WAY: Key = key("way", Choice(&["forward", "reverse"]), Required, "where it looks");
const SIDE: Key = key("side", Choice(&["under", "over"]), Required, "of the limit");
const FUSE_GUARD: Key =
    key("fuse_failure", TEXT, Optional, "element that blocks it while voltages are not trusted");
const CURRENT_MIN: Key = key("current_min", AMPERES, Required, "primary current that it needs");
const HEALTHY: Key = key("healthy", VOLTS, Required, "primary voltage of a whole phase");

/// The key by which the form of an element is chosen.
const fn function(word: &'static [&'static str; 1]) -> Key {
    key("function", Choice(word), Required, "what the element does")
}

static OVERCURRENT: Table = Table {
    what: "an overcurrent element",
    name: "overcurrent",
    keys: &[
        function(&["overcurrent"]),
        STREAM,
        OF,
        PICK_UP_A,
        DEFINITE,
        CURVE,
        K,
        RESET,
        SECOND_HARMONIC,
    ],
};

static DIRECTIONAL_OVERCURRENT: Table = Table {
    what: "a directional overcurrent element",
    name: "directional_overcurrent",
    keys: &[
        function(&["directional_overcurrent"]),
        STREAM,
        OF,
        PICK_UP_A,
        DEFINITE,
        CURVE,
        K,
        RESET,
        SECOND_HARMONIC,
        WAY,
        key("characteristic", Within(Angle, -90.0, 90.0), Required, "by which current lags"),
        key("polarising_min", Within(Voltage, 1.0, 1e5), Required, "primary voltage that it needs"),
        FUSE_GUARD,
    ],
};

static VOLTAGE: Table = Table {
    what: "a voltage element",
    name: "voltage",
    keys: &[
        function(&["voltage"]),
        STREAM,
        SIDE,
        key("pick_up", VOLTS, Required, "primary voltage from phase to earth"),
        key("phases", Choice(&["any", "all"]), Default("any"), "how many must be beyond it"),
        key("dead_below", Within(Voltage, 0.0, 1e6), Default("0 V"), "primary, of a dead line"),
        DELAY,
        FUSE_GUARD,
    ],
};

static FREQUENCY: Table = Table {
    what: "a frequency element",
    name: "frequency",
    keys: &[
        function(&["frequency"]),
        STREAM,
        SIDE,
        key("pick_up", Within(Frequency, 45.0, 65.0), Required, "limit of the frequency"),
        key("voltage_min", VOLTS, Optional, "voltage below which it is blocked, phase to earth"),
        DELAY,
    ],
};

static DISTANCE: Table = Table {
    what: "a distance element",
    name: "distance",
    keys: &[
        function(&["distance"]),
        STREAM,
        key("shape", Choice(&["mho", "quadrilateral"]), Required, "of the zone"),
        key("resistance", OHMS, Optional, "primary, of a quadrilateral between phases"),
        key("earth_resistance", OHMS, Optional, "primary, of a quadrilateral to earth"),
        key("reach", OHMS, Required, "primary positive sequence impedance up to its end"),
        key("angle", Within(Angle, 30.0, 90.0), Required, "of `reach`, above 0 if inductive"),
        WAY,
        key("earth_factor", Within(Number, 0.0, 10.0), Required, "`(Z0 - Z1) / 3 Z1`"),
        key("earth_factor_angle", Within(Angle, -180.0, 180.0), Default("0 deg"), "of that"),
        CURRENT_MIN,
        HEALTHY,
        DELAY,
        FUSE_GUARD,
        key("power_swing", TEXT, Optional, "element that blocks it during power swings"),
    ],
};

static DIFFERENTIAL: Table = Table {
    what: "a differential element",
    name: "differential",
    keys: &[
        function(&["differential"]),
        key("streams", Several(&TEXT), Required, "a stream for each side"),
        key("pick_up", Within(Portion, 0.05, 2.0), Required, "least difference, of `rated`"),
        key("slope", Within(Portion, 0.05, 1.0), Required, "share of restraint up to the knee"),
        key("knee", Within(Number, 0.5, 20.0), Required, "restraint there, in units of `rated`"),
        key("slope_beyond", Within(Portion, 0.05, 1.5), Required, "the share beyond the knee"),
        key("unrestrained", Within(Number, 1.0, 50.0), Required, "in `rated`; nothing blocks it"),
        key("second_harmonic_max", Within(Portion, 0.05, 1.0), Default("15 %"), "blocks above"),
        key("fifth_harmonic_max", Within(Portion, 0.05, 1.0), Default("35 %"), "blocks above"),
        DELAY,
        key("rated", Several(&AMPERES), Required, "primary current of each side"),
        key("charging", Within(Admittance, 0.0, 0.1), Default("0 S"), "primary, capacitive"),
        key("clocks", Several(&Within(Number, 0.0, 11.0)), Optional, "hours by which a side lags"),
    ],
};

static ADMITTANCE: Table = Table {
    what: "an admittance element",
    name: "admittance",
    keys: &[
        function(&["admittance"]),
        STREAM,
        key("residual_min", Within(Voltage, 1.0, 1e5), Required, "primary `U0` that it needs"),
        key("admittance_min", Within(Admittance, 1e-6, 1.0), Required, "primary `3 I0 / -U0`"),
        key("tilt", Within(Angle, -30.0, 30.0), Default("5 deg"), "of the limit"),
        key("harmonics", YES_NO, Default("yes"), "whether it uses several frequencies"),
        DELAY,
        FUSE_GUARD,
    ],
};

static BREAKER_FAILURE: Table = Table {
    what: "a breaker failure element",
    name: "breaker_failure",
    keys: &[
        function(&["breaker_failure"]),
        STREAM,
        key("breaker", TEXT, Required, "breaker whose trips it watches"),
        PICK_UP_A,
        key("retrip_delay", Within(Time, 0.0, 1.0), Required, "from a trip to the next try"),
        key("backup_delay", Within(Time, 0.0, 2.0), Required, "from a trip to operation"),
    ],
};

static FUSE_FAILURE: Table = Table {
    what: "a fuse failure element",
    name: "fuse_failure",
    keys: &[
        function(&["fuse_failure"]),
        STREAM,
        HEALTHY,
        key("unbalance", VOLTS, Required, "primary, negative or zero sequence"),
        CURRENT_MIN,
    ],
};

static POWER_SWING: Table = Table {
    what: "a power swing element",
    name: "power_swing",
    keys: &[
        function(&["power_swing"]),
        STREAM,
        key("resistance", OHMS, Required, "primary, of the inner rectangle, to both sides"),
        key("reactance", OHMS, Required, "primary, of the inner rectangle, up and down"),
        key("band", OHMS, Required, "primary, from the inner to the outer rectangle"),
        key("crossing_min", Within(Time, 0.005, 0.5), Default("30 ms"), "of a swing"),
        key("hold_max", Within(Time, 0.1, 60.0), Default("2 s"), "longest blocking"),
        CURRENT_MIN,
    ],
};
