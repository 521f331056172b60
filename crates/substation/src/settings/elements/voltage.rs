//! Elements that compare voltages and frequencies: their keys, and how they are read.

use ::settings::cursor::Mapping;
use ::settings::table::Need::{Default, Optional, Required};
use ::settings::table::Shape::{Choice, Within};
use ::settings::table::{Key, Shape, Table, key};
use ::settings::units::Dimension::{Frequency, FrequencyRate, Number, Time, Voltage};

use super::{DELAY, DELAY_MAX, FUSE_GUARD, STREAM, VOLTS, function};
use protection::frequency_rate::Trend;
use protection::voltage::{Of, Phases, Side, Timing};
use protection::{frequency_limit, frequency_rate, voltage};

const SIDE: Key = key("side", Choice(&["under", "over"]), Required, "of the limit");

pub(super) static VOLTAGE: Table = Table {
    what: "a voltage element",
    name: "voltage",
    keys: &[
        function(&["voltage"]),
        STREAM,
        key("of", Choice(&OF), Default(OF[0]), "`U1`, `U2`, or the residual `3 U0`"),
        SIDE,
        key("pick_up", VOLTS, Required, "primary voltage of that"),
        key("phases", Choice(&["any", "all"]), Default("any"), "how many must be beyond it"),
        key("dead_below", Within(Voltage, 0.0, 1e6), Default("0 V"), "primary, of a dead line"),
        key("delay", DELAY_MAX, Optional, "from start to operation, or `k`"),
        key("k", Within(Number, 0.01, 100.0), Optional, "multiplier of the dependent time"),
        FUSE_GUARD,
    ],
};

pub(super) static FREQUENCY: Table = Table {
    what: "a frequency element",
    name: "frequency",
    keys: &[
        function(&["frequency"]),
        STREAM,
        SIDE,
        key("pick_up", HERTZ, Required, "limit of the frequency"),
        key("voltage_min", VOLTS, Optional, "voltage below which it is blocked, phase to earth"),
        DELAY,
    ],
};

const HERTZ: Shape = Within(Frequency, 45.0, 65.0);

pub(super) static FREQUENCY_RATE: Table = Table {
    what: "a rate of change of frequency element",
    name: "frequency_rate",
    keys: &[
        function(&["frequency_rate"]),
        STREAM,
        key("side", Choice(&["falling", "rising", "either"]), Required, "which way is wrong"),
        key("pick_up", Within(FrequencyRate, 0.1, 10.0), Required, "rate above which it starts"),
        key("window", Within(Time, 0.04, 0.2), Default("100 ms"), "over which it is measured"),
        key("voltage_min", VOLTS, Required, "primary `U1` below which it is blocked"),
        key("below", HERTZ, Optional, "frequency below which it looks at the rate"),
        key("above", HERTZ, Optional, "frequency above which it looks at the rate"),
        DELAY,
    ],
};

const OF: [&str; 5] =
    ["phase_to_earth", "phase_to_phase", "positive_sequence", "negative_sequence", "residual"];

fn side(map: &Mapping<'_>) -> Side {
    if map.is("side", "under") { Side::Under } else { Side::Over }
}

pub(super) fn voltage_settings(map: &Mapping<'_>) -> Option<voltage::Settings> {
    let of = match map.choice("of")?.value {
        "phase_to_earth" => Of::PhaseToEarth,
        "phase_to_phase" => Of::PhaseToPhase,
        "positive_sequence" => Of::PositiveSequence,
        "negative_sequence" => Of::NegativeSequence,
        _ => Of::Residual,
    };
    let side = side(map);
    if !matches!(of, Of::PhaseToEarth | Of::PhaseToPhase) {
        map.refuse(&["phases"], "there is one such voltage, not three");
    }
    if side == Side::Under && matches!(of, Of::NegativeSequence | Of::Residual) {
        let what = "this voltage is low in a healthy network";
        map.wrong("side", what, "write `over`, or compare another voltage (`of`)");
    }
    let timing = match (map.has("delay"), map.has("k")) {
        (true, false) => map.time("delay").map(Timing::Definite),
        (false, true) => map.quantity("k").map(Timing::Dependent),
        _ => {
            map.wrong("k", "there must be either `delay` or `k`", "keep one of them");
            None
        }
    };
    let (pick_up_v, dead_below_v) = (map.quantity("pick_up")?, map.quantity("dead_below")?);
    if side == Side::Under && dead_below_v >= pick_up_v {
        let what = "below it the element is blocked, and above it nothing is below `pick_up`";
        map.wrong("dead_below", what, "make it less than `pick_up`");
    }
    let phases = if map.is("phases", "all") { Phases::All } else { Phases::Any };
    Some(voltage::Settings { of, side, pick_up_v, phases, timing: timing?, dead_below_v })
}

pub(super) fn frequency(map: &Mapping<'_>) -> Option<frequency_limit::Settings> {
    let (pick_up_hz, delay) = (map.quantity("pick_up")?, map.time("delay")?);
    let voltage_v_min = map.quantity("voltage_min").unwrap_or(0.0);
    Some(frequency_limit::Settings { side: side(map), pick_up_hz, voltage_v_min, delay })
}

pub(super) fn frequency_rate(map: &Mapping<'_>) -> Option<frequency_rate::Settings> {
    let below_hz = map.quantity("below").unwrap_or(f64::INFINITY);
    let above_hz = map.quantity("above").unwrap_or(0.0);
    if above_hz >= below_hz {
        let what = "no frequency is above this and below `below`";
        map.wrong("above", what, "make it less than `below`");
    }
    Some(frequency_rate::Settings {
        trend: match map.choice("side")?.value {
            "falling" => Trend::Falling,
            "rising" => Trend::Rising,
            _ => Trend::Either,
        },
        pick_up_hz_per_s: map.quantity("pick_up")?,
        window: map.time("window")?,
        voltage_v_min: map.quantity("voltage_min")?,
        below_hz,
        above_hz,
        delay: map.time("delay")?,
    })
}
